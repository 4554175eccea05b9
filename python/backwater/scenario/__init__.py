"""Scenarios before they run: their text, their schemes, their network."""
