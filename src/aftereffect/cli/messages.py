"""What goes to standard error: single lines that begin with the program's name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from aftereffect.errors import AftereffectWarning


def say(message: str) -> None:
    """One line on standard error, whatever the message quotes."""
    print("aftereffect:", " ".join(message.split()), file=sys.stderr)


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
