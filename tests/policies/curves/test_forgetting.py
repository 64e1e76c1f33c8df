"""Banks that forget: what they weigh, and whether their scores follow what the world does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.fit import BOOKED, fresh_spread
from aftereffect.policies.curves.forgetting import (
    ALARM,
    CLEARLY,
    FORETOLD,
    MOST,
    POWERS,
    RELUCTANCE,
    STARTS,
    SUREST,
    TEMPERED,
    UNKNOWN,
    drift_seen,
    evidence_of_drift,
    forget,
    fresh_leads,
    fresh_scores,
    from_the_first_round,
    hand_down,
    judge_and_book,
    leading,
    may_begin,
    trusted,
)
from aftereffect.policies.curves.state import take_in
from aftereffect.simulation.runs import run_once

SUMS = np.arange(1.0, len(BOOKED.names or ()) + 1)  # of what is booked, each another


def test_forgetting_weighs_a_round_by_its_age() -> None:
    """Booked in round s, everything weighs (s/t)^power in round t, on whatever way from s to t."""
    powers, banks = np.array(POWERS), np.zeros((len(POWERS) - 1, 2, 5), dtype=BOOKED)
    booked_at = {3: 0, 10: 1, 37: 2, 100: 3}
    before = 1
    for now in (1, 3, 4, 10, 22, 37, 90, 100, 120):
        forget(banks, powers, before, now)
        before = now
        if now in booked_at:
            banks[:, :, booked_at[now]] = tuple(SUMS)
    for j, power in enumerate(POWERS[1:]):
        for s, node in booked_at.items():
            for k in range(2):
                assert banks[j, k, node].tolist() == pytest.approx((s / 120) ** power * SUMS)


def test_a_bank_rests_on_the_latest_part_of_the_past() -> None:
    """Sum of (s/t)^power over the rounds: 1/(power + 1) of them."""
    for j, power in enumerate(POWERS):
        weight = ((np.arange(10_000) + 0.5) / 10_000) ** power
        assert trusted(np.array(POWERS), j) == pytest.approx(weight.mean(), rel=1e-4)


def test_an_agents_banks_weigh_by_age() -> None:
    """An observation's age counts from the last time the banks faded before it."""
    agent = ae.CurveThompson(memory=0.0, levels=4).start(1, seed=1)
    faded = []
    for _ in range(100):
        agent.ask()
        faded.append(int(agent.state.now[0]["faded_at"]))
        agent.tell([1.0])
    booked = agent.state.banks["count"][len(agent.state.tracks) :, 0, 4]
    assert len(set(faded)) > 10
    for power, count in zip(agent.state.powers[1:], booked, strict=True):
        assert count == pytest.approx(sum((s / faded[-1]) ** power for s in faded))


def test_banks_are_scored_by_what_they_foretold() -> None:
    """A round counts for as many tosses as the variance of its mean, that of the estimate included, makes it."""
    foretold = np.zeros((3, 2, 5), dtype=FORETOLD)
    foretold["mean"][:, :, 4] = [[0.5, 0.2], [0.8, 0.2], [0.0, 0.0]]
    foretold["variance"][0, 0, 4] = 0.01
    scores, leads, banks = fresh_scores()[:3], np.array([0.0, 2.0, -11.0]), np.zeros((2, 2, 5), dtype=BOOKED)
    noise, spread = np.full((2, 5), 0.2), fresh_spread(2)
    spread[0] = (0.5, 0.03)
    impact, seen, reward = np.array([1.0, 0.0]), np.array([4.0, 0.0]), np.array([0.75, 0.0])
    judge_and_book(scores, leads, banks, foretold, noise, spread, impact, seen=seen, reward=reward, tempered=TEMPERED)
    tosses = 0.5 * 0.5 / (0.5 * 0.2 / 4 + 0.03 + 0.01)
    log_likelihood = lambda m: 0.75 * math.log(m) + 0.25 * math.log(1 - m)  # noqa: E731
    gained = tosses * (log_likelihood(0.8) - log_likelihood(0.5))
    assert 0.0 < gained < MOST
    assert tosses * (log_likelihood(SUREST) - log_likelihood(0.5)) < -MOST  # a round says no more
    before = fresh_scores()[1]
    assert scores == pytest.approx([0.0, before + TEMPERED * gained, before - TEMPERED * MOST])
    first = 2.0 + gained
    assert leads == pytest.approx([0.0, first, first - RELUCTANCE])  # never further behind
    assert banks["count"].sum(axis=(1, 2)).tolist() == [4.0, 4.0]
    assert banks["pulled"][:, 0, 4].tolist() == pytest.approx([4.0 / 0.2 * 0.75] * 2)


