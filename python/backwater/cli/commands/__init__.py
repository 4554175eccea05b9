"""The commands of the command line, one file each. What is slow to import is imported inside them."""
