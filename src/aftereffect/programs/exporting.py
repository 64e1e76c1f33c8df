"""A program's record as a file: every event, or a tidy table of rounds and arms."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from aftereffect._files import write_file
from aftereffect.errors import AftereffectError, UnknownName
from aftereffect.programs.events import Content

if TYPE_CHECKING:
    import polars

    from aftereffect.programs.program import Program

KINDS = (".csv", ".jsonl", ".parquet")


def export(program: Program, path: str | PathLike[str]) -> None:
    """Write the record, whole or not at all; the kind of file is its extension's."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in KINDS:
        raise UnknownName(f"extension of {str(target)!r}:", target.suffix, KINDS)
    content = _lines(program) if kind == ".jsonl" else _table(kind, round_rows(program.events()))
    try:
        write_file(target, content)
    except OSError as error:
        raise AftereffectError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


def _lines(program: Program) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in program.events()).encode()


def _table(kind: str, rows: list[Content]) -> bytes:
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
    frame: polars.DataFrame = polars.DataFrame(rows, schema=columns)
    file = io.BytesIO()
    if kind == ".csv":
        frame.write_csv(file)
    else:
        frame.write_parquet(file)
    return file.getvalue()


def round_rows(events: list[Content]) -> list[Content]:
    """A row for each round and arm with what was advised, deployed and told last."""
    rounds: dict[int, dict[str, Content]] = {}
    for event in events:
        for number, arm, told in _facts(event):
            row = rounds.setdefault(number, {}).setdefault(arm, {"round": number, "arm": arm})
            row.update(told)
    return [row for number in sorted(rounds) for row in rounds[number].values()]


def _facts(event: Content) -> Iterator[tuple[int, str, Content]]:
    """What an event says of rounds and arms."""
    request, answer, number = event["request"], event["answer"], event["round"]
    if event["kind"] == "create":
        yield from _past(request)
    elif event["kind"] == "ask":
        for arm, share in answer["allocation"].items():
            yield number, arm, {"advised": share}
    elif event["kind"] in ("deploy", "tell"):
        for arm, share in (answer.get("allocation") or {}).items():
            yield number, arm, {"share": share, "at": event["at"], "by": event["by"]}
        for arm, facts in _told(request).items():
            yield number, arm, {**facts, "at": event["at"], "by": event["by"]}


def _told(request: Content) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for what, column in (("rewards", "reward"), ("trials", "trials"), ("measures", "measure")):
        for arm, value in (request.get(what) or {}).items():
            found.setdefault(arm, {})[column] = value
    return found


def _past(request: Content) -> Iterator[tuple[int, str, Content]]:
    """Rounds before the program, from the records it was created with."""
    for number, record in enumerate(request.get("history") or [], 1):
        for arm, share in record["allocation"].items():
            yield number, arm, {"share": share}
        for arm, facts in _told(record).items():
            yield number, arm, facts
