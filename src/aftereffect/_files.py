"""Files that are written at once or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

PART = ".part-"  # how names of unfinished files begin


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file beside the target, flush it to disk, rename it over the target."""
    part = path.with_name(f"{PART}{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink()
