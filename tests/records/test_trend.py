"""The arms' trends against the same model written out: one Gaussian over all arms' curves, conditioned on what was booked."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._compile import in_python
from aftereffect.policies.curves.field import prior_precisions
from aftereffect.policies.curves.fit import LEVEL, OWN, SHARED
from aftereffect.records.trend import LOCAL, booked_of, leanings, learned_slopes, unit_lines
from tests.records.worlds import World, saturating, tiring, usual


@pytest.fixture(scope="module")
def fit():
    return ae.fit(usual(0.5).rows(40, seed=5), memory=0.5)


def field_covariance(fit, field):
    nodes, belief = fit.steps + 1, fit.state.belief[0]
    bands = np.zeros((3, nodes))
    in_python(prior_precisions)(float(field["length"]), float(field["amplitude"] * belief["scale"]), *bands)
    precision = np.diag(bands[0])
    for off in (1, 2):
        precision += np.diag(bands[off, :-off], off) + np.diag(bands[off, :-off], -off)
    return np.linalg.inv(precision) + (LEVEL * belief["scale"]) ** 2


def log_likelihood(rest, covariance):
    return -0.5 * rest @ np.linalg.solve(covariance, rest) - 0.5 * np.linalg.slogdet(covariance)[1]


def written_out(fit, track, field):
    """Mean and covariance of all arms' curves in one row, and what slopes add to the evidence."""
    state, arms, nodes = fit.state, fit.records.arms, fit.steps + 1
    line = unit_lines(state, fit.home)
    booked = booked_of(state, line)
    weight, means = booked.weight[track].ravel(), booked.seen[track].ravel()
    alone = np.kron(np.eye(arms), field_covariance(fit, state.fields[field]))
    slopes = SHARED**2 * np.ones((arms, arms)) + OWN**2 * np.eye(arms)
    design = np.zeros((arms * nodes, arms))
    for k in range(arms):
        design[k * nodes : (k + 1) * nodes, k] = line[k]
    prior = alone + design @ slopes @ design.T
    seen = np.flatnonzero(weight > 0)
    noise = np.diag(1 / weight[seen])
    rest = means[seen] - state.belief["rate"][0]
    told = prior[np.ix_(seen, seen)] + noise
    gain = np.linalg.solve(told, prior[seen]).T
    evidence = log_likelihood(rest, told) - log_likelihood(rest, alone[np.ix_(seen, seen)] + noise)
    return state.belief["rate"][0] + gain @ rest, prior - gain @ prior[seen], evidence


@pytest.mark.parametrize("place", [0, -1])
def test_curves_are_those_of_the_model_written_out(fit, place, monkeypatch):
    monkeypatch.setattr("aftereffect.records.trend.BEND", 0.0)
    monkeypatch.setattr("aftereffect.records.trend.LOCAL", np.inf)
    curves, shared = leanings(fit.state, fit.home)
    mean, covariance, _ = written_out(fit, curves.track[place], curves.field[place])
    _, arms, nodes = curves.mean.shape
    np.testing.assert_allclose(curves.mean[place], mean.reshape(arms, nodes).clip(0, 1), atol=2e-6)
    np.testing.assert_allclose(curves.variance[place].ravel(), np.diag(covariance), atol=2e-6)
    for k in range(arms):
        block = slice(k * nodes, (k + 1) * nodes)
        np.testing.assert_allclose(curves.column[place, k], covariance[block, k * nodes + fit.home[k]], atol=2e-6)
    across = covariance[:nodes, nodes : 2 * nodes]  # of the first two arms
    np.testing.assert_allclose(np.outer(shared[place, 0], shared[place, 1]), across, atol=2e-6)


def test_weights_have_the_evidence_for_slopes_in_them(fit):
    curves = leanings(fit.state, fit.home).curves
    parts = list(zip(curves.track[:2], curves.field[:2], strict=True))
    total = [fit.state.evidence[part] + written_out(fit, *part)[2] for part in parts]
    assert np.log(curves.weight[0] / curves.weight[1]) == pytest.approx(0.35 * (total[0] - total[1]), abs=1e-4)


