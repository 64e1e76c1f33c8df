"""Decisions: what a look is worth, how far to go, and that caution and bounds are kept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import aftereffect as ae
from aftereffect.model.curves import Floats
from aftereffect.policies.curves import decision
from aftereffect.policies.curves.decision import (
    HOME,
    MOVING,
    SEARCHING,
    TRYING,
    TUNED,
    CurvesState,
    cautious_values,
    decide,
    expected_gain,
    look,
    mix,
    part_way,
    review,
    tuning_record,
    worth,
)
from aftereffect.policies.curves.fit import MEAN, VARIANCE

NAN = float("nan")
CURVES = (lambda p: 0.8 - 0.5 * p, lambda p: 0.3 + 0.3 * p, lambda p: 0.5 + 0.0 * p)


def told(
    rounds: int,
    arms: int = 3,
    levels: int = 20,
    seed: int = 1,
    floors: list[float] | float | None = None,
    caps: list[float] | float | None = None,
    units: int = 20,
    caution: float | None = None,
) -> CurvesState:
    """The state after so many rounds of means that are known, shares as it asked for them."""
    policy = ae.CurveThompson(memory=0.3, levels=levels)
    agent = policy.start(arms, seed=seed, floors=floors, caps=caps, caution=caution, feedback="split")
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        p = agent.ask()
        means = np.array([curve(share) for curve, share in zip(CURVES, p, strict=False)])
        trials = np.where(p > 0, np.maximum(1, np.rint(units * p)), 0).astype(int)
        rewards = np.where(p > 0, random.binomial(np.maximum(1, trials), means) / np.maximum(1, trials), NAN)
        agent.tell(rewards, trials=trials)
    state: CurvesState = agent.state
    return state


@pytest.mark.parametrize("mean", [-3.0, -0.5, 0.0, 0.2, 2.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 4.0])
def test_the_expected_gain_is_the_integral(mean: float, deviation: float) -> None:
    above = max(mean, 0.0) + 12 * deviation
    expected, _ = quad(lambda x: x * norm.pdf(x, mean, deviation), 0.0, above, points=[max(0.0, mean)], epsabs=1e-13)
    assert expected_gain(mean, deviation) == pytest.approx(expected, rel=1e-7, abs=1e-11)


@given(
    home=st.lists(st.integers(0, 60), min_size=2, max_size=7),
    weights=st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7),
    part=st.sampled_from([1.0, 0.5, 0.25, 0.125, 0.0]),
)
@settings(max_examples=300, deadline=None)
def test_part_of_the_way_keeps_the_sum_and_stays_between(home: list[int], weights: list[float], part: float) -> None:
    start, total = np.array(home), sum(home)
    marks = np.array(weights[: len(home)]) + 1e-9
    target = np.floor(total * marks / marks.sum()).astype(np.int64)
    target[0] += total - target.sum()
    levels = np.full(len(home), -1)
    part_way(start, target, part, levels)
    assert levels.sum() == total
    assert np.all(levels >= np.minimum(start, target))
    assert np.all(levels <= np.maximum(start, target))
    assert np.abs(levels - (start + part * (target - start))).max() < 1.0
    if part in (0.0, 1.0):
        assert levels.tolist() == (target if part else start).tolist()


def _before_worth(rounds: int = 40) -> tuple[CurvesState, int]:
    """A state that was just looked at, with a target away from home."""
    state, t = told(rounds), rounds + 1
    look(state, t)
    state.target[:] = np.roll(state.home, 1)
    state.target[:] = [20, 0, 0] if state.home[0] < 10 else [0, 20, 0]
    return state, t


def test_a_look_is_worth_nothing_where_nothing_is_uncertain() -> None:
    state, t = _before_worth()
    levels = np.zeros(3, dtype=np.int64)
    state.tuning["reach"] = 50.0
    assert worth(state, 1.0, float(t), levels)[0] > 0.0
    state.mixed[1:] = 0.0
    best, length = worth(state, 1.0, float(t), levels)
    assert (best, length) == (0.0, 0.0)
    assert levels.tolist() == state.home.tolist()


def test_worth_grows_with_reach_and_with_belief() -> None:
    state, t = _before_worth()
    levels, found = np.zeros(3, dtype=np.int64), []
    for reach in (0.01, 1.0, 5.0, 25.0):
        state.tuning["reach"] = reach
        found.append(worth(state, 1.0, float(t), levels)[0])
    assert found == sorted(found)
    assert found[-1] > found[-2] > 0.0
    assert worth(state, 0.02, float(t), levels)[0] < found[-1]


def test_worth_falls_with_caution_and_with_what_a_trial_loses() -> None:
    state, t = _before_worth()
    levels = np.zeros(3, dtype=np.int64)
    state.tuning["reach"] = 25.0
    usual = worth(state, 1.0, float(t), levels)[0]
    state.tuning["caution"] = 3.0
    assert worth(state, 1.0, float(t), levels)[0] < usual
    state.tuning["caution"] = 1.0
    far = [k for k in range(3) if state.target[k] > state.home[k]]
    state.mixed[0, far] *= 0.7
    state.mixed[0, far, state.home[far]] /= 0.7
    assert worth(state, 1.0, float(t), levels)[0] < usual


def test_worth_of_one_round_by_hand() -> None:
    """The best of four places on the way: what is expected to be gained, less risk and loss, from the state's numbers."""
    state, t = _before_worth()
    levels, chosen = np.zeros(3, dtype=np.int64), set()
    for blurred, reach, bold in itertools.product((False, True), (0.5, 8.0, 40.0, 400.0), (0.3, 0.01)):
        if blurred:  # where nothing can be seen at the target itself, somewhere on the way is better
            state.noise[np.arange(3), state.target] = 1e9
        state.tuning["reach"] = state.tuning["late_reach"] = reach
        state.tuning["bold"] = bold
        found, length = worth(state, 1.0, float(t), levels)
        candidates = []
        for part in (1.0, 0.5, 0.25, 0.125):
            middle = np.zeros(3, dtype=np.int64)
            part_way(state.home, state.target, part, middle)
            candidates.append(_one_round(state, middle, t, 20))
        assert length <= max(1.0, TUNED["longest"] * t)
        assert found == pytest.approx(max(0.0, *candidates), rel=1e-6)
        if found > 0.0:
            chosen.add(int(np.argmax(candidates)))
    assert len(chosen) > 1


