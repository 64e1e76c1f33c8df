"""Every bound of the paper as a function, with its number.

Constants are as printed. Where the text gives an order only, the name ends in `_rate`: the constant is not stated, and
these functions take it to be one. Where a printed statement does not hold, or its proof does not give it, the docstring
says so.

Words: `eps` is the step of the grid, 1/N; a *gap* is how much worse an allocation is than the best of the grid; `counted`
is the number of estimation rounds so far, L rho m in the paper; `lipschitz` is the largest L_k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aftereffect.errors import AftereffectError, numbers, require, require_numbers, shown

__all__ = [
    "action_choice_failure",
    "action_independent_rate",
    "action_instance_bound",
    "action_radius",
    "action_radius_failure",
    "action_regret_rate",
    "action_samples",
    "action_threshold",
    "approach_error",
    "cucb_regret_rate",
    "discretisation_rate",
    "history_choice_failure",
    "history_independent_rate",
    "history_instance_bound",
    "history_lower_slack",
    "history_radius",
    "history_radius_failure",
    "history_regret_rate",
    "history_samples",
    "history_threshold",
    "impact_gap",
    "linear_slope",
    "lower_bound_rate",
    "naive_regret_rate",
    "one_arm_independent_rate",
    "one_arm_radius",
    "one_arm_regret_rate",
    "one_arm_threshold",
]


def _above_zero(**values: float) -> None:
    require_numbers("bound", **values)
    for name, value in values.items():
        require(value > 0, f"bound: {name} must be above 0, got {shown(value)}")


def _rounds(**values: float) -> None:
    """Numbers of rounds stand in logarithms: from 1."""
    require_numbers("bound", **values)
    for name, value in values.items():
        require(value >= 1, f"bound: {name} must be at least 1, got {shown(value)}")


def _memory(memory: float) -> None:
    require_numbers("bound", memory=memory)
    require(0 <= memory < 1, f"bound: memory must lie in [0, 1), got {shown(memory)}")


def _share(estimation: float) -> None:
    require_numbers("bound", estimation=estimation)
    require(0 < estimation <= 1, f"bound: estimation must lie in (0, 1], got {shown(estimation)}")


# Action-dependent bandits: Sec. 4 and App. D.


def action_radius(arms: int, t: float, samples: float) -> float:
    """Step 1 of App. D and (6): |mean utility - U(p)| <= sqrt(K ln t / min n), but with probability 2/t^2.

    It rests on Hoeffding's inequality for sums of p_k times importance-weighted rewards, which lie in [0, 1]. The arms must
    be activated independently (or all be seen), and the counts n must not depend on the rewards.

    >>> round(action_radius(arms=2, t=100, samples=50), 4)
    0.4292
    """
    _above_zero(arms=arms, samples=samples)
    _rounds(t=t)
    return math.sqrt(arms * math.log(t) / samples)


def action_radius_failure(t: float) -> float:
    """Step 1 of App. D: the probability 2/t^2 with which `action_radius` (and `one_arm_radius`) may fail."""
    _rounds(t=t)
    return min(1.0, 2.0 / t**2)


def action_threshold(arms: int, t: float, gap: float) -> float:
    """Lemma D.2: after 4 K ln t / gap^2 deployments of its rarest cell an allocation is no longer chosen by mistake.

    >>> round(action_threshold(arms=2, t=100, gap=0.5), 3)
    147.365
    """
    _above_zero(arms=arms, gap=gap)
    _rounds(t=t)
    return 4 * arms * math.log(t) / gap**2


def action_choice_failure(t: float) -> float:
    """Lemma D.2: the probability 4/t^2 with which an allocation past `action_threshold` is chosen all the same."""
    _rounds(t=t)
    return min(1.0, 4.0 / t**2)


def action_samples(arms: int, horizon: float, gap: float) -> float:
    """Lemma D.3: E[n_T] <= 4 K ln T / gap^2 + O(1) for the rarest cell of a worse allocation; the proof's O(1) is 2 pi^2/3.

    As printed it holds for two arms, where a cell belongs to one allocation. With more, a cell is also deployed as part of
    better allocations, so that `gap` would have to be the smallest among those that contain the cell, at least.
    """
    return action_threshold(arms, horizon, gap) + 2 * math.pi**2 / 3


def action_instance_bound(
    arms: int,
    horizon: float,
    levels: int,
    gaps: Sequence[float],
    largest_gap: float,
    order_one: float = 2 * math.pi**2 / 3,
) -> float:
    """Lemma D.4: grid regret <= ceil(K/eps) (largest gap + O(1)) + sum over cells of 8 K ln T / gap.

    `gaps` holds, for each cell that is in no best allocation, the smallest gap of the allocations that contain it. The text
    leaves O(1) open; its proof sums 4/t^2, so `order_one` is 2 pi^2/3. (That proof counts a mistake once per cell and not
    once per allocation, of which there are exponentially many.)
    """
    _above_zero(arms=arms, levels=levels)
    _rounds(horizon=horizon)
    require_numbers("bound", largest_gap=largest_gap, order_one=order_one)
    given = _gaps(gaps)
    return math.ceil(arms * levels) * (largest_gap + order_one) + sum(8 * arms * math.log(horizon) / g for g in given)


def _gaps(gaps: Sequence[float]) -> tuple[float, ...]:
    given = numbers("bound: gaps", gaps)
    require(all(g > 0 and math.isfinite(g) for g in given), f"bound: gaps must be above 0, got {list(given)}")
    return given


def action_independent_rate(arms: int, horizon: float, eps: float) -> float:
    """Lemma D.5: grid regret of order K sqrt(T ln T / eps); the constant is not stated.

    The proof prints "sum of counters <= K T / eps"; what gives the result is that the counters add up to at most T.
    """
    _above_zero(arms=arms, eps=eps)
    _rounds(horizon=horizon)
    return arms * math.sqrt(horizon * math.log(horizon) / eps)


def action_regret_rate(arms: int, horizon: float) -> float:
    """Theorem 4.2: regret of Algorithm 1 of order K T^(2/3) (ln T)^(1/3); the constant is not stated.

    >>> round(action_regret_rate(arms=2, horizon=100_000))
    9730
    """
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    return float(arms * horizon ** (2 / 3) * math.log(horizon) ** (1 / 3))


def discretisation_rate(arms: int, eps: float, lipschitz: float = 1.0) -> float:
    """App. D: what the best allocation of the grid loses a round, of order K (1 + L) eps; the constant is not stated.

    The text writes Omega; what is used, and holds, is an upper bound. On the grid with zero it holds with constant one:
    every allocation has one of the grid within eps in each share, and x r(x) moves by (1 + L) eps at most.
    """
    _above_zero(arms=arms, eps=eps)
    require_numbers("bound", lipschitz=lipschitz)
    return arms * (1 + lipschitz) * eps


def naive_regret_rate(arms: int, horizon: float, lipschitz: float | None = None) -> float:
    """Lemma D.1: a learner over all of the grid has regret of order T^(K/(K+1)) (ln T)^(1/(K+1)); constant not stated.

    With `lipschitz` the factor K (1 + L)^((K-1)/(K+1)) of the proof is put before it.
    """
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    factor = 1.0 if lipschitz is None else arms * (1 + lipschitz) ** ((arms - 1) / (arms + 1))
    return float(factor * horizon ** (arms / (arms + 1)) * math.log(horizon) ** (1 / (arms + 1)))


def cucb_regret_rate(arms: int, horizon: float) -> float:
    """App. D, comparison with CUCB: regret of order K^(3/4) T^(3/4) (ln T)^(1/4); the constant is not stated."""
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    return float((arms * horizon) ** 0.75 * math.log(horizon) ** 0.25)


# One arm activated a round: Remark D.6.


def one_arm_radius(arms: int, t: float, samples: float) -> float:
    """Remark D.6: with one arm activated the radius is sqrt(K^2 ln(sqrt(K) t) / min n), but with probability 2/t^2."""
    _above_zero(arms=arms, samples=samples)
    _rounds(t=t)
    return math.sqrt(arms**2 * math.log(math.sqrt(arms) * t) / samples)


def one_arm_threshold(arms: int, t: float, gap: float) -> float:
    """Remark D.6: 4 K^2 ln(sqrt(K) t) / gap^2 deployments suffice in place of Lemma D.2's."""
    _above_zero(arms=arms, gap=gap)
    _rounds(t=t)
    return 4 * arms**2 * math.log(math.sqrt(arms) * t) / gap**2


