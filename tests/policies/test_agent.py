"""The agent: asking, telling, mistakes that change nothing, names, past records, explanations."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import AftereffectWarning
from aftereffect.policies.explanation import in_words
from aftereffect.policies.rules import tell
from tests.simulation.cases import IDS, POLICIES

NAN = float("nan")


def _state(agent: ae.Agent, folder: Path) -> str:
    agent.save(folder / "state.json")
    return (folder / "state.json").read_text()


def _run(agent: ae.Agent, rounds: int, seed: int = 0) -> np.ndarray:
    """Ask and tell with independent activations; gives the allocations."""
    random, rows = np.random.default_rng(seed), []
    for _ in range(rounds):
        allocation = agent.ask()
        rows.append(allocation)
        seen = random.random(len(allocation)) < allocation
        rewards = (random.random(len(allocation)) < 0.3 + 0.1 * np.arange(len(allocation))).astype(float)
        agent.tell(np.where(seen, rewards, NAN))
    return np.array(rows)


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_asking_twice_gives_the_same_and_a_copy(policy: ae.Policy) -> None:
    agent = policy.start(3, 100, seed=1)
    for _ in range(30):
        first = agent.ask()
        first_copy = first.copy()
        first[:] = 7.0
        assert np.array_equal(agent.ask(), first_copy)
        agent.tell(None)


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_the_seed_decides(policy: ae.Policy) -> None:
    assert np.array_equal(_run(policy.start(3, 100, seed=1), 60), _run(policy.start(3, 100, seed=1), 60))


def test_seeds_differ() -> None:
    first, second = (_run(ae.Thompson().start(3, 100, seed=s), 60) for s in (1, 2))
    assert not np.array_equal(first, second)


# What a wrong tell may look like. The allocation asked for is (1, 0) or (0, 1), by round-robin, on two arms.
WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("too few", [1.0], {}, "1"),
    ("too many", [1.0, NAN, NAN], {}, "3"),
    ("a number", 1.0, {}, "1"),
    ("a table", [[1.0, NAN]], {}, "2"),
    ("below zero", [-0.1, NAN], {}, r"-0\.1"),
    ("above one", [1.5, NAN], {}, r"1\.5"),
    ("infinite", [float("inf"), NAN], {}, "inf"),
    ("minus infinite", [float("-inf"), NAN], {}, "-inf"),
    ("no share", [1.0, 0.5], {}, r"no share.*0\.5"),
    ("a zero without a share", [1.0, 0.0], {}, "no share"),
    ("text", "high", {}, "high"),
    ("texts", ["high", "low"], {}, "high"),
    ("an object", [object(), NAN], {}, "object"),
    ("names without names", {"a": 1.0}, {}, "no names"),
    ("too few trials", [1.0, NAN], {"trials": [3]}, "1"),
    ("no trials", [1.0, NAN], {"trials": [0, 0]}, "0"),
    ("part of a trial", [1.0, NAN], {"trials": [0.5, 0]}, r"0\.5"),
    ("negative trials", [1.0, NAN], {"trials": [-1, 0]}, "-1"),
    ("infinite trials", [1.0, NAN], {"trials": [float("inf"), 0]}, "inf"),
    ("trials that are none", [1.0, NAN], {"trials": [NAN, 0]}, "nan"),
    ("trials of an arm not seen", [1.0, NAN], {"trials": [1, 5]}, "5"),
    ("text for trials", [1.0, NAN], {"trials": "many"}, "many"),
    ("trials without rewards", None, {"trials": [1, 0]}, "trials"),
    ("shares too short", [1.0, NAN], {"allocation": [1.0]}, "1"),
    ("shares that do not sum to one", [1.0, NAN], {"allocation": [0.5, 0.4]}, r"0\.4"),
    ("shares below zero", [1.0, NAN], {"allocation": [1.5, -0.5]}, r"-0\.5"),
    ("shares that are none", [1.0, NAN], {"allocation": [NAN, 1.0]}, "nan"),
    ("text for shares", [1.0, NAN], {"allocation": "half"}, "half"),
    ("no share after the override", [1.0, NAN], {"allocation": [0.0, 1.0]}, "no share"),
    ("wrong shares of a skipped round", None, {"allocation": [2.0, -1.0]}, r"2\.0"),
]


@pytest.mark.parametrize(("rewards", "options", "shown"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_tell_raises_and_changes_nothing(rewards, options, shown: str, tmp_path: Path) -> None:
    for policy in (ae.RoundRobin(), ae.Phased(ae.RoundRobin(), approach=1)):
        agent = policy.start(2, 100)
        agent.ask()
        agent.tell(None)
        while agent.ask()[0] != 1.0:
            agent.tell(None)
        before, asked = _state(agent, tmp_path), agent.ask()
        with pytest.raises(ae.AftereffectError, match=shown):
            agent.tell(rewards, **options)
        assert _state(agent, tmp_path) == before
        assert np.array_equal(agent.ask(), asked)
        agent.tell([1.0, NAN])  # and it goes on


WRONG_BY_NAME: list[tuple[str, Any, dict[str, Any], str]] = [
    ("an unknown name", {"nroth": 1.0}, {}, "north"),
    ("an unknown name with a known one", {"north": 1.0, "up": 1.0}, {}, "up"),
    ("a number for a name", {0: 1.0}, {}, "0"),
    ("no share", {"south": 1.0}, {}, "'south' had no share"),
    ("outside", {"north": 2.0}, {}, "2 for arm 'north'"),
    ("text", {"north": "high"}, {}, "high"),
    ("a list", {"north": [1.0, 0.0]}, {}, "north|1.0"),
    ("text for trials", {"north": 1.0}, {"trials": {"north": "many"}}, "many"),
    ("text for shares", {"north": 1.0}, {"allocation": {"north": "all"}}, "all"),
]


@pytest.mark.parametrize(
    ("rewards", "options", "shown"), [row[1:] for row in WRONG_BY_NAME], ids=[row[0] for row in WRONG_BY_NAME]
)
def test_a_wrong_tell_by_name_raises_and_changes_nothing(rewards, options, shown: str, tmp_path: Path) -> None:
    agent = ae.RoundRobin().start(2, names=["north", "south"])
    agent.ask()
    before = _state(agent, tmp_path)
    with pytest.raises(ae.AftereffectError, match=shown):
        agent.tell(rewards, **options)
    assert _state(agent, tmp_path) == before
    agent.tell({"north": 1.0})


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_no_policy_is_touched_by_a_wrong_tell(policy: ae.Policy, tmp_path: Path) -> None:
    agent = policy.start(3, 200, seed=2)
    _run(agent, 20)
    agent.ask()
    before = _state(agent, tmp_path)
    for rewards in ([0.5, 0.5, 1.5], [0.5, 0.5, float("inf")], [0.5, 0.5], [0.1, 0.2, "x"]):
        with pytest.raises(ae.WrongTell):
            agent.tell(rewards)  # type: ignore[arg-type]
    assert _state(agent, tmp_path) == before


def test_tell_without_ask(tmp_path: Path) -> None:
    agent = ae.DUCB().start(2)
    before = _state(agent, tmp_path)
    with pytest.raises(ae.WrongTell, match="ask"):
        agent.tell([1.0, NAN])
    assert _state(agent, tmp_path) == before
    agent.ask()
    agent.tell(None)
    with pytest.raises(ae.WrongTell, match="ask"):
        agent.tell(None)
    assert agent.rounds == 1


def test_several_arms_under_feedback_one(tmp_path: Path) -> None:
    agent = ae.Fixed([0.5, 0.5]).start(2, feedback="one")
    agent.ask()
    before = _state(agent, tmp_path)
    with pytest.raises(ae.WrongTell, match=r"'one'.*\[1\.0, 0\.0\]"):
        agent.tell([1.0, 0.0])
    assert _state(agent, tmp_path) == before
    agent.tell([1.0, NAN])
    agent.ask()
    agent.tell([1.0, 0.5], trials=[3, 2])  # a round of many trials may well have seen several


def test_names_and_mappings_say_the_same_as_lists(tmp_path: Path) -> None:
    listed = ae.Fixed([0.5, 0.3, 0.2]).start(3)
    named = ae.Fixed([0.5, 0.3, 0.2]).start(3, names=["a", "b", "c"])
    tallies = []
    for policy in (ae.DUCB(), ae.UCB1()):
        listed, named = policy.start(3, seed=4), policy.start(3, seed=4, names=["a", "b", "c"])
        for agent, first, second in (
            (listed, [0.5, NAN, 1.0], [2, 0, 3]),
            (named, {"a": 0.5, "c": 1.0}, {"a": 2, "c": 3}),
        ):
            agent.ask()
            shares: Any = [0.4, 0.0, 0.6] if agent is listed else {"a": 0.4, "c": 0.6}
            agent.tell(first, trials=second, allocation=shares)
        tallies.append((listed.state.arms, named.state.arms))
    for one, other in tallies:
        assert np.array_equal(one, other)
    assert list(named.explain()["allocation"]) == ["a", "b", "c"]


def test_trials_weigh_where_observations_are_counted() -> None:
    many, single = ae.UCB1().start(2, seed=1), ae.UCB1().start(2, seed=1)
    arm = int(np.argmax(many.ask()))
    single.ask()
    rewards = [NAN, NAN]
    rewards[arm] = 0.25
    trials = [0, 0]
    trials[arm] = 8
    many.tell(rewards, trials=trials)
    single.tell(rewards)
    assert many.state.arms[["count", "reward"]][arm].tolist() == (8.0, 2.0)
    assert single.state.arms[["count", "reward"]][arm].tolist() == (1.0, 0.25)


def test_rounds_count_rounds_for_algorithm_1() -> None:
    """Policies that count rounds take the round's mean as its one reward, whatever the trials."""
    many, single = (ae.ActionUCB(levels=4).start(2, seed=1) for _ in range(2))
    for agent in (many, single):
        agent.ask()
    many.tell([0.25, 0.5], trials=[8, 3])
    single.tell([0.25, 0.5])
    assert np.array_equal(many.state.cells, single.state.cells)


