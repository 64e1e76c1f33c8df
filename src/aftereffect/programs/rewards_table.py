"""Tables of what came back, a row for each round and arm: as `program tell --csv` and the dashboard's upload read them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass

from aftereffect.errors import AftereffectError, require
from aftereffect.model.reward_range import FROM_0_TO_1, RewardRange

SEPARATORS = ",;\t"  # as spreadsheets write them here and there
COLUMNS = ("round", "arm", "reward", "successes", "trials")
MOST = 10**12

Told = tuple[dict[str, float], dict[str, float] | None]  # mean rewards and trials by arm


@dataclass(frozen=True)
class Row:
    """What one arm reports of one round (none: of the round asked for), and the line that says so."""

    line: int
    round: int | None
    arm: str
    reward: float
    trials: float | None


def read_rewards(text: str, unit: RewardRange = FROM_0_TO_1) -> list[Row]:
    """The rows of a table: `arm` and `reward`, or `arm`, `successes` and `trials`; `round` where it is about several.

    `unit`: between which values rewards lie, where that is not 0 and 1.
    """
    lines = text.splitlines()
    reader = csv.DictReader(lines, delimiter=max(SEPARATORS, key=lines[0].count) if lines else ",")
    columns = [str(name).strip().lower() for name in reader.fieldnames or []]
    unknown = [name for name in columns if name not in COLUMNS]
    if "arm" not in columns or ("reward" in columns) == ("successes" in columns) or unknown:
        raise AftereffectError(
            "a table of rewards has the columns arm and reward, or arm, successes and trials, and round where it is about "
            f"several; got {', '.join(columns) or 'none'}"
        )
    require("successes" not in columns or "trials" in columns, "a table of rewards: successes need trials")
    require(
        "successes" not in columns or unit.usual,
        f"a table of rewards from {unit.low:g} to {unit.high:g} has a column reward, not successes",
    )
    reader.fieldnames = columns
    rows = []
    try:
        for cells in reader:
            rows.append(_row(reader.line_num, cells, unit))
    except csv.Error as error:
        raise AftereffectError(f"line {reader.line_num}: {error}") from None
    require(bool(rows), "the table has no rows")
    _check_once(rows)
    return rows


def by_round(rows: Iterable[Row]) -> dict[int | None, Told]:
    """The rows as programs are told them; an arm without trials among others stands for a single observation."""
    rounds: dict[int | None, list[Row]] = {}
    for row in rows:
        rounds.setdefault(row.round, []).append(row)
    return {number: _told(found) for number, found in rounds.items()}


def _told(rows: list[Row]) -> Told:
    rewards = {row.arm: row.reward for row in rows}
    if all(row.trials is None for row in rows):
        return rewards, None
    return rewards, {row.arm: 1.0 if row.trials is None else row.trials for row in rows}


def _row(line: int, cells: dict[str, str], unit: RewardRange) -> Row:
    require(None not in cells and None not in cells.values(), f"line {line}: not as many cells as columns")
    arm = cells["arm"].strip()
    round = _whole(f"line {line}: round", cells["round"]) if "round" in cells else None
    trials = read_number(f"line {line}: trials", cells["trials"]) if cells.get("trials", "").strip() else None
    wrong = f"line {line}: trials are 1 or more (0 with 0 successes or no reward: it got none), got {trials}"
    require(trials is None or trials == 0 or 1 <= trials <= MOST, wrong)
    if trials == 0:
        require(cells.get("successes", cells.get("reward", "")).strip() in ("", "0"), wrong)
        return Row(line, round, arm, math.nan, 0.0)
    if "successes" in cells:
        if trials is None:
            raise AftereffectError(f"line {line}: successes need trials")
        successes = read_number(f"line {line}: successes", cells["successes"])
        require(
            0 <= successes <= trials,
            f"line {line}: successes lie between 0 and the trials, {trials:g}, got {successes:g}",
        )
        return Row(line, round, arm, successes / trials, trials)
    reward = read_number(f"line {line}: reward", cells["reward"])
    require(
        unit.low <= reward <= unit.high,
        f"line {line}: a mean reward lies between {unit.low:g} and {unit.high:g}, got {reward:g}",
    )
    return Row(line, round, arm, reward, trials)


def _check_once(rows: list[Row]) -> None:
    seen: set[tuple[int | None, str]] = set()
    for row in rows:
        of = "" if row.round is None else f"round {row.round} has "
        require((row.round, row.arm) not in seen, f"line {row.line}: {of}arm {row.arm!r} twice")
        seen.add((row.round, row.arm))


def read_number(what: str, text: str) -> float:
    """A finite number; a comma may stand for the point."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = math.nan
    require(math.isfinite(value), f"{what} must be a number, got {text[:40]!r}")
    return value


def _whole(what: str, text: str) -> int:
    value = read_number(what, text)
    require(value == int(value) and 1 <= value <= MOST, f"{what} must be a whole number from 1 on, got {text[:40]!r}")
    return int(value)
