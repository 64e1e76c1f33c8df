"""Tuning, and later bounds: the paper's theory as functions."""
