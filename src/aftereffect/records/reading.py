"""`read_records`: from a table as people keep it to checked records.

Every mistake names the row (from 1, the header not counted), the column, the value and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars

from aftereffect.errors import LONGEST, AftereffectError, UnknownName, shown
from aftereffect.model.curves import Floats
from aftereffect.model.history import RECENT
from aftereffect.model.reward_range import RewardRange
from aftereffect.model.world import Ints
from aftereffect.records.rounds import Rounds, number_rounds
from aftereffect.records.sources import read_table
from aftereffect.records.table import NEAR_ONE, Records

VALUES = ("share", "amount", "reward", "successes", "trials", "measure")
KNOWN = ("round", "date", "arm", *VALUES)
MOST_ARMS = 1000
MOST_CELLS = 50_000_000
THOUSANDS = r"^-?[1-9]\d{0,2}(\.\d{3})+$"
LARGEST_WHOLE = 2**53  # beyond it floats skip whole numbers
BLANK = ("", "na", "n/a", "nan", "null", "none", "-")


def read_records(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    reward_range: Sequence[float] | None = None,
    encoding: str = "utf-8",
) -> Records:
    """Past rounds from a CSV or Parquet file, a pandas or polars frame or a list of dicts.

    Tidy rows, one for each round and arm: `round` (whole numbers or dates) or `date`, `arm`, `share` (or `amount`: shares of the
    round's total), `reward` (the mean of the arm's trials) or `successes`, `trials`, `measure` (of fairness). `columns` says what
    they are called in the table: `columns={"round": "week", "arm": "region"}`. A table with one row a round names its pattern:
    `wide="{what}_{arm}"` for share_north, reward_north. `reward_range=(0, 500)` says between which values rewards lie where
    that is not 0 and 1; everything that is shown is in that unit again.

    >>> week = [{"round": 1, "arm": "north", "amount": 60, "reward": 0.5}, {"round": 1, "arm": "south", "amount": 20}]
    >>> read_records(week).shares.tolist()
    [[0.75, 0.25]]
    """
    frame, commas = read_table(source, encoding)
    unread: list[str] = []
    if wide is not None:
        frame = _from_wide(frame, wide, dict(columns or {}))
    else:
        frame, unread = _named_as_known(frame, dict(columns or {}))
    if not frame.height:
        raise AftereffectError("records are empty; one row for each round and arm is needed")
    return _Reader(frame, RewardRange.of(reward_range), unread, commas).read()


def listed(names: Sequence[str]) -> str:
    """Columns as a message shows them: in one line, whatever their names, and not too long."""
    text = ", ".join(" ".join(name.split()) for name in names) or "none"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."


def _named_as_known(frame: polars.DataFrame, columns: dict[str, str]) -> tuple[polars.DataFrame, list[str]]:
    """The columns that are read, by our names, and the names of those that are not."""
    columns = {ours: str(theirs).strip() for ours, theirs in columns.items()}
    for ours, theirs in columns.items():
        if ours not in KNOWN:
            raise UnknownName("column", str(ours), KNOWN)
        if theirs not in frame.columns:
            raise UnknownName(f"column for {ours}:", theirs, [listed([name]) for name in frame.columns])
    taken = {theirs: ours for ours, theirs in columns.items()}
    for name in frame.columns:
        ours = name.lower()
        if name not in taken and ours in KNOWN and ours not in taken.values():
            taken[name] = ours
    for needed, names in (("round", ("round", "date")), ("arm", ("arm",))):
        if not any(name in taken.values() for name in names):
            raise AftereffectError(
                f"records have no column {' or '.join(names)}; columns are {listed(frame.columns)}: rename one, "
                f"or say columns={{{needed!r}: ...}} (--column {needed}=..)"
            )
    return frame.select(polars.col(theirs).alias(ours) for theirs, ours in taken.items()), [
        name for name in frame.columns if name not in taken
    ]


def _from_wide(frame: polars.DataFrame, pattern: str, columns: dict[str, str]) -> polars.DataFrame:
    """One row a round with columns such as share_north, as tidy rows; `columns` renames the round and what is measured."""
    if pattern.count("{arm}") != 1 or pattern.count("{what}") != 1:
        raise AftereffectError(
            f"wide must be a pattern with {{what}} and {{arm}} such as '{{what}}_{{arm}}', got {pattern!r}"
        )
    columns = {ours: str(theirs).strip() for ours, theirs in columns.items()}
    theirs = {columns.get(what, what): what for what in VALUES}
    words = "|".join(sorted(map(re.escape, theirs), key=len, reverse=True))
    form = re.escape(pattern).replace(r"\{arm\}", "(?P<arm>.+)").replace(r"\{what\}", f"(?P<what>{words})")
    clock = next((n for n in (columns.get("round"), columns.get("date"), "round", "date") if n in frame.columns), None)
    if clock is None:
        raise AftereffectError(f"records have no column round or date; columns are {listed(frame.columns)}")
    arms: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        found = re.fullmatch(form, name)
        if found and name != clock:
            arms.setdefault(found["arm"], {})[theirs[found["what"]]] = name
    if not arms:
        raise AftereffectError(f"no column fits the pattern {pattern!r}; columns are {listed(frame.columns)}")
    parts = [
        frame.select(
            polars.col(clock).alias("round"),
            polars.lit(arm).alias("arm"),
            *(polars.col(n).alias(w) for w, n in own.items()),
        )
        for arm, own in arms.items()
    ]
    joined = polars.concat(parts, how="diagonal_relaxed")
    row = polars.int_range(polars.len()) % frame.height
    return joined.with_columns(row.alias("row")).sort("row", maintain_order=True).drop("row")


def _gone(names: Sequence[str], labels: Sequence[str], shares: Floats) -> list[str]:
    """Arms that have had nothing for a while: closed, or only out of favour?"""
    last = [int(np.flatnonzero(shares[:, k] > 0)[-1]) if shares[:, k].any() else -1 for k in range(len(names))]
    return [
        f"{name} has had no share since {labels[t + 1]}: if it is closed, give it a cap of 0 (caps={{{name!r}: 0}}, --cap)"
        for name, t in zip(names, last, strict=True)
        if t < len(labels) - RECENT
    ]


def _as_names(column: polars.Series) -> polars.Series:
    """Arms' names; pandas makes floats of whole numbers as soon as one cell is empty, and district 7.0 is still district 7."""
    if not column.dtype.is_float():
        return column.cast(polars.String, strict=False)
    found = column.fill_nan(None)
    whole = (found == found.round()) & (found.abs() <= LARGEST_WHOLE)
    digits = found.cast(polars.Int64, strict=False).cast(polars.String)
    return digits.zip_with(whole.fill_null(False), found.cast(polars.String))


