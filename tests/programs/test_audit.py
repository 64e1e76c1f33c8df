"""The audit finds whatever was done to a record behind the program's back, and names the first event that does not fit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import aftereffect as ae
from aftereffect.programs import environment as environments
from aftereffect.programs.audit import Audit
from aftereffect.programs.events import FIRST, Event, chained
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store

ARMS = ["north", "south"]
Edit = Callable[[sqlite3.Connection], None]


@pytest.fixture
def program(sqlite: Store) -> Program:
    """Eleven events: the first, and five rounds of ask and tell."""
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    for i in range(5):
        program.advise()
        program.tell([i / 5, 0.5], key=f"week-{i}")
    assert program.audit().fits
    return program


@pytest.fixture
def edited(program: Program, tmp_path: Path) -> Callable[[str], Audit]:
    """The audit after some SQL was run on the store's file."""

    def edit(sql: str) -> Audit:
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
            connection.executescript(sql)
        return program.audit()

    return edit


@pytest.mark.parametrize(
    ("sql", "misfit"),
    [
        ("UPDATE aftereffect_events SET body = replace(body, '0.2', '0.3') WHERE sequence = 5", 5),
        ("UPDATE aftereffect_events SET body = 'nonsense' WHERE sequence = 4", 4),
        ("UPDATE aftereffect_events SET hash = 'x' WHERE sequence = 6", 6),
        ("UPDATE aftereffect_events SET at = '2001-01-01T00:00:00.000000Z' WHERE sequence = 2", 2),
        ("UPDATE aftereffect_events SET by = 'somebody else' WHERE sequence = 3", 3),
        ("UPDATE aftereffect_events SET key = 'stolen' WHERE sequence = 3", 3),
        ("UPDATE aftereffect_events SET round = 7 WHERE sequence = 7", 7),
        ("DELETE FROM aftereffect_events WHERE sequence = 1", 1),
        ("DELETE FROM aftereffect_events WHERE sequence = 7", 7),
        ("DELETE FROM aftereffect_events WHERE sequence = 11", 11),
        ("DELETE FROM aftereffect_events", 1),
        (  # two rows change places
            "UPDATE aftereffect_events SET sequence = 99 WHERE sequence = 5;"
            "UPDATE aftereffect_events SET sequence = 5 WHERE sequence = 7;"
            "UPDATE aftereffect_events SET sequence = 7 WHERE sequence = 99",
            5,
        ),
        (  # a row is put in, and those after it move on
            "UPDATE aftereffect_events SET sequence = -sequence - 1 WHERE sequence > 5;"
            "UPDATE aftereffect_events SET sequence = -sequence WHERE sequence < 0;"
            "INSERT INTO aftereffect_events SELECT program, 6, kind, round, at, by, NULL, body, hash "
            "FROM aftereffect_events WHERE sequence = 5;",
            6,
        ),
        (  # one more at the end
            "INSERT INTO aftereffect_events SELECT program, 12, kind, round, at, by, NULL, body, hash "
            "FROM aftereffect_events WHERE sequence = 11",
            12,
        ),
        ("UPDATE aftereffect_programs SET head = 'x'", 11),
        ("UPDATE aftereffect_programs SET count = 10", 11),
        ("UPDATE aftereffect_programs SET count = 12", 12),
    ],
)
def test_what_was_changed_is_found(edited: Callable[[str], Audit], sql: str, misfit: int):
    found = edited(sql)
    assert not found.fits
    assert found.misfit == misfit
    assert str(misfit) in str(found.reason)


def rewritten(connection: sqlite3.Connection, change: Callable[[Event], Event]) -> None:
    """Rewrite the whole record with every hash right: only the decisions, or a head kept elsewhere, can tell."""
    head = FIRST
    for sequence, body in connection.execute(
        "SELECT sequence, body FROM aftereffect_events ORDER BY sequence"
    ).fetchall():
        new = change(Event.read(body)).body
        head = chained(head, new)
        connection.execute("UPDATE aftereffect_events SET body = ?, hash = ? WHERE sequence = ?", (new, head, sequence))
    connection.execute("UPDATE aftereffect_programs SET head = ?", (head,))


@pytest.fixture
def rewrite(tmp_path: Path) -> Iterator[Callable[[Callable[[Event], Event]], None]]:
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        yield lambda change: rewritten(connection, change)