def test_a_shock_counts_once_for_all_arms_that_it_may_have_moved() -> None:
    """Where shocks are all the noise there is, two arms seen together say as much as one."""
    found = []
    for arms in (1, 2):
        foretold = np.zeros((2, arms, 5), dtype=FORETOLD)
        foretold["mean"][0], foretold["mean"][1] = 0.5, 0.6
        scores, leads, banks = fresh_scores()[:2], fresh_leads()[:2], np.zeros((1, arms, 5), dtype=BOOKED)
        noise, spread = np.full((arms, 5), 0.25), fresh_spread(arms)
        spread["shock"] = 0.01
        seen, reward = np.full(arms, 1e9), np.full(arms, 0.7)
        judge_and_book(
            scores, leads, banks, foretold, noise, spread, np.zeros(arms), seen=seen, reward=reward, tempered=TEMPERED
        )
        found.append(scores[1] - fresh_scores()[1])
    assert found[0] > 0.0
    assert found[1] == pytest.approx(found[0], rel=1e-6)


def test_evidence_counts_less_where_the_memory_is_estimated_too() -> None:
    gained = []
    for policy in (ae.CurveThompson(memory=0.5), ae.CurveThompson(memory_bound=0.9)):
        state = policy.start(2, seed=1).state
        state.foretold["mean"][0], state.foretold["mean"][1:] = 0.5, 0.6
        take_in(state, 2, np.array([0.5, 0.5]), np.ones(2), np.array([1.0, 1.0]))
        gained.append(state.scores[1:] - fresh_scores()[1:])
    assert (gained[0] > 0.0).all()
    assert gained[1] / gained[0] == pytest.approx(UNKNOWN / TEMPERED)


def _scores(rates: list[float], seed: int) -> np.ndarray:
    """Scores after every round of one arm's coins, of these rates."""
    agent, random = ae.CurveThompson(memory=0.5, levels=10).start(1, seed=seed), np.random.default_rng(seed)
    rows = []
    for rate in rates:
        agent.ask()
        agent.tell([random.binomial(20, rate) / 20], trials=[20])
        rows.append(agent.state.scores.copy())
    return np.array(rows)


@pytest.mark.parametrize("seed", range(3))
def test_scores_stay_low_where_nothing_changes_and_rise_after_an_abrupt_change(seed: int) -> None:
    still = _scores([0.3] * 600, seed)
    assert still[:, 1:].max() < math.log(ALARM)
    changed = _scores([0.3] * 300 + [0.6] * 100, seed)
    assert np.array_equal(changed[:300], still[:300])
    assert np.all(changed[399, 1:] > changed[299, 1:] + 10.0)
    assert np.all(changed[:, 0] == 0.0)


def test_a_score_is_the_mean_over_when_drift_may_have_begun() -> None:
    """Gains of a hundred rounds, and the mean of what they are worth from rounds 1, 16, 32 and 64 on; 16 starts to come."""
    gains = np.random.default_rng(3).normal(0.0, 0.4, (100, 2))
    scores = fresh_scores()[:3]
    for t, gain in enumerate(gains, 1):
        may_begin(scores, t)
        scores[1:] += TEMPERED * gain
    worth = [np.exp(TEMPERED * gains[start - 1 :].sum(axis=0)) for start in (1, 16, 32, 64)]
    assert scores[1:] == pytest.approx(np.log(np.sum(worth, axis=0) / STARTS))
    assert scores[0] == 0.0


def test_there_are_as_many_starts_as_there_are_weights_for() -> None:
    scores, begun = fresh_scores(), 1
    for power in range(40):
        for t in {2**power - 1, 2**power, 2**power + 1} - {0}:
            before = scores.copy()
            may_begin(scores, t)
            begun += int(scores[1] > before[1])
    assert begun == STARTS
    assert scores[1:] == pytest.approx(0.0)  # all weights are out
    high = np.array([0.0, 800.0, -800.0])
    may_begin(high, 64)
    assert high == pytest.approx([0.0, 800.0, -math.log(STARTS)])


