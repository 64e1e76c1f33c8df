"""Every mistake: exit code 2, one line on standard error that names it, nothing on standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

GOOD = {"--problem": "gaussian", "--policy": "d-ucb", "--horizon": "20", "--runs": "1"}


def simulate(**changed: str | None) -> list[str]:
    """A simulation that would work, with some options changed or (None) left out."""
    options = {**GOOD, **{f"--{name}": value for name, value in changed.items()}}
    return ["simulate", *(word for name, value in options.items() if value is not None for word in (name, value))]


MISTAKES: list[tuple[list[str], list[str]]] = [
    # the shape of the command
    (["simulat"], ["'simulat'", "did you mean 'simulate'"]),
    (["reprodce"], ["unknown command 'reprodce'", "reproduce"]),
    (["reproduce", "fig2x"], ["unknown figure 'fig2x'", "fig2"]),
    (["reproduce", "fig1", "--scale", "papr"], ["unknown scale 'papr'", "paper"]),
    (["reproduce", "fig1", "--threads", "0"], ["--threads", "'0'"]),
    (["run"], ["SPEC.toml"]),
    (["run", "nowhere.toml"], ["nowhere.toml"]),
    (["report", "nowhere"], ["nowhere"]),
    (["report", "nowhere", "--band", "std"], ["unknown band 'std'", "sd"]),
    (["problems", "--jso"], ["'--jso'", "did you mean '--json'"]),
    (["policies", "now"], ["now"]),
    (["--versio"], ["'--versio'", "did you mean '--version'"]),
    (["-x"], ["'-x'"]),
    (["simulate"], ["simulate needs --problem"]),
    ([*simulate(), "--polcy", "ucb1"], ["'--polcy'", "did you mean '--policy'"]),
    ([*simulate(), "--run", "3"], ["'--run'", "did you mean '--runs'"]),
    ([*simulate(), "--seed"], ["--seed"]),
    ([*simulate(), "--json=yes"], ["--json"]),
    ([*simulate(), "extra"], ["extra"]),
    (simulate(problem=None), ["needs --problem"]),
    (simulate(policy=None), ["needs --policy"]),
    (simulate(horizon=None), ["needs --horizon"]),
    (simulate(runs=None), ["needs --runs"]),
    # numbers
    (simulate(horizon="soon"), ["--horizon", "'soon'"]),
    (simulate(horizon="0"), ["--horizon", "from 1", "'0'"]),
    (simulate(horizon="-5"), ["--horizon", "'-5'"]),
    (simulate(horizon="2.5"), ["--horizon", "whole number", "'2.5'"]),
    (simulate(horizon="nan"), ["--horizon", "'nan'"]),
    (simulate(horizon="inf"), ["--horizon", "'inf'"]),
    (simulate(horizon="1e999999999"), ["--horizon", "'1e999999999'"]),
    (simulate(horizon="sNaN"), ["--horizon", "'sNaN'"]),
    (simulate(horizon=""), ["--horizon", "''"]),
    (simulate(horizon="two\nlines"), ["--horizon", "two"]),
    (simulate(runs="0"), ["--runs", "'0'"]),
    (simulate(runs="many"), ["--runs", "'many'"]),
    (simulate(runs="1e12"), ["--runs", "1,000,000"]),
    (simulate(instances="0"), ["--instances", "'0'"]),
    (simulate(instances="-1"), ["--instances", "'-1'"]),
    (simulate(seed="-1"), ["--seed", "from 0", "'-1'"]),
    (simulate(seed="x"), ["--seed", "'x'"]),
    (simulate(threads="0"), ["--threads", "'0'"]),
    (simulate(threads="1.5"), ["--threads", "'1.5'"]),
    (simulate(checkpoints="0"), ["--checkpoints", "'0'"]),
    # problems
    (simulate(problem=""), ["expected NAME", "''"]),
    (simulate(problem="gausian"), ["unknown problem 'gausian'", "did you mean 'gaussian'"]),
    (simulate(problem="gaussian:"), ["gaussian:"]),
    (simulate(problem="gaussian:arms"), ["key=value", "'arms'"]),
    (simulate(problem="gaussian:memry=0.2"), ["'memry'", "did you mean 'memory'"]),
    (simulate(problem="gaussian:memory=1.5"), ["memory", "1.5"]),
    (simulate(problem="gaussian:memory=x"), ["memory", "'x'"]),
    (simulate(problem="gaussian:memory=0.1,half_life=2"), ["one of memory, half_life"]),
    (simulate(problem="gaussian:arms=0"), ["arms", "0"]),
    (simulate(problem="gaussian:arms=2,arms=3"), ["'arms'", "twice"]),
    (simulate(problem="gaussian:arms=[2"), ["bracket", "gaussian:arms=[2"]),
    (simulate(problem="gaussian:feedback=on"), ["'on'", "did you mean 'one'"]),
    (simulate(problem="gaussian:noise=betta"), ["'betta'", "did you mean 'beta'"]),
    (simulate(problem="gaussian:impact=smothed(memory=0.4)"), ["'smothed'", "did you mean 'smoothed'"]),
    (simulate(problem="gaussian:floors=[0.2,x]"), ["floors", "x"]),
    (simulate(problem="gaussian:half_life=x"), ["half_life", "x"]),
    (simulate(problem="gaussian:name=x"), ["name"]),
    (simulate(problem="gaussian:seed=1.5"), ["seed", "1.5"]),
    (simulate(problem="gaussian:seed=1", instances="1"), ["--instances", "seed=1"]),
    (simulate(problem="tent:arms=3"), ["arms must be 2", "3"]),
    (simulate(problem="tent:epsilon=0.1"), ["'epsilon'", "did you mean 'eps'"]),
    (simulate(problem="gaussian:x=" + "[" * 5000 + "]" * 5000), ["nested"]),
    # policies
    (simulate(policy="d-ucbb"), ["unknown policy 'd-ucbb'", "did you mean 'd-ucb'"]),
    (simulate(policy="d-ucb:discont=0.5"), ["'discont'", "did you mean 'discount'"]),
    (simulate(policy="d-ucb:discount=2"), ["discount", "2"]),
    (simulate(policy="d-ucb:name=x"), ["name"]),
    (simulate(policy="history-ucb:log=lema"), ["'lema'", "did you mean 'lemma'"]),
    (simulate(policy="history-ucb:zero=1"), ["zero", "true or false"]),
    (simulate(policy="phased"), ["phased", "inner"]),
    (simulate(policy="phased:inner=cucbb"), ["'cucbb'", "did you mean 'cucb'"]),
    (simulate(policy="phased:inner=cucb(zer=true)"), ["'zer'", "did you mean 'zero'"]),
    (simulate(policy="fixed:allocation=[a,b]"), ["fixed", "'a'"]),
    (simulate(policy="fixed:allocation=[0.2,0.3]"), ["sum to 1"]),
    (simulate(policy="fixed:allocation=[0.2,0.3,0.5]"), ["2 shares", "3"]),
    (simulate(policy="sw-ucb:window=1000000000000000"), ["window", "1000000000000000"]),
    ([*simulate(), "--policy", "d-ucb"], ["'d-ucb'", "twice"]),
    ([*simulate(), "--policy", "d-ucb:discount=0.8"], ["'d-ucb:discount=0.8'", "twice", "'d-ucb' is the same"]),
    # a policy that cannot run there
    (simulate(problem="gaussian:floors=0.2", policy="ucb1"), ["ucb1", "floors"]),
    # files
    (simulate(out="results.xlsx"), ["'.xlsx'", ".parquet"]),
    (simulate(out="results.parket"), ["'.parket'", "did you mean '.parquet'"]),
    (simulate(out="results"), ["results", ".parquet"]),
    (simulate(out="no/such/folder/results.csv"), ["no/such/folder"]),
]


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=lambda value: " ".join(value)[-60:])
def test_a_mistake_is_one_line_and_exit_code_2(run: Run, arguments: list[str], named: list[str]):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("aftereffect: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith("\n")
    assert "Traceback" not in outcome.err
    for words in named:
        assert words in outcome.err


@pytest.mark.parametrize("arguments", [["simulat"], simulate(problem="gausian"), simulate(policy="d-ucb:discount=2")])
def test_a_process_ends_the_same_way(arguments: list[str]):
    done = subprocess.run([sys.executable, "-m", "aftereffect", *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("aftereffect: ")


def test_a_target_that_is_a_folder_or_in_a_file_is_refused_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("aftereffect.cli.request.Request.run", lambda *_: pytest.fail("the simulation ran"))
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    for target in ("folder.csv", "file/results.csv"):
        outcome = run(*simulate(out=str(tmp_path / target)))
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert "cannot write" in outcome.err


def test_a_folder_without_permission_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # as root, nothing is without permission
    outcome = run(*simulate(out=str(tmp_path / "results.csv")))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "no permission" in outcome.err


def test_anything_else_is_not_called_a_mistake(run: Run, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("aftereffect.cli.request.Request.run", fail)
    with pytest.raises(RuntimeError, match="a bug"):  # a traceback, and exit code 1 from the interpreter
        run(*simulate())
