"""Tables of past rounds, and what they say: curves, memory, a recommendation."""
