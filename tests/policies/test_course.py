"""Rewards that come late, in parts, in any order, corrected: the state is that of an agent told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.base import registry
from aftereffect.policies.course import STANDS, Course
from aftereffect.policies.explanation import STAGES
from aftereffect.policies.state_files import arrays_of
from tests.policies.test_storage import _rewards
from tests.simulation.cases import FEEDBACKS, IDS, POLICIES

NAN = float("nan")
Named = dict[str, float]
NAMES = ["north", "centre", "south"]


def _bytes(agent: ae.Agent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays_of(agent.state).items()}


class Told:
    """What really happened in each round: deployed, drawn with, rewards (None: nothing is ever known), trials."""

    def __init__(self) -> None:
        self.rounds: list[tuple[np.ndarray, Any, np.ndarray | None, np.ndarray]] = []

    def at_once(self, policy: ae.Policy, feedback: Any) -> ae.Agent:
        agent = policy.start(3, 200, seed=5, feedback=feedback, names=NAMES)
        for deployed, drawn, rewards, trials in self.rounds:
            agent.ask()
            agent._drawn = drawn  # the exception: EXP3 keeps the chance that it really drew with
            counted = None if rewards is None else trials
            agent.tell(rewards, allocation=deployed, trials=counted)
        return agent


def _parts(random: np.random.Generator, rewards: np.ndarray, trials: np.ndarray) -> list[tuple[Named, Named]]:
    """A round's rewards cut into messages by name, in any order."""
    order = random.permutation(3)
    cut = int(random.integers(1, 4))
    messages = []
    for some in (order[:cut], order[cut:]):
        if len(some):
            messages.append(
                ({NAMES[k]: rewards[k] for k in some}, {NAMES[k]: trials[k] for k in some if rewards[k] == rewards[k]})
            )
    return messages


def _live(policy: ae.Policy, feedback: Any, seed: int, rounds: int = 40) -> tuple[ae.Agent, Told]:
    """An agent in the thick of it: overrides, delays, parts, wrong figures corrected, rounds that nobody reports on."""
    random, told = np.random.default_rng(seed), Told()
    agent = policy.start(3, 200, seed=5, feedback=feedback, names=NAMES)
    out: list[tuple[int, Named, Named, bool]] = []
    for t in range(1, rounds + 1):
        shares = agent.ask()
        drawn = agent._drawn
        if random.random() < 0.2:
            shares = np.roll(shares, 1)
        rewards, trials = _rewards(shares, feedback, random), np.zeros(3)
        trials[~np.isnan(rewards)] = random.integers(1, 9)
        kind = random.random()
        if kind < 0.1:
            agent.tell(None, allocation=shares)
            told.rounds.append((shares, drawn, None, trials))
        elif kind < 0.3:
            agent.tell(rewards, allocation=shares, trials=trials)
            told.rounds.append((shares, drawn, rewards, trials))
        else:
            assert agent.deploy(shares) == t
            never = random.random() < 0.1
            told.rounds.append((shares, drawn, None if never else rewards, trials))
            wrong = random.random() < 0.2
            if never:
                out.append((t, {}, {}, True))
            elif wrong:
                other = np.where(np.isnan(rewards), NAN, 1 - rewards)
                agent.tell(other, trials=trials, round=t)
                out.append((t, dict(zip(NAMES, rewards, strict=True)), {}, False))
            else:
                out += [(t, *message, True) for message in _parts(random, rewards, trials)]
        random.shuffle(out)
        while out and random.random() < 0.5:
            _bring(agent, *out.pop())
    for message in out:
        _bring(agent, *message)
    return agent, told


def _bring(agent: ae.Agent, number: int, rewards: Named, trials: Named, first: bool) -> None:
    if first and not rewards:
        agent.tell(None, round=number)
    elif first:
        if number in agent.open_rounds:  # it closes once all arms with a share are told; the rest has nothing to say
            agent.tell(rewards, trials=trials, round=number)
    else:
        agent.tell(rewards, round=number, replace=True)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_late_tells_come_to_the_same_state(policy: ae.Policy, seed: int) -> None:
    feedback = FEEDBACKS[(POLICIES.index(policy) + seed) % 3]
    agent, told = _live(policy, feedback, seed)
    assert agent.open_rounds == []
    same = told.at_once(policy, feedback)
    assert _bytes(agent) == _bytes(same)
    assert agent.ask().tolist() == same.ask().tolist()


@pytest.mark.soak
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_late_tells_come_to_the_same_state_everywhere(policy: ae.Policy, feedback: Any) -> None:
    for seed in range(10, 30):
        agent, told = _live(policy, feedback, seed)
        assert _bytes(agent) == _bytes(told.at_once(policy, feedback))


