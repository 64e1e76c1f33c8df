"""Trials: what a look is worth, and how far to go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from aftereffect.model.curves import Floats
from aftereffect.policies.curves.fit import covariances
from aftereffect.policies.curves.state import TUNED, CurvesState
from aftereffect.policies.curves.trial import (
    SHORT,
    at_stake,
    expected_gain,
    part_way,
    pays_for,
    reached,
    roughness,
    shown,
    worth,
)
from tests.policies.curves.told import before_worth, wary


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


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.95, 0.9999])
@pytest.mark.parametrize("rounds", [1, 2, 17, 512])
def test_the_impact_is_on_its_way_while_a_trial_lasts(memory: float, rounds: int) -> None:
    impact, path = 0.0, []
    for _ in range(rounds):
        impact += (1.0 - memory) * (1.0 - impact)
        path.append(impact)
    assert reached(memory, rounds) == pytest.approx(np.mean(path), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("rounds", [1, 4, 64])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_trial_shows_what_conditioning_on_its_rewards_would(memory: float, rounds: int, scale: float) -> None:
    """By dense algebra: the variance of the target's gain over home, less what is left once the arms' means were seen."""
    state, _ = before_worth()
    state.tracks["memory"][state.now["track"]] = memory
    state.midway[:] = [3, 12, 5]
    state.spread["shock"] = [0.0, 0.002, 0.01]
    density, steps, reduced = 7.0, 20, 0.0
    for k in range(3):
        home, target, deployed = (int(x[k]) for x in (state.home, state.target, state.midway))
        covariances(state.posterior, k, target, state.across[k])
        at = int(home + reached(memory, rounds) * (deployed - home) + 0.5)
        column, matrix = np.zeros(21), []
        for node in (target, home, at):
            covariances(state.posterior, k, node, column)
            matrix.append(column[[target, home, at]].copy())
        joint, gain = scale * np.array(matrix), np.array([target, -home, 0.0]) / steps
        spread = state.spread[k]
        trials = density * deployed / steps * rounds
        noise = spread["dispersion"] * state.noise[k, at] / trials + spread["shock"] / rounds
        left = joint - np.outer(joint[:, 2], joint[2]) / (joint[2, 2] + noise)
        reduced += gain @ (joint - left) @ gain
    assert reduced > 0.0
    assert shown(state, rounds, density, scale) == pytest.approx(reduced, rel=1e-9)


def test_under_a_long_memory_a_short_trial_shows_little_of_where_it_went() -> None:
    """However many units are sent there: the impact hardly moves."""
    state, _ = before_worth()
    state.midway[:] = state.target
    for k in range(3):
        covariances(state.posterior, k, int(state.target[k]), state.across[k])
    found = []
    for memory in (0.0, 0.5, 0.9, 0.97):
        state.tracks["memory"][state.now["track"]] = memory
        found.append(shown(state, 1, 1e9, 1.0))
    assert found[0] > found[1] > 10.0 * max(found[2:])


def test_a_look_is_worth_nothing_where_nothing_is_uncertain() -> None:
    state, t = before_worth()
    levels = np.zeros(3, dtype=np.int64)
    state.tuning["reach"] = 50.0
    assert worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0] > 0.0
    state.mixed["variance"] = state.mixed["with_home"] = 0.0
    best, length = worth(state, pays_for(state, t, float(t)), float(t), levels, False)
    assert (best, length) == (0.0, 0.0)
    assert levels.tolist() == state.home.tolist()


def test_worth_grows_with_reach_and_with_belief() -> None:
    state, t = before_worth()
    levels, found = np.zeros(3, dtype=np.int64), []
    for reach in (0.01, 1.0, 5.0, 25.0):
        state.tuning["reach"] = reach
        found.append(worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0])
    assert found == sorted(found)
    assert found[-1] > found[-2] > 0.0
    assert worth(state, 0.02 * pays_for(state, t, float(t)), float(t), levels, False)[0] < found[-1]


def test_what_is_found_pays_for_some_of_the_past_or_for_what_is_left_of_a_long_horizon() -> None:
    state, _ = before_worth()
    state.tuning["patience"], rounds = 500.0, 1_500.0  # three quarters of it have come
    past = (TUNED["reach"] + 0.75**2 * (TUNED["late_reach"] - TUNED["reach"])) * 1_500.0
    for told in (0.0, 300.0, SHORT):  # nothing, or nothing that would change it
        state.tuning["horizon"] = told
        assert pays_for(state, 2_000, rounds) == pytest.approx(past)
    state.tuning["horizon"] = 4.0 * SHORT
    left = TUNED["ahead"] * 0.75 * (4.0 * SHORT - 2_000.0)
    assert left > past  # early
    assert pays_for(state, 2_000, rounds) == pytest.approx(past / 4.0 + 0.75 * left)
    assert pays_for(state, int(3.9 * SHORT), rounds) == pytest.approx(past / 4.0 + 0.75 * 0.1 * SHORT)  # less is left
    assert pays_for(state, int(5.0 * SHORT), rounds) == pytest.approx(past / 4.0)  # nothing is


def test_worth_falls_with_caution_and_with_what_a_trial_loses() -> None:
    state, t = before_worth()
    levels = np.zeros(3, dtype=np.int64)
    state.tuning["reach"] = 25.0
    usual = worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0]
    state.tuning["caution"] = 3.0
    assert worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0] < usual
    state.tuning["caution"] = 1.0
    far = [k for k in range(3) if state.target[k] > state.home[k]]
    state.mixed["mean"][far] *= 0.7
    state.mixed["mean"][far, state.home[far]] /= 0.7
    assert worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0] < usual


def test_a_search_is_not_for_what_the_exploring_field_claims() -> None:
    """However much better that field takes the target for, without anything left to see nothing is worth a search there."""
    state, t = before_worth()
    levels, rising = np.zeros(3, dtype=np.int64), np.linspace(-1.0, 1.0, 21)
    state.tuning["patience"] = 1e-6  # all of it has come
    state.foretold["mean"] = 0.5
    for k in range(3):
        state.mixed["mean"][k] = 0.5 + 0.3 * rising * np.sign(state.target[k] - state.home[k])
    state.spread["dispersion"] = 1e12  # nothing can be seen
    assert worth(state, pays_for(state, t, float(t)), float(t), levels, False)[0] > 0.0
    assert worth(state, pays_for(state, t, float(t)), float(t), levels, True)[0] < 1e-6


def test_a_search_costs_what_is_believed_to_be_lost() -> None:
    state, t = before_worth()
    levels, found = np.zeros(3, dtype=np.int64), []
    state.tuning["reach"] = state.tuning["late_reach"] = 25.0
    state.tuning["patience"] = 50.0
    for lost in (0.0, 0.01, 0.1):
        state.foretold["mean"] = 0.5 - lost
        for k in range(3):
            state.foretold["mean"][:, k, state.home[k]] = 0.5
        found.append(worth(state, pays_for(state, t, float(t)), float(t), levels, True)[0])
    assert found[0] > found[1] > found[2]


def test_worth_of_one_round_by_hand() -> None:
    """The best of four places on the way: what is expected to be gained, less risk and loss, from the state's numbers."""
    state, t = before_worth(25)
    levels, chosen = np.zeros(3, dtype=np.int64), set()
    state.tuning["patience"] = 50.0  # about half of it has come
    for blurred, reach, bold, searching in itertools.product(
        (False, True), (0.5, 8.0, 40.0, 400.0), (0.3, 0.01), (False, True)
    ):
        if blurred:  # where nothing can be seen at the target itself, somewhere on the way is better
            state.noise[np.arange(3), state.target] = 1e9
        state.tuning["reach"] = state.tuning["late_reach"] = reach
        state.tuning["bold"] = bold
        found, length = worth(state, pays_for(state, t, float(t)), float(t), levels, searching)
        candidates = []
        for part in (1.0, 0.5, 0.25, 0.125):
            middle = np.zeros(3, dtype=np.int64)
            part_way(state.home, state.target, part, middle)
            candidates.append(_one_round(state, middle, t, 20, searching))
        assert length <= max(1.0, TUNED["longest"] * t)
        assert found == pytest.approx(max(0.0, *candidates), rel=1e-6)
        if found > 0.0:
            chosen.add(int(np.argmax(candidates)))
    assert len(chosen) > 1


