"""Results read back from their files; nothing in them is ever run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect.errors import AftereffectError, CorruptFile
from aftereffect.model.curves import Curve
from aftereffect.oracle.best_fixed import BestFixed
from aftereffect.simulation.result import Comparison, Parity, Result, Trace
from aftereffect.simulation.saving import DOCUMENT, FORMAT, VERSION
from aftereffect.theory.fair import FairOptimum

CLASSES: dict[str, Any] = {c.__name__: c for c in (Result, Trace, Parity, BestFixed, FairOptimum, Curve)}


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
        raise CorruptFile(f"{str(path)!r} is no saved result, or damaged") from error
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
