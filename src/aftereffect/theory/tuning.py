"""Tuning: how fine the grid, how long the phases, how fast the learning rate. Policies call these; so may users.

Where the paper leaves a constant open ("Theta"), it is one, and a parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aftereffect.errors import AftereffectError


def _ratio(rounds: float) -> float:
    """T / ln T, taken at e where it is smallest, so that tiny horizons make sense."""
    return rounds / math.log(rounds) if rounds > math.e else math.e


def _at_least(levels: float, arms: int, zero: bool) -> int:
    """Without zero the grid needs room: at least 2K levels (Sec. 4 does not say); with zero at least 2."""
    return max(math.ceil(levels - 1e-9), 2 if zero else 2 * arms)


def action_levels(horizon: float, arms: int, zero: bool = False, resolution: float = 1.0) -> int:
    """N = 1/eps of Theorem 4.2: ceil(resolution (T / ln T)^(1/3)), at least 2K without zero.

    >>> action_levels(100_000, arms=2)
    21
    """
    return _at_least(resolution * _ratio(horizon) ** (1 / 3), arms, zero)


def history_levels(horizon: float, estimation: float, arms: int, zero: bool = False, resolution: float = 1.0) -> int:
    """N = 1/eps of Theorem 5.1: as Theorem 4.2 with T rho in place of T.

    >>> history_levels(100_000, 0.2, arms=2)
    13
    """
    return action_levels(horizon * estimation, arms, zero, resolution)


def naive_levels(horizon: float, arms: int, resolution: float = 1.0) -> int:
    """N = 1/eps of Lemma D.1, for learners over all of the grid: ceil((T / ln T)^(1/(K+1))).

    >>> naive_levels(100_000, arms=2)
    21
    """
    return _at_least(resolution * _ratio(horizon) ** (1 / (arms + 1)), arms, zero=True)


def cucb_levels(horizon: float, arms: int, zero: bool = False, resolution: float = 1.0) -> int:
    """N = 1/eps that suits CUCB's own bound (App. D): ceil((K T / ln T)^(1/4))."""
    return _at_least(resolution * (arms * _ratio(horizon)) ** (1 / 4), arms, zero)


def kl_levels(horizon: float, arms: int) -> int:
    """N = 1/eps for `kl-ucb`: (K T / (2 ln T))^(1/3), which balances learning and rounding, to the nearest ten.

    >>> kl_levels(100_000, arms=2)
    20
    """
    return 10 * max(1, round(math.cbrt(0.5 * arms * _ratio(horizon)) / 10))


@dataclass(frozen=True)
class Phases:
    """How Algorithm 2 cuts time: `approach` rounds to settle, then `estimation` rounds that count, `length` in all."""

    approach: int
    length: int

    @property
    def estimation(self) -> int:
        """Estimation rounds per phase, L rho."""
        return self.length - self.approach

    @property
    def effective_estimation(self) -> float:
        """The share of estimation rounds that whole numbers leave: the effective rho."""
        return self.estimation / self.length

    def estimation_rounds(self, horizon: int) -> int:
        """Estimation rounds in a horizon's whole phases, at least one phase."""
        return max(horizon // self.length, 1) * self.estimation


def approach_rounds(memory: float, levels: int, arms: int, lipschitz: float = 1.0) -> int:
    """s_a of App. E: ln(eps / (K L*)) / ln gamma with L* = 1 + L_k, rounded up, at least 1; none without memory.

    >>> approach_rounds(0.4, levels=13, arms=2)
    5
    """
    if memory <= 0:
        return 0
    needed = math.log(1.0 / (levels * arms * (1.0 + lipschitz))) / math.log(memory)
    return max(1, math.ceil(needed - 1e-9))


def phases(memory: float, estimation: float, levels: int, arms: int, lipschitz: float = 1.0) -> Phases:
    """Phases of L = s_a / (1 - rho) rounds, made whole: L = max(s_a + 1, round(.)).

    >>> phases(0.4, 0.2, levels=13, arms=2)
    Phases(approach=5, length=6)
    """
    return phases_of(approach_rounds(memory, levels, arms, lipschitz), estimation)


def phases_of(approach: int, estimation: float) -> Phases:
    """Phases with a given number of approach rounds."""
    return Phases(approach, max(approach + 1, round(approach / (1.0 - estimation))))


def exp3_rate(options: int, horizon: int) -> float:
    """EXP3's mixing rate (Auer et al. 2002, Cor. 3.2): min(1, sqrt(A ln A / ((e - 1) T))).

    >>> round(exp3_rate(2, 100_000), 6)
    0.00284
    """
    return min(1.0, math.sqrt(options * math.log(options) / ((math.e - 1.0) * horizon))) if options > 1 else 1.0


def exp3_loss_rate(options: int, horizon: int) -> float:
    """EXP3's rate in loss form (Bubeck and Cesa-Bianchi 2012, Thm 3.1): sqrt(2 ln A / (A T))."""
    return math.sqrt(2.0 * math.log(max(options, 2)) / (options * horizon))


def check_allocations(count: int, limit: int, who: str) -> None:
    """Refuse a policy over whole allocations where there are too many of them."""
    if count > limit:
        raise AftereffectError(
            f"{who} keeps a statistic for each allocation and there are {count:,} on this grid (limit {limit:,}); use "
            "fewer levels=, or a policy that searches the grid, such as action-ucb"
        )
