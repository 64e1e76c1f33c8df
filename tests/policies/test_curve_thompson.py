"""`curve-thompson`: what it books where, every decision against dense linear algebra, what it says about its model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.feedback import Feedback
from aftereffect.policies.curve_fit import (
    BEND,
    CENTRE,
    COUNT,
    DRAWN,
    MOST_WEIGHT,
    NOISE,
    SPREAD,
    STEEPNESS,
    SUM,
    WHITE,
    fitted,
)
from aftereffect.policies.curve_thompson import (
    AGE,
    EXPLORED_FIELD,
    EXPLORING,
    FADED_AT,
    FIELD,
    HOLD,
    HOLD_GROWTH,
    HOLD_UNTIL,
    TAKES_TURNS,
    TRACK,
    bank_of,
)
from aftereffect.policies.forgetting import POWER, SCORE, ages_tried, drift_seen
from aftereffect.policies.impact_tracks import EVIDENCE, MEMORY, contradiction, estimated_memory, known_tracks
from aftereffect.policies.share_values import price_chances, price_turns, take_turn
from aftereffect.simulation.simulate import run_once
from aftereffect.testing import check_policy

FEEDBACKS: tuple[Feedback, ...] = ("independent", "one", "split")
NAN = float("nan")


@pytest.mark.parametrize(
    "policy",
    [
        ae.CurveThompson(memory=0.4, levels=40),
        ae.CurveThompson(memory_bound=0.8, levels=30),
        ae.CurveThompson(memory=0.4, levels=30, follow="realised"),
    ],
    ids=lambda p: p.key,
)
@pytest.mark.parametrize(("arms", "feedback"), [(1, "one"), (2, "independent"), (3, "split"), (4, "one")])
def test_it_conforms(policy: ae.Policy, arms: int, feedback: Feedback) -> None:
    check_policy(policy, arms=arms, horizon=120, feedback=feedback)


def test_observations_are_booked_at_the_impact_of_what_was_deployed() -> None:
    agent = ae.CurveThompson(memory=0.5, levels=10).start(2)
    agent.ask()
    agent.tell([0.5, NAN], allocation=[1.0, 0.0], trials=[4, 0])
    agent.ask()
    agent.tell(None, allocation=[0.0, 1.0])  # nothing is known, but the impact moves on
    agent.ask()
    agent.tell([NAN, 1.0], allocation=[0.0, 1.0])
    count, total = agent.state.banks[0, COUNT], agent.state.banks[0, SUM]
    assert (count[0, 10], total[0, 10], count[0].sum()) == (4.0, 2.0, 4.0)
    weights = np.array([0.25, 0.5, 1.0])
    impact = weights @ np.array([0.0, 1.0, 1.0]) / weights.sum()
    assert agent.state.impact[0, 1] == pytest.approx(impact)
    assert (count[1, round(10 * impact)], count[1].sum()) == (1.0, 1.0)


def test_realised_tracks_follow_activations() -> None:
    agent = ae.CurveThompson(memory=0.5, levels=10, follow="realised").start(2)
    for rewards in ([1.0, NAN], [NAN, 1.0], [NAN, NAN]):
        agent.ask()
        agent.tell(rewards, allocation=[0.5, 0.5])
    weights = np.array([0.25, 0.5, 1.0])
    expected = [weights @ np.array(a) / weights.sum() for a in ([1, 0, 0], [0, 1, 0])]
    assert agent.state.impact[0] == pytest.approx(expected)
    assert agent.state.banks[0, COUNT, 0, 10] == 1.0  # activated in the first round, its impact was one


def _precision(nodes: int, steepness: float, bend: float) -> np.ndarray:
    """The prior's precision matrix, from the integrals in smooth_field's docstring."""
    step = 1.0 / (nodes - 1)
    first = np.diff(np.eye(nodes), axis=0) / step
    second = np.diff(np.eye(nodes), n=2, axis=0) / step**2
    ridge = np.eye(nodes) / (SPREAD**2 * nodes)
    tau2, sigma2 = 2 * steepness**2 * bend, 2 * steepness**2 / bend
    return ridge + step * first.T @ first / tau2 + step * second.T @ second / sigma2


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_every_decision_is_the_best_for_curves_drawn_from_the_posterior(feedback: Feedback) -> None:
    """With the white noise it drew, dense linear algebra gives the same curves and enumeration the same allocation."""
    levels, rows, judged = 12, np.arange(3), 0
    agent = ae.CurveThompson(memory=0.4, levels=levels, exploration=60).start(3, seed=4, feedback=feedback)
    random = np.random.default_rng(3)
    shares = np.arange(levels + 1) / levels
    grid = [np.array([a, b, levels - a - b]) for a in range(levels + 1) for b in range(levels + 1 - a)]
    for t in range(1, 500):
        p = agent.ask()
        state = agent.state
        if state.codes[HOLD_UNTIL] == t + int(HOLD):  # decided just now
            exploring = state.codes[EXPLORING] == 1
            field = state.fields[state.codes[EXPLORED_FIELD if exploring else FIELD]]
            bank = state.banks[bank_of(state, int(state.codes[AGE]))]
            for k in range(3):
                n, total, noise = bank[COUNT, k], bank[SUM, k], state.cells[NOISE, k]
                precision = _precision(levels + 1, field[STEEPNESS], field[BEND]) + np.diag(n / noise)
                covariance = np.linalg.inv(precision)
                mean = covariance @ ((total - CENTRE * n) / noise)
                # The field colours by L'^-1 D^-1/2 with precision L D L' = (L D^1/2)(L D^1/2)': numpy's own Cholesky factor.
                deviation = np.linalg.solve(np.linalg.cholesky(precision).T, state.cells[WHITE, k])
                drawn = np.clip(CENTRE + mean + (1.0 if exploring else 0.4) * deviation, 0, 1)
                assert state.cells[DRAWN, k] == pytest.approx(drawn, abs=1e-6)
            value = shares * state.cells[DRAWN]
            assert value[rows, np.rint(p * levels).astype(int)].sum() == pytest.approx(
                max(value[rows, option].sum() for option in grid)
            )
            judged += 1
        seen = p > 0 if feedback == "split" else random.random(3) < p
        if feedback == "one":
            seen = np.arange(3) == random.choice(3, p=p / p.sum())
        agent.tell(np.where(seen, random.random(3) < 0.9 - 0.7 * p, NAN))
    assert judged > 80


def test_a_decision_is_held_only_until_its_loss_can_be_told_from_noise() -> None:
    agent, random = (
        ae.CurveThompson(memory=0.5, levels=20, exploration=20_000).start(2, seed=2),
        np.random.default_rng(1),
    )
    shares, held, limited = np.arange(21) / 20, 0, 0
    for t in range(1, 40_001):
        before = int(agent.state.codes[HOLD_UNTIL])
        p = agent.ask()
        state = agent.state
        if t >= before and t > 3000:
            age = int(state.codes[AGE])
            mean, _ = fitted(state.banks[bank_of(state, age)], state.cells, state.fields, int(state.codes[FIELD]))
            value = shares * mean.clip(0.0, 1.0)
            totals = value[0] + value[1, ::-1]
            loss = totals.max() - totals[round(20 * p[0])]
            longest = HOLD_GROWTH * t / (1.0 + state.ages[age, POWER])
            expected = max(HOLD, int(min(longest, 0.25 / loss**2)) if loss > 1e-9 else int(longest))
            assert int(state.codes[HOLD_UNTIL]) - t == expected
            held, limited = held + 1, limited + (expected < int(longest))
        agent.tell(np.where(random.random(2) < p, random.random(2) < [0.95 - 0.9 * p[0], 0.2], NAN))
    assert held - limited > 50
    assert limited > 5


def test_the_horizon_changes_nothing() -> None:
    runs = []
    for horizon in (None, 50, 100_000):
        agent, random = ae.CurveThompson(memory=0.3, levels=20).start(2, horizon, seed=3), np.random.default_rng(1)
        rows = []
        for _ in range(80):
            rows.append(agent.ask())
            agent.tell(np.where(random.random(2) < rows[-1], random.random(2), np.nan))
        runs.append(np.array(rows))
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_with_data_everywhere_the_fitted_curves_are_the_true_ones() -> None:
    x = np.linspace(0.0, 1.0, 41)
    true = np.array([0.9 - 0.6 * x, 0.5 + np.maximum(0.0, 0.15 - np.abs(x - 0.3))])
    agent = ae.CurveThompson(memory=0.4, levels=40).start(2, seed=1)
    agent.state.banks[:, COUNT] = 20_000.0
    agent.state.banks[:, SUM] = 20_000.0 * true
    agent.ask()
    state = agent.state
    mean, deviation = fitted(state.banks[0], state.cells, state.fields, int(state.codes[FIELD]))
    assert np.max(np.abs(mean - true)) < 0.03
    assert np.all(deviation < 0.03)
    favourite = agent.explain()["favourite"]["allocation"]
    assert favourite[0] == pytest.approx(x[np.argmax(x * true[0] + (1 - x) * true[1][::-1])], abs=0.06)


def test_billions_of_trials_keep_it_finite() -> None:
    agent = ae.CurveThompson(memory=0.5, levels=40).start(3, seed=1)
    for _ in range(60):
        share = agent.ask()
        assert share.sum() == pytest.approx(1.0)
        agent.tell(np.where(share > 0, 0.3, np.nan), trials=np.where(share > 0, 9e14, 0))
    state = agent.state
    mean, deviation = fitted(state.banks[0], state.cells, state.fields, int(state.codes[FIELD]))
    assert np.all(np.isfinite(mean))
    assert np.all(deviation >= 0.5 / np.sqrt(MOST_WEIGHT * 60))


def test_it_beats_history_ucb_by_far() -> None:
    """A factor of 15 to 50 is measured at ten times the horizon; here a third of what six instances gave suffices."""
    family = ae.family("loan", arms=2, memory=0.5)
    policies = [ae.CurveThompson(), ae.HistoryUCB(log="printed")]
    compared = ae.simulate(family, policies, 20_000, runs=1, instances=6, seed=9, threads=1)
    ours, theirs = (compared[p.key].regret[:, -1].mean() for p in policies)
    assert theirs > 2.5 * ours


# Activations as the driver: holding a split, or taking turns.


def _mean_response_when_activated(curve, share: float, memory: float) -> float:
    """By simulation of the impact itself, 40,000 rounds."""
    random = np.random.default_rng(1)
    active = random.random(40_000) < share
    impact, total = share, 0.0
    for a in active:
        impact += (float(a) - impact) * (1 - memory)
        total += float(curve(impact)) if a else 0.0
    return float(total / active.sum())


@pytest.mark.parametrize("memory", [0.3, 0.6])
def test_a_held_share_is_priced_at_the_mean_response_of_its_activations(memory: float) -> None:
    x = np.linspace(0, 1, 201)
    curve = lambda v: 0.9 - 0.6 * (v - 0.4) ** 2  # noqa: E731
    value = np.zeros((1, 201))
    price_chances(curve(x)[None], value, memory)
    for share in (0.2, 0.5, 0.9):
        expected = share * _mean_response_when_activated(curve, share, memory)
        assert value[0, round(share * 200)] == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("memory", [0.2, 0.5, 0.8])
def test_turns_are_priced_at_what_they_earn_when_played(memory: float) -> None:
    """Every share against a thousand rounds in which it is played, as `take_turn` plays it against the rest."""
    steps, x = 200, np.linspace(0, 1, 201)
    curve = lambda v: 0.5 + 0.4 * np.sin(3.0 * v)  # noqa: E731
    value = np.zeros((1, steps + 1))
    price_turns(curve(x)[None], value, memory)
    for level in range(1, steps + 1):
        levels, credit, turn = np.array([level, steps - level]), np.zeros(2), np.zeros(2)
        impact, earned = level / steps, 0.0
        for t in range(7 * steps):
            take_turn(levels, steps, credit, turn)
            impact += (turn[0] - impact) * (1 - memory)
            if t >= 2 * steps and turn[0] > 0:
                earned += float(curve(impact))
        assert value[0, level] == pytest.approx(earned / (5 * steps), abs=2e-3)


def test_taking_turns_adds_up_to_the_split_and_beats_holding_it_on_patrol() -> None:
    problem = ae.problem("patrol", memory=0.5, driver="realised", seed=3)
    policy = ae.CurveThompson(follow="realised")
    done = run_once(problem, policy, np.array([20_000]), 1, trace=True)
    assert done.state.codes[TAKES_TURNS] == 1
    assert set(np.unique(done.trace[-50:, 0])) == {0.0, 1.0}
    turns, allocation, credit = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(1000):
        take_turn(done.state.levels, 200, credit, allocation)
        turns += allocation
    assert turns / 1000 == pytest.approx(done.state.levels / 200, abs=0.002)
    held = ae.simulate(problem, ae.CurveThompson(), 20_000, runs=1, seed=1).regret[0, -1]
    assert ae.best_fixed(problem).utility * 20_000 - done.utility[-1] < held


def test_what_it_expects_is_what_it_earns_where_activations_drive_the_impact() -> None:
    problem, policy = ae.problem("patrol", memory=0.5, driver="realised", seed=3), ae.CurveThompson(follow="realised")
    done = run_once(problem, policy, np.array([18_000, 20_000]), 1)
    earned = (done.utility[1] - done.utility[0]) / 2_000
    said = policy.explain(done.state, ae.Setting(2, feedback=problem.feedback, memory=0.5), 20_001, done.allocation[-1])
    assert said["expected"] == pytest.approx(earned, abs=0.02)


def test_floors_forbid_taking_turns() -> None:
    problem = ae.problem("patrol", memory=0.5, driver="realised", seed=3, floors=0.2)
    done = run_once(problem, ae.CurveThompson(follow="realised"), np.array([2000]), 1, trace=True)
    assert done.trace[:, 0].min() >= 0.2 - 1e-9


# What it says about its model.


def test_a_right_memory_is_rarely_contradicted() -> None:
    """At most 5 percent by Ville's inequality; 7 of 40 would happen with probability below .004 even at 5 percent."""
    said = []
    for name, seed in itertools.product(("gaussian", "patrol", "bump", "lipschitz"), range(10)):
        problem = ae.problem(name, memory=0.5, seed=seed)
        done = run_once(problem, ae.CurveThompson(), np.array([5000]), seed)
        said.append(contradiction(done.state.tracks, float(done.state.settings[2]))["contradicted"])
    assert sum(said) < 7