def test_an_override_is_what_counts() -> None:
    agent = ae.ActionUCB(levels=4).start(2, seed=1)
    agent.ask()
    agent.tell([0.5, NAN], allocation=[0.25, 0.75])
    counts, sums = agent.state.cells["count"], agent.state.cells["reward"]
    assert counts[0].tolist() == [0, 1, 0, 0, 0]
    assert counts[1].tolist() == [0, 0, 0, 1, 0]
    assert sums[0, 1] == 0.5 / 0.25  # (5) divides by the deployed share


def test_a_round_nothing_is_known_about_teaches_nothing() -> None:
    agent = ae.UCB1().start(3, seed=1)
    before = agent.state.arms[["count", "reward"]].copy()
    for _ in range(5):
        agent.ask()
        agent.tell(None)
    assert np.array_equal(agent.state.arms[["count", "reward"]], before)
    assert agent.rounds == 5


def test_past_records_come_in_before_the_first_round() -> None:
    records: list[Any] = [
        {"allocation": [0.5, 0.5], "rewards": [1.0, NAN]},
        {"allocation": [1.0, 0.0], "rewards": [0.5, NAN], "trials": [4, 0]},
        ([0.0, 1.0], [NAN, 0.25]),
        [0.3, 0.7],  # deployed, but nobody knows what came back
        (0.3, 0.7),
    ]
    agent = ae.UCB1().start(2, horizon=100, seed=1, history=records)
    assert agent.rounds == 5
    assert agent.setting.horizon == 105  # the horizon counts from today
    assert agent.state.arms["count"].tolist() == [5.0, 1.0]
    assert agent.state.arms["reward"].tolist() == [3.0, 0.25]
    named = ae.UCB1().start(2, names=["a", "b"], history=[{"allocation": {"a": 1.0}, "rewards": {"a": 0.5}}])
    assert named.state.arms["count"].tolist() == [1.0, 0.0]


