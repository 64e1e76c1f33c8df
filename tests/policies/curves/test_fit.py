"""Curves fitted to booked observations, against a dense Gaussian process and against worlds whose noise is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aftereffect._random import generator
from aftereffect.model.curves import Floats, Records
from aftereffect.policies.curves import fit
from aftereffect.policies.curves.fit import BELIEF, BOOKED, LEVEL, SPREAD, STEEP, Posterior
from tests.policies.curves.test_field import dense_prior, matern


def belief_of(rate: float, scale: float) -> Records:
    return np.array([(rate, scale)], dtype=BELIEF)


def random_bookings(seed: int, nodes: int, rounds: int = 60) -> tuple[Records, Records]:
    """One arm's rounds at random impacts, with noises and shocks of all sizes, and the spread of its rewards."""
    random = np.random.default_rng(seed)
    booked = np.zeros((1, nodes), dtype=BOOKED)
    dispersion, shock = random.uniform(0.05, 1.0), random.exponential(0.003)
    for _ in range(rounds):
        seen = float(random.integers(1, 50))
        noise = random.uniform(0.05, 0.25)
        impact = random.beta(2.0, 5.0)
        scatter = math.sqrt(dispersion * (noise / seen + shock))
        reward = 0.35 + 0.2 * math.sin(6.0 * impact) + scatter * random.normal()
        fit.book(booked, 0, impact, seen, reward, noise, shock)
    return booked, np.array([(dispersion, shock)], dtype=SPREAD)


def fitted(booked: Records, spread: Records, field: Records, belief: Records) -> tuple[Posterior, float]:
    """The one arm's posterior and its evidence."""
    posterior = fit.empty_posterior(*booked.shape)
    evidence = fit.fit_arm(booked, 0, spread, field, belief[0], posterior)
    fit.spread_of(posterior, 0)
    return posterior, evidence


def gaussian_process(booked: Records, spread: Records, covariance: Floats, rate: float) -> tuple[Floats, Floats, float]:
    """Mean, covariance and log density of the node means, less that of the rewards by themselves, as textbooks write them."""
    weight = booked["weight"][0] / spread["dispersion"][0]
    seen = np.flatnonzero(weight)
    rest = booked["pull"][0, seen] / booked["weight"][0, seen] - rate
    marginal = covariance[np.ix_(seen, seen)] + np.diag(1.0 / weight[seen] + fit.MISFIT)
    gain = np.linalg.solve(marginal, covariance[seen]).T
    density = -0.5 * (rest @ np.linalg.solve(marginal, rest) + np.linalg.slogdet(marginal)[1])
    density += 0.5 * (rest @ (weight[seen] * rest) - np.log(weight[seen]).sum())
    return rate + gain @ rest, covariance - gain @ covariance[seen], float(density)