def _one_round(state: CurvesState, middle: np.ndarray, t: int, steps: int) -> float:
    arms = range(3)
    home, target, tuning, now = state.home, state.target, state.tuning[0], state.now[0]
    p, q, r = middle / steps, home / steps, target / steps
    mean = state.mixed[0].clip(0.0, 1.0)
    at = lambda levels: np.array([mean[k, levels[k]] for k in arms])  # noqa: E731

    def variance_of(levels: np.ndarray, own: Floats, column: Floats) -> float:
        x = levels / steps
        return float(
            sum(
                x[k] ** 2 * own[k, levels[k]] + q[k] ** 2 * own[k, home[k]] - 2 * x[k] * q[k] * column[k, levels[k]]
                for k in arms
            )
        )

    gain, far = p @ at(middle) - q @ at(home), r @ at(target) - q @ at(home)
    variance, far_variance = (variance_of(x, state.mixed[1], state.mixed[2]) for x in (middle, target))
    single, far_single = (variance_of(x, state.posterior[:, VARIANCE], state.column) for x in (middle, target))
    alike = sum(
        p[k] * r[k] * state.across[k, middle[k]]
        - q[k] * r[k] * state.column[k, target[k]]
        - p[k] * q[k] * state.column[k, middle[k]]
        + q[k] ** 2 * state.posterior[k, VARIANCE, home[k]]
        for k in arms
    )
    if variance <= 0 or alike <= 0:
        return 0.0
    density = now["seen"] / now["shares"]
    blur = sum(
        p[k] * state.spread[0, k] * state.noise[k, middle[k]] / density + p[k] ** 2 * state.spread[1, k] for k in arms
    )
    memory = state.tracks[now["track"]]["memory"]
    seen = (1.0 - memory) ** 2
    shared = min(1.0, alike**2 / (single * far_single))
    known = np.sqrt(far_variance * shared * variance / (variance + blur / seen))
    earned = q @ at(home) + 1e-9
    deviation = np.sqrt(variance)
    patient = t / (t + tuning["patience"])
    risk = tuning["risk"] * tuning["caution"] * (1.0 - patient)
    better = known * norm.pdf(far / known) + far * norm.cdf(far / known)
    return float(tuning["reach"] * t * better - risk * deviation * (1.0 + deviation / (tuning["bold"] * earned)) + gain)


