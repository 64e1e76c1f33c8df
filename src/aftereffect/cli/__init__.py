"""The command line: thin, no logic of its own."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