def one_arm_independent_rate(arms: int, horizon: float, eps: float) -> float:
    """Remark D.6: grid regret of order K sqrt(K T ln(sqrt(K) T) / eps); the constant is not stated."""
    _above_zero(arms=arms, eps=eps)
    _rounds(horizon=horizon)
    return arms * math.sqrt(arms * horizon * math.log(math.sqrt(arms) * horizon) / eps)


def one_arm_regret_rate(arms: int, horizon: float) -> float:
    """Remark D.6: regret of order K^(4/3) T^(2/3), without its logarithms; the constant is not stated."""
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    return float(arms ** (4 / 3) * horizon ** (2 / 3))


# History-dependent bandits: Sec. 5 and App. E.


def impact_gap(memory: float, rounds: int) -> float:
    """Proof of Lemma E.1: after holding an allocation for s rounds, |f_k - p_k| <= gamma^s."""
    _memory(memory)
    return float(memory**rounds)


def approach_error(memory: float, approach: int, arms: int, lipschitz: float = 1.0) -> float:
    """Lemma E.1 and Algorithm 3's err: K gamma^s_a (L + 1), what the past can still distort after the approach.

    The lemma bounds E|difference of two empirical means|, which is true if both are read off the same random numbers; its
    proof bounds the difference of the expectations. With weights that divide by the deployed share the bias is at most
    L gamma^s_a, without the K.

    >>> round(approach_error(memory=0.4, approach=5, arms=2), 5)
    0.04096
    """
    _above_zero(arms=arms)
    require_numbers("bound", lipschitz=lipschitz)
    return arms * impact_gap(memory, approach) * (lipschitz + 1)


