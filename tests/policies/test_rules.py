"""What the policies' rules mean: composition, importance weights, trials, overrides, phases, floors and caps."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.feedback import Feedback
from tests.simulation.cases import EXAMPLES

NAN = math.nan

GRID_POLICIES: list[ae.Policy] = [
    *(p for p in EXAMPLES if p.grid(ae.Setting(3, 3000)) is not None),
    ae.Phased(ae.ActionUCB(zero=True), memory=0.2),
    ae.Phased(ae.MetaExp3(), memory=0.2),
]
ONE_HOT_POLICIES: list[ae.Policy] = [*(p for p in EXAMPLES if p.one_hot), ae.Phased(ae.DUCB(), memory=0.2)]


def key(policy: ae.Policy) -> str:
    return policy.key


def trace_of(policy: ae.Policy, arms: int, memory: float, feedback: Feedback = "independent") -> Any:
    """Every choice of a simulated run of 20,000 rounds."""
    problem = ae.problem("gaussian", arms=arms, memory=memory, seed=4, feedback=feedback)
    trace = ae.simulate(problem, policy, horizon=20_000, runs=1, seed=6, trace=True).trace
    assert trace is not None
    return trace.allocation[0]


def feed(agent: ae.Agent, rounds: int, **tell: Any) -> list[list[float]]:
    """Ask and tell with independent activation and rewards of 0 or 1; gives what was asked."""
    world, asked = random.Random(8), []
    for _ in range(rounds):
        p = agent.ask().tolist()
        asked.append(p)
        agent.tell([float(world.random() < 0.6) if world.random() < share else NAN for share in p], **tell)
    return asked


# Composition.


@pytest.mark.parametrize(("arms", "feedback"), [(2, "independent"), (3, "independent"), (3, "one"), (3, "split")])
def test_history_ucb_is_action_ucb_in_phases_with_scale_3_and_the_log_of_rounds_told(
    arms: int, feedback: Feedback
) -> None:
    by_hand = ae.Phased(ae.ActionUCB(scale=3, log="told"), memory=0.4, estimation=0.2)
    whole = ae.HistoryUCB(memory=0.4, estimation=0.2)
    chosen = trace_of(whole, arms, 0.4, feedback)
    assert np.array_equal(chosen, trace_of(by_hand, arms, 0.4, feedback))
    assert len(np.unique(chosen, axis=0)) > 5


@pytest.mark.parametrize(
    ("estimation", "rounds_that_count"),
    [
        (0.2, 1),  # T rho = 4,000: N 8; ln(4 * 8)/ln 2.5 = 3.8, s_a 4, L 5
        (0.5, 5),  # T rho = 10,000: N 11; ln(4 * 11)/ln 2.5 = 4.1, s_a 5, L 10
    ],
)
def test_printed_history_ucb_is_action_ucb_in_phases_with_the_log_of_a_phases_estimation_rounds(
    estimation: float, rounds_that_count: int
) -> None:
    inner = ae.ActionUCB(scale=3, log=float(rounds_that_count))
    by_hand = ae.Phased(inner, memory=0.4, estimation=estimation)
    whole = ae.HistoryUCB(memory=0.4, estimation=estimation, log="printed")
    assert np.array_equal(trace_of(whole, 2, 0.4), trace_of(by_hand, 2, 0.4))


@pytest.mark.parametrize("log", ["lemma", "printed"])
def test_history_ucb_without_memory_is_action_ucb(log: str) -> None:
    assert np.array_equal(trace_of(ae.HistoryUCB(memory=0.0, log=log), 3, 0.0), trace_of(ae.ActionUCB(), 3, 0.0))


def test_the_two_readings_of_the_log_differ() -> None:
    lemma, printed = ae.HistoryUCB(memory=0.4), ae.HistoryUCB(memory=0.4, log="printed")
    assert not np.array_equal(trace_of(lemma, 2, 0.4), trace_of(printed, 2, 0.4))


# Importance weights (5).


def state_after(policy: ae.Policy, problem: ae.Problem, rounds: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A policy's state after a compiled run."""
    original, states = type(policy).state, []

    def remember(self: ae.Policy, setting: ae.Setting) -> Any:
        states.append(original(self, setting))
        return states[-1]

    monkeypatch.setattr(type(policy), "state", remember)
    ae.simulate(problem, policy, horizon=rounds, runs=1, seed=5, threads=1, checkpoints=1)
    return states[-1]


def world_with_one_allocation(feedback: Feedback, memory: float, **more: Any) -> ae.Problem:
    """Floors and caps leave the allocation (1/8, 7/8) only; the impact is then there from the first round."""
    responses = [ae.Gaussian(0.45), ae.Gaussian(0.55)]
    return ae.Problem(responses, ae.Discounted(memory), feedback, floors=ONE_EIGHTH, caps=ONE_EIGHTH, **more)


