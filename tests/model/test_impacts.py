"""Impacts: each against its definition, computed from the whole history in plain Python; Lemma E.1; the slow path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aftereffect as ae
from aftereffect.model.impacts import memory_of
from aftereffect.simulation.runs import run_once
from tests.model.worlds import Floats, drive, sequence


def discounted(shares: Floats, memory: float) -> float:
    """Equation (2), with 0^0 = 1."""
    t = len(shares)
    weights = [memory ** (t - s) for s in range(1, t + 1)]
    return float(sum(w * p for w, p in zip(weights, shares, strict=True)) / sum(weights))


def smoothed(shares: Floats, memory: float, start: float) -> float:
    value = start
    for p in shares:
        value = memory * value + (1 - memory) * p
    return value


def window(shares: Floats, length: int) -> float:
    return sum(shares[-length:]) / len(shares[-length:])


G = [
    None,
    ae.Power(2.0),
    ae.Power(0.5),
    ae.Logistic(8.0, 0.4),
    ae.MonotoneTable([0, 0.3, 1], [0.1, 0.8, 0.9]),
    ae.MonotoneTable([0, 0.5, 1], [0.9, 0.4, 0.0]),
]


def g_by_hand(g: Any, x: float) -> float:
    if isinstance(g, ae.Power):
        return float(x**g.exponent)
    if isinstance(g, ae.Logistic):

        def raw(v: float) -> float:
            return 1 / (1 + math.exp(-g.steepness * (v - g.midpoint)))

        return (raw(x) - raw(0)) / (raw(1) - raw(0))
    if isinstance(g, ae.MonotoneTable):
        return float(np.interp(x, g.x, g.y))
    return x


KINDS = [
    (ae.Instant(), lambda h: h[-1]),
    (ae.Discounted(0.0), lambda h: discounted(h, 0.0)),
    (ae.Discounted(0.4), lambda h: discounted(h, 0.4)),
    (ae.Discounted(0.97), lambda h: discounted(h, 0.97)),
    (ae.Discounted(half_life=3.0), lambda h: discounted(h, 0.5 ** (1 / 3))),
    (ae.Smoothed(0.0, 0.5), lambda h: h[-1]),
    (ae.Smoothed(0.6), lambda h: smoothed(h, 0.6, 0.0)),
    (ae.Smoothed(0.9, 1.0), lambda h: smoothed(h, 0.9, 1.0)),
    (ae.Window(1), lambda h: h[-1]),
    (ae.Window(5), lambda h: window(h, 5)),
    (ae.Window(60), lambda h: window(h, 60)),
]
IDS = [repr(kind).replace(", g=None", "") for kind, _ in KINDS]


def _world(impact: Any, arms: int = 3, feedback: Any = "split", **options: Any) -> ae.Problem:
    return ae.Problem([ae.LinearDecline(0.9, 0.1)] * arms, impact, feedback=feedback, noise="none", **options)


@pytest.mark.parametrize(("impact", "definition"), KINDS, ids=IDS)
@pytest.mark.parametrize("feedback", ["independent", "one", "split"])
def test_the_compiled_impact_follows_its_definition(impact, definition, feedback: str) -> None:
    shares = sequence(150, 3, seed=4)
    found = drive(_world(impact, feedback=feedback), shares).before_g
    for t in range(len(shares)):
        for k in range(3):
            assert found[t, k] == pytest.approx(definition(shares[: t + 1, k]), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0, 0.999),
    st.floats(0, 1),
    st.integers(1, 70),
)
def test_random_shares_and_parameters(shares: list[float], memory: float, start: float, length: int) -> None:
    rows = np.column_stack([shares, shares, shares])
    impacts = [ae.Discounted(memory), ae.Smoothed(memory, start), ae.Window(length)]
    last = drive(_world(impacts), rows).before_g[-1]
    history = np.array(shares)
    expected = [discounted(history, memory), smoothed(history, memory, start), window(history, length)]
    assert last == pytest.approx(expected, abs=1e-10)


def test_a_constant_share_gives_itself_at_every_round() -> None:
    shares = np.tile([0.2, 0.3, 0.5], (200, 1))
    for impact in (ae.Instant(), ae.Discounted(0.3), ae.Discounted(0.95), ae.Window(7)):
        assert drive(_world(impact), shares).before_g == pytest.approx(shares, abs=1e-14)


def test_each_arm_may_have_its_own_impact() -> None:
    shares = sequence(80, 4, seed=5)
    impacts = [ae.Instant(ae.Power(2.0)), ae.Discounted(0.7), ae.Smoothed(0.5, 0.3), ae.Window(6)]
    problem = _world(impacts, arms=4)
    found = problem.impact_after_g(drive(problem, shares).before_g)
    for t in range(80):
        past = shares[: t + 1]
        expected = [
            past[-1, 0] ** 2,
            discounted(past[:, 1], 0.7),
            smoothed(past[:, 2], 0.5, 0.3),
            window(past[:, 3], 6),
        ]
        assert found[t] == pytest.approx(expected, abs=1e-12)
    assert problem.memory == max(0.7, 0.5, math.exp(-1 / 6))


@pytest.mark.parametrize("g", G, ids=repr)
@pytest.mark.parametrize("kind", [ae.Instant, lambda g: ae.Discounted(0.6, g), lambda g: ae.Smoothed(0.4, 0.2, g)])
def test_g_is_applied_to_impact_limit_and_reward(kind, g) -> None:
    response = ae.Bump(0.5, 0.3, 0.2)
    impact = kind(g)
    problem = ae.Problem([response] * 2, impact, feedback="split", noise="none")
    shares = sequence(60, 2, seed=6)
    came = drive(problem, shares)
    after = problem.impact_after_g(came.before_g)
    for t in range(60):
        for k in range(2):
            by_hand = g_by_hand(g, came.before_g[t, k])
            assert after[t, k] == pytest.approx(by_hand, abs=1e-12)
            if shares[t, k] > 0:
                assert came.reward[t, k] == pytest.approx(0.2 + max(0.0, 0.3 - abs(by_hand - 0.5)), abs=1e-6)
    grid = np.linspace(0, 1, 11)
    assert impact.limit(grid) == pytest.approx([g_by_hand(g, p) for p in grid], abs=1e-12)


@pytest.mark.parametrize("g", [g for g in G if g is not None], ids=repr)
def test_lipschitz_constant_of_g(g) -> None:
    grid = np.linspace(0.0, 1.0, 100_001)
    steepest = np.max(np.abs(np.diff(g(grid))) / np.diff(grid))
    assert g.lipschitz >= steepest * (1 - 1e-9)
    if math.isfinite(g.lipschitz):
        assert g.lipschitz == pytest.approx(steepest, rel=1e-3)


@pytest.mark.parametrize(("impact", "definition"), KINDS, ids=IDS)
@pytest.mark.parametrize("past", [0, 1, 3, 40])
def test_lemma_e1(impact, definition, past: int) -> None:
    """After s rounds of a constant p, |f - p| <= rate^s, whatever came before; after g, times its Lipschitz constant."""
    for held in ([1.0, 0.0, 0.0], [0.25, 0.35, 0.4]):
        shares = np.vstack([np.tile([0.0, 1.0, 0.0], (past, 1)), np.tile(held, (100, 1))])
        found = drive(_world(impact), shares).before_g
        for s in range(1, 101):
            gap = np.abs(found[past + s - 1] - held)
            assert np.all(gap <= impact.rate**s + 1e-12)
            for g in G:
                if g is not None and math.isfinite(g.lipschitz):
                    after = np.abs(g(found[past + s - 1]) - g(np.array(held)))
                    assert np.all(after <= g.lipschitz * impact.rate**s + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0, 1), max_size=30),
    st.floats(0, 1),
    st.floats(0, 0.99),
    st.floats(0, 1),
    st.integers(1, 40),
)
def test_lemma_e1_for_random_pasts(past: list[float], p: float, memory: float, start: float, length: int) -> None:
    impacts = [ae.Discounted(memory), ae.Smoothed(memory, start), ae.Window(length)]
    shares = np.array([*past, *[p] * 60])
    found = drive(_world(impacts), np.column_stack([shares] * 3)).before_g[len(past) :]
    for s in range(1, 61):
        for k, impact in enumerate(impacts):
            assert impact.rate is not None
            assert abs(found[s - 1, k] - p) <= impact.rate**s + 1e-10


def test_half_life() -> None:
    assert memory_of(1.0) == pytest.approx(0.5)
    assert memory_of(10.0) ** 10 == pytest.approx(0.5)
    assert ae.Discounted(half_life=4.0).rate == pytest.approx(0.5**0.25)


@pytest.mark.parametrize("feedback", ["independent", "one"])
@pytest.mark.parametrize(
    ("impact", "definition"),
    [
        (ae.Discounted(0.7), lambda h: discounted(h, 0.7)),
        (ae.Window(4), lambda h: window(h, 4)),
        (ae.Smoothed(0.5, 1.0), lambda h: smoothed(h, 0.5, 1.0)),
    ],
)
def test_a_realised_impact_follows_the_activations(impact, definition, feedback: str) -> None:
    problem = _world(impact, feedback=feedback, driver="realised")
    shares = sequence(120, 3, seed=7)
    came = drive(problem, shares, seed=8)
    for t in range(120):
        total = 0.0
        for k in range(3):
            past = came.seen[: t + 1, k]
            assert came.before_g[t, k] == pytest.approx(definition(past), abs=1e-12)
            active = np.append(past[:-1], 1.0)
            mean = 0.9 - 0.8 * definition(active)
            total += shares[t, k] * mean
            assert came.reward[t, k] == pytest.approx(mean * came.seen[t, k], abs=1e-9)
        assert came.expected[t] == pytest.approx(total, abs=1e-9)


def test_split_shares_are_realised_as_they_are_intended() -> None:
    shares = sequence(50, 3, seed=9)
    intended = drive(_world(ae.Discounted(0.5)), shares)
    realised = drive(_world(ae.Discounted(0.5), driver="realised"), shares)
    for a, b in zip(intended, realised, strict=True):
        assert np.array_equal(a, b)


def _own_discounted(memory: float) -> ae.OwnImpact:
    def step(state: tuple[float, float], share: float) -> tuple[tuple[float, float], float]:
        value, weight = state
        weight = 1.0 + memory * weight
        value = value + (share - value) / weight
        return (value, weight), value

    return ae.OwnImpact(step, start=(0.0, 0.0), rate=memory, limit_at=lambda p: p)


CORNERED = [ae.Bump(0.4, 0.2), ae.LinearDecline(0.9, 0.3), ae.Table([0, 0.5, 1], [0.2, 0.8, 0.4])]


@pytest.mark.parametrize("feedback", ["independent", "one", "split"])
@pytest.mark.parametrize("noise", ["bernoulli", "beta", "none"])
def test_an_own_impact_gives_the_same_simulation_draw_for_draw(feedback, noise) -> None:
    options: dict[str, Any] = {"feedback": feedback, "noise": noise}
    compiled = ae.Problem(CORNERED, ae.Discounted(0.6), **options)
    own = ae.Problem(CORNERED, _own_discounted(0.6), **options)
    for policy in (ae.HistoryUCB(memory=0.6), ae.DUCB()):
        fast, slow = (ae.simulate(p, policy, 200, runs=2, seed=3, threads=1, trace=True) for p in (compiled, own))
        assert fast.trace is not None
        assert slow.trace is not None
        assert np.array_equal(fast.trace.allocation, slow.trace.allocation)
        assert np.array_equal(fast.trace.seen, slow.trace.seen)
        assert np.allclose(fast.trace.reward, slow.trace.reward, rtol=0, atol=1e-9)
        assert np.allclose(fast.trace.impact, slow.trace.impact, rtol=0, atol=1e-12)
        assert np.allclose(fast.regret, slow.regret, rtol=0, atol=1e-6)


@pytest.mark.parametrize("feedback", ["independent", "one"])
def test_an_own_impact_driven_by_activations_gives_the_same_draws(feedback) -> None:
    options: dict[str, Any] = {"feedback": feedback, "driver": "realised"}
    rounds = np.array([300])
    fast, slow = (
        run_once(ae.Problem(CORNERED, impact, **options), ae.DUCB(), rounds, seed=5, trace=True)
        for impact in (ae.Discounted(0.6), _own_discounted(0.6))
    )
    assert np.allclose(fast.trace, slow.trace, rtol=0, atol=1e-12, equal_nan=True)
    assert np.allclose(fast.utility, slow.utility, rtol=0, atol=1e-9)
    assert np.allclose(fast.realised, slow.realised, rtol=0, atol=1e-9)


def test_own_and_compiled_impacts_live_side_by_side() -> None:
    impacts = [_own_discounted(0.6), ae.Window(3, ae.Power(2.0)), ae.Smoothed(0.5, 1.0)]
    shares = sequence(100, 3, seed=10)
    mixed = ae.Problem(CORNERED, impacts, noise="none")
    compiled = ae.Problem(CORNERED, [ae.Discounted(0.6), *impacts[1:]], noise="none")
    for a, b in zip(drive(mixed, shares, 1), drive(compiled, shares, 1), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-12)


def test_an_own_impact_settles_where_it_tends() -> None:
    own = ae.OwnImpact(lambda state, share: ((s := 0.5 * state + 0.5 * share**2), s), start=0.0)
    assert own.rate is None
    assert own.limit([0.0, 0.5, 1.0]) == pytest.approx([0.0, 0.25, 1.0], abs=1e-9)
    assert ae.Problem(CORNERED, own).memory is None
    stated = ae.OwnImpact(own.step, start=0.0, limit_at=lambda p: p**2)
    assert stated.limit(0.3) == pytest.approx(0.09)


def test_an_own_impact_that_leaves_the_unit_interval_is_refused() -> None:
    own = ae.OwnImpact(lambda state, _: (state, 1.5), start=0.0, limit_at=lambda p: p)
    with pytest.raises(ae.AftereffectError, match=r"1\.5 in round 1"):
        drive(ae.Problem(CORNERED, own), sequence(2, 3))


def test_an_own_impact_may_keep_its_state_in_a_list() -> None:
    """The step function is called once a round with intended shares, so a state changed in place counts each share once."""

    def step(state: list[float], share: float) -> tuple[list[float], float]:
        state.append(share)
        return state, sum(state[-5:]) / len(state[-5:])

    own = ae.OwnImpact(step, start=[], limit_at=lambda p: p)
    shares = sequence(30, 2, seed=11)
    found = drive(ae.Problem(CORNERED[:2], [own, ae.Window(5)], feedback="split"), shares).before_g
    expected = [window(shares[: t + 1, 0], 5) for t in range(30)]
    assert found[:, 0] == pytest.approx(expected, abs=1e-12)
