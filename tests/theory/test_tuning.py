"""Tuning against numbers worked out by hand from the paper, and the properties that define them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aftereffect.errors import AftereffectError
from aftereffect.theory.tuning import (
    Phases,
    action_levels,
    approach_rounds,
    check_allocations,
    cucb_levels,
    exp3_loss_rate,
    exp3_rate,
    history_levels,
    naive_levels,
    phases,
    phases_of,
)

memories = st.floats(0.01, 0.99)
shares = st.floats(0.01, 0.95)
arm_counts = st.integers(1, 50)
level_counts = st.integers(1, 2000)


@pytest.mark.parametrize(
    ("horizon", "arms", "zero", "levels"),
    [
        (100_000, 2, False, 21),  # 100000/11.513 = 8686, cube root 20.56
        (20_000, 2, False, 13),  # 20000/9.903 = 2019.5, cube root 12.64
        (1_000_000, 2, True, 42),  # 10^6/13.816 = 72382, cube root 41.67
        (1_000, 5, True, 6),  # 1000/6.908 = 144.8, cube root 5.25
        (1_000, 5, False, 10),  # without zero at least 2K
        (1_000, 3, False, 6),
        (1_000, 4, False, 8),
    ],
)
def test_action_levels(horizon: int, arms: int, zero: bool, levels: int) -> None:
    assert action_levels(horizon, arms, zero) == levels


def test_history_levels_take_t_rho_in_place_of_t() -> None:
    assert history_levels(100_000, 0.2, arms=2) == 13
    assert history_levels(100_000, 0.5, arms=3) == action_levels(50_000, arms=3) == 17  # 50000/10.82 = 4621, root 16.66


@pytest.mark.parametrize(("arms", "levels"), [(2, 21), (3, 10), (5, 5)])  # 8686 to the 1/3, 1/4 (9.65), 1/6 (4.53)
def test_naive_levels_fall_with_the_number_of_arms(arms: int, levels: int) -> None:
    assert naive_levels(100_000, arms) == levels


@pytest.mark.parametrize(("arms", "levels"), [(2, 12), (3, 13)])  # (2 * 8686)^(1/4) = 11.48, (3 * 8686)^(1/4) = 12.71
def test_cucb_levels_take_the_fourth_root_of_k_t_over_ln_t(arms: int, levels: int) -> None:
    assert cucb_levels(100_000, arms) == levels


def test_resolution_is_the_constant_before_the_root() -> None:
    assert action_levels(100_000, arms=2, resolution=2.0) == 42  # 2 * 20.56
    assert action_levels(100_000, arms=2, resolution=0.5) == 11


@given(st.integers(1, 10**9), arm_counts)
def test_without_zero_there_are_at_least_two_levels_for_each_arm(horizon: int, arms: int) -> None:
    assert action_levels(horizon, arms) == max(2 * arms, action_levels(horizon, arms, zero=True))


@pytest.mark.parametrize(
    ("memory", "levels", "arms", "lipschitz", "rounds"),
    [
        (0.4, 13, 2, 1.0, 5),  # ln 52 / ln 2.5 = 4.31
        (0.2, 13, 2, 1.0, 3),  # ln 52 / ln 5 = 2.46
        (0.6, 13, 2, 1.0, 8),  # ln 52 / ln 1.667 = 7.73
        (0.5, 8, 2, 1.0, 5),  # ln 32 / ln 2: exactly five
        (0.5, 8, 2, 3.0, 6),  # L* = 1 + 3: exactly six
        (0.01, 2, 2, 1.0, 1),  # ln 8 / ln 100 = .45: at least one
        (0.0, 13, 2, 1.0, 0),  # no memory, nothing to wait for
    ],
)
def test_approach_rounds(memory: float, levels: int, arms: int, lipschitz: float, rounds: int) -> None:
    assert approach_rounds(memory, levels, arms, lipschitz) == rounds


@given(memories, level_counts, arm_counts, st.floats(0.1, 10))
def test_approach_is_the_shortest_after_which_the_error_is_below_a_step(
    memory: float, levels: int, arms: int, lipschitz: float
) -> None:
    s = approach_rounds(memory, levels, arms, lipschitz)
    error = arms * (1 + lipschitz)  # times gamma^s: what the rest of the past can still move, against eps = 1/N
    assert s >= 1
    assert memory**s * error <= 1 / levels * (1 + 1e-6)
    assert s == 1 or memory ** (s - 1) * error > 1 / levels * (1 - 1e-6)


@pytest.mark.parametrize(
    ("memory", "estimation", "cut"),
    [
        (0.4, 0.2, Phases(5, 6)),  # 5/.8 = 6.25
        (0.2, 0.2, Phases(3, 4)),  # 3/.8 = 3.75
        (0.6, 0.2, Phases(8, 10)),  # 8/.8
        (0.4, 0.1, Phases(5, 6)),  # 5/.9 = 5.56
        (0.4, 0.01, Phases(5, 6)),  # 5.05 rounds down, but one round must count
        (0.4, 0.75, Phases(5, 20)),
    ],
)
def test_phases_at_thirteen_levels_and_two_arms(memory: float, estimation: float, cut: Phases) -> None:
    assert phases(memory, estimation, levels=13, arms=2) == cut


@given(memories, shares, level_counts, arm_counts)
def test_phases_are_whole_and_leave_a_round_that_counts(memory: float, rho: float, levels: int, arms: int) -> None:
    cut = phases(memory, rho, levels, arms)
    s = approach_rounds(memory, levels, arms)
    assert cut.approach == s
    assert cut.length == max(s + 1, round(s / (1 - rho)))
    assert cut.estimation == cut.length - s >= 1
    assert cut.effective_estimation == cut.estimation / cut.length
    # Rounding moves L by a half at most, unless one round that counts had to be added.
    assert cut.estimation == 1 or abs(cut.length - s / (1 - rho)) <= 0.5


def test_estimation_rounds_count_whole_phases() -> None:
    cut = phases_of(3, 0.5)
    assert cut == Phases(3, 6)
    assert [cut.estimation_rounds(t) for t in (1000, 1001, 1002, 6, 2)] == [498, 498, 501, 3, 3]


def test_exp3_rate_is_auer_and_others() -> None:
    assert exp3_rate(2, 100_000) == pytest.approx(math.sqrt(2 * math.log(2) / (1.718281828459045 * 100_000)))
    assert exp3_rate(20, 100_000) == pytest.approx(0.018673, abs=1e-6)  # sqrt(59.915/171828.18)
    assert exp3_rate(100, 10) == 1.0


def test_exp3_loss_rate() -> None:
    assert exp3_loss_rate(2, 100_000) == pytest.approx(0.0026328, abs=1e-7)  # sqrt(2 ln 2 / 200000)


def test_too_many_allocations_are_refused_with_their_number() -> None:
    check_allocations(100, 100, "someone")
    with pytest.raises(AftereffectError, match=r"^someone .* 1,001 .*limit 1,000"):
        check_allocations(1001, 1000, "someone")
