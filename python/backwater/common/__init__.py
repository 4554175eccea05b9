"""What every room uses: quantities as text, statistics, files written whole, the terminal, codes of messages."""
