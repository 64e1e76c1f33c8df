"""A program's record as a file: every event, or a tidy table of rounds and arms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from aftereffect._files import table_bytes, write_named
from aftereffect.errors import UnknownName
from aftereffect.programs.events import Content
from aftereffect.programs.rounds import rounds_of

KINDS = (".csv", ".jsonl", ".parquet")


def export(events: list[Content], path: str | PathLike[str]) -> None:
    """Write the record, whole or not at all; the kind of file is its extension's."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in KINDS:
        raise UnknownName(f"extension of {str(target)!r}:", target.suffix, KINDS)
    write_named(target, exported(events, kind))


def exported(events: list[Content], kind: str) -> bytes:
    """The record as the content of a file of that kind."""
    if kind == ".jsonl":
        return "".join(json.dumps(event) + "\n" for event in events).encode()
    return _table(kind, events)


def _table(kind: str, events: list[Content]) -> bytes:
    import polars

    columns = {
        "round": polars.Int64,
        "arm": polars.String,
        "advised": polars.Float64,
        "share": polars.Float64,
        "reward": polars.Float64,
        "trials": polars.Float64,
        "measure": polars.Float64,
        "at": polars.String,
        "by": polars.String,
    }
    return table_bytes(polars.DataFrame(list(_rows(events)), schema=columns), kind)


def _rows(events: list[Content]) -> Iterator[Content]:
    """A row for each round and arm, with the columns that `read_records` knows."""
    for happened in rounds_of(events):
        for arm, share in happened["allocation"].items():
            yield {
                "round": happened["round"],
                "arm": arm,
                "advised": happened["advised"].get(arm),
                "share": share,
                "reward": happened["rewards"].get(arm),
                "trials": happened["trials"].get(arm),
                "measure": happened["measures"].get(arm),
                "at": happened["at"],
                "by": happened["by"],
            }
