"""What comes from other tools, and what goes to them."""