def test_past_records_are_the_same_as_overrides() -> None:
    random = np.random.default_rng(3)
    records = [(p, np.where(p > 0.2, 0.5, NAN)) for p in random.dirichlet(np.ones(3), 40)]
    for policy in (ae.HistoryUCB(memory=0.4, levels=6), ae.CUCB(levels=6), ae.DUCB()):
        with_history = policy.start(3, 100, seed=1, history=records)
        fresh = policy.start(3, 140, seed=1)
        for t, (p, rewards) in enumerate(records, 1):
            tell(fresh.state, t, p, 1.0 - np.isnan(rewards), np.nan_to_num(rewards))
        fresh._course.begin_at(len(records))
        assert np.array_equal(_run(with_history, 30), _run(fresh, 30))


def test_what_records_say_was_held_is_where_an_agent_goes_on_from() -> None:
    """Their mean split counts as held before them, as in a fit; the even split, which nobody tried, does not."""
    random, counts = np.random.default_rng(3), np.full(3, 200)
    splits = random.dirichlet([50, 30, 20], 60)
    past = [{"allocation": p, "rewards": random.binomial(200, 0.4, 3) / 200, "trials": counts} for p in splits]
    policy, mean = ae.CurveThompson(memory_bound=0.95), splits.mean(axis=0)
    options: dict[str, Any] = {"feedback": "split", "history": past, "seed": 1}
    agent, told = policy.start(3, **options), policy.start(3, start=mean / mean.sum(), **options)
    assert np.array_equal(agent.ask(), told.ask())
    assert list(agent.explain()["home"]["allocation"].values()) == pytest.approx(mean, abs=0.05)
    limited = policy.start(3, floors=[0, 0, 0.4], **options)  # within today's limits
    assert limited.setting.start == pytest.approx(mean + np.array([-0.1, -0.1, 0.2]), abs=0.02)


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ({"rewards": [1.0, NAN]}, "record 1.*rewards"),
        ({"allocation": [1.0, 0.0], "reward": [1.0, NAN]}, "record 1.*reward"),
        ({"allocation": [0.6, 0.6]}, r"record 1.*0\.6"),
        (([1.0, 0.0], [1.0, 1.0]), "record 1.*no share"),
        ("half", "record 1.*half"),
        (5, "record 1"),
    ],
)
def test_a_wrong_record_says_which(record, shown: str) -> None:
    with pytest.raises(ae.AftereffectError, match=shown):
        ae.UCB1().start(2, history=[[0.5, 0.5], record])


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
@pytest.mark.parametrize("feedback", ["independent", "split"])
def test_explanations_are_plain_data(policy: ae.Policy, feedback) -> None:
    agent = policy.start(3, 300, seed=1, feedback=feedback, names=["a", "b", "c"])
    for t in range(1, 121):
        reasons = agent.explain()
        assert json.loads(json.dumps(reasons, allow_nan=False)) == reasons
        assert reasons["round"] == t
        assert reasons["policy"] == policy.key
        assert list(reasons["allocation"].values()) == agent.ask().tolist()
        allocation = agent.ask()
        agent.tell(np.where(allocation > 0, 0.25, NAN))


