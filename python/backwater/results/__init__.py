"""Results folders, and what is measured in one."""

from backwater.results.folder import Results

__all__ = ["Results"]