class _Reader:
    """One table on its way to records."""

    def __init__(
        self, frame: polars.DataFrame, reward_range: RewardRange, unread: list[str], decimal_commas: bool
    ) -> None:
        self.frame, self.range, self.decimal_commas = frame, reward_range, decimal_commas
        self.notes = [f"columns not read: {listed(unread)}"] if unread else []

    def read(self) -> Records:
        names, arm = self._arms()
        clock = "round" if "round" in self.frame.columns else "date"
        rounds = number_rounds(self.frame[clock], clock)
        cells = (int(rounds.of_row.max()) + 1) * len(names)
        if cells > MOST_CELLS:
            raise AftereffectError(
                f"records of {cells:,} rounds times arms are too many; at most {MOST_CELLS:,} are read"
            )
        self._refuse_twice(rounds, arm, names)
        place, shape = (rounds.of_row, arm), (len(rounds.labels), len(names))
        shares = self._shares(place, shape, rounds)
        rewards, trials = self._rewards(place, shape, shares)
        measures = self._measures(place, shape)
        self._fill_gaps(rounds, shares)
        self.notes += [*rounds.notes, *_gone(names, rounds.labels, shares)]
        if not (trials > 0).any():
            raise AftereffectError("records hold no reward at all; a column reward, or successes and trials, is needed")
        return Records(
            names,
            rounds.labels,
            shares=shares,
            rewards=rewards,
            trials=trials,
            measures=measures,
            reward_range=self.range,
            notes=tuple(self.notes),
        )

    def _arms(self) -> tuple[tuple[str, ...], Ints]:
        column = _as_names(self.frame["arm"]).str.strip_chars()
        wrong = np.flatnonzero((column.is_null() | (column == "").fill_null(True)).to_numpy())
        if len(wrong):
            raise AftereffectError(f"row {wrong[0] + 1}, column arm: missing; every row names its arm")
        names = tuple(column.unique(maintain_order=True).to_list())
        if len(names) < 2:
            raise AftereffectError(f"records must have at least two arms, got only {names[0]!r}")
        if len(names) > MOST_ARMS:
            raise AftereffectError(
                f"records have {len(names):,} arms, at most {MOST_ARMS:,} are read; is it the right column?"
            )
        lower: dict[str, str] = {}
        for name in names:
            other = lower.setdefault(name.lower(), name)
            if other != name:
                row = (column == name).arg_true()[0] + 1
                raise AftereffectError(
                    f"row {row}, column arm: {name!r} differs from {other!r} in capitals only; write one"
                )
        index = column.replace_strict(list(names), list(range(len(names))), return_dtype=polars.Int64)
        return names, index.to_numpy()

    def _refuse_twice(self, rounds: Rounds, arm: Ints, names: tuple[str, ...]) -> None:
        cell = rounds.of_row * len(names) + arm
        order = np.argsort(cell, kind="stable")
        twice = np.flatnonzero(np.diff(cell[order]) == 0)
        if len(twice):
            first, second = sorted((int(order[twice[0]]), int(order[twice[0] + 1])))
            raise AftereffectError(
                f"row {second + 1} repeats row {first + 1}: round {rounds.labels[rounds.of_row[first]]}, arm "
                f"{names[arm[first]]!r}; a round has one row for each arm"
            )

    def _number(self, name: str, low: float, high: float, allowed: str, needed: bool = False) -> Floats:
        """A column as floats, NaN where nothing stands; what is no number between the bounds is refused."""
        column = self.frame[name]
        if column.dtype == polars.String:
            text = column.str.strip_chars()
            self._refuse_thousands(name, text)
            blank = text.is_null() | text.str.to_lowercase().is_in(BLANK).fill_null(True)
            values = text.cast(polars.Float64, strict=False)
            wrong = values.is_null() & ~blank
        elif column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null):
            values = column.cast(polars.Float64)
            wrong = values.is_infinite().fill_null(False)
        else:
            raise AftereffectError(f"column {name} must hold numbers, got {column.dtype}")
        found = values.fill_null(np.nan).to_numpy()
        outside = wrong.to_numpy() | ((found < low) | (found > high))
        if needed:
            outside = outside | np.isnan(found)
        rows = np.flatnonzero(outside)
        if len(rows):
            row = int(rows[0])
            value = "missing" if column[row] is None or (needed and column[row] != column[row]) else shown(column[row])
            if wrong[row] and column.dtype == polars.String:
                allowed += "; write digits and a decimal point, without signs of currency, percent or thousands"
            raise AftereffectError(f"row {row + 1}, column {name}: {value}; must be {allowed}")
        return np.asarray(found)

    def _refuse_thousands(self, name: str, text: polars.Series) -> None:
        """Among decimal commas 1.200 is more likely 1200 than 1.2: asked, not guessed."""
        found = text.str.contains(THOUSANDS).fill_null(False)
        if self.decimal_commas and found.any():
            row = int(found.arg_true()[0])
            raise AftereffectError(
                f"row {row + 1}, column {name}: {shown(text[row])}; in a table with decimal commas points may stand for "
                f"thousands: write {text[row].replace('.', '')}, or a comma for a decimal point"
            )

    def _dense(self, place: Any, shape: Any, values: Floats, empty: float) -> Floats:
        table = np.full(shape, empty)
        table[place] = values
        return table

    def _shares(self, place: Any, shape: Any, rounds: Rounds) -> Floats:
        columns = self.frame.columns
        if "share" in columns and "amount" in columns:
            raise AftereffectError(
                "records have both share and amount; keep one (amounts become shares of the round's total)"
            )
        if "share" in columns:
            allowed = "a share from 0 to 1 (percentages or money go in a column amount)"
            shares = self._dense(place, shape, self._number("share", 0.0, 1.0, allowed, needed=True), 0.0)
            return self._normalised(shares, rounds)
        name = "amount" if "amount" in columns else "trials"
        if name not in columns:
            raise AftereffectError(f"records have no column share or amount; columns are {listed(columns)}")
        if name == "trials":
            self.notes.append("no column share or amount: shares are those of the trials")
        amounts = self._dense(
            place, shape, self._number(name, 0.0, 1e300, "a finite number from 0", name == "amount"), 0.0
        )
        amounts = np.nan_to_num(amounts)
        total = amounts.sum(axis=1, keepdims=True)
        empty = np.flatnonzero((total[:, 0] <= 0) & rounds.given)
        if len(empty):
            raise AftereffectError(f"round {rounds.labels[empty[0]]}: {name} adds up to 0; some arm must get something")
        return np.asarray(amounts / np.where(total > 0, total, 1.0))

    def _normalised(self, shares: Floats, rounds: Rounds) -> Floats:
        total = shares.sum(axis=1)
        off = np.flatnonzero((np.abs(total - 1) > NEAR_ONE) & rounds.given)
        if len(off):
            t = int(off[0])
            row = int(np.flatnonzero(rounds.of_row == t)[0]) + 1
            raise AftereffectError(
                f"row {row}, column share: the shares of round {rounds.labels[t]} add up to {total[t]:g}; must be 1 "
                f"(within {NEAR_ONE:g}, then they are normalised; parts of something else go in a column amount)"
            )
        return np.asarray(shares / np.where(total > 0, total, 1.0)[:, None])

    def _rewards(self, place: Any, shape: Any, shares: Floats) -> tuple[Floats, Floats]:
        columns, low, high = self.frame.columns, *self.range
        counted = "successes" in columns
        if counted and "reward" in columns:
            raise AftereffectError("records have both reward and successes; keep one")
        if not counted and "reward" not in columns:
            raise AftereffectError(f"records have no column reward or successes; columns are {listed(columns)}")
        if counted and "trials" not in columns:
            raise AftereffectError("records have successes but no column trials: of how many?")
        if "trials" in columns:
            trials = self._number("trials", 0.0, 1e12, "a number from 1, or 0 where nothing was tried")
            self._refuse_rows("trials", (trials > 0) & (trials < 1), trials, "at least 1, or 0 where nothing was tried")
        else:
            trials = np.ones(self.frame.height)
        if counted:
            if not self.range.usual:
                raise AftereffectError("reward_range goes with a column reward, not with successes")
            hits = self._number("successes", 0.0, 1e12, "a count from 0")
            self._refuse_rows("successes", hits > np.nan_to_num(trials), hits, "at most the trials of the row")
            found = hits / np.where(trials > 0, trials, np.nan)
        else:
            hint = (
                "" if not self.range.usual else "; for other units say reward_range=(lowest, highest) (--reward-range)"
            )
            found = self.range.learned(self._number("reward", low, high, f"a number from {low:g} to {high:g}{hint}"))
        self._refuse_rows("trials", ~np.isnan(found) & np.isnan(trials), trials, "given where there is a reward")
        own = shares[place]
        self._refuse_rows(
            "reward" if not counted else "successes", (own <= 0) & (found > 0), found, "none where the arm had no share"
        )
        seen = ~np.isnan(found) & (trials > 0) & (own > 0)
        rewards = self._dense(place, shape, np.where(seen, found, np.nan), np.nan)
        return rewards, self._dense(place, shape, np.where(seen, trials, 0.0), 0.0)

    def _refuse_rows(self, name: str, wrong: Any, values: Floats, allowed: str) -> None:
        rows = np.flatnonzero(wrong)
        if len(rows):
            row = int(rows[0])
            value = self.frame[name][row] if name in self.frame.columns else values[row]
            shown_value = "missing" if value is None else shown(value)
            raise AftereffectError(f"row {row + 1}, column {name}: {shown_value}; must be {allowed}")

    def _measures(self, place: Any, shape: Any) -> Floats | None:
        if "measure" not in self.frame.columns:
            return None
        measures = self._dense(place, shape, self._number("measure", 0.0, 1.0, "a number from 0 to 1"), np.nan)
        return None if np.isnan(measures).all() else measures

    def _fill_gaps(self, rounds: Rounds, shares: Floats) -> None:
        """Rounds that nobody wrote down: the last split stayed."""
        last = np.maximum.accumulate(np.where(rounds.given, np.arange(len(rounds.given)), 0))
        shares[:] = shares[last]
