"""Backwater."""
