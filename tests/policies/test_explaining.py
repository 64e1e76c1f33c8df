"""What agents say of their advice: of the split that is advised, of what it rests on, and without settling it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.explanation import in_words
from aftereffect.policies.log_frame import CHOSEN
from aftereffect.service.words import why

NAMES = ["north", "centre", "south"]


def started(policy: ae.Policy | None = None, **given: Any) -> ae.Agent:
    return (policy or ae.CurveThompson(memory_bound=0.95)).start(3, 200, seed=1, feedback="split", names=NAMES, **given)


def weeks(agent: ae.Agent, rounds: int) -> None:
    random = np.random.default_rng(0)
    for _ in range(rounds):
        agent.ask()
        agent.tell(random.binomial(100, [0.2, 0.6, 0.3]) / 100, trials=[100] * 3)


def test_on_the_way_to_a_split_it_speaks_of_the_one_that_is_advised() -> None:
    agent = started(start=[0.5, 0.3, 0.2], step=0.02)
    weeks(agent, 12)
    said, advised = agent.explain(), agent.ask()
    np.testing.assert_allclose([arm["share"] for arm in said["arms"]], advised, atol=0.005)  # a level's width
    assert said["expected"] == pytest.approx(sum(arm["share"] * arm["estimate"] for arm in said["arms"]))
    assert said["target"]["allocation"] != said["allocation"]
    assert said["target"]["expected"] > said["expected"]
    assert "Why: It is on its way to north " in agent.explain(words=True)
    assert why(dict(said))[0].startswith("It is on its way to north ")  # what the dashboard shows


def test_without_a_step_there_is_no_way_to_go() -> None:
    agent = started(floors=0.05)
    weeks(agent, 12)
    assert "target" not in agent.explain()


@pytest.mark.parametrize("policy", [ae.CurveThompson(memory_bound=0.95), ae.Exp3(rate=0.1), ae.KLUCB(memory=0.5)])
def test_explaining_advice_does_not_settle_it(policy: ae.Policy) -> None:
    """What comes back after the minutes were printed counts for the next advice as if nobody had looked."""
    seen, unseen = started(policy), started(policy)
    for agent in (seen, unseen):
        for _ in range(6):
            agent.ask()
            agent.deploy()
    before = seen.explain()["allocation"]
    assert seen.explain()["allocation"] == before
    assert "waits for ask" in repr(seen)
    for agent in (seen, unseen):
        for number in range(1, 7):
            given = agent._course.at(number).deployed > 0
            agent.tell(np.where(given, [0.2, 0.6, 0.3], np.nan), trials=np.where(given, 100, 0), round=number)
    for _ in range(30):
        np.testing.assert_array_equal(seen.ask(), unseen.ask())
        assert list(seen.explain()["allocation"].values()) == seen.ask().tolist()
        for agent in (seen, unseen):
            agent.tell(None)


def test_explained_advice_may_be_told_or_deployed_unless_something_came_in_between() -> None:
    agent = started()
    agent.explain()
    agent.tell([0.2, 0.6, 0.3], trials=[100] * 3)
    advised = list(agent.explain()["allocation"].values())
    first = agent.deploy()
    assert agent.log["share"].to_list()[-3:] == advised
    agent.explain()
    agent.tell(None, round=first)
    with pytest.raises(ae.WrongTell, match="deploy without ask"):
        agent.deploy()
    with pytest.raises(ae.WrongTell, match="tell without ask"):
        agent.tell(None)


def test_what_was_told_after_the_advice_is_not_said_to_be_in_it() -> None:
    agent = started()
    agent.ask()
    first = agent.deploy()
    agent.ask()
    agent.tell([0.2, 0.6, 0.3], trials=[100] * 3, round=first)
    words = agent.explain(words=True)
    assert (
        "Nothing was told since the last advice. Told after this advice, which does not rest on it: round 1." in words
    )
    agent.deploy()
    assert "Told since the last advice: round 1." in agent.explain(words=True)


@pytest.mark.parametrize("start", [None, [0.7, 0.2, 0.1]])
@pytest.mark.parametrize("policy", [ae.CurveThompson(memory=0.5), ae.FairThompson(tolerance=0.9, memory=0.5)])
def test_an_agent_goes_on_from_the_split_where_its_records_end(policy: ae.Policy, start: Any) -> None:
    """Twenty weeks of one plan, then four of another, and every arm responds alike: nobody goes back to a mean of both."""
    alike = [0.4, 0.4, 0.4]
    past = [([0.7, 0.2, 0.1], alike)] * 20 + [([0.2, 0.4, 0.4], alike)] * 4
    agent = started(policy, start=start, history=past)
    assert list(agent.explain()["home"]["allocation"].values()) == pytest.approx([0.2, 0.4, 0.4], abs=0.005)


def test_the_log_gives_the_reason_of_those_who_chose() -> None:
    agent = started(start=[0.5, 0.3, 0.2])
    agent.ask()
    agent.deploy([0.1, 0.1, 0.8])
    agent.ask()
    agent.deploy([0.1, 0.1, 0.8], reason="the board's wish")
    agent.ask()
    agent.deploy([0.503, 0.297, 0.2])  # whole units of what was advised
    reasons = agent.log["reason"].to_list()[::3]
    assert reasons[0] == CHOSEN
    assert reasons[1] == "the board's wish"
    assert "the split it holds" in reasons[2]


def test_a_new_arm_had_nothing_before() -> None:
    said = in_words(
        {"round": 2, "policy": "mine", "allocation": {"a": 0.4, "b": 0.4, "c": 0.2}}, np.array([0.5, 0.5]), []
    )
    assert "Since the last round: a -10 points, b -10 points, c +20 points." in said


def test_a_step_goes_on_from_what_was_deployed_after_all() -> None:
    agent = started(start=[0.5, 0.3, 0.2], step=0.1)
    agent.ask()
    first = agent.deploy([0.1, 0.1, 0.8])
    assert agent.ask()[2] > 0.6
    agent.tell({}, allocation=[0.5, 0.3, 0.2], round=first, replace=True)
    assert np.abs(agent.ask() - [0.5, 0.3, 0.2]).max() <= 0.1 + 1e-9
