"""Numbers of a state by their names: how to read what earlier versions saved as rows and entries without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aftereffect.errors import CorruptFile
from aftereffect.policies.rules import Migration, Saved


def named(**tables: Sequence[str]) -> Migration:
    """Turn tables whose rows, or lists whose entries, had no names into arrays and records that have.

    For each old field the new places of its rows in turn: "field", or "records.name".
    """

    def migrate(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
        rows = [
            (place, row)
            for table, places in tables.items()
            for place, row in zip(places, cut(table, saved.pop(table), len(places)), strict=True)
        ]
        for place, row in rows:
            field, _, name = place.partition(".")
            if name:
                saved.setdefault(field, {})[name] = row
            else:
                saved[field] = row

    return migrate


def by_part(table: str, numbers: Any, like: np.ndarray[Any, Any]) -> dict[str, list[Any]]:
    """The parts of records like some, of a table that held a block of rows, one for each part, for every first place."""
    parts = like.dtype.names or ()
    rows = cut(table, numbers, len(like) * len(parts))
    return {part: [x for row in rows[i :: len(parts)] for x in row] for i, part in enumerate(parts)}


def cut(table: str, numbers: Any, count: int) -> list[list[Any]]:
    """A table's rows, which files hold one after the other."""
    if not isinstance(numbers, list) or len(numbers) % count:
        raise CorruptFile(f"{table} must hold {count} rows of numbers")
    size = len(numbers) // count
    return [numbers[i * size : (i + 1) * size] for i in range(count)]
