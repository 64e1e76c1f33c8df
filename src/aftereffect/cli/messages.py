"""What goes to standard error: single lines that begin with the program's name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from aftereffect.errors import AftereffectWarning


def say(message: str) -> None:
    """One line on standard error, whatever the message quotes; where nobody listens, nothing."""
    line = " ".join(message.split()).encode("utf-8", "backslashreplace").decode()
    with suppress(OSError, ValueError):
        print("aftereffect:", line, file=sys.stderr, flush=True)


@contextmanager
def remarks() -> Iterator[None]:
    """Say this package's warnings, each once, after the work; other libraries' are not the user's business."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AftereffectWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"warning: {message}")
