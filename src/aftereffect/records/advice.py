"""Advice on a split: what it should bring against today's, how sure that is, why, and where it rests on nothing seen.

A recommendation has the largest expected gain over today's split among those that hardly risk to lose: the chance that it earns
more than `LOSS` less than today's must be at most that of a normal variable to lie `caution` deviations below its mean. Of splits
that gain about the same the surer one is taken: a small part of the deviation is charged. For every price of variance an exact
maximiser of sums over arms finds the split with the largest expected gain less that price; what is wanted lies among those,
but for the steps between the prices tried and for what arms have in common (their trend, an unknown memory).
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
from aftereffect.oracle.maximise import best_on
from aftereffect.oracle.search import Ints
from aftereffect.policies.curve_thompson import levels_near
from aftereffect.policies.curves.estimates import at_levels
from aftereffect.policies.explanation import amount, percent
from aftereffect.policies.setting import Grid

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit
    from aftereffect.records.trend import Leanings

CAUTION = 1.28  # a chance of one in ten, if nobody says
LOSS = 0.01  # of what today's split earns: less than that is no loss worth avoiding
SURER = 0.2  # times the caution: deviations of the gain that are charged
PRICES = 20  # of variance tried, and as many more between the two that matter
PATH = 26  # rounds of the way to a split that are shown at most
ARRIVED = 0.005  # impacts this near to their shares have arrived


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

    def chance_of_loss(self, current: float) -> float:
        """The probability to earn more than `LOSS` less than today's split does."""
        return 1.0 - self.chance_above(-LOSS * current)

    def chance_above(self, value: float) -> float:
        """The probability of more than a value."""
        sure = np.where(self.deviation > 0, self.deviation, 1e-300)
        apart = np.clip((value - self.mean) / sure, -40, 40) / math.sqrt(2.0)
        tails = 0.5 * np.array([math.erfc(z) for z in apart.tolist()])
        return float(self.weight @ np.where(self.deviation > 0, tails, self.mean > value))

    def quantile(self, chance: float) -> float:
        """The value that is exceeded with one minus this probability."""
        low, high = (float(f(self.mean + sign * 8 * self.deviation)) for f, sign in ((np.min, -1), (np.max, 1)))
        for _ in range(50):
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


class Gains(NamedTuple):
    """What every cell (arm, level) earns more than its arm does today, by each component; (components, arms, N + 1)."""

    weight: Floats
    mean: Floats
    variance: Floats
    shared: Floats  # what one deviation of the arms' common slope adds: deviations of a component that go together

    def of(self, levels: Ints) -> Gain:
        """What some levels earn more than today's split."""
        arms = np.arange(len(levels))
        together = self.shared[:, arms, levels]
        variance = self.variance[:, arms, levels].sum(axis=1) + together.sum(axis=1) ** 2 - (together**2).sum(axis=1)
        return Gain(self.weight, self.mean[:, arms, levels].sum(axis=1), np.sqrt(np.maximum(0.0, variance)))

    def by_cell(self) -> tuple[Floats, Floats]:
        """Mean and variance of every cell over the components; (arms, N + 1) each."""
        mean = np.tensordot(self.weight, self.mean, 1)
        square = np.tensordot(self.weight, self.variance + self.mean**2, 1)
        return mean, np.maximum(0.0, square - mean**2)


def gains_over(leanings: Leanings, home: Ints, steps: int) -> Gains:
    """All gains over a split that is held."""
    (curves, shared), p, q = leanings, np.arange(steps + 1) / steps, (home / steps)[:, None]

    def over_home(table: Floats) -> Floats:
        return np.asarray(p * table - q * at_levels(table, home))

    variance = p * p * curves.variance + q * q * at_levels(curves.variance, home) - 2 * p * q * curves.column
    variance[:, np.arange(len(home)), home] = 0.0
    return Gains(curves.weight, over_home(curves.mean), np.maximum(0.0, variance), over_home(shared))


def advised_levels(fit: Fit, limits: Limits, caution: float) -> Ints:
    """The levels with the largest expected gain whose chance of a loss is as small as `caution` asks."""
    low, high = limits.levels(fit.steps, zero=True)
    mean, variance = fit.gains.by_cell()

    def best_at(price: float) -> Ints:
        return best_on(mean - price * variance, low, high)[0]

    tried = prices(variance, caution)
    found = [best_at(price) for price in tried]
    place = boldest(fit, found, caution)
    if place > 0:  # the price that just makes it safe lies between two of those tried
        between = np.linspace(tried[place - 1], tried[place], PRICES)[1:-1]
        found = [found[place], *(best_at(price) for price in between)]
        place = boldest(fit, found, caution)
    if limits.allows(fit.home / fit.steps):
        found = [found[place], fit.home]
        place = boldest(fit, found, caution)
    return found[place]


