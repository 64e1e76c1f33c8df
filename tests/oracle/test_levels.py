"""The oracle against brute force, against a simple dynamic programme, and its ties."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import aftereffect as ae

Floats = npt.NDArray[np.float64]


def total(value: Floats, bonus: Floats | None, levels) -> float:
    """Sum of values plus the largest bonus along the path."""
    arms = range(len(levels))
    extra = max(bonus[k, levels[k]] for k in arms) if bonus is not None else 0.0
    return float(sum(value[k, levels[k]] for k in arms) + extra)


def feasible(count: int, low, high) -> list[tuple[int, ...]]:
    ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    return [levels for levels in itertools.product(*ranges) if sum(levels) == count]


@st.composite
def jobs(draw: st.DrawFn):
    arms, count = draw(st.integers(1, 5)), draw(st.integers(1, 10))
    if arms == 5:
        count = min(count, 8)
    zero = draw(st.booleans())
    # Few distinct numbers make many ties; free ones make none.
    numbers = draw(st.sampled_from([st.sampled_from([0.0, 0.5, 1.0]), st.floats(-1, 1)]))
    size = arms * (count + 1)
    value = np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(arms, count + 1)
    bonus = None
    if draw(st.booleans()):
        bonus = np.array(draw(st.lists(numbers, min_size=size, max_size=size))).reshape(arms, count + 1)
    bounded = draw(st.booleans())
    least = st.integers(0, max(1, count // max(arms, 1)))
    low = draw(st.lists(least, min_size=arms, max_size=arms)) if bounded else [0] * arms
    high = [draw(st.integers(min(lo, count), count)) for lo in low] if bounded else [count] * arms
    return value, bonus, zero, low, high


def _against_brute_force(job, seed: int | None) -> None:
    value, bonus, zero, low, high = job
    count = value.shape[1] - 1
    floor = [max(lo, 0 if zero else 1) for lo in low]
    options = feasible(count, floor, high)
    if not options or any(a > b for a, b in zip(floor, high, strict=True)):
        with pytest.raises(ae.AftereffectError):
            ae.best_levels(value, bonus, zero, low=low, high=high, seed=seed)
        return
    levels, index = ae.best_levels(value, bonus, zero, low=low, high=high, seed=seed)
    best = max(total(value, bonus, option) for option in options)
    assert tuple(levels.tolist()) in set(options)
    assert index == pytest.approx(best, abs=1e-12)
    assert total(value, bonus, levels) == pytest.approx(best, abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(jobs(), st.sampled_from([None, 0, 1]))
def test_against_brute_force(job, seed: int | None) -> None:
    _against_brute_force(job, seed)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(jobs(), st.sampled_from([None, 0, 1, 2, 3]))
def test_against_brute_force_at_scale(job, seed: int | None) -> None:
    _against_brute_force(job, seed)


def simple_programme(value: Floats, bonus: Floats | None, low, high) -> float:
    """O(K N^2) in plain Python: the best sum for each budget, without and with one bonus taken."""
    count = value.shape[1] - 1
    plain, taken = {0: 0.0}, dict[int, float]()
    for k in range(len(value)):
        new_plain, new_taken = dict[int, float](), dict[int, float]()
        for level in range(low[k], high[k] + 1):
            for used, best in plain.items():
                if used + level <= count:
                    at, gained = used + level, best + value[k, level]
                    new_plain[at] = max(new_plain.get(at, -np.inf), gained)
                    if bonus is not None:
                        new_taken[at] = max(new_taken.get(at, -np.inf), gained + bonus[k, level])
            for used, best in taken.items():
                if used + level <= count:
                    at = used + level
                    new_taken[at] = max(new_taken.get(at, -np.inf), best + value[k, level])
        plain, taken = new_plain, new_taken
    return plain[count] if bonus is None else taken[count]


@pytest.mark.parametrize("count", [63, 64, 65, 100])
@pytest.mark.parametrize("arms", [2, 3, 6])
@pytest.mark.parametrize("with_bonus", [False, True])
@pytest.mark.parametrize("limited", [False, True])
def test_larger_grids_against_a_simple_programme(count: int, arms: int, with_bonus: bool, limited: bool) -> None:
    random = np.random.default_rng(count * 10 + arms)
    value = random.normal(size=(arms, count + 1))
    bonus = random.normal(size=(arms, count + 1)) if with_bonus else None
    low = random.integers(0, count // (2 * arms), arms) if limited else np.ones(arms, dtype=int)
    high = np.minimum(low + random.integers(count // arms + 3, count, arms), count) if limited else np.full(arms, count)
    levels, index = ae.best_levels(value, bonus, zero=limited, low=low.tolist(), high=high.tolist(), seed=1)
    assert index == pytest.approx(simple_programme(value, bonus, low, high), abs=1e-12)
    assert levels.sum() == count
    assert np.all((low <= levels) & (levels <= high))
    assert total(value, bonus, levels) == pytest.approx(index, abs=1e-12)


def test_a_thousand_arms() -> None:
    random = np.random.default_rng(2)
    value, bonus = random.random((1_000, 1_201)), random.random((1_000, 1_201))
    levels, index = ae.best_levels(value, bonus)
    assert levels.sum() == 1_200
    assert levels.min() >= 1
    assert total(value, bonus, levels) == pytest.approx(index, abs=1e-9)
    concave = np.minimum(np.arange(1_201), 1) * random.random((1_000, 1))  # only the first step pays
    few = concave[:, :401]
    levels, index = ae.best_levels(few, zero=True)
    assert index == pytest.approx(np.sort(few[:, 1])[-400:].sum(), abs=1e-9)


def test_minus_infinity_excludes_a_level() -> None:
    value = np.array([[0.0, 0.1, 5.0], [0.0, 0.2, 3.0]])
    value[0, 2] = -np.inf
    assert ae.best_levels(value, zero=True)[0].tolist() == [0, 2]
    value[1, 2] = -np.inf
    assert ae.best_levels(value, zero=True)[0].tolist() == [1, 1]
    value[1, 1] = -np.inf
    with pytest.raises(ae.AftereffectError, match="-inf"):
        ae.best_levels(value, zero=True)
    for bonus in (None, np.zeros((3, 4))):
        value = np.random.default_rng(3).random((3, 4))
        value[1, :3] = -np.inf
        levels, index = ae.best_levels(value, bonus, zero=True)
        assert levels.tolist() == [0, 3, 0]
        assert index == pytest.approx(value[0, 0] + value[1, 3] + value[2, 0])


@pytest.mark.parametrize("with_bonus", [False, True])
@pytest.mark.parametrize("arms", [2, 3])
def test_ties_without_a_seed_always_fall_the_same_way(with_bonus: bool, arms: int) -> None:
    value = np.zeros((arms, 7))
    bonus = np.zeros((arms, 7)) if with_bonus else None
    chosen = {tuple(ae.best_levels(value, bonus)[0].tolist()) for _ in range(5)}
    assert len(chosen) == 1


@pytest.mark.parametrize("with_bonus", [False, True])
def test_ties_with_a_seed_are_uniform_over_the_last_arms_levels(with_bonus: bool) -> None:
    """Chi-squared over 3,000 seeds, error rate 1e-4; the walk back starts at the last arm (of two: at the first)."""
    for arms, arm in ((2, 0), (3, 2)):
        value = np.zeros((arms, 7))
        bonus = np.zeros((arms, 7)) if with_bonus else None
        drawn = np.array([ae.best_levels(value, bonus, zero=True, seed=s)[0] for s in range(3_000)])
        assert np.all(drawn.sum(axis=1) == 6)
        counts = np.bincount(drawn[:, arm], minlength=7)
        assert stats.chisquare(counts).pvalue > 1e-4


def test_among_ties_only_the_best_are_drawn() -> None:
    random = np.random.default_rng(4)
    value = random.integers(0, 3, (3, 6)) / 2.0
    bonus = random.integers(0, 2, (3, 6)) / 2.0
    options = feasible(5, [0] * 3, [5] * 3)
    best = max(total(value, bonus, o) for o in options)
    winners = {o for o in options if total(value, bonus, o) == best}
    drawn = {tuple(ae.best_levels(value, bonus, zero=True, seed=s)[0].tolist()) for s in range(500)}
    assert len(winners) > 1
    assert drawn == winners


def test_inputs_are_left_alone() -> None:
    value, bonus = np.random.default_rng(5).random((2, 4, 9))
    before = value.copy(), bonus.copy()
    ae.best_levels(value, bonus, seed=1)
    assert np.array_equal(value, before[0])
    assert np.array_equal(bonus, before[1])


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"value": [1.0, 2.0]}, r"\(2,\)"),
        ({"value": [[1.0]]}, r"\(1, 1\)"),
        ({"value": [[0.0, float("nan")]]}, "NaN"),
        ({"value": [[0.0, float("inf")]]}, "inf"),
        ({"value": [[0.0, 1.0]], "bonus": [[0.0]]}, r"\(1, 1\)"),
        ({"value": [[0.0, 1.0]], "bonus": [[0.0, float("nan")]]}, "finite"),
        ({"value": [[0.0, 1.0]] * 3}, "3 arms on 1 levels"),
        ({"value": [[0.0, 1.0, 2.0]] * 2, "low": [2, 2]}, r"\[2, 2\]"),
        ({"value": [[0.0, 1.0, 2.0]] * 2, "zero": True, "low": -1}, "-1"),
        ({"value": [[0.0, 1.0, 2.0]] * 2, "high": 5}, "5"),
        ({"value": [[0.0, 1.0, 2.0]] * 2, "high": [0, 2]}, r"\[0, 2\]"),
        ({"value": [[0.0, 1.0, 2.0]] * 2, "zero": True, "high": 0}, r"\[0, 0\]"),
    ],
)
def test_mistakes(arguments, shown: str) -> None:
    with pytest.raises(ae.AftereffectError, match=shown):
        ae.best_levels(**arguments)
