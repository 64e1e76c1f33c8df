"""Programs from files: an exported record, taken over event by event with its hashes, or an agent that was saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError, CorruptFile, UnknownName
from aftereffect.policies.storage import read_agent
from aftereffect.programs.creating import first_event, read_names
from aftereffect.programs.errors import Damaged
from aftereffect.programs.events import FIRST, Event, chained
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store

LARGEST = 2_000_000_000  # bytes


def import_program(
    store: Store, name: str, path: str | PathLike[str], *, key: str | None = None, by: str | None = None
) -> Program:
    """A new program from a file: `.jsonl` as `export` writes it, `.json` as `agent.save` does."""
    file = Path(path)
    if file.suffix.lower() not in (".json", ".jsonl"):
        raise UnknownName(f"extension of {str(file)!r}:", file.suffix, (".json", ".jsonl"))
    try:
        text = read_regular(file, LARGEST).decode()
    except OSError as error:
        raise AftereffectError(f"cannot read {str(file)!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CorruptFile(f"{str(file)!r} is not text") from None
    if file.suffix.lower() == ".jsonl":
        return store.add(name, list(_events(str(file), text)))
    return store.add(name, [_first(text, str(file), key, by)])


def _events(file: str, text: str) -> Iterator[Event]:
    """The events of an export, each as the hash beside it says."""
    head = FIRST
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content: dict[str, Any] = json.loads(line)
            hash = content.pop("hash")
            event = Event.read(json.dumps(content))
            head = chained(head, event.body)
        except (AttributeError, KeyError, ValueError, RecursionError, Damaged):
            raise CorruptFile(f"{file!r}, line {number}: it is not an event of an exported record") from None
        if hash != head or event.sequence != number:
            raise CorruptFile(
                f"{file!r}, line {number}: the event does not fit the chain; it, or its place, was changed"
            )
        yield event


def _first(text: str, file: str, key: str | None, by: str | None) -> Event:
    """A first event that holds a saved agent: what happened before is in its state only."""
    agent = read_agent(text, file)
    names = agent.arm_names
    request = {"arms": list(read_names(names)), "policy": agent.policy.key, "agent": text, "units": None, "seed": None}
    request["feedback"] = agent.setting.feedback
    return first_event(request, key, by)
