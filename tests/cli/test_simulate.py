"""`simulate`: its numbers are those of `ae.simulate`, as JSON, as a table and in files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

import aftereffect as ae
from aftereffect.cli.reading import read_number
from aftereffect.model.family_notation import family_from
from tests.cli.conftest import Run

SMALL = ("--horizon", "300", "--runs", "3", "--checkpoints", "4")


def test_json_has_the_contracts_shape_and_the_librarys_numbers(run: Run):
    outcome = run(
        *("simulate", "--problem", "gaussian:arms=3,memory=0.2", "--instances", "2", "--seed", "5", "--threads", "2"),
        *("--policy", "d-ucb:discount=0.9", "--policy", "ucb1", *SMALL, "--json"),
    )
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    expected = ae.simulate(
        ae.family("gaussian", arms=3, memory=0.2),
        [ae.policy("d-ucb", discount=0.9), ae.policy("ucb1")],
        *(300, 3),
        instances=2,
        seed=5,
        checkpoints=4,
        threads=1,
    )
    assert document["problem"] == "gaussian:arms=3,memory=0.2"
    assert (document["horizon"], document["instances"], document["seed"]) == (300, 2, 5)
    best = expected["ucb1"].best
    assert document["best_fixed"] == [{"allocation": b.allocation.tolist(), "utility": b.utility} for b in best]
    assert [p["policy"] for p in document["policies"]] == ["d-ucb:discount=0.9", "ucb1"]
    for shown in document["policies"]:
        result = expected[shown["policy"]]
        assert shown["rounds"] == result.rounds.tolist() == [75, 150, 225, 300]
        assert shown["regret_mean"] == result.mean.tolist()
        assert shown["regret_std"] == result.std.tolist()
        assert shown["runs"] == 3


def test_a_rehearsal_at_users_scale(run: Run):
    problem = "loan:arms=4,memory=0.8,units=300,rate=0.1,shock=0.02,start=[0.4,0.3,0.2,0.1],step=0.05"
    outcome = run("simulate", "--problem", problem, "--policy", "kl-ucb", "--policy", "fixed", *SMALL, "--json")
    assert outcome.code == 0
    assert outcome.err.endswith("they share the round's shock\n")
    assert outcome.err.count("\n") == 1
    assert [p["policy"] for p in json.loads(outcome.out)["policies"]] == ["kl-ucb", "fixed"]
    refused = run("simulate", "--problem", problem, "--policy", "ucb1", *SMALL)
    assert (refused.code, refused.out) == (2, "")
    assert "ucb1 gives everything to one arm and cannot keep a largest step" in refused.err


def test_a_seed_in_the_notation_names_one_problem(run: Run):
    document = json.loads(
        run("simulate", "--problem", "patrol:seed=7", "--policy", "ucb1", *SMALL, "--seed", "2", "--json").out
    )
    expected = ae.simulate(ae.problem("patrol", seed=7), ae.policy("ucb1"), 300, 3, seed=2, checkpoints=4)
    assert document["instances"] == 1
    assert document["best_fixed"][0]["allocation"] == ae.best_fixed(ae.problem("patrol", seed=7)).allocation.tolist()
    assert document["policies"][0]["regret_mean"] == expected.mean.tolist()


def test_without_a_seed_the_instance_is_drawn_with_the_commands_seed(run: Run):
    command = ("simulate", "--problem", "patrol", "--policy", "ucb1", *SMALL, "--json")
    default, zero, one = (json.loads(run(*command, *seed).out) for seed in ([], ["--seed", "0"], ["--seed", "1"]))
    assert default == zero
    assert default["best_fixed"] != one["best_fixed"]


def test_nested_notation_and_names_as_given(run: Run):
    notation = "phased:inner=cucb(zero=true),memory=0.4"
    spelled = "  d-ucb:xi=1.0 "
    outcome = run("simulate", "--problem", "gaussian", "--policy", notation, "--policy", spelled, *SMALL, "--json")
    document = json.loads(outcome.out)
    assert [p["policy"] for p in document["policies"]] == [notation, spelled]
    policy = ae.Phased(ae.CUCB(zero=True), memory=0.4)
    expected = ae.simulate(ae.family("gaussian"), policy, 300, 3, checkpoints=4)
    assert document["policies"][0]["regret_mean"] == expected.mean.tolist()


def test_json_is_all_that_a_process_prints():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "aftereffect",
            "simulate",
            "--problem",
            "gaussian",
            "--policy",
            "ucb1",
            *SMALL,
            "--json",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["policies"][0]["policy"] == "ucb1"
    assert done.stdout.count("\n") == 1


def test_the_table_is_sorted_whole_and_says_what_it_compares_with(run: Run):
    long = "phased:inner=cucb(zero=true),memory=0.4,estimation=0.25"
    outcome = run(
        "simulate", "--problem", "lending", "--policy", "d-ucb", "--policy", "fixed", "--policy", long, *SMALL
    )
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "lending: 300 rounds, 3 instances x 1 run, seed 0"
    assert all(title in outcome.out for title in ("policy", "regret", "95 percent interval", "std. dev.", "per round"))
    regrets = [float(line.split()[1].replace(",", "")) for line in lines if line.startswith(("d-ucb", "fixed", long))]
    assert len(regrets) == 3
    assert regrets == sorted(regrets)
    assert "best fixed allocation: white 0." in lines[-1]
    assert "…" not in outcome.out
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("moves", [True, False])
def test_the_table_says_what_regret_is_against_where_responses_move(run: Run, moves: bool):
    notation = "patrol:arms=3,seed=2" + ",season=50" * moves
    outcome = run("simulate", "--problem", notation, "--policy", "fixed", "--horizon", "100", "--runs", "2")
    found = ae.simulate(family_from(notation)[0].draw(2), ae.Fixed(), 100, runs=2)
    said = f"regret is against the best allocation of each moment: utility {found.benchmarks[0]:.5f} a round\n"
    assert (said in outcome.out) == moves


def test_the_table_fits_80_columns_with_ordinary_names(run: Run):
    outcome = run("simulate", "--problem", "gaussian", "--policy", "d-ucb", "--policy", "history-ucb", *SMALL)
    assert max(map(len, outcome.out.splitlines()[:-1])) <= 80


def test_several_instances_and_single_runs(run: Run):
    several = run(
        *("simulate", "--problem", "gaussian", "--instances", "3", "--policy", "ucb1"),
        *("--horizon", "50", "--runs", "1"),
    )
    assert "3 instances x 1 run," in several.out
    assert "mean over 3 instances" in several.out
    one = run("simulate", "--problem", "gaussian", "--policy", "ucb1", "--horizon", "50", "--runs", "1")
    assert " - " in one.out  # no interval from a single run


def test_many_arms_are_not_all_spelled_out(run: Run):
    outcome = run("simulate", "--problem", "gaussian:arms=30,seed=0", "--policy", "ucb1", *SMALL)
    assert "28 others 0.0000" in outcome.out


def test_a_remark_of_the_library_is_one_line_beside_the_result(run: Run):
    outcome = run("simulate", "--problem", "gaussian", "--policy", "action-ucb:levels=2", *SMALL)
    assert outcome.code == 0
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("aftereffect: warning: action-ucb: 2 arms without zero need")


@pytest.mark.parametrize(
    ("text", "number"), [("20", 20), ("1e5", 100_000), ("1_000", 1000), (" 7 ", 7), ("2.5e1", 25), ("3.0", 3)]
)
def test_numbers_as_people_write_them(text: str, number: int):
    assert read_number("--horizon", text, 1) == number


# Files.


def _written(run: Run, path: Path, *more: str) -> Any:
    command = ("simulate", "--problem", "gaussian:arms=2", "--policy", "ucb1", "--policy", "d-ucb", *SMALL)
    outcome = run(*command, "--out", str(path), *more)
    assert (outcome.code, outcome.err) == (0, "")
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # nothing half-written is left beside it
    return outcome


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_tidy_file(run: Run, tmp_path: Path, kind: str):
    path = tmp_path / f"results.{kind}"
    _written(run, path)
    found = polars.read_parquet(path) if kind == "parquet" else polars.read_csv(path)
    policies = [ae.policy("ucb1"), ae.policy("d-ucb")]
    expected = ae.simulate(ae.family("gaussian", arms=2), policies, 300, 3, checkpoints=4).to_frame()
    assert found.columns == expected.columns
    assert found["problem"].unique().to_list() == ["gaussian:arms=2"]
    assert found["regret"].to_list() == expected["regret"].to_list()


def test_a_json_file_is_the_document(run: Run, tmp_path: Path):
    path = tmp_path / "results.JSON"
    path.write_text("old")
    outcome = _written(run, path, "--json")
    assert path.read_text() == outcome.out


def test_a_write_that_fails_leaves_the_old_file_and_the_printed_result(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    path = tmp_path / "results.csv"
    path.write_text("old")
    outcome = run("simulate", "--problem", "gaussian", "--policy", "ucb1", *SMALL, "--json", "--out", str(path))
    assert outcome.code == 2
    assert "No space left" in outcome.err
    assert json.loads(outcome.out)["horizon"] == 300
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["results.csv"]
