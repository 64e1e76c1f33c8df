"""Results as files: arrays in numpy's own format beside one JSON document; nothing in it is ever run."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_file
from aftereffect.errors import AftereffectError, CorruptFile
from aftereffect.model.curves import Curve
from aftereffect.oracle.best_fixed import BestFixed
from aftereffect.simulation.result import Comparison, Parity, Result, Trace
from aftereffect.theory.fair import FairOptimum

FORMAT, VERSION = "aftereffect-result", 1
DOCUMENT = "document"
CLASSES: dict[str, Any] = {c.__name__: c for c in (Result, Trace, Parity, BestFixed, FairOptimum, Curve)}


def save_result(result: Result | Comparison, path: str | Path) -> None:
    """Write a result to a file, whole or not at all."""
    arrays: dict[str, Any] = {}
    results = list(result.values()) if isinstance(result, Comparison) else [result]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "comparison": isinstance(result, Comparison),
        "results": [_encoded(r, arrays) for r in results],
    }
    arrays[DOCUMENT] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    try:
        write_file(Path(path), content.getvalue())
    except OSError as error:
        raise AftereffectError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if type(value).__name__ in CLASSES and isinstance(value, CLASSES[type(value).__name__]):
        names = value._fields if isinstance(value, Trace) else [f.name for f in dataclasses.fields(value)]
        return {"class": type(value).__name__, **{n: _encoded(getattr(value, n), arrays) for n in names}}
    if isinstance(value, tuple):
        return {"tuple": [_encoded(part, arrays) for part in value]}
    if isinstance(value, dict):
        return {"data": value}
    return value.item() if isinstance(value, np.generic) else value


def load_result(path: str | Path) -> Result | Comparison:
    """Read what `save` wrote: a `Result` or a `Comparison`."""
    try:
        with np.load(Path(path), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        document = json.loads(arrays[DOCUMENT].tobytes())
    except FileNotFoundError:
        raise AftereffectError(f"cannot read {str(path)!r}: there is no such file") from None
    except OSError as error:
        raise AftereffectError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except (ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise CorruptFile(f"{str(path)!r} is no saved result, or damaged: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CorruptFile(f"{str(path)!r} is no saved result")
    if document.get("version") != VERSION:
        raise CorruptFile(f"{str(path)!r} is of version {document.get('version')!r}, read is {VERSION}")
    try:
        results: list[Result] = [_decoded(held, arrays) for held in document["results"]]
        return Comparison(results) if document["comparison"] else results[0]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise CorruptFile(f"{str(path)!r} is damaged: {error}") from error


def _decoded(held: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(held, dict):
        return held
    if "array" in held:
        return arrays[held["array"]]
    if "tuple" in held:
        return tuple(_decoded(part, arrays) for part in held["tuple"])
    if "data" in held:
        return held["data"]
    return CLASSES[held["class"]](**{n: _decoded(part, arrays) for n, part in held.items() if n != "class"})