def test_a_wrong_memory_is_noticed_where_the_data_can_tell() -> None:
    """Splits at random, held for a few rounds each, and steep curves: told .1 in a world of .8, it must notice."""
    agent, random = ae.CurveThompson(memory=0.1).start(2, seed=1), np.random.default_rng(2)
    impact, weight, p, until = np.zeros(2), 0.0, np.array([0.5, 0.5]), 0
    for t in range(3000):
        if t >= until:
            share = random.random()
            p, until = np.array([share, 1 - share]), t + int(random.integers(1, 6))
        agent.ask()
        weight = 1 + 0.8 * weight
        impact += (p - impact) / weight
        means = np.array([impact[0], 1 - impact[1]])
        agent.tell(np.where(random.random(2) < p, (random.random(2) < means).astype(float), NAN), allocation=p)
    agent.ask()
    model = agent.explain()["model"]
    assert model["contradicted"]
    assert model["better"]["memory"] > 0.3


def test_an_unknown_memory_is_estimated() -> None:
    random = np.random.default_rng(2)
    agent = ae.CurveThompson(memory_bound=0.95).start(2, seed=1)
    impact, weight = np.zeros(2), 0.0
    for t in range(4000):
        agent.ask()
        p = np.eye(2)[(t // 4) % 2]
        weight = 1 + 0.7 * weight
        impact += (p - impact) / weight
        means = np.array([impact[0], 1 - impact[1]])
        agent.tell(np.where(p > 0, (random.random(2) < means).astype(float), NAN), allocation=p)
    agent.ask()
    memory = agent.explain()["memory"]
    assert memory["low"] <= 0.7 <= memory["high"]
    assert memory["can_tell"]
    assert memory["estimate"] == pytest.approx(0.7, abs=0.15)


def test_without_switching_it_cannot_tell() -> None:
    agent = ae.CurveThompson(memory_bound=0.9).start(2, seed=1)
    for _ in range(300):
        agent.ask()
        agent.tell([1.0, 0.0], allocation=[0.5, 0.5])
    agent.ask()
    memory = agent.explain()["memory"]
    assert not memory["can_tell"]
    assert (memory["low"], memory["high"]) == pytest.approx((0.0, 0.9))


def test_the_interval_of_the_memory_by_hand() -> None:
    tracks = known_tracks(0.0, False, False)[:1].repeat(4, axis=0)
    tracks[:, MEMORY] = [0.0, 0.3, 0.6, 0.9]
    tracks[:, EVIDENCE] = np.log([0.01, 0.6, 0.38, 0.01])
    found = estimated_memory(tracks)
    assert (found["low"], found["high"]) == pytest.approx((0.15, 0.75))
    assert found["estimate"] == pytest.approx(0.6 * 0.3 + 0.38 * 0.6 + 0.01 * 0.9)


def test_the_memory_in_use_is_one_of_the_candidates() -> None:
    done = run_once(ae.problem("patrol", memory=0.5), ae.CurveThompson(memory_bound=0.8), np.array([3000]), 2)
    assert 0 <= done.state.codes[TRACK] < len(done.state.tracks)
    assert done.state.tracks[:, MEMORY].max() == pytest.approx(0.8)


# Responses that drift.


def test_what_forgets_weighs_observations_by_their_age() -> None:
    """Booked in round s, an observation weighs (s'/t)^power in round t; s' is the decision it followed."""
    agent = ae.CurveThompson(memory=0.0, levels=4).start(1, seed=1)
    decided = []
    for t in range(1, 101):
        agent.ask()
        if agent.state.codes[FADED_AT] == t:
            decided.append(t)
        agent.tell([1.0])
    last = decided[-1]
    booked = agent.state.banks[len(agent.state.tracks) :, COUNT, 0, 4]
    since = [max(d for d in decided if d <= s) for s in range(1, 101)]
    for power, count in zip(agent.state.ages[1:, POWER], booked, strict=True):
        assert count == pytest.approx(sum((d / last) ** power for d in since))


def test_banks_are_scored_by_what_they_foretold() -> None:
    agent = ae.CurveThompson(memory=0.0, levels=4).start(2, seed=1)
    agent.ask()
    agent.state.foretold[:, :, 4] = [[0.5, 0.2], [0.8, 0.2], [0.1, 0.0]]
    before = agent.state.ages[:, SCORE].copy()
    agent.tell([0.75, NAN], allocation=[1.0, 0.0], trials=[4, 0])
    gained = agent.state.ages[:, SCORE] - before
    log_likelihood = lambda m: 3 * np.log(m) + np.log(1 - m)  # noqa: E731  (three of four)
    assert gained == pytest.approx([0.0, *(log_likelihood(m) - log_likelihood(0.5) for m in (0.8, 0.1))])


def test_drift_is_seen_where_there_is_some_and_rarely_where_there_is_none() -> None:
    """At most 5 percent by Ville's inequality: 7 of 40 would happen with probability below .004 even at 5 percent."""
    said: dict[int | None, list[bool]] = {}
    for drift in (None, 20_000):
        said[drift] = []
        for name, seed in itertools.product(("patrol", "loan", "bump", "lipschitz"), range(10)):
            problem = ae.problem(name, memory=0.5, seed=seed, drift=drift)
            state = run_once(problem, ae.CurveThompson(), np.array([20_000]), seed).state
            said[drift].append(drift_seen(state.ages, int(state.codes[AGE]))["drifting"])
    assert sum(said[None]) < 7
    assert sum(said[20_000]) > 20


def test_it_follows_responses_that_change_places() -> None:
    """Two arms trade places half-way; what never forgets would need as long again to notice."""
    good, bad = (lambda x: 0.8 + 0.0 * x), (lambda x: 0.3 + 0.0 * x)
    problem = ae.Problem([good, bad], impact=ae.Discounted(0.5), drift=ae.Drift([bad, good], 40_000))
    done = run_once(problem, ae.CurveThompson(), np.array([36_000, 40_000]), 3)
    late = (done.utility[1] - done.utility[0]) / 4_000
    assert late > 0.72  # of .78 at best, .31 without noticing
    said = ae.CurveThompson(memory=0.5).explain(done.state, ae.Setting(2, memory=0.5), 40_001, done.allocation[-1])
    assert said["drift"]["drifting"]
    assert said["drift"]["trusts_latest"] < 1.0


def test_before_any_reward_no_drift_is_claimed() -> None:
    assert drift_seen(ages_tried(), 0) == {"drifting": False, "log10_evidence": 0.0, "trusts_latest": 1.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"levels": 2001}, "at most 2,000"),
        ({"temperature": 0.0}, "above 0"),
        ({"memory": 1.0}, "memory"),
        ({"memory_bound": 1.0}, "memory_bound must lie between 0 and 1, got 1.0"),
        ({"memory": 0.2, "memory_bound": 0.5}, "not both"),
        ({"follow": "me"}, "follow"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ae.AftereffectError, match=message):
        ae.policy("curve-thompson", **parameters)


def test_live_it_needs_to_know_something_about_the_memory() -> None:
    with pytest.raises(ae.MissingParameter, match="memory_bound="):
        ae.CurveThompson().start(2)
