"""Fairness from records: where arms' measures were written down, the best split that keeps them together, and what that costs.

Measures are curves on the impact like the responses, learned by the same model; the memory is what the rewards say of it.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import check_tolerance
from aftereffect.model.limits import Limits
from aftereffect.oracle.bands import smallest_tolerance
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.estimates import components, fold, mixture
from aftereffect.policies.curves.tracks import TEMPERED
from aftereffect.policies.fair_thompson import CELLS
from aftereffect.records.advice import boldest, prices
from aftereffect.theory.fair import FairTables, Unattainable

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit

PRICES = 8  # of variance tried: a search within a tolerance takes longer than one without


class Measures:
    """The measures' curves: `mean` and `deviation` are (arms, N + 1)."""

    def __init__(self, fit: Fit) -> None:
        table = fit.records.measures
        if table is None:
            raise AftereffectError("these records have no column measure, so nothing is known of the arms' standing")
        self.fit = fit
        seen = (~np.isnan(table)).astype(np.float64)
        state = fold(fit.policy.state(fit.setting), fit.records.shares, seen, np.nan_to_num(table))
        state.now["learns_memory"] = 1  # all tracks are looked at, each believed as far as the rewards say
        state.evidence[:] -= np.logaddexp.reduce(state.evidence, axis=1, keepdims=True)
        state.evidence[:] += np.log(np.maximum(fit.believed, 1e-12))[:, None] / TEMPERED  # `components` tempers it
        self.mean, self.deviation = mixture(components(state, fit.home))

    @cached_property
    def stride(self) -> int:
        """Every so manieth level is looked at: bands are compared cell by cell."""
        steps, most = self.fit.steps, max(2 * len(self.mean), CELLS // len(self.mean))
        return next(s for s in range(1, steps + 1) if steps % s == 0 and steps // s <= most)

    def tables(self, limits: Limits, price: float = 0.0) -> FairTables:
        """What every cell is worth at a price of variance, and its measure."""
        mean, variance = self.fit.gains.by_cell()
        value = np.ascontiguousarray((mean - price * variance)[:, :: self.stride])
        low, high = limits.levels(self.fit.steps // self.stride, zero=True)
        return FairTables(value, np.ascontiguousarray(self.mean[:, :: self.stride]), low, high)

    def best(self, limits: Limits, caution: float, tolerance: float) -> Ints:
        """The best levels whose estimated measures are within the tolerance of each other."""
        wanted, found = check_tolerance(tolerance), []
        for price in prices(self.fit.gains.by_cell()[1], caution, PRICES):
            tables = self.tables(limits, price)
            levels, value = tables.best(wanted)
            if value == -math.inf:
                raise Unattainable(wanted, smallest_tolerance(tables.measure, tables.low, tables.high), tables.levels)
            found.append(np.asarray(levels * self.stride))
        return found[boldest(self.fit, found, caution)]

    def of(self, levels: Ints) -> Floats:
        """The estimated measure of each arm at its level."""
        return np.asarray(self.mean[np.arange(len(levels)), levels])

    def frontier(self, limits: Limits) -> polars.DataFrame:
        """Every split that is best for some tolerance by the estimates, tightest first: what parity costs."""
        tables, told = self.tables(limits), self.fit.records
        current = self.fit.what_if(self.fit.now.allocation).expected
        rows = [
            {
                "tolerance": entry.tolerance,
                "expected": current + told.scale * entry.utility,
                "price": told.scale * entry.price,
                **told.by_name(entry.allocation),
            }
            for entry in tables.frontier()
        ]
        return polars.DataFrame(rows)