def test_a_gain_has_what_arms_share_in_it(fit, monkeypatch):
    monkeypatch.setattr("aftereffect.records.trend.BEND", 0.0)
    monkeypatch.setattr("aftereffect.records.trend.LOCAL", np.inf)
    fresh = ae.fit(fit.records, memory=0.5)
    levels = np.array([20, 60, 50, 70])
    curves, nodes = fresh.curves, fit.steps + 1
    _, covariance, _ = written_out(fit, curves.track[0], curves.field[0])
    weight = np.zeros(4 * nodes)
    for k in range(4):
        weight[k * nodes + levels[k]] += levels[k] / fit.steps
        weight[k * nodes + fit.home[k]] -= fit.home[k] / fit.steps
    assert fresh.gains.of(levels).deviation[0] == pytest.approx(np.sqrt(weight @ covariance @ weight), rel=1e-3)


def test_beyond_what_was_seen_half_of_what_sets_an_arm_apart_is_forgotten(fit, monkeypatch):
    now = leanings(fit.state, fit.home).curves
    monkeypatch.setattr("aftereffect.records.trend.LOCAL", np.inf)
    on = leanings(fit.state, fit.home).curves  # as if all of it lasted
    rate, place = fit.state.belief["rate"][0], np.arange(fit.steps + 1) / fit.steps
    for c in range(3):
        for k in range(4):
            seen = np.flatnonzero(fit.state.banks["count"][now.track[c], k] > 0)
            beyond = np.maximum(0, np.maximum(place[seen[0]] - place, place - place[seen[-1]]))
            rho = np.exp(-0.5 * (beyond / LOCAL) ** 2)
            apart = on.mean[c, k] - rate
            np.testing.assert_allclose(now.mean[c, k] - rate, 0.5 * (1 + rho) * apart, atol=1e-12)
            added = now.variance[c, k] - on.variance[c, k]
            np.testing.assert_allclose(added, (1 - (0.5 * (1 + rho)) ** 2) * apart**2, atol=1e-12)
            # of two parts of the same variance, the one with the correlation rho: their sum there, given the sum here
            sums = np.stack([np.full_like(rho, 2.0), 1 + rho, 1 + rho, np.full_like(rho, 2.0)], -1).reshape(-1, 2, 2)
            left = sums[:, 1, 1] - sums[:, 0, 1] ** 2 / sums[:, 0, 0]
            np.testing.assert_allclose(added, left * apart**2 / 2, atol=1e-12)


def test_not_everything_goes_to_an_arm_whose_response_rises_where_it_was_seen():
    """All fall again soon after, which no record says: giving all to the first would lose nearly half."""
    tops = (0.6, 0.4, 0.3, 0.3, 0.2)
    peaks = [lambda x, top=top: 0.2 + top * np.exp(-0.5 * ((x - 0.35) / 0.12) ** 2) for top in tops]
    world = World(peaks, 0.7, 400, np.full(5, 0.2))
    for seed in (6, 7, 8):
        split = list(ae.fit(world.rows(104, seed)).best().allocation.values())
        assert max(split) < 0.6
        assert world.utility(split) > world.utility(world.base)


def test_slopes_that_are_not_told_are_those_of_the_other_arms():
    told, truth = np.array([400.0, 400.0, 400.0, 0.0]), -0.8
    slopes = learned_slopes(told, truth * told)
    assert slopes.mean[3] == pytest.approx(truth, abs=0.1)
    assert slopes.own[3] == pytest.approx(OWN)
    nothing = learned_slopes(np.zeros(4), np.zeros(4))
    assert nothing.mean.tolist() == [0.0] * 4
    assert nothing.shared == pytest.approx([SHARED] * 4)
    assert nothing.evidence == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("curve", "sign"), [(tiring(0.8, 0.2, 2), -1), (saturating(0.2, 0.8, 3), 1)])
def test_arms_that_all_rise_or_all_fall_are_told_apart(curve, sign):
    world = World([curve] * 5, 0.6, 500, np.full(5, 0.2))
    fit = ae.fit(world.rows(104, seed=8))
    for name in fit.names:
        estimate = fit.curve(name)["estimate"]
        assert sign * (estimate[70] - estimate[20]) > 0.03
