"""What runs say: blame, slowdown, PUTs, throttles, isolation, GPCNeT, and how it is shown."""
