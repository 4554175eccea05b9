"""Runs, one or many: what is to be run, what was run before, and who runs it."""
