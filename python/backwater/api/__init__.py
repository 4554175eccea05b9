"""What ``import backwater as bw`` has."""
