"""Exact maximisers over the grid of allocations."""
