"""`--out FILE`: the results as a file, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aftereffect.errors import AftereffectError, UnknownName

if TYPE_CHECKING:
    import polars

KINDS = (".csv", ".json", ".parquet")


def check_target(path: Path) -> Path:
    """The path, if a file of a known kind can be written there; asked before the work that fills it is done."""
    if path.suffix.lower() not in KINDS:
        raise UnknownName(f"extension of --out {str(path)!r}:", path.suffix, KINDS)
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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            _write(file, path.suffix.lower(), document, frame)
        partial.replace(path)
    except OSError as error:
        raise AftereffectError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _write(file: IO[bytes], kind: str, document: dict[str, Any], frame: Callable[[], polars.DataFrame]) -> None:
    if kind == ".json":
        file.write((json.dumps(document) + "\n").encode())
    elif kind == ".csv":
        frame().write_csv(file)
    else:
        frame().write_parquet(file)