def test_drift_after_a_long_quiet_past_is_seen_as_soon_as_one_from_the_start() -> None:
    """What foretold worse while nothing changed need not be made up for: the score soon follows the latest start."""
    scores = fresh_scores()[:2]
    for t in range(1, 3000):
        may_begin(scores, t)
        scores[1] += TEMPERED * (-0.05 if t <= 2048 else 0.05)
    assert scores[1] > math.log(ALARM)


def test_another_bank_is_trusted_when_it_leads_clearly() -> None:
    leads = np.array([0.0, CLEARLY - 0.1, 0.0, 0.0])
    assert leading(leads, 0) == 0
    leads[1:3] = [CLEARLY + 0.1, CLEARLY + 0.2]
    assert leading(leads, 0) == 2
    assert leading(leads, 1) == 1


def test_slower_banks_take_over_what_a_faster_one_holds() -> None:
    banks, leads = np.zeros((3, 2, 5), dtype=BOOKED), np.array([0.0, -3.0, 9.0, 5.0])
    for name in BOOKED.names or ():
        banks[name] = np.random.default_rng(1).random(banks.shape)
    before = banks.copy()
    hand_down(banks, leads, 2)
    assert np.array_equal(banks, before[[1, 1, 2]])
    assert leads.tolist() == [0.0, 9.0, 9.0, 5.0]


def test_after_an_abrupt_change_the_past_begins_anew() -> None:
    """The slowest bank that forgets holds the new rate: by age alone .48 of its weight would be from before the change."""
    agent, random = ae.CurveThompson(memory=0.5, levels=10).start(1, seed=1), np.random.default_rng(1)
    for t in range(360):
        agent.ask()
        agent.tell([random.binomial(20, 0.3 if t < 300 else 0.6) / 20], trials=[20])
    state = agent.state
    assert state.now[0]["age"] > 0
    slowest = state.banks[len(state.tracks)]
    assert slowest["pulled"].sum() / slowest["precision"].sum() == pytest.approx(0.6, abs=0.05)


def test_before_any_reward_no_drift_is_claimed() -> None:
    assert evidence_of_drift(fresh_scores()) == pytest.approx(-math.log(STARTS))
    found = drift_seen(0.0, np.array(POWERS), 0)
    assert found == {"drifting": False, "log10_evidence": 0.0, "trusts_latest": 1.0}


def test_evidence_of_drift_is_the_mean_ratio() -> None:
    scores = np.array([0.0, 4.0, -30.0, -11.0])
    expected = math.log(np.exp(scores[1:]).mean())
    assert evidence_of_drift(scores) == pytest.approx(expected)


def test_drift_is_said_when_the_evidence_was_ever_twenty_to_one() -> None:
    for off, drifting in ((-0.01, False), (0.01, True)):
        found = drift_seen(math.log(20.0) + off, np.array(POWERS), 2)
        assert found["drifting"] is drifting
        assert found["trusts_latest"] == pytest.approx(1 / 16)
    agent, random = ae.CurveThompson(memory=0.5, levels=10).start(1, seed=1), np.random.default_rng(1)
    strongest = 0.0
    for t in range(120):
        agent.ask()
        agent.tell([random.binomial(20, 0.3 if t % 80 < 40 else 0.5) / 20], trials=[20])
        strongest = max(strongest, evidence_of_drift(agent.state.scores))
    assert agent.explain()["drift"]["log10_evidence"] == pytest.approx(strongest / math.log(10.0))


def test_drift_is_seen_where_there_is_some_and_rarely_where_there_is_none() -> None:
    """At most 5 percent by Ville's inequality: 4 of 8 would happen with probability below .0004 even at 5 percent."""
    said: dict[int | None, list[bool]] = {}
    for drift in (None, 4_000):
        said[drift] = []
        for name, seed in itertools.product(("patrol", "loan", "bump", "lipschitz"), range(2)):
            problem = ae.problem(name, memory=0.5, seed=seed, drift=drift, units=20)
            state = run_once(problem, ae.CurveThompson(levels=60), np.array([4_000]), seed).state
            said[drift].append(drift_seen(float(state.now[0]["moved"]), state.powers, 0)["drifting"])
    assert sum(said[None]) < 4
    assert sum(said[4_000]) > 4


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


def test_scores_of_earlier_versions_count_from_the_first_round() -> None:
    """They were not tempered, and had the odds against each bank in them."""
    assert from_the_first_round([0.0, -RELUCTANCE, 8.0 - RELUCTANCE]) == pytest.approx(
        [0.0, -math.log(STARTS), TEMPERED * 8.0 - math.log(STARTS)]
    )
