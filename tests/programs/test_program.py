"""Programs: the agent's own decisions, kept; keys; refusals that change nothing; several holders of one program."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas
import pytest

import aftereffect as ae
from aftereffect.policies.base import policy_from
from aftereffect.programs.errors import AlreadyExists, Archived, KeyReused, NotFound
from aftereffect.programs.store import Store

ARMS = ["north", "centre", "south"]


def outcome(number: int) -> dict[str, float]:
    return {name: (number * (k + 3) % 7) / 7 for k, name in enumerate(ARMS)}


def test_a_program_decides_as_an_agent_does(store: Store):
    program = store.create("loans", ARMS, policy="thompson-split", floors=0.1, seed=5)
    twin = ae.policy("thompson-split").start(arms=3, names=ARMS, floors=0.1, seed=5, feedback="split")
    for i in range(12):
        assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
        program.tell(outcome(i), trials=[10, 20, 30])
        twin.tell(outcome(i), trials=[10, 20, 30])
    assert program.rounds == 12
    found = program.audit()
    assert found.fits
    assert (found.decisions, found.recomputed, found.events) == (12, 12, 25)


def test_asking_again_gives_the_same_and_writes_nothing(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    first = program.advise(by="ann")
    assert program.ask().tolist() == list(first["allocation"].values())  # as an agent's
    assert program.advise(by="bob") == first
    assert [event["kind"] for event in program.events()] == ["create", "ask"]


def test_a_key_answers_the_same_again_and_refuses_anything_else(store: Store):
    program = store.create("loans", ARMS, policy="thompson-split", floors=0.1, key="new")
    assert store.create("loans", ARMS, policy="thompson-split", floors=0.1, key="new") is program
    with pytest.raises(AlreadyExists, match="'loans' already"):
        store.create("loans", ARMS, policy="thompson-split", floors=0.2, key="new")
    asked = program.advise(key="a")
    answer = program.tell(outcome(1), key="t")
    assert program.advise(key="a") == asked
    assert program.tell(outcome(1), key="t") == answer
    before = program.head
    with pytest.raises(KeyReused, match=r"'t' was used for another request \(event 3, tell\)"):
        program.tell(outcome(2), key="t")
    with pytest.raises(KeyReused):
        program.archive(key="a")
    assert program.head == before
    assert program.rounds == 1


def test_of_several_rounds_all_are_told_or_none(sqlite: Store):
    """A table with a mistake in its second round leaves the first open; mended, it is told; again, it changes nothing."""
    program = sqlite.create("loans", ["a", "b"], policy="thompson-split")
    program.deploy()
    program.deploy()
    first = ({"a": 0.25, "b": 0.5}, {"a": 120, "b": 60})
    before = program.head
    with pytest.raises(ae.AftereffectError, match="round 3 has not happened yet"):
        program.tell_each({1: first, 3: ({"a": 0.3}, {"a": 10})}, key="week")
    assert (program.head, program.open_rounds) == (before, [1, 2])
    told = {1: first, 2: ({"a": 0.3, "b": 0.1}, None)}
    answers = program.tell_each(told, key="week")
    assert ([answer["round"] for answer in answers], program.open_rounds) == ([1, 2], [])
    before = program.head
    assert program.tell_each(told, key="week") == answers
    assert program.head == before


@pytest.mark.parametrize("policy", ["thompson-split", "curve-thompson:memory=0.5"])
def test_nothing_more_is_waited_for_from_an_arm_without_trials(sqlite: Store, policy: str):
    """Too small a share for a unit: what `whole_units` gives 0, is told with 0 trials."""
    program = sqlite.create("loans", ["a", "b"], policy=policy, seed=3)
    program.deploy()
    program.tell({"a": 0.25, "b": math.nan}, trials={"a": 300, "b": 0}, round=np.int64(1))  # type: ignore[arg-type]
    assert program.open_rounds == []
    twin = policy_from(policy).start(arms=2, names=["a", "b"], seed=3, feedback="split")
    twin.ask()
    twin.tell([0.25, math.nan], trials=[300, 0])
    assert program.ask().tolist() == twin.ask().tolist()
    assert program.audit().fits


def test_what_is_refused_changes_nothing(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    with pytest.raises(ae.WrongTell, match="tell without ask"):
        program.tell(outcome(1))
    asked = program.advise()
    before = program.head
    for wrong in ({"north": 1.5}, {"east": 0.5}, [0.5], {"north": "much"}):
        with pytest.raises(ae.AftereffectError):
            program.tell(wrong)
    assert program.head == before
    assert program.advise() == asked
    program.tell(outcome(1))
    assert program.audit().fits


def test_two_holders_of_one_program_see_each_other(url: str):
    one, other = ae.open_store(url), ae.open_store(url)
    here = one.create("loans", ARMS, policy="thompson-split", floors=0.1)
    there = other.program("loans")
    for i in range(6):
        asking, telling = (here, there) if i % 2 else (there, here)
        advice = asking.advise()
        assert telling.advise() == advice
        telling.tell(outcome(i))
    assert here.rounds == there.rounds == 6
    assert here.audit() == there.audit()
    assert here.audit().fits


def test_what_was_decided_before_another_wrote_is_decided_again(url: str, monkeypatch: pytest.MonkeyPatch):
    """Decisions are made before the write begins; somebody else may be quicker in between, with another event or the same ask."""
    for name, happens, key in (("loans", "deploy", "ask-2"), ("calls", "ask", "ask-2"), ("visits", "ask", None)):
        here, there = ae.open_store(url), ae.open_store(url)
        program = here.create(name, ARMS, policy="thompson-split", floors=0.1)
        twin = ae.policy("thompson-split").start(arms=3, names=ARMS, feedback="split", floors=0.1)
        other = there.program(name)
        for one in (program, twin):
            one.ask()
            one.tell(outcome(1))
        decide = program._following.decide

        def quicker(decide=decide, other=other, happens=happens, key=key) -> None:
            decide()
            if happens == "deploy":
                other.deploy([0.5, 0.25, 0.25])
            else:
                other.advise(key=key)

        monkeypatch.setattr(program._following, "decide", quicker)
        if happens == "deploy":
            twin.deploy([0.5, 0.25, 0.25])
        advice = program.advise(key=key)
        assert list(advice["allocation"].values()) == twin.ask().tolist()
        assert advice["reason"]["allocation"] == advice["allocation"]
        assert advice["round"] == twin.rounds + 1
        assert program.audit().fits
        assert other.show() == program.show()


def test_an_archived_program_can_only_be_read(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    program.archive(by="ann")
    for write in (program.ask, program.archive, lambda: program.tell(outcome(1))):
        with pytest.raises(Archived):
            write()
    assert sqlite.programs()[0]["archived"]
    assert program.show()["archived"]
    assert program.audit().fits


def test_past_records_are_where_it_begins(sqlite: Store):
    past = [([0.4, 0.3, 0.3], [0.6, 0.4, 0.5]), {"allocation": [0.2, 0.4, 0.4], "rewards": None}]
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1, records=past, seed=2)
    twin = ae.policy("thompson-split").start(arms=3, names=ARMS, floors=0.1, seed=2, feedback="split", history=past)
    assert program.rounds == sqlite.programs()[0]["rounds"] == 2
    assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
    assert program.audit().fits


def test_units_are_shared_out(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1, units=101)
    advice = program.advise()
    assert sum(advice["units"].values()) == 101
    for arm, units in advice["units"].items():
        assert abs(units - 101 * advice["allocation"][arm]) < 1


def test_explaining_decides_nothing(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1, seed=3)
    twin = ae.policy("thompson-split").start(arms=3, names=ARMS, floors=0.1, seed=3, feedback="split")
    for i in range(4):
        reasons, words = program.explain(), program.explain(words=True)
        assert words == twin.explain(words=True)
        assert (
            reasons["allocation"] == program.advise()["allocation"] == dict(zip(ARMS, twin.ask().tolist(), strict=True))
        )
        program.tell(outcome(i))
        twin.tell(outcome(i))


def test_snapshots_can_be_deleted(url: str, monkeypatch: pytest.MonkeyPatch):
    import sqlalchemy as sa

    from aftereffect.programs import following
    from aftereffect.programs.schema import snapshots

    monkeypatch.setattr(following, "SNAPSHOT_EVERY", 5)
    writer = ae.open_store(url)
    program = writer.create("loans", ARMS, policy="thompson-split", floors=0.1)
    for i in range(9):
        program.advise()
        program.tell(outcome(i))
    with writer.database.reading() as connection:
        assert connection.scalar(sa.select(snapshots.c.sequence)) in range(15, 20)
    from_snapshot = ae.open_store(url).program("loans").explain()
    with writer.database.writing() as connection:
        assert connection.execute(sa.delete(snapshots)).rowcount == 1
    assert ae.open_store(url).program("loans").explain() == from_snapshot == program.explain()


def test_an_unknown_program_is_named_with_its_neighbours(sqlite: Store):
    sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    with pytest.raises(NotFound, match="unknown program 'loan'; did you mean 'loans'"):
        sqlite.program("loan")


@pytest.mark.parametrize("name", ["", "a/b", "-x", "x" * 101, "a\nb", None])
def test_names_stand_in_urls_and_on_command_lines(sqlite: Store, name: str):
    with pytest.raises(ae.AftereffectError, match="a program's name is"):
        sqlite.create(name, ARMS)


def test_exports_hold_the_record(sqlite: Store, tmp_path: Path):
    import json

    import polars

    past = [([0.4, 0.3, 0.3], [0.6, 0.4, 0.5])]
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1, records=past)
    program.advise()
    told = program.tell({"north": 0.5}, trials={"north": 12}, allocation=[0.5, 0.25, 0.25], by="ann")
    program.export(tmp_path / "rounds.csv")
    program.export(tmp_path / "rounds.parquet")
    program.export(tmp_path / "events.jsonl")
    table = polars.read_parquet(tmp_path / "rounds.parquet")
    assert table.equals(polars.read_csv(tmp_path / "rounds.csv", schema=table.schema))
    row = table.filter(round=2, arm="north").row(0, named=True)
    assert (row["share"], row["reward"], row["trials"], row["by"]) == (0.5, 0.5, 12.0, "ann")
    assert table.filter(round=1)["share"].to_list() == [0.4, 0.3, 0.3]
    assert told["round"] == 2
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert lines == program.events()


def test_rewards_come_as_people_have_them(sqlite: Store):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    program.advise()
    program.tell(np.array([0.5, np.nan, 0.25]))
    assert program.events()[-1]["request"]["rewards"] == {"north": 0.5, "south": 0.25}


def test_the_log_in_pages_is_the_log(store: Store):
    past = [{"allocation": [0.5, 0.3, 0.2], "rewards": [0.1, 0.2, 0.3]}] * 3
    program = store.create("loans", ARMS, policy="thompson-split", records=past)
    for i in range(5):
        program.advise()
        program.deploy()
        if i % 2:
            program.tell(outcome(i), round=program.rounds)
    program.tell({"north": 0.9}, round=4)  # late
    program.advise()
    whole = program.log
    assert [entry["round"] for entry in whole] == list(range(1, 9))
    for size in (1, 3, 100):
        pages = [program.log_after(start, size) for start in range(0, program.rounds, size)]
        assert [entry for page in pages for entry in page] == whole
    assert program.log_after(8) == []


def test_arms_with_numbers_for_names_go_by_them(sqlite: Store):
    floors = pandas.Series({12: 0.2, 11: 0.1})  # by label, not in order
    program = sqlite.create("districts", [11, 12], policy=ae.CurveThompson(memory=0.5), floors=floors)
    assert program.limits["floors"] == {"11": 0.1, "12": 0.2}
    program.open_arm(13)
    number = program.deploy({11: 0.5, 12: 0.4, 13: 0.1})
    program.tell({11: 0.5, 12: 0.5, 13: math.nan}, trials={11: 5, 12: 4, 13: 0}, round=number)
    assert program.open_rounds == []
    program.close_arm(13)
    assert program.limits["caps"]["13"] == 0.0
    assert program.audit().fits
