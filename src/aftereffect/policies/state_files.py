"""A state's arrays by their names: as a file holds them, and read back, also from what earlier versions saved."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aftereffect.errors import AftereffectError, CorruptFile, shown
from aftereffect.policies.rules import PlainState, Saved, filing_of

Array = np.ndarray[Any, Any]


def parts_of(state: Any) -> Mapping[str, Any]:
    """A state's fields: arrays, and the states of policies within."""
    parts: Mapping[str, Any] = state.arrays if isinstance(state, PlainState) else state._asdict()
    return parts


def states_in(state: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A state and those within it, each by the prefix of its arrays' names, scratch left out."""
    yield prefix, state
    scratch = filing_of(state).scratch
    for name, part in parts_of(state).items():
        if not isinstance(part, np.ndarray) and name not in scratch:
            yield from states_in(part, f"{prefix}{name}.")


def arrays_of(state: Any) -> dict[str, Array]:
    """Every array of a state by its path, scratch left out."""
    return {
        prefix + name: part
        for prefix, owner in states_in(state)
        for name, part in parts_of(owner).items()
        if isinstance(part, np.ndarray) and name not in filing_of(owner).scratch
    }


def copy_state(state: Any) -> Any:
    """A state that goes its own way; scratch, which holds nothing between calls, is shared."""
    if isinstance(state, PlainState):
        return PlainState(state.policy, copy.deepcopy(state.arrays))
    if isinstance(state, np.ndarray):
        return state.copy()
    scratch = filing_of(state).scratch
    return type(state)(*(part if name in scratch else copy_state(part) for name, part in state._asdict().items()))


def carry_over(state: Any, fresh: Any, who: str, anew: Sequence[str] = ()) -> Any:
    """A fresh state with other limits or more arms at the end, filled with what an earlier one holds, but for fields `anew`."""
    before, after = arrays_of(state), arrays_of(fresh)
    before = {name: array for name, array in before.items() if name not in anew}
    arms = None
    for name, array in before.items():
        for old, new in zip(array.shape, after[name].shape, strict=True):
            if old != new and arms is None:
                arms = (old, new)
            if old != new and (old, new) != arms:
                raise AftereffectError(
                    f"{who} would need another grid with other arms or limits; give it levels= at the start"
                )
    for name, array in before.items():
        after[name][tuple(slice(size) for size in array.shape)] = array
    return fresh


def write_state(state: Any) -> tuple[dict[str, int], Saved]:
    """The versions of a state and of those within it, and their numbers."""
    versions = {prefix: filing_of(owner).version for prefix, owner in states_in(state)}
    return versions, {name: write_numbers(array) for name, array in arrays_of(state).items()}


def read_state(fresh: Any, versions: Mapping[str, Any], saved: Saved, who: str) -> dict[str, Array]:
    """The arrays of a state like `fresh`, from what a file holds; what an earlier version saved is brought up to date."""
    saved = dict(saved)
    for prefix, owner in states_in(fresh):
        _migrate(prefix, owner, versions.get(prefix, 1), saved, who)
    arrays = arrays_of(fresh)
    missing = next((name for name in arrays if name not in saved), None)
    if missing is not None:
        raise CorruptFile(
            f"the state of {who} in it has no {missing!r}: an earlier version saved it; "
            "start again with the past rounds as history="
        )
    return {name: read_numbers(name, saved[name], array) for name, array in arrays.items()}


def _migrate(prefix: str, owner: Any, version: Any, saved: Saved, who: str) -> None:
    filing = filing_of(owner)
    if type(version) is not int or not 1 <= version <= filing.version:
        raise CorruptFile(
            f"the state of {who} in it has version {shown(version)}; this one reads up to {filing.version}"
        )
    if version == filing.version:
        return
    own = {name[len(prefix) :]: saved.pop(name) for name in list(saved) if name.startswith(prefix)}
    fresh = arrays_of(owner)
    for step in range(version, filing.version):
        if step not in filing.migrations:
            raise CorruptFile(
                f"the state of {who} in it has version {step}, which this version cannot read; "
                "start again with the past rounds as history="
            )
        filing.migrations[step](own, fresh)
    saved.update({prefix + name: numbers for name, numbers in own.items()})


def write_numbers(array: Array) -> Any:
    """Numbers in JSON: floats print so that they read back exactly; those without a JSON form become words.

    Records become a list of numbers for each of their names.
    """
    if array.dtype.names is not None:
        return {name: write_numbers(np.ascontiguousarray(array[name])) for name in array.dtype.names}
    flat: list[Any] = array.ravel().tolist()
    if array.dtype == np.float64 and not np.isfinite(array).all():
        return [v if math.isfinite(v) else str(v) for v in flat]
    return flat


_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def read_numbers(name: str, flat: Any, like: Array) -> Array:
    """Numbers back as an array; those that would have to be rounded or guessed at are refused."""
    if like.dtype.names is not None:
        return _read_records(name, flat, like)
    if not isinstance(flat, list) or len(flat) != like.size:
        raise CorruptFile(f"{name} must hold {like.size} numbers")
    kinds = {"f": (int, float), "b": (bool,)}.get(like.dtype.kind, (int,))
    values = [_WORDS.get(v, v) if isinstance(v, str) and like.dtype.kind == "f" else v for v in flat]
    wrong = next((v for v in values if not isinstance(v, kinds) or (isinstance(v, bool) and bool not in kinds)), None)
    if wrong is not None or None in values:
        raise CorruptFile(f"{name} must hold numbers, got {shown(wrong)}")
    return np.array(values, dtype=like.dtype).reshape(like.shape)


def _read_records(name: str, saved: Any, like: Array) -> Array:
    """Records back from a list of numbers for each of their names."""
    names = like.dtype.names or ()
    if not isinstance(saved, dict) or set(saved) != set(names):
        raise CorruptFile(f"{name} must hold {', '.join(names)}")
    records = np.zeros(like.shape, dtype=like.dtype)
    for part in names:
        records[part] = read_numbers(f"{name}.{part}", saved[part], like[part])
    return records