def prices(variance: Floats, caution: float, tried: int = PRICES) -> Floats:
    """Prices of variance from none on; without caution it costs nothing."""
    if caution == 0:
        return np.zeros(1)
    largest = max(math.sqrt(float(variance.max(axis=1).sum())), 1e-12)
    return np.concatenate([[0.0], np.geomspace(0.1, 500.0, tried - 1) / largest])


def boldest(fit: Fit, found: list[Ints], caution: float) -> int:
    """Which of some levels is best among those that are safe enough; if none is, the safest."""
    allowed = 0.5 * math.erfc(caution / math.sqrt(2.0)) if caution > 0 else 1.0
    current = fit.expected_of(fit.home)
    gains = [fit.gains.of(levels) for levels in found]
    chances = [gain.chance_of_loss(current) for gain in gains]
    safe = [i for i, chance in enumerate(chances) if chance <= allowed]
    return max(safe, key=lambda i: worth(gains[i], caution)) if safe else int(np.argmin(chances))


def worth(gain: Gain, caution: float) -> float:
    """The expected gain, less a part of its deviation."""
    return gain.expected - SURER * caution * gain.spread


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
    gain, split = fit.gains.of(levels), levels / fit.steps
    given = split if shares is None else shares
    path = way_to(fit, split)
    measured = None if fit.records.measures is None else fit.measures.of(levels)
    return Advice(
        allocation=name_all(given),
        expected=float(told(fit.expected_of(levels))),
        expected_next=float(path["expected"][0]),
        current=float(told(fit.expected_of(fit.home))),
        gain=scale * gain.expected,
        gain_low=scale * gain.quantile(0.025),
        gain_high=scale * gain.quantile(0.975),
        chance_better=gain.chance_above(0.0),
        reasons={name: _reason(fit, k, int(levels[k]), given[k]) for k, name in enumerate(fit.names)},
        unseen=tuple(filter(None, (unseen_share(fit, k, int(level)) for k, level in enumerate(levels)))),
        measures=None if measured is None else name_all(measured),
        gap=None if measured is None else float(np.ptp(measured)),
        moves=not np.array_equal(levels, fit.home),
        path=path,
    )


def way_to(fit: Fit, split: Floats) -> polars.DataFrame:
    """Round by round, until every impact is near its share: the round, the expected reward, each arm's impact."""
    tracks, curves, steps = fit.state.tracks, fit.curves, fit.steps
    impact, weight = fit.state.impact, tracks["weight"]
    arms, parts = np.arange(len(split)), np.arange(len(curves.weight))[:, None]
    rows: list[dict[str, Any]] = []
    while len(rows) < PATH and not (rows and np.abs(fit.believed @ np.abs(impact - split)).max() < ARRIVED):
        weight = 1.0 + tracks["memory"] * weight
        impact = impact + (split - impact) / weight[:, None]
        place = steps * impact[curves.track]
        node = np.minimum(steps - 1, place.astype(np.int64))
        left, right = curves.mean[parts, arms, node], curves.mean[parts, arms, node + 1]
        earned = curves.weight @ ((left + (place - node) * (right - left)) @ split)
        row = {"round": len(rows) + 1, "expected": float(fit.records.as_told(earned))}
        rows.append(row | fit.records.by_name(fit.believed @ impact))
    return polars.DataFrame(rows)


def _reason(fit: Fit, k: int, level: int, share: float) -> str:
    """Why this share, from what is estimated at its level and at today's."""
    told, mean, home, steps = fit.records.as_told, fit.estimates[0][k], int(fit.home[k]), fit.steps
    here, there, today = amount(told(mean[home])), amount(told(mean[level])), percent(fit.recent[k])
    if level == home:
        return f"stays at {today}, where it responds with {here}"
    change = "more" if level > home else "less"
    worth = told(mean[level]) * level / steps - told(mean[home]) * home / steps
    return (
        f"{change}: {today} to {percent(share)}; responds with {there} there against {here} today, so "
        f"its part of the result {'rises' if worth >= 0 else 'falls'} by {amount(abs(worth))}"
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
