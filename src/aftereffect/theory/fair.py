"""The fair optimum: the best fixed allocation that keeps the groups' measures in parity, and what parity costs (App. B)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aftereffect.errors import AftereffectError, numbers, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import check_tolerance
from aftereffect.model.problem import Problem
from aftereffect.oracle.bands import best_in_band, smallest_tolerance
from aftereffect.oracle.maximise import best_on
from aftereffect.oracle.search import NO_TIES, Ints

LEVELS = 200  # default grid: shares in steps of half a percent
MOST_ARMS = 50  # with which results compute the fair optimum unasked: a fraction of a second


class Unattainable(AftereffectError):
    """A tolerance that no allocation can meet; `smallest` is the smallest that one can."""

    def __init__(self, tolerance: float, smallest: float, levels: int) -> None:
        upward = math.ceil(smallest * 1e6) / 1e6
        super().__init__(
            f"no allocation keeps the measures within {tolerance:g} of each other; the smallest tolerance that one can "
            f"meet is {upward:g} (shares in steps of 1/{levels})"
        )
        self.smallest = smallest


@dataclass(frozen=True, eq=False)
class FairOptimum:
    """The best fixed allocation on a grid under a tolerance, and what the tolerance costs.

    `utility` and `unconstrained` are a round's, the second that of the best allocation of the same grid without the
    tolerance; `measures` are each arm's, `gap` the largest difference between two of them.
    """

    allocation: Floats
    utility: float
    tolerance: float
    measures: Floats
    unconstrained: float
    levels: int

    @property
    def gap(self) -> float:
        """How far apart the measures are."""
        return float(np.ptp(self.measures))

    @property
    def price(self) -> float:
        """The price of fairness: utility a round given up for the tolerance."""
        return self.unconstrained - self.utility


@dataclass(frozen=True, eq=False)
class FairTables:
    """A problem on a grid: utility and measure of every cell (arm, level)."""

    value: Floats
    measure: Floats
    low: Ints
    high: Ints

    @property
    def levels(self) -> int:
        return int(self.value.shape[1]) - 1

    def best(self, tolerance: float | None) -> tuple[Ints, float]:
        """Levels and utility of the best allocation; -inf where no allocation meets the tolerance."""
        if tolerance is None:
            return best_on(self.value, self.low, self.high)
        levels, trial = np.zeros((2, len(self.value)), dtype=np.int64)
        bounds, allowed, plain = np.zeros((3, *self.value.shape))
        index = best_in_band(
            self.value,
            self.measure,
            self.measure,
            tolerance,
            low=self.low,
            high=self.high,
            bounds=bounds,
            allowed=allowed,
            plain=plain,
            trial=trial,
            levels=levels,
            rng=NO_TIES,
        )
        return levels, float(index)

    def optimum(self, levels: Ints, utility: float, tolerance: float, unconstrained: float) -> FairOptimum:
        measures = self.measure[np.arange(len(levels)), levels]
        return FairOptimum(levels / self.levels, utility, tolerance, measures, unconstrained, self.levels)

    def fair(self, tolerance: float) -> FairOptimum | None:
        """The fair optimum; None where no allocation meets the tolerance."""
        levels, utility = self.best(tolerance)
        return None if utility == -math.inf else self.optimum(levels, utility, tolerance, self.best(None)[1])

    def frontier(self) -> list[FairOptimum]:
        """Every allocation that is best for some tolerance, tightest first."""
        _, unconstrained = self.best(None)
        found: list[FairOptimum] = []
        tolerance = 1.0
        while tolerance >= 0.0:
            best, utility = self.best(tolerance)
            if utility == -math.inf:
                break
            gap = float(np.ptp(self.measure[np.arange(len(best)), best]))
            entry = self.optimum(best, utility, gap, unconstrained)
            if found and utility >= found[-1].utility - 1e-15:
                found.pop()  # as good with a smaller gap
            found.append(entry)
            tolerance = entry.gap - 1e-9
        return found[::-1]


def fair_tables(problem: Problem, levels: int) -> FairTables:
    """A problem with a fairness measure on the grid of so many levels."""
    if not isinstance(problem, Problem):
        raise AftereffectError(f"a fair optimum needs a problem, got {shown(problem)}")
    if problem.fairness is None:
        raise AftereffectError(f"problem {problem.label!r} has no fairness measure")
    if problem.follows_activations:
        raise AftereffectError("a fair optimum needs an impact driven by the intended shares, not by activations")
    if problem.moving is not None:
        raise AftereffectError("a fair optimum needs responses that stay: under drift the best allocation moves")
    require_whole("levels", levels, problem.arms, 100_000)
    shares = np.arange(levels + 1) / levels
    low, high = problem.limits.levels(levels, zero=True)
    value = np.stack([shares * problem.steady(k, shares) for k in range(problem.arms)])
    limits = [i.limit(shares) for i in problem.impacts]
    measure = problem.measure(np.stack(limits, axis=-1)).T
    return FairTables(value, np.ascontiguousarray(measure), low, high)


def fair_optimum(problem: Problem, tolerance: float | None = None, levels: int = LEVELS) -> FairOptimum:
    """The best fixed allocation with |pi_i - pi_j| <= tolerance for all pairs, exact on the grid of so many levels.

    `tolerance` defaults to the problem's own. One that no allocation can meet raises `Unattainable`, which names the
    smallest that one can.
    """
    tables = fair_tables(problem, levels)
    wanted = float(problem.fairness.tolerance) if tolerance is None else check_tolerance(tolerance)  # type: ignore[union-attr]
    found = tables.fair(wanted)
    if found is None:
        raise Unattainable(wanted, smallest_tolerance(tables.measure, tables.low, tables.high), levels)
    return found


def fair_optimum_or_none(problem: Problem) -> FairOptimum | None:
    """The fair optimum at the problem's own tolerance, for results; None where there is none to compare with.

    That is where no allocation meets the tolerance, where floors and caps leave none on the grid, where the impact follows
    activations, under drift, and with so many arms that finding it would take longer than what it is compared with.
    """
    if (
        problem.follows_activations
        or problem.fairness is None
        or problem.moving is not None
        or problem.arms > MOST_ARMS
    ):
        return None
    try:
        problem.limits.levels(LEVELS, zero=True)
    except AftereffectError:  # nobody asked for it, so its grid is no reason to refuse a simulation
        return None
    return fair_tables(problem, LEVELS).fair(float(problem.fairness.tolerance))


def fair_frontier(problem: Problem, levels: int = LEVELS) -> list[FairOptimum]:
    """The whole frontier, utility against tolerance: every allocation that is best for some tolerance, tightest first.

    Each entry's `tolerance` is the smallest for which it is best; it stays so up to the next entry's. From the best of all,
    the tolerance is lowered just below the gap reached until nothing is left.
    """
    return fair_tables(problem, levels).frontier()


def pairs_of(arms: int) -> list[tuple[int, int]]:
    """Pairs of arms in the order (0, 1), (0, 2), .., (1, 2), .."""
    return [(i, j) for i in range(arms) for j in range(i + 1, arms)]


def arm_multipliers(plus: object, minus: object, arms: int) -> tuple[float, ...]:
    """The lambda_k of App. B from the pairs' multipliers lambda+ and lambda-, both at least 0.

    Pairs (i, j) with i < j come in the order (0, 1), (0, 2), .., (1, 2), ..; lambda_k is minus the sum of lambda+ - lambda- over
    pairs with k first, plus the sum over pairs with k second. The lambda_k add up to zero and may be negative.

    >>> arm_multipliers([0.3], [0.1], arms=2)
    (-0.2, 0.2)
    """
    pairs = pairs_of(require_whole("arms", arms))
    rows = []
    for name, given in (("lambda+", plus), ("lambda-", minus)):
        row = np.array(numbers(name, np.atleast_1d(np.asarray(given, dtype=object)).tolist()))
        if row.shape != (len(pairs),):
            raise AftereffectError(f"{name}: one for each of {len(pairs)} pairs of arms, got {row.size}")
        if not np.all((row >= 0) & np.isfinite(row)):
            raise AftereffectError(f"{name} must be numbers from 0, got {row.tolist()}")
        rows.append(row)
    result = np.zeros(arms)
    for (i, j), difference in zip(pairs, rows[0] - rows[1], strict=True):
        result[i] -= difference
        result[j] += difference
    return tuple(float(round(v, 15)) for v in result)
