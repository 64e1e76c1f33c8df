"""Advice on a split: what it should bring against today's, how sure that is, why, and where it rests on nothing seen.

A recommendation maximises the expected gain over today's split less `caution` deviations of it, jointly over all arms. The
deviation of a sum is no sum of deviations, but sqrt(V) is the least of V/(2s) + s/2 over s, so for every s an exact maximiser of
sums finds a best split, and the best of those is the best of all, but for the steps between the values of s tried and for
what arms have in common where the memory is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars

from aftereffect.errors import AftereffectError, require_numbers
from aftereffect.model.curves import Floats
from aftereffect.model.limits import Limits
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.curve_thompson import levels_near
from aftereffect.policies.explanation import percent
from aftereffect.policies.setting import Grid

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit

CAUTION = 0.75  # deviations of the gain that count against a split, if nobody says
SPREADS = 30  # values of s tried
PATH = 26  # rounds of the way to a split that are shown at most
ARRIVED = 0.005  # impacts this near to their shares have arrived
NO_TIES = np.zeros(0, dtype=np.uint64)


class Gain(NamedTuple):
    """Each component's normal distribution of what a split earns more than today's, a round."""

    weight: Floats
    mean: Floats
    deviation: Floats

    @property
    def expected(self) -> float:
        """The mean over everything that is believed."""
        return float(self.weight @ self.mean)

    @property
    def spread(self) -> float:
        """The deviation over everything that is believed."""
        return math.sqrt(max(0.0, float(self.weight @ (self.mean**2 + self.deviation**2)) - self.expected**2))

    def chance_above(self, value: float) -> float:
        """The probability of more than a value."""
        sure = np.where(self.deviation > 0, self.deviation, 1e-300)
        tails = [0.5 * math.erfc(z / math.sqrt(2.0)) for z in np.clip((value - self.mean) / sure, -40, 40)]
        return float(self.weight @ np.where(self.deviation > 0, tails, self.mean > value))

    def quantile(self, chance: float) -> float:
        """The value that is exceeded with one minus this probability."""
        low, high = (float(f(self.mean + sign * 8 * self.deviation)) for f, sign in ((np.min, -1), (np.max, 1)))
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.chance_above(middle) > 1 - chance else (low, middle)
        return 0.5 * (low + high)


@dataclass(frozen=True)
class Advice:
    """A split and what it should bring; rewards are a unit's mean, in the records' own unit.

    `expected` is what it earns in the long run, `expected_next` in the first round, `current` what today's split earns in the
    long run; `gain` with `gain_low` and `gain_high` (95 percent) is the difference, `chance_better` the probability that there
    is one at all. `measures` and their `gap` are those of fairness. `path` shows the way there round by round; `reasons` say
    why for each arm, `unseen` where nothing was seen.
    """

    allocation: dict[str, float]
    expected: float
    expected_next: float
    current: float
    gain: float
    gain_low: float
    gain_high: float
    chance_better: float
    reasons: dict[str, str]
    unseen: tuple[str, ...]
    moves: bool
    measures: dict[str, float] | None  # of fairness, where the records have some
    gap: float | None  # between the largest and the smallest of them
    path: polars.DataFrame = field(repr=False, compare=False)


def gain_of(fit: Fit, levels: Ints) -> Gain:
    """What some levels earn more than today's split."""
    arms, home, steps = np.arange(len(levels)), fit.home, fit.steps
    p, q = levels / steps, home / steps
    means, variances = [], []
    for part in fit.parts:
        means.append(p @ part.mean[arms, levels] - q @ part.mean[arms, home])
        own = p * p * part.variance[arms, levels] + q * q * part.variance[arms, home]
        variances.append(np.maximum(0.0, own - 2 * p * q * part.column[arms, levels]).sum())
    unchanged = np.array_equal(levels, home)
    return Gain(
        np.array([part.weight for part in fit.parts]),
        np.array(means),
        np.zeros(len(means)) if unchanged else np.sqrt(np.array(variances)),
    )


def gain_tables(fit: Fit) -> tuple[Floats, Floats]:
    """Mean and variance of what every cell (arm, level) earns more than the arm does today; (arms, N + 1) each."""
    home, steps = fit.home, fit.steps
    arms, p, q = np.arange(len(home)), np.arange(steps + 1) / steps, (home / steps)[:, None]
    mean, square = np.zeros((len(home), steps + 1)), np.zeros((len(home), steps + 1))
    for part in fit.parts:
        here = p * part.mean - q * part.mean[arms, home][:, None]
        variance = p * p * part.variance + q * q * part.variance[arms, home][:, None] - 2 * p * q * part.column
        mean += part.weight * here
        square += part.weight * (np.maximum(0.0, variance) + here**2)
    return mean, np.maximum(0.0, square - mean**2)


