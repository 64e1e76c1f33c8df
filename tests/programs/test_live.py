"""Programs as life is: rewards late and in parts, corrections, people who decide otherwise, other policies, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aftereffect as ae
from aftereffect.errors import CorruptFile
from aftereffect.programs.errors import AlreadyExists, Conflict
from aftereffect.programs.importing import import_program
from aftereffect.programs.store import Store

ARMS = ["north", "centre", "south"]


def started(seed: int = 0) -> ae.Agent:
    return ae.policy("thompson-split").start(arms=3, names=ARMS, floors=0.1, seed=seed, feedback="split")


def test_rewards_that_come_late_in_parts_and_corrected(store: Store):
    program, twin = store.create("loans", ARMS, policy="thompson-split", floors=0.1), started()
    numbers = []
    for _ in range(3):
        program.advise()
        twin.ask()
        numbers.append(program.deploy(by="ann"))
        twin.deploy()
    assert numbers == [1, 2, 3]
    assert program.open_rounds == twin.open_rounds == [1, 2, 3]
    tells = [(3, {"south": 0.5}), (1, {"north": 0.2, "centre": 0.3, "south": 0.4}), (3, {"north": 0.5, "centre": 0.1})]
    for number, rewards in tells:
        program.tell(rewards, round=number)
        twin.tell(rewards, round=number)
    program.tell({"north": 0.9}, round=1, replace=True, by="bob")
    twin.tell({"north": 0.9}, round=1, replace=True)
    assert program.open_rounds == twin.open_rounds == [2]
    assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
    assert program.rounds == twin.rounds == 3
    assert program.show()["rounds"] == 3
    assert program.log[0]["rewards"] == {"north": 0.9, "centre": 0.3, "south": 0.4}
    assert (program.log[0]["by"], program.log[1]["by"]) == ("bob", "ann")
    with pytest.raises(ae.WrongTell, match="replace=True"):
        program.tell({"north": 0.1}, round=1)
    assert program.audit().fits


def test_people_who_decide_otherwise(sqlite: Store):
    program, twin = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1), started()
    program.advise()
    twin.ask()
    program.deploy({"north": 0.5, "south": 0.5})
    twin.deploy([0.5, 0.0, 0.5])
    program.tell({"north": 0.5}, round=1)
    twin.tell({"north": 0.5}, round=1)
    assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
    assert program.log[0]["allocation"] == {"north": 0.5, "centre": 0.0, "south": 0.5}
    assert program.audit().fits


def test_deploying_as_advised_asks_where_nobody_did(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    deployed = program.note_deployment(key="week-1")
    assert program.note_deployment(key="week-1") == deployed
    assert [event["kind"] for event in program.events()] == ["create", "ask", "deploy"]
    assert deployed["allocation"] == program.events()[1]["answer"]["allocation"]
    assert program.audit().fits


def test_a_change_of_policy_is_an_event_and_takes_in_all_rounds(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1, seed=3)
    history = []
    for i in range(4):
        advice = program.advise()["allocation"]
        rewards = {name: (i + k) / 7 for k, name in enumerate(ARMS)}
        program.tell(rewards, trials=[10, 10, 10])
        history.append({"allocation": advice, "rewards": rewards, "trials": [10, 10, 10]})
    program.deploy()
    with pytest.raises(Conflict, match=r"rounds \[5\] are open"):
        program.set_policy("kl-ucb:memory=0.5")
    program.tell(None, round=5)
    history.append({"allocation": program.log[4]["allocation"]})
    assert program.set_policy("kl-ucb:memory=0.5", key="p") == {"policy": "kl-ucb:memory=0.5"}
    assert program.set_policy("kl-ucb:memory=0.5", key="p") == {"policy": "kl-ucb:memory=0.5"}
    twin = ae.policy("kl-ucb", memory=0.5).start(
        arms=3, names=ARMS, floors=0.1, seed=3, feedback="split", history=history
    )
    assert program.rounds == twin.rounds == 5
    for _ in range(3):
        assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
        program.tell([0.5, 0.5, 0.5])
        twin.tell([0.5, 0.5, 0.5])
    assert program.show()["policy"] == "kl-ucb:memory=0.5"
    assert program.audit().fits


def test_arms_and_limits_change_under_way(store: Store):
    program = store.create("loans", ARMS, policy="curve-thompson:memory=0.5", seed=2)
    twin = ae.policy("curve-thompson", memory=0.5).start(arms=3, names=ARMS, seed=2, feedback="split")

    def a_round() -> None:
        assert program.ask().tolist() == twin.ask().tolist()
        seen = {arm: 0.5 for arm, share in program.advise()["allocation"].items() if share > 0}
        program.tell(seen)
        twin.tell(seen)

    a_round()
    changes = [
        (lambda one: one.set_limits(floors={"north": 0.2}), ARMS),
        (lambda one: one.open_arm("west", 0.1), [*ARMS, "west"]),
        (lambda one: one.close_arm("centre"), ["north", "south", "west"]),
        (lambda one: one.open_arm("centre"), [*ARMS, "west"]),
    ]
    for change, arms in changes:
        program.ask()  # advice that was not deployed is given up
        twin.ask()
        answer = change(program)
        change(twin)
        assert answer.get("arms", arms) == arms
        a_round()
    assert program.limits["floors"]["north"] == 0.2
    with pytest.raises(ae.AftereffectError, match="'west' is open already"):
        program.open_arm("west")
    assert [event["kind"] for event in program.events()].count("open-arm") == 2
    found = program.audit()
    assert found.fits, found.reason
    assert ae.open_store(str(store.database.url)).program("loans").advise() == program.advise()


def test_records_of_the_past(sqlite: Store, tmp_path: Path):
    table = tmp_path / "history.csv"
    table.write_text(
        "round,arm,share,reward,trials\n1,south,0.25,0.5,10\n1,north,0.75,0.25,30\n2,north,0.5,,\n2,south,0.5,1,9\n"
    )
    program = sqlite.create("loans", ["north", "south"], policy="thompson-split", floors=0.1, records=str(table))
    past = [
        {"allocation": [0.75, 0.25], "rewards": [0.25, 0.5], "trials": [30, 10]},
        {"allocation": [0.5, 0.5], "rewards": {"south": 1.0}, "trials": {"south": 9}},
    ]
    twin = ae.policy("thompson-split").start(
        arms=2, names=["north", "south"], floors=0.1, feedback="split", history=past
    )
    assert program.rounds == 2
    assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
    with pytest.raises(ae.AftereffectError, match="unknown arm in the records: 'south'"):
        sqlite.create("other", ["north", "west"], records=str(table))


def test_an_exported_record_is_taken_over_with_its_hashes(url: str, sqlite: Store, tmp_path: Path):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    for i in range(3):
        program.advise(key=f"ask-{i}")
        program.tell([0.5, 0.25, i / 3], key=f"tell-{i}")
    program.export(tmp_path / "loans.jsonl")
    elsewhere = ae.open_store(url)
    taken = import_program(elsewhere, "copy", tmp_path / "loans.jsonl")
    assert (taken.head, taken.rounds) == (program.head, program.rounds)
    assert taken.advise()["allocation"] == program.advise()["allocation"]
    assert taken.audit(head=program.events()[-2]["hash"]).fits
    with pytest.raises(AlreadyExists):
        import_program(elsewhere, "copy", tmp_path / "loans.jsonl")
    lines = (tmp_path / "loans.jsonl").read_text().splitlines()
    for changed in (lines[1:], [*lines[:2], lines[3], lines[2]], [lines[0].replace("0.1", "0.2")], ["{}"], ["x"], []):
        (tmp_path / "changed.jsonl").write_text("\n".join(changed))
        with pytest.raises(ae.AftereffectError):
            import_program(elsewhere, "changed", tmp_path / "changed.jsonl")
    assert [one["name"] for one in elsewhere.programs() if one["name"] != "loans"] == ["copy"]


def test_an_agent_goes_on_as_a_program(sqlite: Store, tmp_path: Path):
    agent = started(seed=8)
    for _ in range(3):
        agent.ask()
        agent.tell([0.5, 0.25, 0.75])
    agent.ask()
    agent.save(tmp_path / "agent.json")
    program = import_program(sqlite, "loans", tmp_path / "agent.json")
    assert program.rounds == 3
    for _ in range(3):
        assert list(program.advise()["allocation"].values()) == agent.ask().tolist()
        program.tell([0.5, 0.25, 0.75])
        agent.tell([0.5, 0.25, 0.75])
    assert program.audit().fits
    document = json.loads((tmp_path / "agent.json").read_text())
    (tmp_path / "agent.json").write_text(json.dumps({**document, "sha256": "x"}))
    with pytest.raises(CorruptFile):
        import_program(sqlite, "other", tmp_path / "agent.json")
