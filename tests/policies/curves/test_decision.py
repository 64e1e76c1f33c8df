"""Decisions: caution and bounds are kept, and home moves where the estimates say so."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.decision import cautious_values, decide
from aftereffect.policies.curves.look import look, mix
from aftereffect.policies.curves.state import HOME, MOVING, SEARCHING, TRYING, TUNED
from tests.policies.curves.told import CURVES, NAN, before_worth, told, wary


def test_cautious_values_by_hand() -> None:
    state, t = before_worth()
    cautious_values(state, float(t))
    eased = wary(state) * (1.0 - TUNED["ease"] * t / (t + TUNED["patience"]))
    for k in range(3):
        q, i = state.home[k] / 20, int(state.home[k])
        assert state.value[k, i] == pytest.approx(
            q * state.mixed["mean"][k, i], abs=1e-7
        )  # no doubt that home is as good as home
        for j in (0, 7, 20):
            p = j / 20
            there = state.mixed[k, j]
            variance = (
                p * p * there["variance"] + q * q * state.mixed["variance"][k, i] - 2 * p * q * there["with_home"]
            )
            expected = p * min(1.0, max(0.0, there["mean"])) - eased * np.sqrt(max(0.0, variance))
            assert state.value[k, j] == pytest.approx(expected, abs=1e-7)


def test_under_huge_caution_home_does_not_move() -> None:
    state, careless = told(150, caution=1e6), told(150, caution=1e-3)
    assert state.home.tolist() == [7, 7, 6]
    assert careless.home.tolist() != [7, 7, 6]


def test_home_moves_where_the_estimates_say_so_and_caution_is_small() -> None:
    state, t = told(60), 61
    for caution, moves in ((1e9, False), (1e-9, True)):
        look(state, t)
        state.home[:] = [0, 1, 19]  # a bad place by far
        mix(state)
        state.tuning["caution"] = caution
        decide(state, t)
        assert (state.home.tolist() != [0, 1, 19]) is moves
        assert (int(state.now[0]["stage"]) == MOVING) is moves
        if moves:
            assert state.levels.tolist() == state.home.tolist()


def test_decisions_keep_to_bounds_and_to_the_sum() -> None:
    policy, stages = ae.CurveThompson(memory=0.3, levels=40), set()
    for seed in range(4):
        agent = policy.start(3, seed=seed, floors=[0.1, 0.0, 0.2], caps=[0.6, 0.5, 1.0], feedback="split")
        random = np.random.default_rng(seed)
        for _ in range(300):
            p = agent.ask()
            state = agent.state
            for levels in (state.levels, state.home):
                assert levels.sum() == 40
                assert np.all(levels >= state.low)
                assert np.all(levels <= state.high)
            assert np.all(p >= [0.1 - 1e-12, 0.0, 0.2 - 1e-12])
            assert np.all(p <= [0.6 + 1e-12, 0.5 + 1e-12, 1.0])
            stages.add(int(state.now[0]["stage"]))
            means = np.array([curve(share) for curve, share in zip(CURVES, p, strict=True)])
            agent.tell(np.where(p > 0, random.random(3) < means, NAN))
    assert stages == {HOME, TRYING, SEARCHING, MOVING}
