"""Programs whose rewards are told in people's own unit: the same decisions, and their unit wherever rewards are shown."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.reward_range import RewardRange
from aftereffect.programs.program import Program
from aftereffect.programs.rewards_table import read_rewards
from aftereffect.programs.store import Store

ARMS = ["north", "centre", "south"]
RANGE = (100.0, 500.0)
POLICY = "curve-thompson:memory=0.5,levels=20"


def money(reward: float) -> float:
    return 100 + 400 * reward


def told(program: Program, rounds: int = 6, unit=money) -> Program:
    chance = np.random.default_rng(3)
    for _ in range(rounds):
        program.ask()
        rewards = chance.integers(0, 5, 3) / 4  # exact in either unit
        program.tell({arm: unit(reward) for arm, reward in zip(ARMS, rewards, strict=True)}, trials=[50, 50, 50])
    return program


def test_the_decisions_are_those_of_the_rewards_behind_it(store: Store) -> None:
    program = told(store.create("loans", ARMS, policy=POLICY, floors=0.1, reward_range=RANGE))
    twin = told(store.create("twin", ARMS, policy=POLICY, floors=0.1), unit=lambda reward: reward)
    assert program.advise()["allocation"] == twin.advise()["allocation"]
    assert program.show()["reward_range"] == [100.0, 500.0]
    assert twin.show()["reward_range"] == [0.0, 1.0]
    assert program.audit().fits
    assert ae.open_store(str(store.database.url.render_as_string(hide_password=False))).program("loans").audit().fits


def test_what_is_shown_is_money(sqlite: Store, tmp_path: Path) -> None:
    program = told(sqlite.create("loans", ARMS, policy=POLICY, floors=0.1, reward_range=RANGE))
    twin = told(sqlite.create("twin", ARMS, policy=POLICY, floors=0.1), unit=lambda reward: reward)
    reason, plain = program.advise()["reason"], twin.advise()["reason"]
    assert reason["expected"] == pytest.approx(money(plain["expected"]))
    assert reason["home"]["expected"] == pytest.approx(money(plain["home"]["expected"]))
    assert reason["home"]["allocation"] == plain["home"]["allocation"]
    assert reason["memory"] == plain["memory"]
    for here, there in zip(reason["arms"], plain["arms"], strict=True):
        assert here["estimate"] == pytest.approx(money(there["estimate"]))
        assert here["deviation"] == pytest.approx(400 * there["deviation"])
        assert here["share"] == there["share"]
    assert program.explain() == reason
    assert f"expected to earn {reason['expected']:.3g} a unit" in program.explain(words=True)
    for here, there in zip(program.log, twin.log, strict=True):
        assert here["rewards"] == {arm: money(reward) for arm, reward in there["rewards"].items()}
        assert here["expected"] == pytest.approx(money(there["expected"]))
    program.export(tmp_path / "rounds.csv")
    with (tmp_path / "rounds.csv").open() as file:
        rewards = [float(row["reward"]) for row in csv.DictReader(file)]
    assert rewards == [reward for entry in program.log for reward in entry["rewards"].values()]
    assert ae.read_records(tmp_path / "rounds.csv", reward_range=RANGE).rewards[0].tolist() == [
        (reward - 100) / 400 for reward in rewards[:3]
    ]


def test_another_policy_takes_in_the_same_rounds(sqlite: Store) -> None:
    program = told(sqlite.create("loans", ARMS, policy=POLICY, floors=0.1, reward_range=RANGE))
    twin = told(sqlite.create("twin", ARMS, policy=POLICY, floors=0.1), unit=lambda reward: reward)
    for one in (program, twin):
        one.set_policy("thompson-split")
    assert program.advise()["allocation"] == twin.advise()["allocation"]
    assert program.audit().fits


def test_past_rounds_in_money(sqlite: Store, tmp_path: Path) -> None:
    rows = [
        {"round": t, "arm": arm, "share": share, "reward": 100 * (1 + (t + k) % 5)}
        for t in range(1, 6)
        for k, (arm, share) in enumerate(zip(ARMS, (0.5, 0.25, 0.25), strict=True))
    ]
    records = ae.read_records(rows, reward_range=RANGE)
    program = sqlite.create("loans", ARMS, policy=POLICY, records=records)  # the records say it
    again = sqlite.create("again", ARMS, policy=POLICY, records=rows, reward_range=RANGE)
    twin = sqlite.create("twin", ARMS, policy=POLICY, records=records.history())
    assert program.log[0]["rewards"] == {"north": 200.0, "centre": 300.0, "south": 400.0}
    assert program.log == again.log
    assert program.reward_range == RANGE
    assert program.advise()["allocation"] == again.advise()["allocation"] == twin.advise()["allocation"]
    assert program.audit().fits


def test_rewards_beyond_it_are_refused_in_its_own_words(sqlite: Store) -> None:
    program = sqlite.create("loans", ARMS, policy=POLICY, reward_range=RANGE)
    program.ask()
    for wrong in (99.0, 501.0):
        with pytest.raises(ae.WrongTell, match=rf"rewards must lie in \[100, 500\], got {wrong:g} for arm 'centre'"):
            program.tell({"north": 200.0, "centre": wrong})
    with pytest.raises(ae.WrongTell, match=r"'south' had no share .* got 0.75 .*100 is 0, 500 is 1"):
        program.tell({"south": 400.0}, allocation={"north": 1.0})
    assert program.rounds == 0
    with pytest.raises(ae.AftereffectError, match="reward_range must be two numbers"):
        sqlite.create("calls", ARMS, reward_range=(500, 100))
    with pytest.raises(ae.WrongTell, match="must lie in"):
        sqlite.create(
            "calls", ARMS, reward_range=RANGE, records=[{"allocation": [1, 0, 0], "rewards": [0.5, None, None]}]
        )


def test_a_program_without_is_recorded_as_ever(sqlite: Store) -> None:
    for name, given in (("loans", None), ("calls", (0, 1))):
        program = sqlite.create(name, ARMS, policy="thompson-split", reward_range=given)
        assert "reward_range" not in program.events()[0]["request"]


def test_tables_of_rewards_in_money() -> None:
    unit = RewardRange(0.0, 10.0)
    assert [row.reward for row in read_rewards("arm,reward\na,7.5\n", unit)] == [7.5]
    with pytest.raises(ae.AftereffectError, match="line 2: a mean reward lies between 0 and 10, got 11"):
        read_rewards("arm,reward\na,11\n", unit)
    with pytest.raises(ae.AftereffectError, match="from 0 to 10 has a column reward, not successes"):
        read_rewards("arm,successes,trials\na,1,2\n", unit)


def test_the_list_shows_arms_and_policy_of_now(store: Store) -> None:
    program = store.create("loans", ARMS, policy=POLICY, caps={"south": 0.0})
    listed = lambda: [(one["arms"], one["policy"]) for one in store.programs()]  # noqa: E731
    assert listed() == [(["north", "centre"], POLICY)]
    program.open_arm("west", 0.1)
    assert listed() == [(["north", "centre", "west"], POLICY)]
    program.close_arm("centre")
    assert listed() == [(["north", "west"], POLICY)]
    program.set_limits(caps={"south": 1.0})
    assert listed() == [(["north", "south", "west"], POLICY)]
    program.set_policy("thompson-split")
    assert listed() == [(["north", "south", "west"], "thompson-split")]
