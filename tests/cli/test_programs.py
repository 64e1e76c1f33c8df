"""`aftereffect program`: a year of weekly decisions from a shell, and every mistake in one line."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run

CREATE = ("program", "create", "loans", "--arms", "north,centre,south", "--policy", "thompson-split", "--floor")


@pytest.fixture
def program(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Commands on a store that holds the program `loans`."""
    monkeypatch.setenv("AFTEREFFECT_STORE", f"sqlite:///{tmp_path / 'store.db'}")
    assert run(*CREATE, "north=0.1", "--floor", "centre=0.1", "--floor", "south=0.1", "--units", "300").code == 0

    def command(*words: str):
        return run("program", *words)

    return command


def test_rounds_from_a_shell(program: Run):
    for week in range(3):
        asked = json.loads(program("ask", "loans", "--json").out)
        assert asked["round"] == week + 1
        assert sum(asked["units"].values()) == 300
        told = program("tell", "loans", "north=31/120", "centre=0.5", "--key", f"week-{week}", "--by", "ann", "--json")
        assert json.loads(told.out)["round"] == week + 1
    again = program("tell", "loans", "north=31/120", "centre=0.5", "--key", "week-2")
    assert (again.code, again.out) == (0, "round 3 told\n")
    shown = json.loads(program("show", "loans", "--json").out)
    assert (shown["rounds"], shown["units"], shown["floors"]["south"]) == (3, 300, 0.1)
    last = json.loads(program("log", "loans", "--after", "6", "--json").out)[-1]
    assert last["request"]["rewards"] == {"north": 31 / 120, "centre": 0.5}
    assert last["request"]["trials"] == {"north": 120, "centre": 1}
    assert last["by"] == "ann"
    assert [one["name"] for one in json.loads(program("list", "--json").out)] == ["loans"]
    audit = json.loads(program("audit", "loans", "--head", last["hash"], "--json").out)
    assert (audit["fits"], audit["recomputed"]) == (True, 3)


def test_each_command_prints_for_people_too(program: Run):
    lines = ["ask loans", "tell loans --unknown", "show loans", "list", "log loans", "audit loans", "explain loans"]
    said = {line: program(*line.split()) for line in lines}
    assert all(outcome.code == 0 and outcome.out and not outcome.err for outcome in said.values())
    assert "all fits: 3 events" in said["audit loans"].out
    assert said["explain loans"].out.startswith("Round 2: north ")
    assert "\nWhy: " in said["explain loans"].out
    assert json.loads(program("explain", "loans", "--json").out)["round"] == 2