ONE_EIGHTH = (0.125, 0.875)
MEANS = (math.exp(-((0.125 - 0.45) ** 2)), math.exp(-((0.875 - 0.55) ** 2)))


@pytest.mark.parametrize("feedback", ["independent", "one"])
@pytest.mark.parametrize(
    ("policy", "memory"),
    [(ae.ActionUCB(levels=8), 0.0), (ae.HistoryUCB(memory=0.4, levels=8, estimation=0.5), 0.4)],
    ids=["action-ucb", "history-ucb"],
)
def test_importance_weighted_rewards_are_unbiased(
    policy: ae.Policy, memory: float, feedback: Feedback, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = 4_000_000
    state = state_after(policy, world_with_one_allocation(feedback, memory), rounds, monkeypatch)
    cells = state.cells if memory == 0 else state.inner.cells
    for k, (p, level, mean) in enumerate(zip(ONE_EIGHTH, (1, 7), MEANS, strict=True)):
        n, total = cells[["count", "reward"]][k, level].tolist()
        assert n == (rounds if memory == 0 else rounds / 2)
        # r-hat is r/p with chance p and else 0, r Bernoulli(mean): variance mean/p - mean^2. 5.2 standard errors leave
        # 2e-7 of error for each of eight comparisons, 1.6e-6 in all.
        error = 5.2 * math.sqrt((mean / p - mean**2) / n)
        assert error < 0.01  # any bias that matters would show
        assert abs(total / n - mean) < error


def test_split_feedback_takes_plain_means(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = world_with_one_allocation("split", 0.0, noise="none")
    cells = state_after(ae.ActionUCB(levels=8), problem, 1000, monkeypatch).cells
    # Nothing is random here, but the world reads responses from a table.
    assert cells["reward"][[0, 1], [1, 7]] / 1000 == pytest.approx(MEANS, abs=1e-5)


# Trials.


@pytest.mark.parametrize(
    "policy",
    [
        ae.ActionUCB(levels=6),
        ae.OneArmUCB(levels=6),
        ae.HistoryUCB(memory=0.2, levels=6),
        ae.Exp3(rate=0.3),
        ae.Exp3(rate=0.3, deploy="distribution"),
        ae.MetaExp3(levels=6, rate=0.3),
        ae.LipschitzUCB(levels=4),
        ae.LipschitzElimination(levels=4),
    ],
    ids=key,
)
def test_policies_that_count_rounds_take_the_mean_as_one_reward(policy: ae.Policy) -> None:
    many, single = policy.start(3, 400, seed=2), policy.start(3, 400, seed=2)
    world = random.Random(3)
    for _ in range(400):
        p = many.ask().tolist()
        assert p == single.ask().tolist()
        rewards = [world.random() if world.random() < share else NAN for share in p]
        many.tell(rewards, trials=[0 if math.isnan(r) else world.randint(2, 9) for r in rewards])
        single.tell(rewards)


@pytest.mark.parametrize("policy", [ae.UCB1(), ae.Thompson(), ae.CUCB(levels=4)], ids=key)
def test_policies_that_count_observations_take_four_at_once_as_four_rounds(policy: ae.Policy) -> None:
    at_once, one_by_one = policy.start(2, 100), policy.start(2, 100)
    at_once.ask()
    at_once.tell([0.75, NAN], trials=[4, 0], allocation=[0.75, 0.25])
    for reward in (1.0, 0.0, 1.0, 1.0):
        one_by_one.ask()
        one_by_one.tell([reward, NAN], allocation=[0.75, 0.25])
    names = ("successes", "failures") if isinstance(policy, ae.Thompson) else ("count", "reward")
    found = []
    for state in (at_once.state, one_by_one.state):
        tallies = state.cells if isinstance(policy, ae.CUCB) else state.arms
        found.append([tallies[name].sum() for name in names])
    assert found == [[3.0, 1.0] if isinstance(policy, ae.Thompson) else [4.0, 3.0]] * 2


@pytest.mark.parametrize("policy", [ae.DUCB(discount=0.5), ae.SWUCB(window=1)], ids=key)
def test_observations_of_one_round_age_together(policy: ae.Policy) -> None:
    agent = policy.start(2)
    agent.ask()
    agent.tell([0.75, NAN], trials=[4, 0], allocation=[1, 0])
    names = ["count" if isinstance(policy, ae.DUCB) else "observed", "reward"]
    assert agent.state.arms[names][0].tolist() == (4.0, 3.0)
    agent.ask()
    agent.tell([NAN, 1.0], allocation=[0, 1])
    assert agent.state.arms[names][0].tolist() == ((2.0, 1.5) if isinstance(policy, ae.DUCB) else (0.0, 0.0))


# Overrides.


def test_importance_weights_divide_by_what_was_deployed_and_count_for_the_nearest_level() -> None:
    agent = ae.ActionUCB(levels=10).start(2, 100)
    agent.ask()
    agent.tell([0.5, NAN], allocation=[0.33, 0.67])
    agent.ask()
    agent.tell([1.0, 1.0], allocation=[0.26, 0.74])
    counts, sums = agent.state.cells["count"], agent.state.cells["reward"]
    assert counts[0].tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
    assert counts[1].tolist() == [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]
    assert sums[0, 3] == pytest.approx(0.5 / 0.33 + 1 / 0.26)
    assert sums[1, 7] == pytest.approx(1 / 0.74)


def test_cucb_counts_an_override_for_the_nearest_level_without_weights() -> None:
    agent = ae.CUCB(levels=10).start(2, 100)
    agent.ask()
    agent.tell([0.5, NAN], allocation=[0.33, 0.67])
    assert agent.state.cells[0, 3].tolist() == (1.0, 0.5)
    assert agent.state.cells["count"][1].sum() == 0


def test_exp3_divides_by_the_deployed_share_when_people_chose_it() -> None:
    agent = ae.Exp3(rate=0.2, deploy="distribution").start(2)
    agent.ask()
    agent.tell([1.0, NAN], allocation=[0.25, 0.75])
    weight = math.exp(0.2 / 0.25 / 2)
    assert agent.ask()[0] == pytest.approx(0.8 * weight / (1 + weight) + 0.1)


@pytest.mark.parametrize("deploy", ["arm", "distribution"])
@pytest.mark.parametrize("form", ["mixing", "loss"])
def test_exp3_stays_on_the_simplex_after_overrides_with_tiny_shares(form: str, deploy: str) -> None:
    # An importance weight of 1e5 must not carry the weights out of what floating point holds.
    agent = ae.Exp3(rate=0.5, form=form, deploy=deploy).start(2)
    for k, reward in ((0, 1.0), (1, 1.0), (0, 0.0), (1, 0.0)):
        agent.ask()
        shares = [1e-5 if i == k else 1 - 1e-5 for i in range(2)]
        agent.tell([reward if i == k else NAN for i in range(2)], allocation=shares)
        assert np.isfinite(agent.state.tree).all()
        assert agent.ask().min() >= 0
        assert agent.ask().sum() == pytest.approx(1)


def test_meta_exp3_counts_an_override_for_the_nearest_allocation_as_seen_for_certain() -> None:
    agent = ae.MetaExp3(levels=4, rate=0.5).start(2)
    agent.ask()
    agent.tell([1.0, 1.0], allocation=[0.45, 0.55])
    half = len(agent.state.tree) // 2
    # Options (1, 3), (2, 2), (3, 1) quarters; the gain is (1 + 1)/2 and the weight exp(rate gain / 3).
    assert agent.state.tree[half : half + 3].tolist() == pytest.approx([1, math.exp(0.5 / 3), 1])


# Phases. Round-robin inside shows the inner clock: it plays arm (t - 1) mod K.


def phase_arms(agent: ae.Agent, rounds: int) -> list[int]:
    return [p.index(1.0) for p in feed(agent, rounds)]


def test_inner_clock_counts_estimation_rounds() -> None:
    # Three approach rounds, three that count: the inner clock reads 1, 4, 7 at the first three phases.
    agent = ae.Phased(ae.RoundRobin(), approach=3, estimation=0.5).start(5)
    assert phase_arms(agent, 24) == [0] * 6 + [3] * 6 + [1] * 6 + [4] * 6


def test_rounds_after_the_last_whole_phase_keep_the_allocation() -> None:
    agent = ae.Phased(ae.RoundRobin(), approach=3, estimation=0.5).start(5, horizon=17)
    assert phase_arms(agent, 17) == [0] * 6 + [3] * 11


def test_past_the_horizon_phases_go_on() -> None:
    agent = ae.Phased(ae.RoundRobin(), approach=3, estimation=0.5).start(5, horizon=12)
    assert phase_arms(agent, 18) == [0] * 6 + [3] * 6 + [1] * 6


def test_inner_horizon_counts_estimation_rounds() -> None:
    # 1,000 rounds make 166 phases of six with three rounds that count: EXP3's rate is tuned to 498 rounds.
    agent = ae.Phased(ae.Exp3(), approach=3, estimation=0.5).start(2, horizon=1000)
    assert agent.explain()["inner"]["rate"] == pytest.approx(math.sqrt(2 * math.log(2) / ((math.e - 1) * 498)))


@pytest.mark.parametrize(
    ("overridden", "rounds_told"),
    [
        ([], 2),
        ([1], 1),  # the approach starts anew in round 2: only round 4 counts
        ([2], 0),
        ([3], 0),
        ([4], 1),  # round 3 had counted
        ([1, 2, 3, 4], 2),  # the override itself has stood for longer than the approach
    ],
)
def test_an_override_starts_the_approach_anew(overridden: list[int], rounds_told: int) -> None:
    agent = ae.Phased(ae.RoundRobin(), approach=2, estimation=0.5).start(4)
    for t in range(1, 5):
        agent.ask()
        agent.tell([NAN] * 4, allocation=[0.1, 0.2, 0.3, 0.4] if t in overridden else None)
    assert agent.ask().tolist().index(1.0) == rounds_told


def test_inner_policy_is_told_what_was_deployed() -> None:
    agent = ae.Phased(ae.ActionUCB(levels=10), approach=1, estimation=0.5).start(2)
    for _ in range(2):
        agent.ask()
        agent.tell([1.0, NAN], allocation=[0.33, 0.67])
    cells = agent.state.inner.cells
    assert cells["count"].sum() == 2
    assert cells["reward"][0, 3] == pytest.approx(1 / 0.33)


def test_exp3_in_phases_keeps_the_chance_it_drew_with() -> None:
    agent = ae.Phased(ae.Exp3(rate=0.4), approach=1, estimation=0.75).start(
        2, seed=1
    )  # one round, then three that count
    drawn = agent.ask().tolist().index(1.0)
    for _ in range(4):
        agent.ask()
        agent.tell([1.0 if k == drawn else NAN for k in range(2)])
    # The chance was one half at the draw; it stays so although the weight grows three times.
    weights = agent.state.inner.tree[2:]
    assert weights[drawn] == pytest.approx(math.exp(0.4 / 0.5 / 2) ** 3)
    assert weights[1 - drawn] == 1


# Floors and caps.


@pytest.mark.parametrize("policy", [*GRID_POLICIES, ae.Fixed()], ids=key)
def test_policies_over_the_grid_keep_floors_and_caps(policy: ae.Policy) -> None:
    floors, caps = np.array([0.13, 0.0, 0.21]), np.array([0.55, 0.41, 1.0])
    agent = policy.start(3, 3000, floors=floors.tolist(), caps=caps.tolist())
    asked = np.array(feed(agent, 500))
    assert (asked >= floors).all()
    assert (asked <= caps).all()
    assert asked.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("policy", [p for p in GRID_POLICIES if not isinstance(p, ae.FairThompson)], ids=key)
def test_policies_over_the_grid_reach_their_limits(policy: ae.Policy) -> None:
    # The sweep, or the list of options, holds every level within the limits, rounded inward: none is lost. Fair-thompson
    # stays where it knows that it is fair, and here it is told no measures.
    agent = policy.start(2, 3000, floors=0.2, caps=0.8)
    grid = policy.grid(agent.setting)
    assert grid is not None
    asked = np.array(feed(agent, 1500)) * grid.levels
    assert round(asked.min()) == math.ceil(0.2 * grid.levels - 1e-9)
    assert round(asked.max()) == math.floor(0.8 * grid.levels + 1e-9)


@pytest.mark.parametrize("policy", ONE_HOT_POLICIES, ids=key)
def test_one_hot_policies_refuse_floors_and_caps(policy: ae.Policy) -> None:
    with pytest.raises(ae.AftereffectError, match="cannot keep floors or caps"):
        policy.start(3, 3000, floors=0.1)
    with pytest.raises(ae.AftereffectError, match="cannot keep floors or caps"):
        policy.start(3, 3000, caps=[1.0, 0.9, 1.0])


@pytest.mark.parametrize("policy", [p for p in GRID_POLICIES if not getattr(p, "zero", True)], ids=key)
def test_without_zero_every_arm_gets_something(policy: ae.Policy) -> None:
    assert min(min(p) for p in feed(policy.start(3, 3000), 300)) > 0


def test_the_only_arm_gets_everything_and_no_more() -> None:
    """A chance that rounds to more than one was a share that no saved agent may have."""
    agent = ae.Exp3(rate=0.1, deploy="distribution").start(1, seed=5)
    for reward in np.linspace(0.0, 1.0, 60):
        (share,) = agent.ask()
        assert share == pytest.approx(1.0)
        assert share <= 1.0
        agent.tell([reward])
