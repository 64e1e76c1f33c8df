"""What people type into the dashboard's forms, read as programs take it."""

from __future__ import annotations

import csv
import math
from typing import Any

from starlette.datastructures import FormData

from aftereffect.errors import AftereffectError
from aftereffect.programs.program import Program


def number(what: str, text: Any) -> float:
    """A finite number; a comma may stand for the point."""
    try:
        value = float(str(text).strip().removesuffix("%").replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise AftereffectError(f"{what} must be a number, got {str(text)[:40]!r}")
    return value


def whole(what: str, text: Any) -> int:
    """A whole number from one on."""
    value = number(what, text)
    if value != int(value) or not 1 <= value <= 10**12:
        raise AftereffectError(f"{what} must be a whole number from 1 on, got {str(text)[:40]!r}")
    return int(value)


def _column(form: FormData, name: str) -> list[str]:
    return [str(value).strip() for value in form.getlist(name)]


def allocation(program: Program, form: FormData) -> dict[str, float] | None:
    """Percents or units of each arm as shares of their sum; None where the form has none."""
    given = _column(form, "share")
    if not given:
        return None
    if len(given) != len(program.names):
        raise AftereffectError("the arms have changed since this page was made: load it again")
    parts = [number(f"the share of {name!r}", text) for name, text in zip(program.names, given, strict=True)]
    total = sum(parts)
    if total <= 0 or min(parts) < 0:
        raise AftereffectError(f"shares must be 0 or more and not all 0, got {', '.join(given)}")
    return {name: part / total for name, part in zip(program.names, parts, strict=True)}


def told(program: Program, form: FormData) -> dict[str, Any]:
    """A round's rewards: successes where there are trials, means where there are none."""
    rewards: dict[str, float] = {}
    trials: dict[str, float] = {}
    for name, reward, count in zip(program.names, _column(form, "reward"), _column(form, "trials"), strict=False):
        if reward:
            value = number(f"the reward of {name!r}", reward)
            if count:
                tried = whole(f"the trials of {name!r}", count)
                if not 0 <= value <= tried:
                    raise AftereffectError(
                        f"{name!r} has {tried} trials, so its successes lie between 0 and {tried}, got {reward}"
                    )
                rewards[name], trials[name] = value / tried, float(tried)
            else:
                rewards[name] = value
    if not rewards:
        raise AftereffectError("nothing was filled in: give at least one arm's reward")
    if trials and len(trials) < len(rewards):
        raise AftereffectError("give trials for all of the arms that report, or for none")
    return {
        "rewards": rewards,
        "trials": trials or None,
        "round": whole("the round", form.get("round")),
        "replace": form.get("replace") == "yes",
    }


def limits(program: Program, form: FormData) -> dict[str, Any]:
    """Floors and caps in percent."""
    found = {}
    for word in ("floor", "cap"):
        given = _column(form, word)
        if len(given) != len(program.names):
            raise AftereffectError("the arms have changed since this page was made: load it again")
        found[f"{word}s"] = {
            name: number(f"the {word} of {name!r}", text) / 100 for name, text in zip(program.names, given, strict=True)
        }
    return found


def arm(form: FormData) -> str:
    """An arm's name."""
    return str(form.get("arm", "")).strip()


def as_text(content: bytes) -> str:
    """A file's text."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


COLUMNS = ("round", "arm", "reward", "successes", "trials")


def rows_of(program: Program, text: str) -> list[dict[str, Any]]:
    """A table of rewards as it will be told: round, arm, mean reward, trials."""
    reader = csv.DictReader(text.splitlines())
    columns = [str(name).strip().lower() for name in reader.fieldnames or []]
    unknown = [name for name in columns if name not in COLUMNS]
    if "round" not in columns or "arm" not in columns or ("reward" in columns) == ("successes" in columns) or unknown:
        raise AftereffectError(
            f"the file needs the columns round, arm, and reward or successes and trials; it has {', '.join(columns)}"
        )
    reader.fieldnames = columns
    rows = [_row(program, line, found) for line, found in enumerate(reader, 2)]
    if not rows:
        raise AftereffectError("the file has no rows")
    seen: set[tuple[int, str]] = set()
    for line, row in enumerate(rows, 2):
        if (row["round"], row["arm"]) in seen:
            raise AftereffectError(f"line {line}: round {row['round']} has arm {row['arm']!r} twice")
        seen.add((row["round"], row["arm"]))
    return rows


def _row(program: Program, line: int, found: dict[str, Any]) -> dict[str, Any]:
    if None in found or None in found.values():
        raise AftereffectError(f"line {line}: not as many cells as columns")
    name = found["arm"].strip()
    if name not in program.names:
        raise AftereffectError(f"line {line}: there is no arm {name!r}; there are {', '.join(program.names)}")
    trials = whole(f"line {line}: trials", found["trials"]) if found.get("trials", "").strip() else None
    if "successes" in found:
        if trials is None:
            raise AftereffectError(f"line {line}: successes need trials")
        reward = number(f"line {line}: successes", found["successes"]) / trials
    else:
        reward = number(f"line {line}: reward", found["reward"])
    if not 0 <= reward <= 1:
        raise AftereffectError(f"line {line}: a mean reward lies between 0 and 1, got {reward:g}")
    return {"round": whole(f"line {line}: round", found["round"]), "arm": name, "reward": reward, "trials": trials}


def tell_rows(program: Program, text: str, signed: dict[str, Any]) -> None:
    """Tell a table, one write a round; the same table again changes nothing."""
    rounds: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(program, text):
        rounds.setdefault(row["round"], []).append(row)
    for number, rows in rounds.items():
        counted = all(row["trials"] is not None for row in rows)
        program.tell(
            {row["arm"]: row["reward"] for row in rows},
            trials={row["arm"]: row["trials"] for row in rows} if counted else None,
            round=number,
            by=signed["by"],
            key=f"{signed['key']}-{number}" if signed["key"] else None,
        )
