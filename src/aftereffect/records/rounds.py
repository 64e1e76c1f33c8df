"""Which round a row belongs to: whole numbers (also 202412), or evenly spaced dates; what is left out counts as a round."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars

from aftereffect.errors import AftereffectError, shown
from aftereffect.model.world import Ints

LONGEST_GAP = 1000  # rounds: beyond it a number or a date is a slip
MONTH, WEEK = "%Y-%m", "%G-W%V"  # of which the first day is taken
FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M")
LISTED = 5  # gaps that a note names
EARLIEST = 1000  # a year with fewer digits was cut short
YEARS = (1900, 2100)  # of numbers such as 202412
MONTHS, WEEKS = 12, 53  # in a year, at most
REGULAR = 2 / 3  # of the distances are the usual one, or a multiple of it: another one is a slip


class Rounds(NamedTuple):
    """Rounds from the first to the last, also those that no row is about."""

    of_row: Ints  # the round of each row, from 0
    labels: tuple[str, ...]
    given: npt.NDArray[np.bool_]  # is there any row about it?
    notes: list[str]


def number_rounds(column: polars.Series, name: str) -> Rounds:
    """Rounds in order of their numbers or dates."""
    blank = column.is_null()
    if column.dtype == polars.String:
        column = column.str.strip_chars()
        blank = blank | (column == "").fill_null(True)
    if blank.any():
        raise AftereffectError(f"row {_first(blank)}, column {name}: missing; must be a whole number or a date")
    if column.dtype.is_temporal() and column.dtype not in (polars.Time, polars.Duration):
        local = column.dt.replace_time_zone(None) if isinstance(column.dtype, polars.Datetime) else column
        return _by_date(local.cast(polars.Datetime("us")), name)
    whole = _whole(column)
    if whole is not None and _in_years(whole):
        return _by_year(whole, name)
    if whole is not None:
        return _laid_out(whole, str, name, [])
    if column.dtype == polars.String:
        return _by_date(_dates(column, name), name)
    raise AftereffectError(f"column {name} must hold whole numbers or dates, got {column.dtype}")


def _first(wrong: polars.Series) -> int:
    return int(np.flatnonzero(wrong.to_numpy())[0]) + 1


def _whole(column: polars.Series) -> Ints | None:
    """Whole numbers, also where they stand as text or as 3.0; None where most are something else."""
    if column.dtype == polars.Boolean:
        return None
    values = column.cast(polars.Float64, strict=False)
    fits = (values.is_finite() & (values == values.round())).fill_null(False)
    if fits.sum() * 2 < len(column):
        return None
    if not fits.all():
        row = _first(~fits)
        raise AftereffectError(
            f"row {row}, column round: {shown(column[row - 1])}; must be a whole number, as in the other rows"
        )
    if values.abs().max() > 2**52:  # type: ignore[operator]
        row = _first(values.abs() > 2**52)
        raise AftereffectError(f"row {row}, column round: {shown(column[row - 1])} is too large for a round's number")
    return values.cast(polars.Int64).to_numpy()


def _in_years(whole: Ints) -> bool:
    """Numbers such as 202412 that pass a year's end; within one year they are consecutive as they are."""
    years, parts = np.divmod(whole, 100)
    fit = (years >= YEARS[0]) & (years <= YEARS[1]) & (parts >= 1) & (parts <= WEEKS)
    return bool(fit.all() and years.min() < years.max())


def _by_year(whole: Ints, name: str) -> Rounds:
    """Months of years, or ISO weeks where some are beyond 12: 202501 comes after 202412."""
    monthly = int((whole % 100).max()) <= MONTHS
    first_day = {}
    for number in np.unique(whole).tolist():
        year, part = divmod(number, 100)
        try:
            first_day[number] = dt.datetime(year, part, 1) if monthly else dt.datetime.fromisocalendar(year, part, 1)
        except ValueError:
            row = int(np.flatnonzero(whole == number)[0]) + 1
            raise AftereffectError(
                f"row {row}, column {name}: {number}; the year {year} has 52 weeks (ISO 8601): correct it, or number the rounds"
            ) from None
    dates = polars.Series([first_day[number] for number in whole.tolist()], dtype=polars.Datetime("us"))
    found = _by_date(dates, name)
    kind = "months" if monthly else "ISO weeks, called by their first days"
    return found._replace(notes=[f"{name}s such as {whole[0]} were read as {kind}", *found.notes])


def _dates(column: polars.Series, name: str) -> polars.Series:
    """Dates in the one format that fits most rows."""
    read = [column.str.to_datetime(form, strict=False, time_unit="us") for form in FORMATS]
    for form, first in ((MONTH, "%d"), (WEEK, "%u")):
        read.append((column + "-1").str.to_datetime(f"{form}-{first}", strict=False, time_unit="us"))
    best = min(read, key=lambda dates: dates.null_count())
    if best.null_count():
        row = _first(best.is_null())
        raise AftereffectError(
            f"row {row}, column {name}: {shown(column[row - 1])}; must be a whole number or a date such as 2026-03-02, "
            "02.03.2026, 2026-03 or 2026-W10"
        )
    return best