@pytest.mark.parametrize("policy", [p for p in POLICIES if p.name in ("phased", "history-ucb")], ids=lambda p: p.key)
def test_explanations_say_phase_and_stage(policy: ae.Policy) -> None:
    agent = policy.start(3, 1_000, seed=1)
    stages = []
    for _ in range(100):
        reasons = agent.explain()
        assert reasons["phase"] >= 1
        assert 1 <= reasons["round_of_phase"] <= reasons["phase_length"]
        expected = "approach" if reasons["round_of_phase"] <= reasons["approach_rounds"] else "estimation"
        assert reasons["stage"] == expected
        stages.append(reasons["stage"])
        agent.tell(np.where(agent.ask() > 0, 0.5, NAN))
    assert "estimation" in stages
    if reasons["approach_rounds"]:
        assert stages[0] == "approach"


@pytest.mark.parametrize("policy", [ae.ActionUCB(levels=6), ae.CUCB(levels=6), ae.OneArmUCB(levels=6)])
def test_explanations_name_the_runner_up(policy: ae.Policy) -> None:
    agent = policy.start(3, 2_000, seed=1)
    random = np.random.default_rng(1)
    for _ in range(300):
        allocation = agent.ask()
        seen = random.random(3) < allocation
        agent.tell(np.where(seen, random.random(3) < 0.5, NAN))
    reasons = agent.explain()
    assert reasons["stage"] == "index"
    second = reasons["runner_up"]
    assert second["index"] <= reasons["index"] + 1e-12
    assert second["allocation"] != reasons["allocation"]
    assert sum(second["allocation"].values()) == pytest.approx(1.0)
    assert [arm["arm"] for arm in reasons["arms"]] == ["arm 0", "arm 1", "arm 2"]
    assert all(arm["estimate"] is not None and arm["radius"] > 0 for arm in reasons["arms"])


def test_explanations_of_single_arms_name_the_runner_up() -> None:
    agent = ae.UCB1().start(3, seed=1, names=["a", "b", "c"])
    for _ in range(3):
        allocation = agent.ask()
        agent.tell(np.where(allocation > 0, [0.9, 0.5, 0.1], NAN))
    reasons = agent.explain()
    assert (reasons["chosen_arm"], reasons["runner_up"]) == ("a", "b")
    estimates = {arm["arm"]: arm["estimate"] for arm in reasons["arms"]}
    assert estimates == {"a": 0.9, "b": 0.5, "c": 0.1}