@pytest.mark.parametrize("name", ["curve-thompson", "exp3", "d-ucb"])
def test_advice_is_that_of_folding_all_open_rounds_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = next(p for p in POLICIES if p.name == name)
    kept, _ = _live(policy, "split", 7, rounds=60)
    ahead = Course._look_ahead

    def anew(course: Course) -> Any:
        course._ahead = []
        return ahead(course)

    monkeypatch.setattr(Course, "_look_ahead", anew)
    fresh, _ = _live(policy, "split", 7, rounds=60)
    for one, other in zip(kept._course.log, fresh._course.log, strict=True):
        assert np.array_equal(one.advised, other.advised)  # type: ignore[arg-type]


def test_an_ask_folds_the_open_rounds_and_not_all_since_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, folded = ae.policy("d-ucb").start(3, seed=1, feedback="split"), []
    fold = Course._fold

    def counted(course: Course, *given: Any) -> None:
        folded.append(1)
        fold(course, *given)

    monkeypatch.setattr(Course, "_fold", counted)
    for _ in range(300):  # the first round's rewards never come, the others' four rounds later
        agent.ask()
        number = agent.deploy()
        if number > 5:
            agent.tell([0.5, NAN, NAN] if agent._course.at(number - 4).deployed[0] > 0 else None, round=number - 4)
            if number - 4 in agent.open_rounds:
                agent.tell(None, round=number - 4)
        folded.clear()
        agent.ask()
        assert len(folded) <= 6
    assert agent.open_rounds == [1, 297, 298, 299, 300]
    many = agent._course.rounds
    for _ in range(40):
        agent.ask()
        agent.deploy()
    agent.ask()
    assert len(agent._course._ahead) <= STANDS
    assert agent.open_rounds[-1] == many + 40


def _started(**options: Any) -> ae.Agent:
    return ae.CurveThompson(memory=0.5, levels=20).start(3, seed=1, feedback="split", names=NAMES, **options)


def test_advice_stands_while_late_tells_arrive() -> None:
    agent = _started()
    agent.ask()
    first = agent.deploy()
    advice = agent.ask()
    agent.tell({"north": 0.9, "centre": 0.1, "south": 0.1}, trials=dict.fromkeys(NAMES, 500), round=first)
    assert agent.ask().tolist() == advice.tolist()
    agent.deploy()
    assert agent.rounds == 2
    assert agent.open_rounds == [2]


def test_open_rounds_are_those_of_which_something_is_out() -> None:
    agent = _started()
    for _ in range(3):
        agent.ask()
        agent.deploy()
    agent.tell({"north": 0.5, "south": 0.5}, round=2)
    assert agent.open_rounds == [1, 2, 3]
    agent.tell({"centre": 0.5}, round=2)
    assert agent.open_rounds == [1, 3]
    agent.tell(None, round=1)
    agent.tell([0.5, 0.5, 0.5], round=3)
    assert agent.open_rounds == []


def test_a_part_teaches_what_it_says_and_no_more() -> None:
    """Under split feedback a part is learned from at once; where arms may not be activated, the round waits for the rest."""
    cases: list[tuple[Any, float]] = [("split", 1.0), ("independent", 0.0)]
    for feedback, learned in cases:
        agent = ae.UCB1().start(2, seed=1, feedback=feedback, names=["a", "b"])
        agent.deploy({"a": 0.5, "b": 0.5})
        agent.tell({"a": 1.0}, round=1)
        agent.ask()
        assert agent._answered.arms["count"].tolist() == [learned, 0.0]
        agent.tell({"b": NAN}, round=1)
        assert agent.state.arms["count"].tolist() == [1.0, 0.0]


def test_what_is_open_is_followed_though_nothing_is_learned() -> None:
    """The impact of rounds whose rewards are out moves on: the next advice comes from there."""
    agent = ae.CurveThompson(memory=0.5, levels=20).start(2, seed=1, feedback="split")
    agent.deploy([1.0, 0.0])
    agent.deploy([1.0, 0.0])
    agent.ask()
    assert agent._answered.impact[0].tolist() == [1.0, 0.0]
    assert agent.state.impact[0].tolist() == [0.0, 0.0]


def test_the_chance_of_a_draw_is_kept() -> None:
    """EXP3 divides by the chance that it drew with, also where late rewards have changed the chances since."""
    agent = ae.Exp3(rate=0.2).start(2, seed=1)
    shares = agent.ask()
    agent.deploy()
    agent.ask()
    agent.deploy()
    arm = int(np.argmax(shares))
    second = agent._course.at(2)
    agent.tell(np.where(shares > 0, 1.0, NAN), round=1)
    assert agent._course.at(2).drawn == second.drawn == (int(np.argmax(second.deployed)), 0.5)
    weights = agent.state.tree[2:4]
    assert weights[arm] == pytest.approx(np.exp(0.2 * 1.0 / 0.5 / 2))
    other = int(np.argmax(second.deployed))
    agent.tell(np.where(second.deployed > 0, 1.0, NAN), round=2)
    expected = np.ones(2)
    for k in (arm, other):
        expected[k] *= np.exp(0.2 * 1.0 / 0.5 / 2)
    assert agent.state.tree[2:4].tolist() == pytest.approx(expected.tolist())


WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("not yet", [0.5, 0.5, 0.5], {"round": 9}, "round 9 has not happened yet: 3 rounds"),
    ("not a round", [0.5, 0.5, 0.5], {"round": 0}, "round.*0"),
    ("not a number", [0.5, 0.5, 0.5], {"round": "first"}, "round.*first"),
    ("told already", {"north": 0.4}, {"round": 2}, r"round 2: the reward of arm 'north' was told already \(0.3\)"),
    ("closed already", {"north": 0.4}, {"round": 1}, "round 1.*replace=True"),
    ("closed twice", None, {"round": 1}, "round 1 was told or closed already; replace=True"),
    ("outside", {"centre": 1.5}, {"round": 2}, r"1\.5 for arm 'centre'"),
    ("an unknown arm", {"west": 0.5}, {"round": 2}, "west"),
    ("no such trials", {"centre": 0.5}, {"round": 2, "trials": {"centre": 0}}, "trials.*'centre' has 0"),
    ("another allocation", {"centre": 0.5}, {"round": 2, "allocation": [1.0, 0.0, 0.0]}, "was deployed as"),
    ("correction without a round", [0.5, 0.5, 0.5], {"replace": True}, "round="),
    ("no share after all", {}, {"round": 2, "allocation": [0.0, 0.5, 0.5], "replace": True}, "'north' had no share"),
    ("nothing asked", [0.5, 0.5, 0.5], {}, r"tell without ask.*\[2, 3\]"),
]