def _one_round(state: CurvesState, middle: np.ndarray, t: int, steps: int, searching: bool) -> float:
    arms = range(3)
    home, target, tuning, now = state.home, state.target, state.tuning[0], state.now[0]
    p, q, r = middle / steps, home / steps, target / steps
    mean = state.mixed["mean"].clip(0.0, 1.0)
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
    variance, far_variance = (
        variance_of(x, state.mixed["variance"], state.mixed["with_home"]) for x in (middle, target)
    )
    far_single = variance_of(target, state.posterior.variance, state.column)
    if variance <= 0:
        return 0.0
    scale, seen, density = far_variance / far_single, 0.0, now["seen"] / now["shares"]
    for k, spread in enumerate(state.spread):
        on = int(home[k] + (1.0 - state.tracks[now["track"]]["memory"]) * (middle[k] - home[k]) + 0.5)
        if middle[k] > 0:
            noise = spread["dispersion"] * state.noise[k, on] / (density * p[k]) + spread["shock"]
            alike = scale * (r[k] * state.across[k, on] - q[k] * state.column[k, on])
            seen += alike**2 / (scale * state.posterior.variance[k, on] + noise)
    known = np.sqrt(min(far_variance, seen))
    earned = q @ at(home) + 1e-9
    deviation = np.sqrt(variance)
    patient = t / (t + tuning["patience"])
    risk = tuning["risk"] * wary(state) * (1.0 - patient)
    better = known * norm.pdf(far / known) + far * norm.cdf(far / known)
    if searching:
        told = state.foretold["mean"][now["age"]]
        believed = sum(p[k] * told[k, middle[k]] - q[k] * told[k, home[k]] for k in arms)
        gain = (1.0 - patient) * gain + patient * min(0.0, believed)
        better -= max(0.0, far)
    return float(tuning["reach"] * t * better - risk * deviation * (1.0 + deviation / (tuning["bold"] * earned)) + gain)