def advised_levels(fit: Fit, limits: Limits, caution: float) -> Ints:
    """The levels with the largest expected gain less `caution` deviations of it."""
    low, high = limits.levels(fit.steps, zero=True)
    mean, variance = gain_tables(fit)
    largest = math.sqrt(float(variance.max(axis=1).sum()))
    found = [] if not limits.allows(fit.home / fit.steps) else [fit.home]
    for spread in [math.inf] if caution == 0 else np.geomspace(1e-3, 1.0, SPREADS) * max(largest, 1e-12):
        value = np.ascontiguousarray(mean - caution * variance / (2 * spread))
        levels = np.zeros(len(mean), dtype=np.int64)
        best_plain(value, low, high, np.zeros(value.shape), levels, NO_TIES)
        found.append(levels)
    return max(found, key=lambda levels: _cautious(gain_of(fit, levels), caution))


def _cautious(gain: Gain, caution: float) -> float:
    return gain.expected - caution * gain.spread


def advise(fit: Fit, limits: Limits, caution: float) -> Advice:
    """The recommendation within limits."""
    require_numbers("best", caution=caution)
    if caution < 0:
        raise AftereffectError(f"caution must be at least 0, got {caution}")
    return advice_on(fit, advised_levels(fit, limits, float(caution)))


def judge(fit: Fit, shares: Floats) -> Advice:
    """What any split would bring; shares count to the nearest level."""
    low, high = Limits.of(len(shares)).levels(fit.steps, zero=True)
    return advice_on(fit, levels_near(Grid(fit.steps, low, high), shares), shares)


def advice_on(fit: Fit, levels: Ints, shares: Floats | None = None) -> Advice:
    """What some levels should bring; `shares` are what they stand for, where that is no level."""
    told, scale, name_all = fit.records.as_told, fit.records.scale, fit.records.by_name
    gain, split = gain_of(fit, levels), levels / fit.steps
    mean = np.sum([part.weight * part.mean for part in fit.parts], axis=0)
    arms, home = np.arange(len(levels)), fit.home
    path = way_to(fit, split)
    measured = None if fit.records.measures is None else fit.measures.of(levels)
    return Advice(
        allocation=name_all(split if shares is None else shares),
        expected=float(told(split @ mean[arms, levels])),
        expected_next=float(path["expected"][0]),
        current=float(told(home / fit.steps @ mean[arms, home])),
        gain=scale * gain.expected,
        gain_low=scale * gain.quantile(0.025),
        gain_high=scale * gain.quantile(0.975),
        chance_better=gain.chance_above(0.0),
        reasons={name: _reason(fit, k, int(levels[k]), mean[k]) for k, name in enumerate(fit.names)},
        unseen=tuple(filter(None, (unseen_share(fit, k, int(level)) for k, level in enumerate(levels)))),
        measures=None if measured is None else name_all(measured),
        gap=None if measured is None else float(np.ptp(measured)),
        moves=not np.array_equal(levels, home),
        path=path,
    )


def way_to(fit: Fit, split: Floats) -> polars.DataFrame:
    """Round by round, until every impact is near its share: the round, the expected reward, each arm's impact."""
    tracks = fit.state.tracks
    impact, weight = fit.state.impact.copy(), tracks["weight"].copy()
    place = np.arange(fit.steps + 1) / fit.steps
    believed = np.zeros(len(tracks))
    for part in fit.parts:
        believed[part.track] += part.weight
    rows: list[dict[str, Any]] = []
    while len(rows) < PATH and not (rows and np.abs(believed @ np.abs(impact - split)).max() < ARRIVED):
        weight = 1.0 + tracks["memory"] * weight
        impact = impact + (split - impact) / weight[:, None]
        earned = sum(
            part.weight * sum(p * np.interp(impact[part.track, k], place, part.mean[k]) for k, p in enumerate(split))
            for part in fit.parts
        )
        row = {"round": len(rows) + 1, "expected": float(fit.records.as_told(earned))}
        rows.append(row | fit.records.by_name(believed @ impact))
    return polars.DataFrame(rows)


def _reason(fit: Fit, k: int, level: int, mean: Floats) -> str:
    """Why this share, from what is estimated there and at today's."""
    told, home, steps = fit.records.as_told, int(fit.home[k]), fit.steps
    here, there = f"{told(mean[home]):.3g}", f"{told(mean[level]):.3g}"
    if level == home:
        return f"stays at {percent(home / steps)}, where it responds with {here}"
    change = "more" if level > home else "less"
    worth = told(mean[level]) * level / steps - told(mean[home]) * home / steps
    return (
        f"{change}: {percent(home / steps)} to {percent(level / steps)}; responds with {there} there against {here} today, so "
        f"its part of the result {'rises' if worth >= 0 else 'falls'} by {abs(worth):.3g}"
    )


def unseen_share(fit: Fit, k: int, level: int) -> str | None:
    """Does a share lie where nothing was seen of the arm?"""
    (low, high), shares, steps = fit.visited, fit.records.shares[:, k], fit.steps
    name, share = fit.names[k], level / steps
    if np.isnan(low[k]):
        return f"{name}: never seen at all"
    if low[k] - 1 / steps <= share <= high[k] + 1 / steps or level == 0:
        return None
    side, edge = ("beyond", high[k]) if share > high[k] else ("below", low[k])
    tried = shares.min() <= share <= shares.max()
    return f"{name} {side} {percent(edge)}: " + ("never held long enough to be seen" if tried else "never tried")