@pytest.mark.parametrize("policy", [ae.HistoryUCB(), ae.Phased(ae.UCB1())])
def test_a_missing_memory_is_named(policy: ae.Policy) -> None:
    with pytest.raises(ae.MissingParameter, match=f"{policy.name} needs memory="):
        policy.start(2, 1_000)


@pytest.mark.parametrize(
    "policy",
    [
        ae.DUCB(),
        ae.SWUCB(),
        ae.UCB1(),
        ae.Thompson(),
        ae.Fixed(),
        ae.RoundRobin(),
        ae.Exp3(rate=0.1),
        ae.ActionUCB(levels=6),
        ae.OneArmUCB(levels=6),
        ae.CUCB(levels=6),
        ae.MetaExp3(rate=0.1, levels=6),
        ae.LipschitzUCB(levels=4),
        ae.HistoryUCB(memory=0.4, levels=6),
        ae.Phased(ae.UCB1(), approach=3),
        ae.Phased(ae.CUCB(levels=6), memory=0.4),
    ],
    ids=lambda p: p.key,
)
def test_no_horizon_where_none_is_needed(policy: ae.Policy) -> None:
    allocations = _run(policy.start(3), 80)
    assert np.allclose(allocations.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "policy",
    [ae.ActionUCB(), ae.CUCB(), ae.Exp3(), ae.MetaExp3(), ae.LipschitzElimination(), ae.HistoryUCB(memory=0.4)],
    ids=lambda p: p.key,
)
def test_a_horizon_that_is_needed_is_asked_for(policy: ae.Policy) -> None:
    with pytest.raises(ae.AftereffectError, match="horizon"):
        policy.start(2)


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_past_the_horizon_it_goes_on(policy: ae.Policy) -> None:
    allocations = _run(policy.start(3, 30, seed=1), 90)
    assert np.allclose(allocations.sum(axis=1), 1.0)
    assert np.all(allocations >= 0)


def test_limits_are_kept_by_policies_on_the_grid() -> None:
    for policy in (
        ae.ActionUCB(),
        ae.CUCB(zero=True),
        ae.HistoryUCB(memory=0.4),
        ae.MetaExp3(),
        ae.Fixed(),
        ae.LipschitzUCB(),
    ):
        allocations = _run(policy.start(3, 200, floors=[0.2, 0.0, 0.1], caps=[0.6, 0.5, 1.0]), 150)
        assert np.all(allocations >= np.array([0.2, 0.0, 0.1]) - 1e-12), policy.key
        assert np.all(allocations <= np.array([0.6, 0.5, 1.0]) + 1e-12), policy.key


def test_an_agent_shows_where_it_is() -> None:
    agent = ae.DUCB().start(2)
    assert repr(agent) == "Agent(d-ucb, 2 arms, 0 rounds told, waits for ask)"
    agent.ask()
    assert "waits for tell" in repr(agent)


@pytest.mark.parametrize(
    "policy", [ae.ActionUCB(), ae.OneArmUCB(), ae.CUCB(), ae.HistoryUCB(memory=0.4), ae.KLUCB(memory=0.4)]
)
def test_a_horizon_beyond_all_measure_gives_a_bounded_grid(policy: ae.Policy) -> None:
    setting = ae.Setting(2, 10**18)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AftereffectWarning)
        grid = policy.grid(setting)
    assert grid is not None
    assert grid.levels <= 10_000


def test_a_bounded_grid_is_said() -> None:
    with pytest.warns(
        AftereffectWarning, match=r"action-ucb: a horizon of 1,000,.* asks for 288,.* levels; taking 10,000"
    ):
        agent = ae.ActionUCB().start(2, 10**18)
    assert agent.ask().sum() == pytest.approx(1.0)