@pytest.mark.parametrize("units", [1.0, 1e7], ids=["few", "misfit"])
def test_where_rewards_are_booked_evidence_is_their_whole_likelihood(units: float) -> None:
    """Two ways to book the same rewards differ as the densities of all rewards do, each node with a misfit of its own.

    So a model of the impact that books much in one place neither gains nor loses by how precise that makes a node.
    """
    nodes, rate, scale, noise = 21, 0.9, 0.3, 0.05
    random, field = np.random.default_rng(8), fit.fields_tried(nodes)[4]
    places, rewards = random.integers(5, 8, (2, 12)), 0.4 + 0.01 * random.normal(size=12)
    kernel = np.linalg.inv(dense_prior(nodes, field["length"], field["amplitude"] * scale)) + (LEVEL * scale) ** 2
    found, expected = [], []
    for where in places:
        booked = np.zeros((1, nodes), dtype=BOOKED)
        for node, reward in zip(where, rewards, strict=True):
            fit.book(booked, 0, node / (nodes - 1), units, reward, noise, 0.0)
        found.append(fitted(booked, fit.fresh_spread(1), field, belief_of(rate, scale))[1])
        alike = where[:, None] == where
        covariance = kernel[np.ix_(where, where)] + fit.MISFIT * alike + noise / units * np.eye(12)
        rest = rewards - rate
        expected.append(-0.5 * (rest @ np.linalg.solve(covariance, rest) + np.linalg.slogdet(covariance)[1]))
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("row", range(12))
@pytest.mark.parametrize(("nodes", "exact"), [(31, True), (201, False)])
def test_a_fit_is_the_dense_gaussian_process(row: int, nodes: int, exact: bool) -> None:
    """With the field's own matrix to rounding; with Matern's formula to the grid's width."""
    fields, belief = fit.fields_tried(nodes), belief_of(0.35, 0.3)
    field = fields[row]
    size = field["amplitude"] * 0.3
    kernel = np.linalg.inv(dense_prior(nodes, field["length"], 1.0)) if exact else matern(nodes, field["length"])
    booked, spread = random_bookings(row, nodes)
    covariance = size**2 * kernel + (LEVEL * 0.3) ** 2
    mean, expected, density = gaussian_process(booked, spread, covariance, 0.35)
    posterior, evidence = fitted(booked, spread, field, belief)
    near = 1e-6 if exact else 0.02
    deviation = np.sqrt(np.diag(expected))
    assert np.abs(posterior.mean[0] - mean).max() < near * (0.3 if exact else 2.0 * deviation.max())
    np.testing.assert_allclose(np.sqrt(posterior.variance[0]), deviation, rtol=near if exact else 0.05)
    assert evidence == pytest.approx(density, abs=1e-5 if exact else 0.3)
    for node in (0, nodes // 3, nodes - 1):
        column = np.zeros(nodes)
        fit.covariances(posterior, 0, node, column)
        assert np.abs(column - expected[node]).max() < near * expected.max()


def test_drawn_curves_have_the_posteriors_mean_and_covariance() -> None:
    nodes, draws = 21, 20_000
    booked, spread = random_bookings(3, nodes)
    belief = belief_of(0.5, 0.1)
    field = fit.fields_tried(nodes)[0]
    posterior, _ = fitted(booked, spread, field, belief)
    white, rng = np.zeros((1, nodes + 1)), generator(1)
    samples, curve = np.zeros((draws, nodes)), np.zeros((1, nodes))
    for i in range(draws):
        fit.draw_curves(posterior, 0.5, 0.0, white, rng, curve)
        samples[i] = curve[0]
    mean, deviation = posterior.mean[0], np.sqrt(posterior.variance[0])
    inside = (mean - 2.5 * deviation > 0) & (mean + 2.5 * deviation < 1)  # nothing to clip there
    assert inside.sum() > 5
    assert np.abs(samples.mean(axis=0) - mean)[inside].max() < 0.02 * deviation.max()
    column = np.zeros(nodes)
    node = int(np.flatnonzero(inside)[0])
    fit.covariances(posterior, 0, node, column)
    found = np.cov(samples.T)[node]
    assert np.abs(found - 0.25 * column)[inside].max() < 0.02 * column[node]


@pytest.mark.parametrize("row", [0, 2, 4])
def test_far_from_data_estimates_go_back_to_the_level_and_deviations_grow(row: int) -> None:
    """A steep line seen in [.1, .3] does not run on: a ridge regression would give 2.6 at one."""
    nodes, fields = 201, fit.fields_tried(201)
    booked, spread = np.zeros((1, nodes), dtype=BOOKED), fit.fresh_spread(1)
    for x in np.linspace(0.1, 0.3, 30):
        fit.book(booked, 0, x, 400.0, 0.3 + 2.0 * (x - 0.1), 0.25, 0.0)
    posterior, _ = fitted(booked, spread, fields[row], belief_of(0.4, 0.3))
    length, size = fields[row]["length"], fields[row]["amplitude"] * 0.3
    mean, deviation = posterior.mean[0], np.sqrt(posterior.variance[0])
    here = slice(20, 61)
    assert np.abs(mean[here] - (0.3 + 2.0 * (np.linspace(0.1, 0.3, 41) - 0.1))).max() < 0.08
    far = min(200, round(200 * (0.3 + 3 * length)))
    if far < 200:
        assert np.ptp(mean[far:]) < 0.02
    assert 0.3 <= mean[200] <= 0.72  # within what was seen and the typical rate
    assert np.all(np.diff(deviation[60:]) > -1e-3 * deviation[200])  # the grid's error
    assert deviation[200] > 5 * deviation[40]
    assert deviation[200] <= math.sqrt(size**2 + 1.0 / posterior.sure[0]) * 1.01


def test_the_exploring_field_comes_first_and_every_field_once() -> None:
    fields = fit.fields_tried(31, leaning=False)
    pairs = [(float(f["length"]), float(f["amplitude"])) for f in fields]
    assert pairs[0] == STEEP
    assert len(set(pairs)) == len(pairs) == len(fit.LENGTHS) * len(fit.AMPLITUDES)
    for f in fields:
        expected = np.linalg.slogdet(dense_prior(31, f["length"], 1.0))[1]
        assert f["determinant"] == pytest.approx(expected, rel=1e-6)


def test_booking_by_hand() -> None:
    booked = np.zeros((2, 11), dtype=BOOKED)
    fit.book(booked, 1, 0.52, 4.0, 0.5, 0.2, 0.05)
    fit.book(booked, 1, 0.48, 1.0, 1.0, 0.25, 0.05)
    precision, weight = [4 / 0.2, 1 / 0.25], [1 / (0.2 / 4 + 0.05), 1 / (0.25 + 0.05)]
    expected = [
        2.0,
        5.0,
        sum(precision),
        0.5 * precision[0] + precision[1],
        0.25 * precision[0] + precision[1],
        sum(weight),
        0.5 * weight[0] + weight[1],
    ]
    assert booked[1, 5].tolist() == pytest.approx(expected)
    assert np.count_nonzero(booked["count"]) == 1


@pytest.mark.parametrize(
    ("impact", "node"), [(0.0, 0), (0.049, 0), (0.051, 1), (0.949, 9), (1.0, 10), (1.0 + 1e-12, 10)]
)
def test_the_node_is_the_nearest(impact: float, node: int) -> None:
    assert fit.node_of(impact, 10) == node


@pytest.mark.parametrize(("rate", "scale"), [(0.02, 0.02), (0.5, 0.5), (0.9, 0.3)])
def test_the_scale_is_what_rewards_suggest(rate: float, scale: float) -> None:
    booked, belief = np.zeros((2, 11), dtype=BOOKED), belief_of(0.5, 0.5)
    for k in range(2):
        fit.book(booked, k, 0.3 + 0.2 * k, 1e5, rate, 0.1, 0.0)
    fit.renew_scale(booked, belief[0])
    assert belief[0]["rate"] == pytest.approx(rate, rel=0.01)
    assert belief[0]["scale"] == pytest.approx(scale, rel=0.01)


def test_staying_where_responses_are_low_makes_nothing_impossible_that_was_seen_elsewhere() -> None:
    """Half the shares gave .34 to 25 units, all of them .1 to ever more: how far curves may lie goes by both places alike."""
    booked, belief = np.zeros((1, 201), dtype=BOOKED), belief_of(0.5, 0.5)
    fit.book(booked, 0, 0.5, 25.0, 0.34, 0.22, 0.0)
    fit.book(booked, 0, 0.99, 1e6, 0.1, 0.09, 0.0)
    for _ in range(50):  # until what is known to within the scale and the scale agree
        fit.renew_scale(booked, belief[0])
    assert belief[0]["rate"] == pytest.approx(0.1, rel=0.01)
    scale = belief[0]["scale"]
    known = 1.0 / (1.0 + 0.22 / 25.0 / scale**2)
    assert scale == pytest.approx((0.1 + known * 0.34) / (1.0 + known), rel=0.01)
    assert scale > 0.18


def test_what_was_all_but_forgotten_changes_nothing() -> None:
    """Precisions next to nothing are no places to go by, and no division by zero."""
    booked, belief = np.zeros((1, 201), dtype=BOOKED), belief_of(0.5, 1e-4)
    booked[0, 7] = (1.0, 1e-320, 1e-320, 0.0, 0.0, 0.0, 0.0)
    fit.renew_scale(booked, belief[0])
    assert 0.0 < belief[0]["scale"] <= 0.5


def test_before_any_data_the_rate_may_be_anything() -> None:
    belief = belief_of(0.1, 0.1)
    fit.renew_scale(np.zeros((3, 11), dtype=BOOKED), belief[0])
    assert belief[0].tolist() == (0.5, 0.5)


def _learned(
    rewards: Floats, impacts: Floats, seen: float, counted: bool, nodes: int = 101, field: int = 0
) -> tuple[Floats, Records]:
    """Noise and spread after the rounds of some arms, (arms, rounds), were booked and looked at three times, under a field."""
    arms, rounds = rewards.shape
    booked, noise = np.zeros((arms, nodes), dtype=BOOKED), np.full((arms, nodes), 0.25)
    spread, belief = fit.fresh_spread(arms), belief_of(0.5, 0.5)
    posterior, fields = fit.empty_posterior(arms, nodes), fit.fields_tried(nodes)
    for t in range(rounds):
        for k in range(arms):
            node = fit.node_of(impacts[k, t], nodes - 1)
            fit.book(booked, k, impacts[k, t], seen, rewards[k, t], noise[k, node], spread["shock"][k])
        if t in (rounds // 10, rounds // 3, rounds - 1):
            fit.renew_scale(booked, belief[0])
            fit.renew_noise(
                booked, fields, field, belief[0], posterior=posterior, noise=noise, spread=spread, counted=counted
            )
    return noise, spread


def _moving(seed: int, arms: int, rounds: int) -> tuple[np.random.Generator, Floats, Floats]:
    random = np.random.default_rng(seed)
    impacts = random.uniform(0.1, 0.9, (arms, rounds))
    return random, impacts, 0.3 + 0.4 * impacts


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_continuous_rewards_of_small_scatter_make_a_dispersion_far_below_one(scatter: float) -> None:
    random, impacts, means = _moving(1, 3, 400)
    noise, spread = _learned(means + random.normal(0.0, scatter, means.shape), impacts, 1.0, False)
    middle = noise[:, 50]
    assert np.all(spread["dispersion"] < 0.1)
    assert spread["dispersion"] * middle == pytest.approx(scatter**2, rel=0.5)
    assert spread["shock"] == pytest.approx(0.0)


def test_arms_of_different_scatter_are_told_apart() -> None:
    random, impacts, means = _moving(2, 2, 400)
    scatter = np.array([[0.02], [0.2]])
    _, spread = _learned(means + scatter * random.normal(size=means.shape), impacts, 1.0, False)
    assert spread["dispersion"][1] > 5 * spread["dispersion"][0]


def test_certain_rewards_in_one_place_are_no_certainty_elsewhere_whatever_field_is_believed() -> None:
    fields = fit.fields_tried(101)
    flattest = int(np.argmax(fields["length"] - fields["amplitude"]))
    noise, _ = _learned(np.ones((2, 400)), np.full((2, 400), 0.5), 1.0, True, field=flattest)
    assert np.all(noise[:, 50] < 0.01)  # there 400 rewards were all alike
    assert np.all(noise >= 0.1 * fit.MOST_RATE * (1.0 - fit.MOST_RATE))  # and still a tenth of what is typical
    assert np.all(noise[:, [10, 90]] > 0.05)  # nobody has been there: a failure must not be a miracle


def test_counts_keep_a_coins_noise() -> None:
    random, impacts, means = _moving(3, 3, 200)
    _, spread = _learned(random.binomial(40, means) / 40, impacts, 40.0, True)
    assert spread["dispersion"].tolist() == [1.0] * 3
    assert np.all(spread["shock"] < 0.3 * 0.25 / 40)  # what there is none of is nearly not found


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("shock", [0.04, 0.1])
def test_a_shock_of_known_size_is_found(shock: float, counted: bool) -> None:
    random, impacts, means = _moving(4, 3, 300)
    moved = np.clip(means + random.normal(0.0, shock, means.shape), 0.0, 1.0)
    _, spread = _learned(random.binomial(500, moved) / 500, impacts, 500.0, counted)
    assert spread["dispersion"].tolist() == [1.0] * 3
    assert np.all(spread["shock"] > 0.5 * shock**2)
    assert np.all(spread["shock"] < 2.0 * shock**2)


def test_a_few_rewards_of_one_kind_do_not_pass_for_certainty() -> None:
    noise, spread = _learned(np.zeros((1, 3)), np.full((1, 3), 0.5), 1.0, True)
    assert noise[0, 50] > 0.02
    assert spread["dispersion"][0] == 1.0


def test_evidence_draws_in_proportion() -> None:
    rng, evidence = generator(5), np.log([0.1, 0.6, 0.3]) + 700.0
    drawn = np.bincount([fit.draw_by_evidence(evidence, rng) for _ in range(20_000)], minlength=3) / 20_000
    assert drawn == pytest.approx([0.1, 0.6, 0.3], abs=0.015)


def test_weights_are_limited() -> None:
    """Billions of trials keep a fit finite, and no mean is known better than to 1e-4."""
    booked, spread = np.zeros((1, 41), dtype=BOOKED), fit.fresh_spread(1)
    fit.book(booked, 0, 0.5, 9e14, 0.3, 0.25, 0.0)
    posterior, evidence = fitted(booked, spread, fit.fields_tried(41)[0], belief_of(0.3, 0.3))
    assert all(np.all(np.isfinite(part)) for part in posterior)
    assert math.isfinite(evidence)
    assert posterior.variance.min() >= 0.99 * fit.MISFIT
    assert (booked["rounds"].sum(), booked["count"].sum()) == (1.0, 9e14)
    assert booked["precision"][0, 20] == pytest.approx(9e14 / 0.25)


def bookings_of(arms: int, nodes: int) -> tuple[Records, Records]:
    """Arms that were seen in different ranges."""
    parts = [random_bookings(seed, nodes, rounds=15 * (seed + 1)) for seed in range(arms)]
    return np.concatenate([booked for booked, _ in parts]), np.concatenate([spread for _, spread in parts])


def lines_of(booked: Records, spread: Records, belief: Records, rises: bool) -> Floats:
    """Each arm's line of slope one in its rate, or in proportion, through the middle of what was seen, levelling off."""
    place, off = np.linspace(0.0, 1.0, booked.shape[1]), LEVEL * belief["scale"][0]
    lines = []
    for arm, scatter in zip(booked, spread["dispersion"], strict=True):
        weight = arm["weight"] / (scatter + arm["weight"] * fit.MISFIT)
        seen = np.divide(arm["pull"], arm["weight"], out=np.zeros(len(arm)), where=arm["weight"] > 0)
        rest = weight @ (seen - belief["rate"][0])
        rate = belief["rate"][0] + rest / (weight.sum() + 1 / off**2)
        middle = weight @ place / weight.sum()
        lines.append((rate / middle if rises else rate) * fit.EASES * np.tanh((place - middle) / fit.EASES))
    return np.array(lines)


@pytest.mark.parametrize("rise", [0.0, fit.PROPORTIONAL])
def test_fields_that_lean_are_one_gaussian_process_over_all_arms(rise: float) -> None:
    """Mean, variance and evidence of all arms' curves together, slopes with a part in common, as textbooks write them."""
    arms, nodes, belief = 3, 41, belief_of(0.35, 0.3)
    booked, spread = bookings_of(arms, nodes)
    field = (fit.fields_that_rise(nodes) if rise else fit.fields_tried(nodes))[-1]
    assert (field["leans"], field["rise"]) == (1, rise)
    posterior = fit.empty_posterior(arms, nodes)
    evidence = sum(fit.fit_arm(booked, k, spread, field, belief[0], posterior) for k in range(arms))
    evidence += fit.lean_together(posterior, 0, arms, rise)
    fit.fit_all(booked, spread, field, belief[0], posterior)

    amplitude = float(field["amplitude"]) * 0.3
    alone = np.linalg.inv(dense_prior(nodes, float(field["length"]), amplitude)) + (LEVEL * 0.3) ** 2
    lines = lines_of(booked, spread, belief, rise > 0)
    expected = 0.35 + rise * lines.ravel()
    slopes = fit.SHARED**2 * np.ones((arms, arms)) + fit.OWN**2 * np.eye(arms)
    prior = np.kron(np.eye(arms), alone)
    prior += np.einsum("kl,ki,lj->kilj", slopes, lines, lines).reshape(prior.shape)
    weight = (booked["weight"] / spread["dispersion"][:, None]).ravel()
    seen = np.flatnonzero(weight)
    means = booked["pull"].ravel()[seen] / booked["weight"].ravel()[seen]
    rest, centred = means - expected[seen], means - 0.35
    marginal = prior[np.ix_(seen, seen)] + np.diag(1.0 / weight[seen] + fit.MISFIT)
    gain = np.linalg.solve(marginal, prior[seen]).T
    density = -0.5 * (rest @ np.linalg.solve(marginal, rest) + np.linalg.slogdet(marginal)[1])
    density += 0.5 * (centred @ (weight[seen] * centred) - np.log(weight[seen]).sum())
    left = np.diag(prior - gain @ prior[seen]).reshape(arms, nodes)

    assert posterior.mean == pytest.approx((expected + gain @ rest).reshape(arms, nodes), abs=1e-6)
    assert posterior.variance == pytest.approx(left, rel=1e-5)
    assert evidence == pytest.approx(density, abs=1e-5)


def test_arms_that_tire_are_expected_to_tire() -> None:
    """Of an arm seen in one place only, other arms say where its curve goes; a field that does not lean says nothing."""
    nodes, belief = 41, belief_of(0.3, 0.3)
    booked = np.zeros((3, nodes), dtype=BOOKED)
    for k in (0, 1):
        for impact in (0.2, 0.4, 0.6):
            fit.book(booked, k, impact, 2000.0, 0.45 - 0.4 * impact, 0.2, 0.0)
    fit.book(booked, 2, 0.2, 2000.0, 0.37, 0.2, 0.0)
    spread, fields = fit.fresh_spread(3), fit.fields_tried(nodes)
    posterior = fit.empty_posterior(3, nodes)
    fit.fit_all(booked, spread, fields[-1], belief[0], posterior)
    assert posterior.mean[2, nodes // 2] < posterior.mean[2, nodes // 5] - 0.05
    plain = next(
        f
        for f in fields
        if f["leans"] == 0 and f["length"] == fields[-1]["length"] and f["amplitude"] == fields[-1]["amplitude"]
    )
    fit.fit_all(booked, spread, plain, belief[0], posterior)
    assert abs(posterior.mean[2, nodes // 2] - posterior.mean[2, nodes // 5]) < 0.02


def test_only_wide_fields_lean_and_records_can_do_without() -> None:
    fields = fit.fields_tried(31)
    leaning = fields[fields["leans"] == 1]
    assert (leaning["length"] >= fit.LEANING[0]).all()
    assert (leaning["amplitude"] >= fit.LEANING[1]).all()
    assert len(leaning) > 0
    assert (fit.fields_tried(31, leaning=False) == fields[fields["leans"] == 0]).all()