def _by_date(dates: polars.Series, name: str) -> Rounds:
    """Dates at equal distances, or months; else each date is one round."""
    stamps = dates.dt.timestamp("us").to_numpy().astype(np.int64)
    distinct = np.unique(stamps)
    months = (dates.dt.year().cast(polars.Int64) * 12 + dates.dt.month().cast(polars.Int64)).to_numpy()
    monthly = len(np.unique(months)) == len(distinct)
    _refuse_short_years(dates, name)
    if not monthly:
        _refuse_slips(dates, stamps, distinct, name)
    step = int(np.diff(distinct).min()) if len(distinct) > 1 else 1
    first = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(distinct[0]))
    midnight = bool((stamps % 86_400_000_000 == 0).all())
    if np.all((distinct - distinct[0]) % step == 0) and len(distinct) > 1:
        number = (stamps - distinct[0]) // step

        def label(n: int) -> str:
            return _day(first + n * dt.timedelta(microseconds=step), midnight)

        return _laid_out(number, label, name, [])
    if monthly:
        start = int(months.min())

        def month(n: int) -> str:
            return f"{(start + n - 1) // 12:04d}-{(start + n - 1) % 12 + 1:02d}"

        return _laid_out(months - start, month, name, [])
    number = np.searchsorted(distinct, stamps)

    def nth(n: int) -> str:
        return _day(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(distinct[n])), midnight)

    note = [] if len(distinct) < 2 else ["dates are not evenly spaced: each date counts as one round"]
    return _laid_out(number, nth, name, note)


def _refuse_short_years(dates: polars.Series, name: str) -> None:
    early = dates.dt.year() < EARLIEST
    if early.any():
        row = _first(early)
        raise AftereffectError(
            f"row {row}, column {name}: the year {dates.dt.year()[row - 1]}; it must have four digits, as in 2026-03-02"
        )


def _refuse_slips(dates: polars.Series, stamps: Ints, distinct: Ints, name: str) -> None:
    """A date that would tear all others apart: weeks with one wrong day would count as days."""
    apart = np.diff(distinct)
    usual = int(np.median(apart)) if len(apart) else 0
    if not usual or apart.min() >= usual or np.mean(apart % usual == 0) < REGULAR:
        return
    slip = distinct[1:][apart % usual != 0][0]
    row = int(np.flatnonzero(stamps == slip)[0]) + 1
    days = dt.timedelta(microseconds=usual) / dt.timedelta(days=1)
    raise AftereffectError(
        f"row {row}, column {name}: {dates[row - 1]:%Y-%m-%d} does not fit dates that are {days:g} days apart; "
        "correct it, or number the rounds"
    )


def _day(when: dt.datetime, midnight: bool) -> str:
    return f"{when:%Y-%m-%d}" if midnight else f"{when:%Y-%m-%d %H:%M}"


def _laid_out(number: Ints, label: Any, name: str, notes: list[str]) -> Rounds:
    distinct = np.unique(number)
    gaps = np.diff(distinct)
    if len(gaps) and gaps.max() > LONGEST_GAP:
        at = int(gaps.argmax())
        row = int(np.flatnonzero(number == distinct[at + 1])[0]) + 1
        raise AftereffectError(
            f"row {row}, column {name}: {label(int(distinct[at + 1]))} comes {int(gaps[at]):,} rounds after "
            f"{label(int(distinct[at]))}; at most {LONGEST_GAP:,} rounds may be missing in a row"
        )
    start, count = int(distinct[0]), int(distinct[-1] - distinct[0]) + 1
    given = np.zeros(count, dtype=np.bool_)
    given[distinct - start] = True
    return Rounds(
        number - start, tuple(label(start + n) for n in range(count)), given, notes + _gap_notes(distinct, label)
    )


def _gap_notes(distinct: Ints, label: Any) -> list[str]:
    """What is missing, and what stands in for it."""
    found = [(int(a) + 1, int(b) - 1) for a, b in pairwise(distinct) if b - a > 1]
    if not found:
        return []
    total = sum(b - a + 1 for a, b in found)
    spans = [label(a) if a == b else f"{label(a)} to {label(b)}" for a, b in found[:LISTED]]
    more = f" and {len(found) - LISTED} more gaps" if len(found) > LISTED else ""
    return [
        f"{total:,} round{'s' if total > 1 else ''} without a row ({', '.join(spans)}{more}): counted as rounds with the split "
        "before, nothing seen"
    ]
