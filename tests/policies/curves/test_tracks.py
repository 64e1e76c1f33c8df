"""Impact as several models see it: equation (2), and what the evidence says about models of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aftereffect.model.curves import Floats
from aftereffect.policies.curves.fit import (
    BELIEF,
    BOOKED,
    MOST_REVIEWED,
    book,
    empty_posterior,
    fields_tried,
    fresh_spread,
    renew_scale,
)
from aftereffect.policies.curves.tracks import (
    CANDIDATES,
    COINS,
    CONTRADICTS,
    HIGHEST,
    LEAST_PART,
    MANY,
    as_one,
    begin_at,
    believable,
    book_all,
    candidate_tracks,
    contradiction,
    estimated_memory,
    evidence_against,
    known_tracks,
    move_on,
    weigh_models,
    weigh_tracks,
)

NODES = 101


def equation_2(rows: Floats, memory: float, start: Floats | None = None) -> Floats:
    """Discounted mean of all shares; with a start, they were those for ever before the first."""
    weights = memory ** np.arange(len(rows))[::-1]
    if start is None:
        return np.asarray(weights @ rows / weights.sum())
    before = memory ** len(rows) / (1.0 - memory)
    return np.asarray((weights @ rows + before * start) / (weights.sum() + before))


@pytest.mark.parametrize("start", [None, np.array([0.6, 0.1, 0.3])], ids=["none", "start"])
def test_tracks_follow_equation_2(start: Floats | None) -> None:
    random = np.random.default_rng(1)
    tracks = known_tracks(0.5, False, True)
    impact = begin_at(tracks, 3, start)
    rows, active = random.dirichlet(np.ones(3), 25), random.integers(0, 3, (25, 3)).astype(float)
    for t in range(25):
        move_on(tracks, impact, rows[t], active[t], True)
        for m, track in enumerate(tracks):
            driver = (active > 0).astype(float) if track["realised"] else rows
            assert impact[m] == pytest.approx(equation_2(driver[: t + 1], track["memory"], start))


def test_where_activations_are_not_known_shares_stand_for_them() -> None:
    tracks = known_tracks(0.5, True, False)
    impact = begin_at(tracks, 2, None)
    move_on(tracks, impact, np.array([0.3, 0.7]), np.array([0.0, 5.0]), False)
    assert np.allclose(impact, [0.3, 0.7])


def test_a_start_is_every_tracks_impact_and_stays_while_it_is_held() -> None:
    tracks, start = candidate_tracks(0.9, False), np.array([0.2, 0.8])
    impact = begin_at(tracks, 2, start)
    assert np.array_equal(impact, np.tile(start, (len(tracks), 1)))
    for _ in range(5):
        move_on(tracks, impact, start, np.zeros(2), True)
    assert np.allclose(impact, start, atol=1e-14)
    assert tracks["weight"] == pytest.approx(1.0 / (1.0 - tracks["memory"]))


def test_without_a_start_nothing_has_happened_yet() -> None:
    tracks = known_tracks(0.4, False, False)
    assert not begin_at(tracks, 3, None).any()
    assert not tracks["weight"].any()


def test_which_models_are_followed() -> None:
    given = known_tracks(0.9, True, True)
    assert given[0].tolist()[:2] == (0.9, 1)
    assert given[-1].tolist()[:2] == (0.9, 0)
    assert given["memory"].max() <= HIGHEST
    assert len(set(given[["memory", "realised"]].tolist())) == len(given)
    assert known_tracks(0.0, False, False)["memory"].tolist() == pytest.approx([0.0, 0.15, 0.3, 0.45])
    tried = candidate_tracks(0.95, False)["memory"]
    assert (len(tried), tried[0], tried[-1]) == pytest.approx((CANDIDATES, 0.0, 0.95))
    assert np.diff(np.log(1.0 - tried)) == pytest.approx(math.log(0.05) / (CANDIDATES - 1))


def test_precision_booked_does_not_depend_on_the_track() -> None:
    """Noise is foretold where the track in use is; elsewhere the same precision is booked, at another impact."""
    random = np.random.default_rng(2)
    tracks = candidate_tracks(0.9, False)
    impact, banks = random.random((len(tracks), 3)), np.zeros((len(tracks) + 2, 3, NODES), dtype=BOOKED)
    noise, spread = random.uniform(0.05, 0.25, (3, NODES)), fresh_spread(3)
    spread["shock"] = 0.01
    for _ in range(10):
        book_all(banks, impact, np.array([3.0, 0.0, 8.0]), random.random(3), noise, spread, 4)
        impact[:] = random.random(impact.shape)
    for name in BOOKED.names or ():
        sums = banks[name].sum(axis=2)
        assert np.allclose(sums[: len(tracks)], sums[4])
        assert not sums[len(tracks) :].any()
    assert banks["count"][0].sum(axis=1).tolist() == [30.0, 0.0, 80.0]
    assert np.count_nonzero(banks["precision"][0, 0]) > 3


def evidence_of(memory: float, seed: int, rounds: int = 400, units: float = 100.0) -> tuple[np.ndarray, Floats]:
    """Candidates and their evidence in a world of this memory, whose shares move every few rounds."""
    random = np.random.default_rng(seed)
    tracks, truth = candidate_tracks(0.95, False), known_tracks(memory, False, False)[:1].copy()
    impact, true = begin_at(tracks, 2, None), begin_at(truth, 2, None)
    banks, noise = np.zeros((len(tracks), 2, NODES), dtype=BOOKED), np.full((2, NODES), 0.25)
    spread, belief = fresh_spread(2), np.array([(0.5, 0.5)], dtype=BELIEF)
    p = np.array([0.5, 0.5])
    for _ in range(rounds):
        if random.random() < 0.3:
            p = random.dirichlet(np.ones(2))
        seen = np.full(2, units)
        move_on(tracks, impact, p, seen, True)
        move_on(truth, true, p, seen, True)
        means = np.array([0.2 + 0.6 * true[0, 0], 0.5 + 0.3 * np.sin(4 * true[0, 1])])
        book_all(banks, impact, seen, random.binomial(int(units), means) / units, noise, spread, 0)
    renew_scale(banks[0], belief[0])
    fields = fields_tried(NODES)
    evidence, track_evidence = np.zeros((len(tracks), len(fields))), np.zeros(len(tracks))
    weigh_models(banks, spread, fields, belief[0], rounds, empty_posterior(2, NODES), evidence)
    weigh_tracks(evidence, track_evidence)
    assert track_evidence == pytest.approx(np.logaddexp.reduce(evidence, axis=1) - math.log(len(fields)))
    return tracks, track_evidence


@pytest.mark.parametrize("row", [0, 2, 4, 6, 8])
def test_evidence_picks_the_true_memory(row: int) -> None:
    memory = float(candidate_tracks(0.95, False)[row]["memory"])
    tracks, evidence = evidence_of(memory, row)
    assert int(evidence.argmax()) == row
    found = estimated_memory(tracks, evidence, 1.0)
    assert found["low"] <= memory <= found["high"]
    assert found["can_tell"]
    assert found["estimate"] == pytest.approx(memory, abs=0.1)


@pytest.mark.parametrize("memory", [0.1, 0.45, 0.62, 0.75, 0.86])
def test_the_interval_holds_a_memory_between_two_candidates(memory: float) -> None:
    tracks, evidence = evidence_of(memory, 17)
    found = estimated_memory(tracks, evidence, 1.0)
    assert found["low"] <= memory <= found["high"]
    assert found["high"] - found["low"] < 0.6


def test_of_very_many_arms_a_part_stands_for_all() -> None:
    """In turn: an arm left out of one review is in another."""
    assert MOST_REVIEWED // 201 < 200
    arms, nodes = 200, 201
    banks = np.zeros((1, arms, nodes), dtype=BOOKED)
    banks[0, 150, 60] = (1.0, 50.0, 200.0, 160.0, 130.0, 200.0, 160.0)
    fields, belief = fields_tried(nodes), np.array([(0.5, 0.5)], dtype=BELIEF)
    posterior, seen = empty_posterior(arms, nodes), []
    for t in (1, 100):
        evidence = np.zeros((1, len(fields)))
        weigh_models(banks, fresh_spread(arms), fields, belief[0], t, posterior, evidence)
        seen.append(bool(np.ptp(evidence) > 1e-3))
    assert seen == [False, True]


def test_the_interval_of_the_memory_by_hand() -> None:
    tracks = candidate_tracks(0.9, False)[:5].copy()
    tracks["memory"] = [0.0, 0.2, 0.4, 0.6, 0.9]
    chances = [0.01, 0.02, 0.6, 0.36, 0.01]
    found = estimated_memory(tracks, np.log(chances) / (0.5 * COINS) + 12.0, 0.5)
    assert (found["low"], found["high"]) == pytest.approx((0.2, 0.9))  # next to those it needs
    assert found["estimate"] == pytest.approx(0.02 * 0.2 + 0.6 * 0.4 + 0.36 * 0.6 + 0.01 * 0.9)
    assert not found["can_tell"]
    sure = estimated_memory(tracks, np.log([1e-9, 1.0, 1e-9, 1e-9, 1e-9]) / COINS, 1.0)
    assert (sure["low"], sure["high"]) == pytest.approx((0.0, 0.4))
    assert sure["can_tell"]


def test_evidence_of_few_rare_outcomes_is_hardly_believed() -> None:
    """Ten failures among a thousand of one arm, forty successes among a thousand of the other: fifty against a hundred."""
    booked, spread = np.zeros((2, 11), dtype=BOOKED), fresh_spread(2)
    book(booked, 0, 0.2, 400.0, reward=0.985, noise=0.1, shock=0.0)
    book(booked, 0, 0.7, 600.0, reward=1.0 - 4.0 / 600.0, noise=0.02, shock=0.0)
    book(booked, 1, 0.5, 1000.0, reward=0.04, noise=0.05, shock=0.0)
    many = (2000.0 / 3.0 - 1.0) / (2000.0 / 3.0 - 1.0 + MANY)  # three rounds
    assert believable(booked, spread, LEAST_PART) == pytest.approx(50.0 / 150.0 * (1.0 - (1.0 - LEAST_PART) * many))
    booked["rounds"] = booked["count"]  # as single observations
    assert believable(booked, spread, LEAST_PART) == pytest.approx(50.0 / 150.0)
    spread["dispersion"] = 0.1  # rewards that scatter a tenth as much say ten times as much, but how much is estimated
    assert believable(booked, spread, LEAST_PART) == pytest.approx(500.0 / 600.0 * (1.0 - (1.0 - LEAST_PART) * 0.9))
    assert believable(np.zeros((2, 11), dtype=BOOKED), spread, LEAST_PART) == 0.0


@pytest.mark.parametrize("shock", [0.0, 0.03, 0.2])
def test_of_a_common_shock_arms_that_agree_count_as_much_too_much_as_their_sum_scatters(shock: float) -> None:
    """Units scatter each arm's mean by itself, the shock all of them together: their standardised sum has that variance."""
    random, arms, rounds, units, coin = np.random.default_rng(11), 3, 40_000, 100.0, 0.25
    booked, spread = np.zeros((arms, 11), dtype=BOOKED), fresh_spread(arms)
    spread["shock"] = shock**2
    means = 0.5 + shock * random.normal(size=(rounds, 1)) + math.sqrt(coin / units) * random.normal(size=(rounds, arms))
    for k in range(arms):
        for reward in means[:100, k]:
            book(booked, k, 0.3, units, reward=reward, noise=coin, shock=shock**2)
    standard = (means - 0.5) / math.sqrt(coin / units + shock**2)
    assert as_one(booked, spread) == pytest.approx(float(np.var(standard.sum(axis=1))) / arms, rel=0.04)