@pytest.mark.parametrize(("rewards", "options", "shown"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_late_tell_raises_and_changes_nothing(rewards, options, shown: str, tmp_path: Path) -> None:
    agent = _started()
    agent.ask()
    agent.tell([0.5, 0.5, 0.5])
    for _ in range(2):
        agent.deploy([0.4, 0.3, 0.3])
    agent.tell({"north": 0.3}, round=2)
    agent.save(tmp_path / "before.json")
    with pytest.raises(ae.AftereffectError, match=shown):
        agent.tell(rewards, **options)
    agent.save(tmp_path / "after.json")
    assert (tmp_path / "before.json").read_bytes() == (tmp_path / "after.json").read_bytes()
    agent.tell([NAN, 0.5, 0.5], round=3)


def test_a_round_told_by_its_number_need_not_be_deployed_first() -> None:
    agent = _started()
    agent.ask()
    agent.tell({"north": 0.5}, round=1)
    assert agent.open_rounds == [1]
    agent.tell({"centre": 0.5, "south": 0.5}, round=1)
    assert agent.open_rounds == []


@pytest.mark.parametrize("keep", [1, 3, 10])
def test_rounds_older_than_kept_cannot_be_corrected(keep: int) -> None:
    agent, same = (ae.UCB1().start(2, seed=1, feedback="split", keep=keep) for _ in range(2))
    random = np.random.default_rng(1)
    figures = random.random((50, 2)).round(1)
    for t in range(50):
        for one in (agent, same):
            one.ask()
            right = figures[t] if one is same or t != 50 - keep else 1 - figures[t]
            one.tell(right, allocation=[0.5, 0.5])
    assert len(agent._course.kept) <= 2 * keep
    assert _bytes(agent) != _bytes(same)
    agent.tell(figures[50 - keep], round=50 - keep + 1, replace=True)
    assert _bytes(agent) == _bytes(same)
    with pytest.raises(ae.WrongTell, match=rf"round 5 is no longer kept \(the latest {keep} are\).*history="):
        agent.tell([0.5, 0.5], round=5, replace=True)


@pytest.mark.parametrize("policy", [ae.CurveThompson(memory=0.5, levels=10), ae.Exp3(rate=0.1), ae.DUCB()])
def test_what_is_open_survives_the_disk(policy: ae.Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    path = tmp_path / "agent.json"
    steady, moved = (policy.start(3, 200, seed=5, feedback="split", names=NAMES, keep=5) for _ in range(2))
    random = np.random.default_rng(3)
    for t in range(1, 31):
        moved.save(path)
        moved = ae.load_agent(path)
        shares = steady.ask()
        assert moved.ask().tolist() == shares.tolist(), f"round {t}"
        moved.save(path)
        moved = ae.load_agent(path)
        rewards = random.random(3).round(1)
        for agent in (steady, moved):
            agent.deploy(reason="as advised")
            if t > 3:
                deployed = agent._course.at(t - 3).deployed
                late = {NAMES[k]: rewards[k] for k in range(3) if deployed[k] > 0}
                agent.tell(late if t % 5 else None, round=t - 3)
    assert moved.open_rounds == steady.open_rounds == [28, 29, 30]
    assert _bytes(moved) == _bytes(steady)


def test_the_log_says_what_was_advised_deployed_and_told() -> None:
    agent = _started(history=[([0.4, 0.4, 0.2], [0.5, 0.5, None])])
    advised = agent.ask()
    agent.deploy([0.2, 0.2, 0.6], reason="the council wanted more for the south")
    agent.tell({"south": 0.25}, trials={"south": 60}, round=2)
    agent.ask()
    agent.tell([0.5, 0.5, 0.5])
    log = agent.log
    assert log["round"].to_list() == [1] * 3 + [2] * 3 + [3] * 3
    second = log.filter(log["round"] == 2)
    assert second["advised"].to_list() == advised.tolist()
    assert second["share"].to_list() == [0.2, 0.2, 0.6]
    assert second["reward"].to_list() == [None, None, 0.25]
    assert second["trials"].to_list() == [None, None, 60.0]
    assert second["status"].to_list() == ["open", "open", "told"]
    assert set(second["reason"]) == {"the council wanted more for the south"}
    assert second["asked_at"][0] <= second["deployed_at"][0] <= second["told_at"][0]
    first = log.filter(log["round"] == 1)
    assert first["asked_at"].to_list() == [None] * 3
    assert first["reward"].to_list() == [0.5, 0.5, None]


@pytest.mark.parametrize(
    "policy",
    [ae.CurveThompson(memory=0.4, levels=20), ae.HistoryUCB(memory=0.4, levels=4), ae.UCB1()],
    ids=lambda p: p.name,
)
def test_the_log_says_which_stage_of_the_policy_each_split_came_from(policy: ae.Policy, tmp_path: Path) -> None:
    agent = policy.start(arms=2, horizon=200, seed=1, feedback="split")
    stages = []
    for t in range(30):
        shares = agent.ask()
        stages.append(agent.explain()["stage"])
        if t == 20:  # the advice's stage survives a file
            agent.save(tmp_path / "agent.json")
            agent = ae.load_agent(tmp_path / "agent.json")
        told = np.where(shares > 0, 0.3 + 0.4 * shares, NAN)
        if t % 3:
            agent.tell(told)
        else:
            agent.tell(told, round=agent.deploy())
    agent.ask()
    agent.tell([0.5, 0.5], allocation=[0.5, 0.5], reason="so decided")
    first = agent.log.filter(agent.log["arm"] == agent.arm_names[0])
    assert first["stage"].to_list()[:30] == stages
    assert first["reason"].to_list() == [*(STAGES[stage] for stage in stages), "so decided"]
    assert len(set(stages)) > 1 or policy.only_stage == stages[0]


def test_every_policy_of_ours_says_its_stage_in_words() -> None:
    for cls in registry().values():
        for policy in cls.examples():
            state = policy.state(ae.Setting(2, 1000, memory=0.4))
            assert policy.stage(state, 1) in STAGES, policy.key


def test_the_log_is_a_table_of_records() -> None:
    agent = _started()
    for _ in range(30):
        shares = agent.ask()
        agent.tell(np.where(shares > 0, 0.5, NAN), trials=np.where(shares > 0, 50, 0))
    records = ae.read_records(agent.log)
    assert (records.rounds, records.names) == (30, tuple(NAMES))


@pytest.mark.parametrize("policy", [ae.CurveThompson(memory=0.5), ae.FairThompson(tolerance=0.2, memory=0.5)])
def test_a_policy_knows_how_many_rounds_are_out_when_it_is_asked(policy: ae.Policy) -> None:
    """Those of which nothing is known: neither told, nor told in part, nor closed."""
    agent = policy.start(3, 200, seed=5, feedback="split", names=NAMES)

    def out() -> float:
        agent.ask()
        return float(getattr(agent._answered, "curves", agent._answered).tuning[0]["out"])

    told: dict[str, Any] = {"rewards": [0.5, 0.4, 0.3], "trials": [30, 30, 30]}
    assert out() == 0.0
    first = agent.deploy()
    assert out() == 1.0
    second = agent.deploy()
    assert out() == 2.0
    third = agent.deploy()
    agent.tell(**told, round=third)
    assert out() == 2.0
    agent.tell({"north": 0.5}, trials={"north": 30}, round=second)
    agent.deploy()
    assert out() == 2.0
    for number in (first, second, 4):
        agent.tell(None, round=number)
    agent.deploy()
    agent.tell(None, round=5)
    assert agent.open_rounds == []
    assert out() == 0.0
