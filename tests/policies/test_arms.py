"""Arms that open and close and limits that change under way: the others' state is kept, shares stay on the simplex."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.state_files import arrays_of

NAMES = ["north", "centre", "south"]


def _agent(policy: ae.Policy | None = None, **options: Any) -> ae.Agent:
    policy = policy or ae.CurveThompson(memory=0.5, levels=20)
    return policy.start(3, seed=1, feedback="split", names=NAMES, **options)


def _go_on(agent: ae.Agent, rounds: int, seed: int = 1) -> list[np.ndarray]:
    random, asked = np.random.default_rng(seed), []
    for _ in range(rounds):
        shares = agent.ask()
        assert shares.sum() == pytest.approx(1.0)
        assert agent.setting.limits.allows(shares)
        asked.append(shares)
        agent.tell(np.where(shares > 0, random.random(len(shares)).round(1), np.nan))
    return asked


def test_a_new_arm_keeps_what_is_known_of_the_others() -> None:
    agent = _agent()
    _go_on(agent, 20)
    before = agent.state
    booked, impact = before.banks.copy(), before.impact.copy()
    agent.open_arm("west", share=0.2)
    assert agent.names == ("north", "centre", "south", "west")
    assert np.array_equal(agent.state.banks[:, :3], booked)
    assert not agent.state.banks["rounds"][:, 3].any()
    assert agent.state.impact[0].tolist() == [*impact[0].tolist(), 0.0]
    assert agent.state.home[3] == 4
    assert agent.state.home.sum() == 20
    assert len(agent.ask()) == 4
    _go_on(agent, 20)
    assert agent.state.banks["count"][0, 3].sum() > 0
    assert agent.log.filter(agent.log["round"] == 20).height == 3
    assert agent.log.filter(agent.log["round"] == 21).height == 4


def test_a_closed_arm_gets_nothing_until_it_is_opened_again() -> None:
    agent = _agent(floors=[0.0, 0.0, 0.1])
    _go_on(agent, 10)
    seen = agent.state.banks["count"][0, 2].sum()
    agent.close_arm("south")
    assert all(shares[2] == 0 for shares in _go_on(agent, 10))
    assert agent.state.banks["count"][0, 2].sum() == seen
    agent.open_arm("south", share=0.5)
    assert agent.state.home[2] == 10
    _go_on(agent, 5)


def test_closing_does_not_wait_for_the_largest_step() -> None:
    agent = _agent(step=0.05, start={"north": 0.4, "centre": 0.4, "south": 0.2}, floors=0.05)
    _go_on(agent, 3)
    agent.close_arm("centre")
    assert all(shares[1] == 0 for shares in _go_on(agent, 5))  # _go_on asserts that floors hold


def test_a_split_outside_of_the_floors_is_left_at_once_whatever_the_largest_step() -> None:
    agent = _agent(step=0.05, start={"north": 0.4, "centre": 0.4, "south": 0.2}, floors=0.1)
    agent.deploy([0.0, 0.6, 0.4])
    assert agent.ask()[0] >= 0.1 - 1e-9


def test_changes_between_two_rounds_add_up() -> None:
    agent = _agent(start={"north": 0.5, "centre": 0.25, "south": 0.25})
    agent.open_arm("west", share=0.2)
    agent.close_arm("north")  # of .2, .2 and .2 that are left each is a third
    assert agent.state.home.tolist() == [0, 7, 7, 6]


def test_limits_hold_from_the_next_round_on() -> None:
    agent = _agent()
    _go_on(agent, 5)
    agent.ask()
    agent.set_limits(floors={"north": 0.5}, caps={"centre": 0.2})
    assert all(s[0] >= 0.5 and s[1] <= 0.2 for s in _go_on(agent, 10))
    agent.set_limits(floors=0.0, caps=1.0)
    assert agent.setting.limits.trivial


def test_late_rewards_of_rounds_before_the_change() -> None:
    """Rewards of three arms come after the fourth has opened: the state is that of an agent told at once."""
    late, at_once = _agent(), _agent()
    figures = np.random.default_rng(4).random((30, 4)).round(1)
    for t in range(10):
        shares = late.ask()
        late.deploy()
        at_once.ask()
        at_once.tell(np.where(shares > 0, figures[t, :3], np.nan), allocation=shares)
    for agent in (late, at_once):
        agent.open_arm("west", share=0.25)
        agent.rename("centre", "midlands")
    for t in range(10, 20):
        shares = late.ask()
        late.deploy()
        at_once.ask()
        at_once.tell(np.where(shares > 0, figures[t], np.nan), allocation=shares)
    for n in np.random.default_rng(5).permutation(20) + 1:
        deployed = late._course.at(int(n)).deployed
        named = dict(zip(late.names or (), figures[n - 1][: len(deployed)], strict=False))
        late.tell({name: r for (name, r), p in zip(named.items(), deployed, strict=True) if p > 0}, round=int(n))
    assert late.open_rounds == []
    same = arrays_of(at_once.state)
    for name, array in arrays_of(late.state).items():
        assert array.tobytes() == same[name].tobytes(), name
    assert late.ask().tolist() == at_once.ask().tolist()
    with pytest.raises(ae.WrongTell, match="'west' was not there yet"):
        late.tell({"west": 0.5}, round=3, replace=True)


def test_changes_survive_the_disk(tmp_path: Path) -> None:
    agent = _agent(step=0.1, start={"north": 0.5, "south": 0.5})
    _go_on(agent, 6)
    agent.deploy([0.5, 0.1, 0.4])
    agent.open_arm("west")
    agent.set_limits(caps={"north": 0.6})
    agent.ask()
    agent.save(tmp_path / "agent.json")
    same = ae.load_agent(tmp_path / "agent.json")
    for one in (agent, same):
        one.deploy()
        one.tell([0.5, 0.5, 0.5, np.nan], round=7)
        one.tell(None, round=8)
        one.tell({"north": 0.2, "south": 0.2}, round=2, replace=True)
    assert same.names == agent.names
    assert [s.tolist() for s in _go_on(same, 5)] == [s.tolist() for s in _go_on(agent, 5)]


@pytest.mark.parametrize("policy", [ae.UCB1(), ae.DUCB(), ae.SWUCB(window=5), ae.Thompson()], ids=lambda p: p.key)
def test_policies_over_arms_take_one_more(policy: ae.Policy) -> None:
    agent = _agent(policy)
    _go_on(agent, 12)
    before = agent.state.arms.copy()
    agent.open_arm("west")
    assert np.array_equal(agent.state.arms[:3], before)
    assert any(s[3] == 1.0 for s in _go_on(agent, 20))
    with pytest.raises(ae.AftereffectError, match=f"{policy.name}.*caps"):
        agent.close_arm("west")


@pytest.mark.parametrize("policy", [ae.ActionUCB(levels=6), ae.Exp3(rate=0.1), ae.HistoryUCB(memory=0.4, levels=6)])
def test_policies_that_cannot_refuse_and_go_on(policy: ae.Policy) -> None:
    agent = _agent(policy)
    asked = agent.ask().tolist()
    with pytest.raises(ae.AftereffectError, match=f"{policy.name} cannot change arms or limits under way.*history="):
        agent.open_arm("west")
    assert agent.names == tuple(NAMES)
    assert agent.ask().tolist() == asked


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda a: a.open_arm("north"), "'north' is open already"),
        (lambda a: a.open_arm("west", share=1.5), r"share.*1\.5"),
        (lambda a: a.close_arm("west"), "west"),
        (lambda a: a.set_limits(floors={"west": 0.1}), "west"),
        (lambda a: a.set_limits(floors={"north": 0.7, "south": 0.7}), "floors must sum"),
        (lambda a: a.set_limits(caps=0.2), "caps must sum"),
        (lambda a: a.set_limits(floors={"north": 0.7}, caps={"north": 0.6}), "arm 'north' has floor 0.7 and cap 0.6"),
        (lambda a: a.set_limits(caps={"north": "all"}), "all"),
        (lambda a: a.rename("north", "south"), "differ"),
        (lambda a: a.rename("west", "east"), "west"),
    ],
    ids=range(10),
)
def test_a_wrong_change_changes_nothing(change: Any, shown: str, tmp_path: Path) -> None:
    agent = _agent()
    agent.ask()
    agent.save(tmp_path / "before.json")
    with pytest.raises(ae.AftereffectError, match=shown):
        change(agent)
    agent.save(tmp_path / "after.json")
    assert (tmp_path / "before.json").read_bytes() == (tmp_path / "after.json").read_bytes()


def test_arms_without_names_cannot_be_opened() -> None:
    with pytest.raises(ae.AftereffectError, match="names="):
        ae.DUCB().start(2).open_arm("west")


def test_arms_with_numbers_for_names_are_closed_opened_and_renamed_by_them() -> None:
    agent = ae.CurveThompson(memory=0.5).start(3, feedback="split", names=[11, 12, 14])
    agent.close_arm(12)
    assert agent.ask()[1] == 0.0
    agent.open_arm(np.int64(12), share=0.2)  # type: ignore[arg-type]
    assert agent.setting.limits.caps.tolist() == [1.0, 1.0, 1.0]
    agent.rename(12, 13)
    assert agent.names == ("11", "13", "14")
    with pytest.raises(ae.AftereffectError, match=r"unknown arm '12'"):
        agent.close_arm(12)