def history_radius(arms: int, counted: float, samples: float, err: float = 0.0) -> float:
    """Lemma E.2: |mean utility - U(p)| <= err + 3 sqrt(K ln(L rho m) / min n), but with probability 6/(L rho m)^2."""
    _above_zero(arms=arms, samples=samples)
    _rounds(counted=counted)
    require_numbers("bound", err=err)
    return err + 3 * math.sqrt(arms * math.log(counted) / samples)


def history_radius_failure(counted: float) -> float:
    """Lemma E.2: the probability 6/(L rho m)^2 with which `history_radius` may fail."""
    _rounds(counted=counted)
    return min(1.0, 6.0 / counted**2)


def history_threshold(arms: int, counted: float, gap: float, err: float = 0.0) -> float:
    """Lemma E.3: 9 K ln(L rho m) / (gap/2 - err)^2 estimation rounds suffice; none do when gap/2 is not above err.

    >>> history_threshold(arms=2, counted=100, gap=0.1, err=0.05)
    inf
    """
    _above_zero(arms=arms, gap=gap)
    _rounds(counted=counted)
    require_numbers("bound", err=err)
    if gap / 2 <= err:
        return math.inf
    return 9 * arms * math.log(counted) / (gap / 2 - err) ** 2


def history_choice_failure(counted: float) -> float:
    """Lemma E.3: the probability 12/(L rho m)^2 with which an allocation past `history_threshold` is chosen."""
    _rounds(counted=counted)
    return min(1.0, 12.0 / counted**2)


def history_samples(arms: int, counted: float, gap: float, estimation_rounds: int, err: float = 0.0) -> float:
    """Lemma E.4: E[n] <= 9 K ln(L rho m) / (gap/2 - err)^2 + 2 pi^2 / (L - s_a), with `estimation_rounds` = L - s_a.

    Counts grow by L - s_a at a time, so up to that much more is possible; and the gap is the one of Lemma D.3's remark.
    """
    _above_zero(estimation_rounds=estimation_rounds)
    return history_threshold(arms, counted, gap, err) + 2 * math.pi**2 / estimation_rounds