def test_cautious_values_by_hand() -> None:
    state, t = _before_worth()
    cautious_values(state, float(t))
    eased = 1.0 - TUNED["ease"] * t / (t + TUNED["patience"])
    for k in range(3):
        q, i = state.home[k] / 20, int(state.home[k])
        assert state.value[k, i] == pytest.approx(
            q * state.mixed[0, k, i], abs=1e-7
        )  # no doubt that home is as good as home
        for j in (0, 7, 20):
            p = j / 20
            variance = p * p * state.mixed[1, k, j] + q * q * state.mixed[1, k, i] - 2 * p * q * state.mixed[2, k, j]
            expected = p * min(1.0, max(0.0, state.mixed[0, k, j])) - eased * np.sqrt(max(0.0, variance))
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


def test_mixed_curves_are_the_mixture_of_all_fields_with_weight() -> None:
    """Means, variances and covariances with home, by the law of total variance over the fields kept."""
    state, t = told(40), 41
    review(state, 10**6)
    look(state, t)
    mixed = state.mixed.copy()
    evidence, home, use = state.field_evidence, state.home, int(state.now[0]["field"])
    weight = np.exp(evidence - evidence.max())
    weight[[j for j in range(len(weight)) if weight[j] <= decision.NEGLIGIBLE and j != use]] = 0.0
    weight /= weight.sum()
    assert (weight > 0).sum() > 1
    means, covariances = [], []
    for j in range(len(weight)):
        decision.fit_bank(state, int(state.now[0]["age"]), j)
        means.append(state.posterior[:, MEAN].copy())
        covariances.append(np.stack([state.posterior[:, VARIANCE], state.column]))
    centre = np.tensordot(weight, np.array(means), 1)
    off = np.array(means) - centre
    within = np.tensordot(weight, np.array(covariances), 1)
    at_home = off[:, np.arange(3), home][:, :, None]
    assert np.allclose(mixed[0], centre, atol=1e-9)
    assert np.allclose(mixed[1], within[0] + np.tensordot(weight, off**2, 1), atol=1e-9)
    assert np.allclose(mixed[2], within[1] + np.tensordot(weight, off * at_home, 1), atol=1e-9)


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
                assert np.all(levels >= state.bounds[0])
                assert np.all(levels <= state.bounds[1])
            assert np.all(p >= [0.1 - 1e-12, 0.0, 0.2 - 1e-12])
            assert np.all(p <= [0.6 + 1e-12, 0.5 + 1e-12, 1.0])
            stages.add(int(state.now[0]["stage"]))
            means = np.array([curve(share) for curve, share in zip(CURVES, p, strict=True)])
            agent.tell(np.where(p > 0, random.random(3) < means, NAN))
    assert stages == {HOME, TRYING, SEARCHING, MOVING}


def test_the_constants_are_one_record() -> None:
    record = tuning_record(caution=2.5)[0]
    assert record["caution"] == 2.5
    assert {n: float(record[n]) for n in record.dtype.names if n != "caution"} == {
        n: v for n, v in TUNED.items() if n != "caution"
    }
