"""Figures and pages: only renders what others computed."""
