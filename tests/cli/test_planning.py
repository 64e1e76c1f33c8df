"""`aftereffect plan`: table, JSON, picture, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aftereffect.experiments.first_phases import first_phases
from aftereffect.simulation.planning import plan
from tests.cli.conftest import Run

GOOD = ("plan", "--arms", "4", "--horizon", "1e5", "--memory", "0.4")


def test_the_table_says_what_will_happen(run: Run) -> None:
    outcome = run(*GOOD)
    assert (outcome.code, outcome.err) == (0, "")
    rows = {line.split("  ")[0].strip(): line for line in outcome.out.splitlines()}
    assert "approach 6, then estimation 2" in rows["phase"]
    assert "12,500" in rows["phases"]
    assert "23 phases" in rows["initial sweep"]
    assert "Theorem 5.1" in rows["history_regret_rate"]
    assert "Lemma E.3" in rows["history_threshold"]


def test_a_horizon_within_the_sweep_is_pointed_out(run: Run) -> None:
    outcome = run("plan", "--arms", "4", "--horizon", "1000", "--half-life", "30")
    assert "THE HORIZON ENDS BEFORE THEY DO" in outcome.out
    assert "says nothing" in outcome.out  # Theorem 5.1's number is above T
    unresolved = run("plan", "--arms", "4", "--horizon", "1000", "--memory", "0.999").out
    assert next(line for line in unresolved.splitlines() if line.startswith("history_threshold")).split()[1] == "never"


def test_json_is_the_plan(run: Run) -> None:
    outcome = run(*GOOD, "--estimation", "0.5", "--zero", "--lipschitz", "2", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    expected = plan(4, 100_000, 0.4, estimation=0.5, zero=True, lipschitz=2.0).document()
    assert json.loads(outcome.out) == json.loads(json.dumps(expected))
    half_life = json.loads(run("plan", "--arms", "4", "--horizon", "1e5", "--half-life", "3", "--json").out)
    assert half_life == json.loads(json.dumps(plan(4, 100_000, half_life=3).document()))


@pytest.mark.parametrize("kind", ["png", "svg"])
@pytest.mark.parametrize("memory", ["0.4", "0"])
def test_the_first_phases_are_drawn(run: Run, tmp_path: Path, kind: str, memory: str) -> None:
    target = tmp_path / f"plan.{kind}"
    outcome = run("plan", "--arms", "3", "--horizon", "1e5", "--memory", memory, "--out", str(target))
    assert outcome.code == 0, outcome.err
    assert f"picture: {target}" in outcome.out
    start = target.read_bytes()[:200]
    assert (b"PNG" in start) if kind == "png" else (b"<svg" in target.read_bytes()[:2000])


def test_json_stays_one_document_with_a_picture(run: Run, tmp_path: Path) -> None:
    outcome = run(*GOOD, "--json", "--out", str(tmp_path / "plan.png"))
    assert json.loads(outcome.out)["levels"] == 13
    assert (tmp_path / "plan.png").exists()


def test_the_picture_shows_the_plans_own_phases() -> None:
    made = plan(3, 100_000, 0.6)
    shares, impacts = first_phases(made)
    assert len(shares) == 6 * made.phase_length
    for start in range(0, len(shares), made.phase_length):
        phase = slice(start, start + made.phase_length)
        assert (shares[phase] == shares[start]).all()
        assert abs(impacts[phase][-1] - shares[start]).max() <= 0.6**made.phase_length
    assert (shares[made.phase_length] != shares[0]).any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--horizon", "100", "--memory", "0.4"], ["plan needs --arms"]),
        (["--arms", "2", "--memory", "0.4"], ["plan needs --horizon"]),
        (["--arms", "2", "--horizon", "100"], ["needs memory"]),
        (["--arms", "2", "--horizon", "100", "--memory", "1"], ["memory", "[0, 1)"]),
        (["--arms", "2", "--horizon", "100", "--memory", "much"], ["--memory", "'much'"]),
        (["--arms", "2", "--horizon", "100", "--memory", "nan"], ["--memory", "'nan'"]),
        (["--arms", "2", "--horizon", "100", "--memory", "0.4", "--half-life", "3"], ["either memory or half_life"]),
        (["--arms", "2", "--horizon", "100", "--half-life", "0"], ["half_life"]),
        (["--arms", "0", "--horizon", "100", "--memory", "0.4"], ["--arms", "'0'"]),
        (["--arms", "2", "--horizon", "soon", "--memory", "0.4"], ["--horizon", "'soon'"]),
        (["--arms", "2", "--horizon", "100", "--memory", "0.4", "--estimation", "1"], ["estimation"]),
        (["--arms", "2", "--horizon", "100", "--memory", "0.4", "--lipschitz", "0"], ["lipschitz"]),
        (["--arms", "2", "--horizon", "100", "--memory", "0.4", "--out", "plan.txt"], ["'.txt'", ".png"]),
        (["--arms", "2", "--horizon", "100", "--memory", "0.4", "--out", "nowhere/plan.png"], ["cannot write"]),
        (["--arms", "10000", "--horizon", "1e12", "--memory", "0.4"], ["cells"]),
    ],
)
def test_mistakes_end_with_two_and_one_line(run: Run, arguments: list[str], words: list[str]) -> None:
    outcome = run("plan", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert all(word in outcome.err for word in words), outcome.err
