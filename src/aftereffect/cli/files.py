"""`--out FILE`: the results as a file, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aftereffect._files import table_bytes, write_named
from aftereffect.errors import AftereffectError, UnknownName

if TYPE_CHECKING:
    import polars

KINDS = (".csv", ".json", ".parquet")


def check_target(path: Path, option: str = "--out", kinds: Sequence[str] = KINDS) -> Path:
    """The path, if a file of a known kind can be written there; asked before the work that fills it is done."""
    if path.suffix.lower() not in kinds:
        raise UnknownName(f"extension of {option} {str(path)!r}:", path.suffix, kinds)
    folder = path.parent
    if not folder.is_dir():
        raise AftereffectError(f"cannot write {str(path)!r}: {str(folder)!r} is not an existing folder")
    if path.is_dir():
        raise AftereffectError(f"cannot write {str(path)!r}: it is a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise AftereffectError(f"cannot write {str(path)!r}: no permission to write in {str(folder)!r}")
    return path


def write_results(path: Path, document: dict[str, Any], frame: Callable[[], polars.DataFrame]) -> None:
    """Write the JSON document or the tidy table, by the path's extension."""
    kind = path.suffix.lower()
    write_named(path, (json.dumps(document) + "\n").encode() if kind == ".json" else table_bytes(frame(), kind))
