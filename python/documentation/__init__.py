"""What `make docs` adds to docs/: pages made from the code, and links that lead out of docs/."""
