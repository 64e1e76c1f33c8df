"""The rounds that a record tells of: what was advised, deployed and told of each, when and by whom."""

from __future__ import annotations

from collections.abc import Iterable

from aftereffect.programs.events import Content

TOLD = ("rewards", "trials", "measures")


def rounds_of(events: Iterable[Content]) -> list[Content]:
    """One entry for each round, in order; of what was told in parts or corrected, all of it as it stands now."""
    rounds: dict[int, Content] = {}
    for event in events:
        request, answer, number = event["request"], event["answer"], event["round"]
        if event["kind"] == "create":
            for past, record in enumerate(request.get("history") or [], 1):
                _entry(rounds, past).update(record)
        elif event["kind"] == "ask":
            expected = (answer.get("reason") or {}).get("expected")
            _entry(rounds, number).update(advised=answer["allocation"], expected=expected)
        elif event["kind"] in ("deploy", "tell"):
            entry = _entry(rounds, number)
            entry |= {"at": event["at"], "by": event["by"]}
            if answer.get("allocation") is not None:
                entry["allocation"] = answer["allocation"]
            for what in TOLD:
                entry[what] = {**entry[what], **(request.get(what) or {})}
    return [rounds[number] for number in sorted(rounds) if rounds[number]["allocation"]]


def _entry(rounds: dict[int, Content], number: int) -> Content:
    empty: Content = {"round": number, "advised": {}, "expected": None, "allocation": {}, **{what: {} for what in TOLD}}
    return rounds.setdefault(number, {**empty, "at": None, "by": None})
