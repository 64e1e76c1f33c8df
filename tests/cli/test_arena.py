"""`aftereffect arena`: tables, JSON, files, the page, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from aftereffect.experiments import arena, weekly
from tests.cli.conftest import Run

FEW = ("arena", "--quick", "--policy", "round-robin", "--policy", "fixed:allocation=[0.2,0.8]", "--threads", "1")


@pytest.fixture(autouse=True)
def _two_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough to see the command at work."""
    plain, stress = arena.plain_scenarios(), arena.stress_scenarios(arena.QUICK.horizon)
    monkeypatch.setattr(
        arena, "plain_scenarios", lambda: [c for c in plain if c.name in ("tent-k2-m0.5", "bump-k4-m0.5")]
    )
    monkeypatch.setattr(arena, "stress_scenarios", lambda _: [c for c in stress if c.name == "memory-low-loan"])


def test_tables_files_and_page(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "leaderboard.md"
    outcome = run(*FEW, "--out", str(out), "--docs", str(page))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.index("tent-k2-m0.5: tent:arms=2,memory=0.5") < outcome.out.index("Leaderboard")
    assert "cannot start in bump-k4-m0.5: fixed: allocation needs 4 shares" in outcome.out
    assert "Smoke version" in outcome.out
    assert "Smoke version" in page.read_text()
    assert "`aftereffect arena --quick --policy round-robin" in page.read_text()
    runs = polars.read_parquet(out / "runs.parquet")
    assert runs.height == 4 * (4 + 3)  # runs x policies in each of the two scenarios
    assert set(runs.columns) >= {"scenario", "problem", "policy", "parameters", "instance", "run", "regret"}
    assert (
        runs.group_by("policy").agg(polars.col("rounds_per_second").n_unique())["rounds_per_second"].to_list()
        == [1] * 4
    )
    assert polars.read_parquet(out / "leaderboard.parquet").height == 7


def test_json_and_nothing_else(run: Run, tmp_path: Path) -> None:
    outcome = run(*FEW, "--seed", "5", "--out", str(tmp_path / "out"), "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert (found["quick"], found["seed"], found["horizon"], found["runs"]) == (True, 5, 2000, 4)
    assert len(found["policies"]) == 4
    again = json.loads(run(*FEW, "--seed", "5", "--out", str(tmp_path / "out"), "--json").out)
    assert again["scenarios"] == found["scenarios"]


def test_stress(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("arena", "--quick", "--stress", "--policy", "d-ucb", "--threads", "1")
    assert (outcome.code, outcome.err) == (0, "")
    assert "memory-low-loan: loan:arms=2,memory=0.5, memory told 0.3" in outcome.out
    assert "nothing to count under stress" in outcome.out
    assert (tmp_path / "out" / "arena-stress-quick" / "memory-low-loan" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--policy", "d-ucbb"], ["unknown policy 'd-ucbb'", "did you mean 'd-ucb'"]),
        (["--policy", "phased"], ["phased", "inner"]),
        (["--policy", "d-ucb", "--policy", "d-ucb:discount=0.8"], ["twice", "'d-ucb' is the same"]),
        (["--seed", "-1"], ["--seed", "'-1'"]),
        (["--seed", "1e30"], ["--seed", "'1e30'"]),
        (["--threads", "0"], ["--threads", "'0'"]),
        (["--docs", "leaderboard.html"], ["--docs", "'.html'", ".md"]),
        (["--docs", "no/such/folder/leaderboard.md"], ["no/such/folder"]),
        (["--quik"], ["'--quik'", "did you mean '--quick'"]),
        (["now"], ["now"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    run: Run, arguments: list[str], named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aftereffect.cli.arena.run_arena", lambda *_, **__: pytest.fail("the arena ran"))
    outcome = run("arena", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("aftereffect: ")
    for words in named:
        assert words in outcome.err


def test_other_results_in_the_directory_are_not_touched(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(*FEW, "--out", str(out), "--json").code == 0
    outcome = run(*FEW, "--out", str(out), "--seed", "1")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "seed is 0 there, 1 here" in outcome.err
    assert run(*FEW, "--out", str(out), "--seed", "1", "--fresh").code == 0
    (tmp_path / "file").write_text("")
    outcome = run(*FEW, "--out", str(tmp_path / "file"))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)


def test_weekly(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [c for c in weekly.weekly_scenarios() if c.name in ("lending-k4-m0.8-start", "loan-k3-m0.6")]
    monkeypatch.setattr(weekly, "weekly_scenarios", lambda: two)
    monkeypatch.chdir(tmp_path)
    few = ("arena", "--weekly", "--quick", "--policy", "quadratic", "--threads", "1")
    outcome = run(*few, "--docs", "weekly.md")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Gain share" in outcome.out
    assert "Smoke version" in outcome.out
    assert "`aftereffect arena --weekly --quick" in (tmp_path / "weekly.md").read_text()
    out = tmp_path / "out" / "arena-weekly-quick"
    runs = polars.read_parquet(out / "runs.parquet")
    assert runs.height == 2 * 2 * 6 * 3  # scenarios, policies, runs, horizons
    assert polars.read_parquet(out / "leaderboard.parquet").height == 2 * 2 * 3
    again = run(*few, "--json")
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out)["horizons"] == [26, 52, 104]


def test_weekly_and_stress_are_two_arenas(run: Run) -> None:
    outcome = run("arena", "--weekly", "--stress")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--stress and --weekly are two arenas" in outcome.err
