"""Simulation: the compiled loop, runs, results."""
