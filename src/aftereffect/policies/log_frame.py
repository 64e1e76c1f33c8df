"""An agent's latest rounds as a table, one row for each round and arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.policies.course import Course
from aftereffect.policies.explanation import STAGES
from aftereffect.policies.round_log import Round

if TYPE_CHECKING:
    import polars as pl

OTHERWISE = 0.02  # of a share: less is what whole units leave
CHOSEN = "People chose another split than was advised; they gave no reason."


def log_frame(course: Course, names: Sequence[str]) -> pl.DataFrame:
    """Round, arm, what was advised and deployed (`share`), what was told of it and when, the policy's stage and the reason.

    The reason is the one that people gave; where they gave none and followed the advice, the policy's, in words.

    The columns that records have are called as there: `ae.read_records` takes the table as it is.
    """
    import polars as pl

    rows = [
        row for number, happened in enumerate(course.log, course.first + 1) for row in _rows(number, happened, names)
    ]
    moment = pl.Datetime("us", "UTC")
    columns: dict[str, Any] = {
        "round": pl.Int64,
        "arm": pl.String,
        "advised": pl.Float64,
        "share": pl.Float64,
        "reward": pl.Float64,
        "trials": pl.Float64,
        "measure": pl.Float64,
        "status": pl.String,
        "asked_at": moment,
        "deployed_at": moment,
        "told_at": moment,
        "stage": pl.String,
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _rows(number: int, happened: Round, names: Sequence[str]) -> list[tuple[Any, ...]]:
    moments = [_moment(at) for at in (happened.asked_at, happened.deployed_at, happened.told_at)]
    why = (happened.stage or None, happened.reason or _unsaid(happened))
    rows = []
    for k, share in enumerate(happened.deployed.tolist()):
        trials = float(happened.seen[k])
        advised = None if happened.advised is None else float(happened.advised[k])
        measure = None if happened.measure is None or math.isnan(happened.measure[k]) else float(happened.measure[k])
        status = "open" if math.isnan(trials) else "told" if happened.known else "unknown"
        told = (float(happened.reward[k]), trials) if trials > 0 else (None, None if math.isnan(trials) else trials)
        rows.append((number, names[k], advised, share, *told, measure, status, *moments, *why))
    return rows


def _unsaid(happened: Round) -> str | None:
    """The reason where people gave none: the policy's, if what it advised was deployed."""
    advised, deployed = happened.advised, happened.deployed
    if advised is not None and len(advised) == len(deployed) and np.abs(advised - deployed).max() > OTHERWISE:
        return CHOSEN
    return STAGES.get(happened.stage)


def _moment(seconds: float) -> datetime | None:
    return None if math.isnan(seconds) else datetime.fromtimestamp(seconds, UTC)