def test_an_explanation_in_words_says_why_what_changed_how_sure_and_what_would_change_it() -> None:
    names = ["north", "centre", "south"]
    agent = ae.CurveThompson(memory_bound=0.9, levels=20).start(3, seed=1, feedback="split", names=names)
    assert "It is the first round." in agent.explain(words=True)
    for _ in range(10):
        agent.ask()
        agent.tell([0.6, 0.4, 0.5], trials=[90, 90, 90], allocation=[0.4, 0.3, 0.3])
    agent.deploy([0.5, 0.25, 0.25])
    words, reasons = agent.explain(words=True), agent.explain()
    shares = reasons["allocation"]
    assert words.startswith(f"Round 12: north {100 * shares['north']:.3g} %, centre")
    change = 100 * (shares["north"] - 0.5)
    assert f"north {change:+.3g} points" in words
    assert "How sure: It is expected to earn" in words
    assert not reasons["memory"]["can_tell"]
    assert "How strongly the past weighs the data cannot tell yet (memory 0 to 0.9)." in words
    assert "Rewards are still out for round 11." in words
    assert reasons["open_rounds"] == [11]
    assert set(reasons["home"]["allocation"]) == set(reasons["favourite"]["allocation"]) == set(names)


def test_words_say_what_a_memory_means_and_leave_out_gains_that_are_none() -> None:
    reasons: dict[str, Any] = {
        "round": 3,
        "policy": "curve-thompson",
        "stage": "home",
        "allocation": {"north": 0.5, "south": 0.5},
        "memory": {"estimate": 0.5, "low": 0.3, "high": 0.7, "can_tell": True},
        "home": {"allocation": {"north": 0.5, "south": 0.5}, "expected": 0.4},
        "favourite": {"allocation": {"north": 1.0, "south": 0.0}, "expected": 0.4},
        "arms": [{"arm": "north", "estimate": 0.4, "never_visited": [[0.1, 0.2], [0.625, 1.0]]}],
    }
    words = in_words(reasons, np.array([0.5, 0.5]), [2])
    assert "a memory of 0.5 (95 %: 0.3 to 0.7): half of a change's effect comes within 1.0 rounds." in words
    assert "Never held long enough to be seen, and could matter: north from 10 to 20 % and from 62.5 to 100 %." in words
    assert "By the estimates" not in words
    reasons["favourite"]["expected"] = 0.43
    assert "north 100 %, south 0 % would earn 0.03 a unit more" in in_words(reasons, np.array([0.5, 0.5]), [2])


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_every_policy_explains_itself_in_words(policy: ae.Policy) -> None:
    agent = policy.start(3, 300, seed=1, feedback="split")
    for _ in range(4):
        words = agent.explain(words=True)
        assert words.startswith(f"Round {agent.rounds + 1}: arm 0 ")
        assert "nan" not in words
        agent.tell(np.where(agent.ask() > 0, 0.25, NAN))
    assert "Told since the last advice: round 4." in agent.explain(words=True)


def test_an_arm_without_a_name_is_called_the_same_everywhere() -> None:
    agent = ae.Fixed().start(2)
    agent.ask()
    agent.tell([0.5, 0.5])
    called = list(agent.explain()["allocation"])
    assert called == ["arm 0", "arm 1"] == list(agent.arm_names) == agent.log["arm"].to_list()
    assert list(ae.problem("tent").arm_names) == called


# Machine code is called without a look at types: what reaches it must be as at the first call.


def test_rewards_may_lie_anywhere_in_memory() -> None:
    packed = np.zeros(3, dtype=[("byte", "i1"), ("reward", "f8")])
    plain, other = (ae.UCB1().start(3, seed=1, feedback="split") for _ in range(2))
    for t in range(12):
        shares = plain.ask()
        assert other.ask().tolist() == shares.tolist()
        rewards = np.where(shares > 0, t / 20, NAN)
        packed["reward"] = rewards
        frozen = rewards.copy()
        frozen.flags.writeable = False
        ways: list[Any] = [
            rewards[::-1].copy()[::-1],
            np.repeat(rewards, 2)[::2],
            packed["reward"],
            frozen,
            rewards.astype(">f8"),
            rewards.tolist(),
        ]
        plain.tell(rewards)
        other.tell(ways[t % len(ways)], trials=np.repeat((shares > 0).astype(float), 2)[::2])
    assert np.array_equal(plain.state.arms, other.state.arms)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_of_an_agent_goes_its_own_way(copied: Any) -> None:
    agent = ae.DUCB().start(2, seed=1)
    _run(agent, 5)
    other = copied(agent)
    assert np.array_equal(_run(agent, 5), _run(other, 5))
    agent.ask()
    agent.tell(None)
    assert (agent.rounds, other.rounds) == (11, 10)