def test_roughness_is_the_belief_in_short_fields() -> None:
    state, _ = before_worth()
    state.field_evidence[:] = np.random.default_rng(2).normal(-900.0, 2.0, state.field_evidence.size)
    belief = np.exp(state.field_evidence - state.field_evidence.max())
    for length in (0.12, 0.3):
        short = state.fields["length"] <= length
        assert 0 < short.sum() < short.size
        assert roughness(state, length) == pytest.approx(belief[short].sum() / belief.sum())
    state.field_evidence[~short] = -5000.0
    assert roughness(state, 0.3) == pytest.approx(1.0)


def test_hardly_seen_places_count_more_where_curves_are_rough_and_time_is_long() -> None:
    state, _ = before_worth()
    for horizon, rounds, part in (
        (0.0, 15_000.0, 0.0),
        (SHORT, 15_000.0, 0.0),  # not long
        (4.0 * SHORT, 4_000.0, 0.0),  # smoothness is not learned yet
        (4.0 * SHORT, 15_000.0, 0.75),
        (0.0, 2.0 * SHORT, 0.5),  # no horizon was told, and the past is long
    ):
        state.tuning["horizon"] = horizon
        assert at_stake(state, rounds) == pytest.approx(part * roughness(state, 0.3))
    pays, found = 1e6, []
    for unsure in (0.0, 0.75):
        state.tuning["horizon"], state.tuning["unsure"] = 4.0 * SHORT, unsure
        found.append(worth(state, pays, 15_000.0, state.spare, True)[0])
        assert worth(state, pays, 15_000.0, state.spare, False)[0] > 0.0
    assert found[1] > found[0]


def test_in_the_long_run_targets_are_doubted_and_trials_valued_with_all_that_may_follow() -> None:
    """Short horizons are worth what they were; longer ones at least that, and no trial is held for longer at once."""
    levels, rounds, pays = np.zeros(3, dtype=np.int64), 15_000.0, 1e4
    usual = {"unlucky": TUNED["unlucky"], "foresight": TUNED["foresight"]}
    neither = {"unlucky": 0.0, "foresight": TUNED["longest"]}

    def found(horizon: float, worse: float = 0.0, noise: float = 1.0, **constants: float) -> tuple[float, float]:
        state, _ = before_worth()
        state.mixed["mean"][np.arange(3), state.target] -= worse
        state.noise[:] *= noise
        state.tuning["horizon"] = horizon
        for name, value in constants.items():
            state.tuning[name] = value
        return worth(state, pays, rounds, levels, False)

    for horizon in (0.0, SHORT):
        assert found(horizon, **usual) == found(horizon, **neither)
    far = 4.0 * SHORT
    plain, doubted, both = (found(far, **c)[0] for c in (neither, {**neither, "unlucky": TUNED["unlucky"]}, usual))
    assert 0.0 < plain < doubted <= both
    faint = {"worse": 0.05, "noise": 1e3}  # a hundredth of the past shows little of it, all of it much more
    short, long = (found(far, **faint, **neither | {"foresight": share}) for share in (TUNED["longest"], 1.0))
    assert long[0] > 2.0 * short[0] > 0.0
    assert long[1] <= TUNED["longest"] * rounds