def history_instance_bound(
    arms: int,
    horizon: float,
    levels: int,
    length: int,
    estimation: float,
    gaps: Sequence[float],
    largest_gap: float,
    err: float = 0.0,
    order_one: float = 2 * math.pi**2,
) -> float:
    """Lemma E.5: grid regret <= O(K largest gap / (L eps rho^2)) + sum of (9 K ln(T rho)/rho)(g/(g/2-err)^2 + 2/(g/2-err)).

    `gaps` as in `action_instance_bound`, `estimation` is rho, `length` is L. The constant of the first term is not stated;
    its proof sums 12/m^2, so `order_one` is 2 pi^2. Two things are not counted: the initial sweep (L rounds for each of its
    phases), and what changing the allocation costs while the impact moves. Where two best allocations lie apart and what
    lies between them pays less, the second grows with T and the bound fails.
    """
    _above_zero(arms=arms, levels=levels, length=length)
    _share(estimation)
    _rounds(horizon=horizon)
    require_numbers("bound", largest_gap=largest_gap, order_one=order_one, err=err)
    given = _gaps(gaps)
    if any(g / 2 <= err for g in given):
        return math.inf
    factor = 9 * arms * math.log(max(1.0, horizon * estimation)) / estimation
    first = order_one * arms * largest_gap * levels / (length * estimation**2)
    return first + sum(factor * (g / (g / 2 - err) ** 2 + 2 / (g / 2 - err)) for g in given)


def history_independent_rate(arms: int, horizon: float, eps: float, length: int, estimation: float) -> float:
    """Lemma E.6: grid regret of order K sqrt(T ln(T rho) / (rho eps)) + K / (L eps rho^2); the constants are not stated."""
    _above_zero(arms=arms, eps=eps, length=length)
    _share(estimation)
    _rounds(horizon=horizon)
    learning = arms * math.sqrt(horizon * math.log(max(1.0, horizon * estimation)) / (estimation * eps))
    return learning + arms / (length * eps * estimation**2)


def history_regret_rate(arms: int, horizon: float, estimation: float) -> float:
    """Theorem 5.1: regret of Algorithm 3 of order K T^(2/3) (ln(T rho) / rho)^(1/3); the constant is not stated.

    It leaves out what changing the allocation costs; see `history_instance_bound`. With tied best allocations and rewards
    without noise that cost alone is of order T / ln T.
    """
    _above_zero(arms=arms)
    _share(estimation)
    _rounds(horizon=horizon)
    return float(arms * horizon ** (2 / 3) * (math.log(max(1.0, horizon * estimation)) / estimation) ** (1 / 3))


# Lower bounds: Sec. 6, App. C, F and G.


def lower_bound_rate(arms: int, horizon: float) -> float:
    """Theorem 6.1: for K >= 4 and T > 2K every learner has regret of order K T^(2/3) on some instance; constant not stated.

    App. F takes the sum of r_k for the utility. With U = sum of p_k r_k <= 1 regret is at most T, so the factor K cannot hold
    for all T > 2K.
    """
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    return float(arms * horizon ** (2 / 3))


def history_lower_slack(memory: float, horizon: int, arms: int, lipschitz: float) -> float:
    """App. G: action-dependent regret exceeds history-dependent regret by gamma^2 (1 - gamma^(2T-2)) K L / (1 - gamma^2) at most.

    Holds where the responses are strictly proper; under the discounted average (2) it then holds with no slack at all.
    """
    _memory(memory)
    _above_zero(arms=arms)
    _rounds(horizon=horizon)
    require_numbers("bound", lipschitz=lipschitz)
    return memory**2 * (1 - memory ** (2 * horizon - 2)) * arms * lipschitz / (1 - memory**2)


def linear_slope(eps: float) -> float:
    """App. C: on Example 1 a learner that ignores its own impact loses eps/2 a round."""
    require_numbers("bound", eps=eps)
    if not 0 < eps < 0.5:
        raise AftereffectError(f"bound: eps of Example 1 must lie between 0 and 0.5, got {shown(eps)}")
    return eps / 2