def test_evidence_of_arms_that_a_shock_moves_together_is_believed_the_less() -> None:
    """Two arms of a hundred units a round whose scatter is nearly all the shock's say nearly the same thing twice."""
    booked, spread = np.zeros((2, 11), dtype=BOOKED), fresh_spread(2)
    for _ in range(200):
        for k in range(2):
            book(booked, k, 0.3, 100.0, reward=0.5, noise=0.25, shock=0.0)
    alone = believable(booked, spread, LEAST_PART)
    spread["shock"] = 10.0
    assert believable(booked, spread, LEAST_PART) == pytest.approx(alone / 2.0, rel=1e-3)


def test_an_arm_alone_or_none_is_no_echo() -> None:
    booked, spread = np.zeros((2, 11), dtype=BOOKED), fresh_spread(2)
    spread["shock"] = 0.01
    assert as_one(booked, spread) == 1.0
    book(booked, 1, 0.3, 100.0, reward=0.4, noise=0.25, shock=0.01)
    assert as_one(booked, spread) == 1.0


def test_evidence_against_is_the_mean_ratio() -> None:
    evidence = np.array([-700.0, -690.0, -710.0, -701.0])
    ratios = np.exp(0.7 * (evidence[1:] + 700.0))
    assert evidence_against(evidence, 0.7) == pytest.approx(math.log(ratios.mean()))
    assert evidence_against(np.zeros(1), 1.0) == -math.inf


def test_a_contradiction_by_hand() -> None:
    tracks = known_tracks(0.5, False, True)
    evidence = np.zeros(len(tracks))
    evidence[-1] = 40.0
    found = contradiction(tracks, evidence, math.log(CONTRADICTS) + 0.01, 1.0)
    assert found["contradicted"]
    assert found["can_tell"]
    assert found["better"] == {"memory": 0.5, "driver": "realised"}
    assert found["log10_evidence_against"] == pytest.approx(math.log10(CONTRADICTS), abs=0.01)
    quiet = contradiction(tracks, evidence, math.log(CONTRADICTS) - 0.01, 1.0)
    assert not quiet["contradicted"]
    assert not quiet["can_tell"]
    assert "better" not in quiet
    evidence[0] = 40.0 + 1.01 * math.log(CONTRADICTS)
    assert contradiction(tracks, evidence, 0.0, 1.0)["can_tell"]
    assert contradiction(tracks[:1], evidence[:1], -math.inf, 1.0) == {"contradicted": False, "can_tell": False}