def test_tables_of_rewards(program: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = tmp_path / "rewards.csv"
    table.write_text("arm,successes,trials\nnorth,31,120\nsouth,9,90\n")
    program("ask", "loans")
    assert program("tell", "loans", "--csv", str(table)).code == 0
    program("ask", "loans")
    monkeypatch.setattr("sys.stdin", io.StringIO("arm,reward\nnorth,0.25\n"))
    assert program("tell", "loans", "--csv", "-").code == 0
    first, second = (e for e in json.loads(program("log", "loans", "--json").out) if e["kind"] == "tell")
    assert first["request"]["rewards"] == {"north": 31 / 120, "south": 0.1}
    assert first["request"]["trials"] == {"north": 120, "south": 90}
    assert second["request"]["rewards"] == {"north": 0.25}


def test_past_rounds_under_names_of_their_own(program: Run, tmp_path: Path):
    table = tmp_path / "past.csv"
    table.write_text("week;region;calls;reached\n2026-W01;a;10;5\n2026-W01;b;30;6\n2026-W02;a;20;5\n2026-W02;b;20;6\n")
    named = [f"--column={pair}" for pair in ("round=week", "arm=region", "trials=calls", "successes=reached")]
    create = ["create", "calls", "--arms", "a,b", "--policy", "thompson-split"]
    made = program(*create, "--records", str(table), *named, "--json")
    assert json.loads(made.out)["rounds"] == 2
    refused = program(*create, *named)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--records FILE" in refused.err


def test_rewards_in_money(program: Run, tmp_path: Path):
    made = program(
        "create",
        "shops",
        "--arms",
        "a,b",
        "--policy",
        "thompson-split",
        "--floor",
        "a=0.1",
        "--reward-range",
        "0,500",
        "--json",
    )
    assert json.loads(made.out)["reward_range"] == [0.0, 500.0]
    program("ask", "shops")
    assert program("tell", "shops", "a=12400/120", "b=250").code == 0
    told = json.loads(program("log", "shops", "--json").out)[-1]["request"]
    assert told["rewards"] == {"a": 12400 / 120, "b": 250.0}
    assert told["trials"] == {"a": 120, "b": 1}
    estimate = json.loads(program("explain", "shops", "--json").out)["arms"][0]["estimate"]
    assert 50 < estimate < 450
    assert f"a {estimate:.3g}" in program("explain", "shops").out
    (tmp_path / "told.csv").write_text("round,arm,reward,trials\n1,a,501,3\n")
    for words, said in (
        (
            ["tell", "shops", "a=12400/20"],
            "counts are total/trials, the total 0 to 500 times the trials, got '12400/20'",
        ),
        (["tell", "shops", "a=501"], "rewards must lie in [0, 500], got 501 for arm 'a'"),
        (["tell", "shops", "--csv", str(tmp_path / "told.csv")], "a mean reward lies between 0 and 500, got 501"),
        (["create", "x", "--arms", "a,b", "--reward-range", "5,1"], "reward_range must be two numbers"),
        (
            ["create", "x", "--arms", "a,b", "--reward-range", "a,1"],
            "--reward-range LOW,HIGH must be a number, got 'a'",
        ),
    ):
        program("ask", "shops")
        failed = program(*words)
        assert failed.code == 2
        assert said in failed.err


def test_what_changes_under_way(program: Run, tmp_path: Path):
    deployed = json.loads(program("deploy", "loans", "north=0.5", "centre=0.2", "south=0.3", "--json").out)
    assert deployed["round"] == 1
    assert program("tell", "loans", "north=0.5", "--round", "1").code == 0
    assert json.loads(program("show", "loans", "--json").out)["open_rounds"] == [1]
    assert program("tell", "loans", "centre=0.5", "south=0.5", "--round", "1").code == 0
    assert program("tell", "loans", "north=0.6", "--round", "1", "--replace").code == 0
    shown = json.loads(program("limits", "loans", "--json").out)
    assert shown["floors"] == {"north": 0.1, "centre": 0.1, "south": 0.1}
    refused = program("limits", "loans", "--floor", "north=0.2")
    assert (refused.code, refused.err.count("\n")) == (2, 1)  # this policy cannot change its limits under way
    assert json.loads(program("limits", "loans", "--json").out) == shown
    assert json.loads(program("policy", "loans", "thompson-split", "--json").out) == {"policy": "thompson-split"}
    assert program("export", "loans", "--out", str(tmp_path / "loans.jsonl")).code == 0
    assert program("import", "copy", str(tmp_path / "loans.jsonl")).code == 0
    assert program("audit", "copy").code == 0
    assert program("archive", "copy").code == 0
    refused = program("ask", "copy")
    assert (refused.code, refused.out) == (2, "")
    assert "archived" in refused.err


def test_audit_finds_an_edit(program: Run, tmp_path: Path):
    program("ask", "loans")
    program("tell", "loans", "north=0.5")
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE aftereffect_events SET body = replace(body, '0.5', '0.9') WHERE kind = 'tell'")
    connection.close()
    found = program("audit", "loans")
    assert found.code == 1
    assert "event 3" in found.out
    asked = program("ask", "loans")
    assert asked.code == 2
    assert "does not fit together at event 3" in asked.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tel", "loans"], "did you mean 'tell'"),
        (["show", "loan"], "unknown program 'loan'; did you mean 'loans'"),
        (["tell", "loans"], "tell needs either ARM=reward"),
        (["tell", "loans", "north"], "write ARM=number, got 'north'"),
        (
            ["tell", "loans", "north=3/2"],
            "counts are successes/trials, at most all of them (0/0: it got none), got '3/2'",
        ),
        (["tell", "loans", "north=.1", "north=.2"], "names arm 'north' twice"),
        (["tell", "loans", "east=.1"], "unknown arm 'east'"),
        (["tell", "loans", "north=.1"], "tell without ask"),
        (["tell", "loans", "north=.1", "--round", "x"], "--round must be a whole number"),
        (["tell", "loans", "--csv", "nowhere.csv"], "cannot read 'nowhere.csv'"),
        (["create", "loans", "--arms", "a,b"], "there is a program 'loans' already"),
        (["create", "other", "--arms", "a,a"], "names must differ"),
        (["create", "other", "--arms", "a,b", "--floor", "c=.1"], "unknown arm in floors: 'c'"),
        (["create", "other", "--arms", "a,b", "--policy", "tompson"], "unknown policy 'tompson'"),
        (["export", "loans", "--out", "x.pdf"], "unknown extension"),
        (["list", "--store", "nowhere.db"], "there is no store 'nowhere.db'"),
        (["list", "--store", "mysql://host/x"], "unknown kind of store 'mysql'"),
    ],
)
def test_mistakes_are_one_line(program: Run, words: list[str], said: str):
    outcome = program(*words)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
