"""fair-thompson: within the tolerance while it learns, and as good as the fair optimum."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.state import MOVING
from aftereffect.policies.state_files import arrays_of
from aftereffect.simulation.runs import run_once, setting_for
from aftereffect.testing import check_policy

NAN = float("nan")


@pytest.mark.parametrize(("arms", "feedback"), [(1, "one"), (2, "independent"), (3, "split")])
def test_it_conforms(arms, feedback):
    check_policy(ae.FairThompson(tolerance=0.1, memory=0.4, levels=20), arms=arms, horizon=80, feedback=feedback)


@pytest.mark.parametrize("name", ["lending", "patrol", "loan"])
def test_it_keeps_the_tolerance_and_earns_the_fair_optimum(name):
    """Bounds half as large again as what 16 runs gave, or more: over 12 runs a failure by chance is unlikely.

    The even split's violation on lending is .087 in every round.
    """
    problem = ae.problem(name, arms=2, memory=0.5, seed=3)
    parity = ae.simulate(problem, ae.FairThompson(), 20_000, runs=12, seed=5, checkpoints=[2_000, 20_000]).parity
    assert parity is not None
    early, late = parity.mean_violation.mean(axis=0)
    assert early < 0.006
    assert late < 0.001
    assert parity.fair_regret[:, -1].mean() / 20_000 < 0.035


def _told(policy: ae.FairThompson, rounds: int, arms: int = 3, **start):
    """An agent, and after each ask what a world of known means tells it."""
    agent, random = policy.start(arms, seed=2, **start), np.random.default_rng(1)
    for t in range(1, rounds + 1):
        p = agent.ask()
        yield t, p, agent
        seen = random.random(arms) < p
        rewards = np.where(seen, random.random(arms) < 0.9 - 0.6 * p, NAN)
        agent.tell(rewards, measures=(random.random(arms) < np.array([0.2, 0.4, 0.8])[:arms] * p).astype(float))


def _half_way(home, levels):
    """Levels that are half of the way, within rounding."""
    return lambda x: np.abs(np.array(levels) - (home + x) / 2).max() <= 1.0


def test_every_target_is_surely_fair_or_home_or_half_way_to_what_seems_fairest_or_may_be_fair():
    """Against enumeration, from the values it compared last and what it believes of the measures."""
    grid = [np.array([a, b, 12 - a - b]) for a in range(13) for b in range(13 - a)]
    rows, ways, hold_until, before = np.arange(3), set(), 0, np.array([4, 4, 4])
    for t, p, agent in _told(ae.FairThompson(tolerance=0.3, memory=0.3, levels=12), 600):
        state, curves = agent.state, agent.state.curves
        if t >= hold_until:  # decided in this round
            value, low, high = curves.value, state.lowest, state.highest
            sure = [x for x in grid if high[rows, x].max() - low[rows, x].min() <= 0.3 + 1e-12]
            gaps = [np.ptp(state.measures[rows, x]) for x in grid]
            stage, is_half_way = int(curves.now[0]["stage"]), _half_way(before, curves.target)
            if sure:
                assert value[rows, curves.target].sum() == pytest.approx(max(value[rows, x].sum() for x in sure))
                ways.add("sure")
            elif np.ptp(state.measures[rows, before]) <= 0.75 * 0.3:
                assert curves.levels.tolist() == curves.target.tolist() == before.tolist()
                ways.add("home")
            elif min(gaps) <= 0.3:
                fairest = [x for x, gap in zip(grid, gaps, strict=True) if gap <= min(gaps) + 1e-3]  # the last half
                assert any(map(is_half_way, fairest))
                ways.add("fairest")
            else:
                able = [x for x in grid if low[rows, x].max() - high[rows, x].min() <= 0.3 + 1e-12]
                best = max(value[rows, x].sum() for x in able)
                assert any(is_half_way(x) for x in able if value[rows, x].sum() > best - 1e-9)
            assert np.rint(p * 12).astype(int).tolist() == curves.levels.tolist()
            if stage == MOVING:
                assert curves.levels.tolist() == curves.home.tolist() == curves.target.tolist()
            before = curves.home.copy()
        hold_until = int(curves.now[0]["hold_until"])
    assert ways >= {"sure", "fairest"}


def test_measures_are_booked_at_the_impact():
    agent = ae.FairThompson(tolerance=0.1, memory=0.5, levels=10).start(2)
    agent.ask()
    agent.tell(None, allocation=[1.0, 0.0], measures=[0.3, NAN])
    agent.ask()
    agent.tell(None, allocation=[0.0, 1.0], measures=[NAN, 0.8])
    booked = agent.state.booked[0]
    assert booked["count"].sum(axis=1).tolist() == [1.0, 1.0]
    assert booked["pulled"][0, 10] / booked["precision"][0, 10] == pytest.approx(0.3)
    assert booked["count"][1, 7] == 1.0  # two thirds
    assert not agent.state.curves.banks["count"].any()


def test_a_measure_counts_as_the_mean_of_what_was_seen_of_its_arm():
    """With 40 and 160 units; not seen, or without rewards, it is one observation."""
    agent = ae.FairThompson(tolerance=0.1, memory=0.5, levels=10).start(2)
    agent.ask()
    agent.tell([0.5, 0.25], allocation=[0.2, 0.8], trials=[40, 160], measures=[0.3, 0.4])
    assert agent.state.booked["count"][0].sum(axis=1).tolist() == [40.0, 160.0]
    agent.ask()
    agent.tell([0.5, NAN], allocation=[0.2, 0.8], trials=[40, NAN], measures=[0.3, 0.4])
    assert agent.state.booked["count"][0].sum(axis=1).tolist() == [80.0, 161.0]
    agent.ask()
    agent.tell(None, allocation=[0.2, 0.8], measures=[0.3, 0.4])
    assert agent.state.booked["count"][0].sum(axis=1).tolist() == [81.0, 162.0]


@pytest.mark.parametrize("ahead", [0, 1])
def test_the_first_it_tries_is_to_give_more_to_the_group_that_is_behind(ahead):
    """Weekly counts at an even split show that one group is behind; it is not asked to give everything to either."""
    agent, means = ae.FairThompson(tolerance=0.1, memory=0.5).start(2, seed=3), np.array([0.3, 0.3])
    means[ahead] = 0.5
    p = agent.ask()
    while p.tolist() == [0.5, 0.5]:
        assert agent.state.booked["rounds"][0, 0].sum() < 20
        agent.tell([0.5, 0.5], trials=[100, 100], measures=means)
        p = agent.ask()
    assert 0.3 < p[ahead] < 0.5


@pytest.mark.parametrize("slope", [0.6, -0.6])
def test_within_a_year_of_weeks_it_keeps_the_tolerance_whether_measures_rise_or_fall(slope):
    """The even split is .1 beyond it in every round. 24 runs on another seed had an eighth of the rounds in violation."""
    measures = [lambda x, at=at: at + slope * (x - 1 / 3) for at in (0.6, 0.4, 0.5)]
    responses = [lambda x: 0.7 - 0.3 * x, lambda x: 0.5 - 0.2 * x, lambda x: 0.6 - 0.3 * x]
    problem = ae.Problem(responses, ae.Discounted(0.5), fairness=ae.Fairness(measures, tolerance=0.1), units=200)
    parity = ae.simulate(problem, ae.FairThompson(), 104, runs=8, seed=6).parity
    assert parity is not None
    assert parity.violated_share[:, -1].mean() < 0.25
    assert parity.mean_violation[:, -1].mean() < 0.025


def test_measures_are_learned():
    """Told measures without noise, its estimates at the impacts visited are right."""
    problem = ae.Problem(
        [lambda _x: 0.5] * 2, ae.Discounted(0.5), fairness=ae.Fairness([lambda x: x, lambda x: 0.4 * x], noise="none")
    )
    policy = ae.FairThompson()
    run = run_once(problem, policy, np.array([3000]), 3, trace=True)
    agent = ae.Agent(policy, setting_for(problem, 3000, np.arange(1, 5, dtype=np.uint64)))
    for allocation, _, seen, reward, measured in zip(*run.trace, strict=True):
        agent.ask()
        agent.tell(np.where(seen > 0, reward, np.nan), allocation=allocation, measures=measured)
    agent.ask()
    state = agent.state
    visited = state.booked["count"][0] > 100
    x = np.linspace(0, 1, state.measures.shape[1])
    for k, curve in enumerate((x, 0.4 * x)):
        assert visited[k].any()
        assert np.abs(state.measures[k] - curve)[visited[k]].max() < 0.03


def test_it_starts_from_the_split_it_is_told_and_keeps_bounds():
    policy = ae.FairThompson(tolerance=0.2, memory=0.5, levels=20)
    agent = policy.start(3, start=[0.5, 0.3, 0.2], floors=0.1, caution=1.7)
    assert agent.state.curves.home.tolist() == [10, 6, 4]
    assert agent.state.curves.impact == pytest.approx(np.tile([0.5, 0.3, 0.2], (len(agent.state.curves.tracks), 1)))
    assert float(agent.state.curves.tuning[0]["caution"]) == 1.7
    for _, p, _ in _told(policy, 200, floors=0.1, caps=[0.5, 0.6, 1.0]):
        assert p.min() >= 0.1 - 1e-12
        assert np.all(p <= [0.5 + 1e-12, 0.6 + 1e-12, 1.0])


def test_explanations_say_what_measures_are_believed():
    for _, p, agent in _told(ae.FairThompson(tolerance=0.15, memory=0.3, levels=12), 60):
        said = agent.explain()
        levels = np.rint(p * 12).astype(int)
        measures = agent.state.measures[np.arange(3), levels]
        assert [arm["measure"] for arm in said["arms"]] == pytest.approx(measures)
        assert said["estimated_gap"] == pytest.approx(np.ptp(measures))
        assert said["tolerance"] == 0.15
        assert "favourite" not in said
        assert f"{said['estimated_gap']:.2g} apart, 0.15 is allowed." in agent.explain(words=True)
        assert {"stage", "home", "memory", "model", "drift"} <= set(said)


def test_it_says_when_a_split_is_chosen_for_fairness_sake():
    """One group is behind at the even split: the reason is not that another split earns more."""
    agent, stages = ae.FairThompson(tolerance=0.1, memory=0.5).start(2, names=["north", "south"], seed=3), []
    for _ in range(40):
        p = agent.ask()
        stages.append(agent.explain()["stage"])
        words = agent.explain(words=True)
        assert "; they are " in words
        assert "apart, 0.1 is allowed." in words
        if stages[-1] == "fairer":
            assert "goes half of the way to where measures seem closest together" in words
            assert "by more than its caution asks" not in words
        agent.tell([0.5, 0.5], trials=[100, 100], measures=[0.5 + 0.9 * (p[0] - 0.5), 0.2 + 0.6 * (p[1] - 0.5)])
    assert "fairer" in stages
    assert stages[-1] in ("home", "moving", "trying", "searching")  # surely fair by now
    assert agent.explain()["estimated_gap"] < 0.1


def test_it_resumes_bit_by_bit_and_saves_no_workspace(tmp_path: Path):
    path, random = tmp_path / "agent.json", np.random.default_rng(4)
    for t, _, agent in _told(ae.FairThompson(tolerance=0.15, memory=0.3, levels=12), 60):
        if t % 12 == 0:
            agent.save(path)
    names = set(arrays_of(agent.state))
    own = ("lowest", "highest", "trial", "reach", "allowed", "behind")
    assert not [name for name in names if name.startswith((*own, "curves.posterior", "curves.mixed", "curves.value"))]
    one, two = ae.load_agent(path), ae.load_agent(path)
    for name in own:
        getattr(two.state, name)[...] = 3
    for name in ("mixed", "value", "target", "spare"):
        getattr(two.state.curves, name)[...] = 3
    for part in two.state.curves.posterior:
        part[...] = 3
    for _ in range(60):
        p = one.ask()
        assert two.ask().tolist() == p.tolist()
        rewards = np.where(p > 0, random.random(3), NAN)
        for agent in (one, two):
            agent.tell(rewards, measures=p * [0.2, 0.4, 0.8])


def test_a_tolerance_out_of_reach_is_widened_and_said():
    agent = ae.FairThompson(tolerance=0.0, memory=0.0, levels=10).start(2, seed=1)
    for _ in range(400):
        agent.ask()
        agent.tell([float("nan")] * 2, measures=[0.1, 0.9])
    reasons = agent.explain()
    assert reasons["tolerance_seems_unattainable_using"] > 0.3
    assert reasons["estimated_gap"] > 0.3
    assert reasons["tolerance_seems_unattainable_using"] - reasons["estimated_gap"] < 2e-3  # no wider than needed


def test_it_needs_a_tolerance():
    with pytest.raises(ae.MissingParameter, match="fair-thompson needs tolerance="):
        ae.FairThompson(memory=0.5).start(2)
    with pytest.raises(ae.AftereffectError, match=r"tolerance must lie in \[0, 1\], got 1.5"):
        ae.FairThompson(tolerance=1.5)


def test_with_an_unknown_memory_measures_are_booked_on_every_track():
    agent = ae.FairThompson(tolerance=0.1, memory_bound=0.9, levels=10).start(2)
    agent.ask()
    agent.tell(None, allocation=[1.0, 0.0], measures=[0.3, NAN])
    agent.ask()
    agent.tell(None, allocation=[0.0, 1.0], measures=[0.6, NAN])
    booked, memories = agent.state.booked, agent.state.curves.tracks["memory"]
    assert len(booked) == len(memories) > 1
    for m, memory in enumerate(memories):
        nodes = [10, round(10 * memory / (1 + memory) + 1e-9)]
        assert np.flatnonzero(booked["count"][m, 0]).tolist() == sorted(set(nodes))
    with pytest.raises(ae.AftereffectError, match="give memory or memory_bound, not both"):
        ae.FairThompson(tolerance=0.1, memory=0.5, memory_bound=0.9)


@pytest.mark.parametrize("seed", [1, 2])
def test_it_goes_as_far_as_it_has_looked(seed):
    """Rewards say that the first arm is far better, and measures are the shares: .6 and .4 is as far as fairness goes.

    In small steps it gets there. Where steps are large nothing but home is surely fair, however flat measures seem there.
    """
    policy, noise = ae.FairThompson(tolerance=0.2, memory=0.0), np.random.default_rng(seed)
    fine, coarse = policy.start(2, seed=seed), dataclasses.replace(policy, levels=20).start(2, seed=seed)
    for agent, reached in ((fine, 0.55), (coarse, 0.5)):
        for _ in range(60):
            p = agent.ask()
            assert p[0] <= 0.6 + 1e-9
            measures = (p + noise.normal(0, 0.02, 2)).clip(0, 1)
            agent.tell([0.9, 0.1], trials=np.rint(200 * p).astype(int), measures=measures)
        assert p[0] >= reached
