"""Results as files: arrays in numpy's own format beside one JSON document; `loading` reads them."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_named

FORMAT, VERSION = "aftereffect-result", 1
DOCUMENT = "document"


def save_results(results: Sequence[Any], comparison: bool, path: Path) -> None:
    """Write results to a file, whole or not at all."""
    arrays: dict[str, Any] = {}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "comparison": comparison,
        "results": [_encoded(r, arrays) for r in results],
    }
    arrays[DOCUMENT] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_named(path, content.getvalue())


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    names = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    names = names or getattr(value, "_fields", [])
    if names:
        return {"class": type(value).__name__, **{n: _encoded(getattr(value, n), arrays) for n in names}}
    if isinstance(value, tuple):
        return {"tuple": [_encoded(part, arrays) for part in value]}
    if isinstance(value, dict):
        return {"data": value}
    return value.item() if isinstance(value, np.generic) else value