def with_member(event: Event, sequence: int, member: str, content: dict[str, object]) -> Event:
    from dataclasses import replace

    return replace(event, **{member: {**getattr(event, member), **content}}) if event.sequence == sequence else event  # type: ignore[arg-type]


def test_a_rewritten_decision_is_recomputed_and_found(program: Program, rewrite):
    rewrite(lambda e: with_member(e, 6, "answer", {"allocation": {"north": 0.5, "south": 0.5}}))
    found = program.audit()
    assert found.misfit == 6
    assert "recomputed it is" in str(found.reason)


def test_a_rewritten_reward_shows_in_the_decisions_after_it(program: Program, rewrite):
    rewrite(lambda e: with_member(e, 3, "request", {"rewards": {"north": 1.0, "south": 0.0}}))
    found = program.audit()
    assert not found.fits
    assert (found.misfit or 0) > 3


def test_a_rewrite_that_no_decision_shows_is_found_by_a_head_kept_elsewhere(program: Program, rewrite):
    kept = program.head
    rewrite(lambda e: with_member(e, 11, "request", {"rewards": {"north": 1.0, "south": 0.0}}))  # the last one
    assert program.audit().fits
    found = program.audit(head=kept)
    assert not found.fits
    assert kept in str(found.reason)


def test_a_head_kept_a_while_ago_still_vouches(program: Program):
    kept = program.events()[4]["hash"]
    assert program.audit(head=kept).fits
    program.advise()
    assert program.audit(head=kept).fits
    assert not program.audit(head="0" * 64).fits
    with pytest.raises(ae.AftereffectError, match="64 hexadecimal digits, got 'zz'"):
        program.audit(head="zz")


def test_decisions_of_another_environment_are_counted_not_recomputed(
    program: Program, sqlite: Store, monkeypatch: pytest.MonkeyPatch
):
    newer = {**environments.environment(), "numba": "99.0"}
    for module in ("fold", "audit", "snapshots"):
        monkeypatch.setattr(f"aftereffect.programs.{module}.environment", lambda *_: newer)
    later = ae.open_store(str(sqlite.database.url)).program("loans")
    found = later.audit()
    assert (found.fits, found.decisions, found.not_recomputed) == (True, 5, 5)
    later.ask()
    later.tell([0.5, 0.5])
    assert [event["kind"] for event in later.events(after=11)] == ["upgrade", "ask", "tell"]
    found = later.audit()
    assert (found.fits, found.decisions, found.recomputed, found.not_recomputed) == (True, 6, 1, 5)
    monkeypatch.undo()  # back in the first environment, its own decisions are recomputed again
    found = program.audit()
    assert (found.fits, found.recomputed, found.not_recomputed) == (True, 5, 1)


def test_what_an_upgrade_computes_otherwise_does_not_change_what_was_advised(
    program: Program, sqlite: Store, monkeypatch: pytest.MonkeyPatch
):
    """A version that would have advised something else follows what was really advised and deployed."""
    advised = program.advise()["allocation"]
    newer = {**environments.environment(), "results": "another"}
    for module in ("fold", "audit", "snapshots"):
        monkeypatch.setattr(f"aftereffect.programs.{module}.environment", lambda *_: newer)
    monkeypatch.setattr(ae.Agent, "ask", _contrary(ae.Agent.ask))
    later = ae.open_store(str(sqlite.database.url)).program("loans")
    assert later.advise()["allocation"] == advised
    assert later.tell([0.5, 0.5])["allocation"] == advised
    found = later.audit()
    assert (found.fits, found.not_recomputed) == (True, 6)


def _contrary(ask):
    return lambda agent: ask(agent)[::-1].copy()


def test_a_clock_that_was_set_back_is_remarked_and_does_no_harm(sqlite: Store, monkeypatch: pytest.MonkeyPatch):
    program = sqlite.create("loans", ARMS, policy="thompson-split", floors=0.1)
    for at in ("2031-01-01T00:00:00.000000Z", "1999-01-01T00:00:00.000000Z"):
        monkeypatch.setattr("aftereffect.programs.program.now", lambda at=at: at)
        program.advise()
        program.tell([0.5, 0.5])
    found = program.audit()
    assert found.fits
    assert found.remarks == ["event 4 is dated before the one before it: a clock was set back"]
