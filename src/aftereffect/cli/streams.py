"""Standard streams that are closed, full or gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def ensure_streams() -> None:
    """Open what was closed: the next file that is opened would take its place and be written into."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        with suppress(AttributeError):  # names of files need not be text: what cannot be written is written as \\udcff
            getattr(sys, name).reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Let nothing more be tried on standard output, so that the interpreter does not complain again at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
