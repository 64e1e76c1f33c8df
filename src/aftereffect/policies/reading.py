"""One number per arm, from whatever people keep such numbers in: by name where there are names, else by place.

What could be read in two ways, or only with a loss, is refused: a masked array's mask, the imaginary part of complex
numbers, dates, words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from aftereffect.errors import WrongTell, require_one_of, shown
from aftereffect.model.curves import Floats
from aftereffect.model.problem import as_name

_FLOAT = np.dtype(np.float64)
_NUMBERS = "fiub"  # numpy's kinds: floats, whole numbers, truth values


def by_arm(what: str, values: Any, arms: int, names: Sequence[str] | None, missing: float = np.nan) -> Floats:
    """One number per arm; `missing` stands for arms that a mapping, a Series or a one-row frame does not name.

    They lie one after the other in memory, as machine code takes for granted.
    """
    kind = type(values)
    if kind is np.ndarray and values.dtype is _FLOAT and values.shape == (arms,) and values.flags.carray:
        return cast("Floats", values)  # told most often, and to be quick
    if kind is list or kind is np.ndarray:
        return _in_order(what, values, arms)
    if isinstance(values, Mapping):
        return _by_name(what, values.items(), arms, names, missing)
    library = type(values).__module__.partition(".")[0]
    if library in ("pandas", "polars"):
        return _from_table(what, values, library, arms, names, missing)
    return _in_order(what, values, arms)


def by_label(what: str, given: Any, names: Sequence[str] | None) -> Any:
    """A pandas Series or a frame of one row as a mapping, so that its labels count and not their order; all else as it is."""
    library = type(given).__module__.partition(".")[0]
    if library not in ("pandas", "polars"):
        return given
    labels, values = _labels(what, given, library, names)
    if names is None and labels == list(range(len(labels))):
        return values
    if len(set(labels)) < len(labels):
        raise WrongTell(f"{what} names an arm twice, got {shown(labels)}")
    return dict(zip(labels, values, strict=True))


def arms_named(values: Any, arms: int, names: Sequence[str] | None) -> npt.NDArray[np.bool_]:
    """Which arms do such numbers speak of? A list of all; a mapping, a Series or a frame of those that it names."""
    named: Any = None
    if isinstance(values, Mapping):
        named = values.keys()
    elif type(values).__module__.partition(".")[0] in ("pandas", "polars"):
        named = values.columns if type(values).__name__ == "DataFrame" else getattr(values, "index", None)
    found = np.ones(arms, dtype=np.bool_)
    if named is not None:
        named = named if names is None else {as_name(name) for name in named}
        for k in range(arms):
            found[k] = (k if names is None else names[k]) in named
    return found


def _in_order(what: str, values: Any, arms: int) -> Floats:
    if type(values) is not list and isinstance(values, np.ma.MaskedArray):
        raise WrongTell(
            f"{what} must be {arms} numbers, got a masked array; use .filled(numpy.nan) for arms that were not seen"
        )
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, UserWarning):  # the last where warnings are errors: of masked numbers
        raise WrongTell(f"{what} must be {arms} numbers, got {shown(values)}") from None
    if array.shape != (arms,):
        raise WrongTell(f"{what} must be {arms} numbers, one per arm, got {_size(array)}")
    if array.dtype.kind in _NUMBERS:
        return array if array.dtype is _FLOAT and array.flags.carray else np.array(array, dtype=np.float64, order="C")
    return np.array([_number(what, k, value) for k, value in enumerate(array)])


def _size(array: Any) -> str:
    if array.ndim == 0:
        return shown(array.item())
    return str(array.size) if array.ndim < 2 else f"a table of {' x '.join(map(str, array.shape))}"


def _number(what: str, arm: Any, value: Any) -> float:
    """A number, None or a library's own word for a missing one; nothing else."""
    if value is None or type(value).__name__ == "NAType":
        return np.nan
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    # numpy's are known by their kind: its time spans call themselves whole numbers
    if value.dtype.kind in _NUMBERS if isinstance(value, np.generic) else isinstance(value, (Real, Decimal)):
        with suppress(OverflowError):
            return float(value)
    raise WrongTell(f"{what} of arm {arm!r} must be a number, got {shown(value)}")


def _by_name(
    what: str, pairs: Iterable[tuple[Any, Any]], arms: int, names: Sequence[str] | None, missing: float
) -> Floats:
    result = np.full(arms, missing)
    told: set[Any] = set()
    for name, value in pairs:
        place = _place(name, arms, names)
        if place in told:
            raise WrongTell(f"{what} names arm {name!r} twice")
        told.add(place)
        result[place] = _number(what, name, value)
    return result


def _place(name: Any, arms: int, names: Sequence[str] | None) -> int:
    """Of an arm among all: by its name, or by its number where arms have no names."""
    if names is None:
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < arms:
            return name
        raise WrongTell(
            f"this agent's arms have no names, got {shown(name)}; give a list of {arms} numbers, or name arms 0 to {arms - 1}"
        )
    known = as_name(name)
    if known not in names:
        require_one_of("arm", name, names)
    return names.index(str(known))


def _from_table(what: str, values: Any, library: str, arms: int, names: Sequence[str] | None, missing: float) -> Floats:
    """A Series or a frame with a single row: its labels are arms. Without names on either side, in order."""
    labels, numbers = _labels(what, values, library, names)
    if names is None and labels == list(range(arms)):
        return np.array([_number(what, k, value) for k, value in enumerate(numbers)])
    return _by_name(what, zip(labels, numbers, strict=True), arms, names, missing)


def _labels(what: str, values: Any, library: str, names: Sequence[str] | None) -> tuple[list[Any], list[Any]]:
    """What a Series or a frame with a single row is labelled with, and what stands there."""
    kind = type(values).__name__
    if kind == "DataFrame":
        if len(values) != 1:
            raise WrongTell(f"{what}: a frame needs one row and a column for each arm, got {len(values)} rows")
        return list(values.columns), list(values.row(0)) if library == "polars" else values.iloc[0].tolist()
    if kind != "Series":
        raise WrongTell(f"{what} must be one number for each arm, got a {library} {kind}")
    if library == "polars" and names is not None:
        raise WrongTell(f"{what}: a polars Series has no labels to go by; give a mapping, or a frame of one row")
    return values.index.tolist() if library == "pandas" else list(range(len(values))), values.to_list()
