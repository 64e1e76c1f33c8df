"""An experiment's directory: whole files or none, nothing lost, nothing twice, nothing of another experiment."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import aftereffect as ae
from aftereffect.errors import AftereffectError
from aftereffect.experiments import executors
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.spec import Spec
from aftereffect.experiments.store import Store, describe_difference
from tests.experiments.specs import TUNED, check_whole, rows, shard_names, spec


@pytest.fixture
def wanted() -> Spec:
    return spec()


@pytest.fixture
def store(wanted: Spec, tmp_path: Path) -> Store:
    return run_spec(wanted, tmp_path / "out")


def _no_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> bytes:
        raise AssertionError("nothing was to be computed")

    monkeypatch.setattr(executors, "compute", refuse)


# What is in the files.


def test_results_are_those_of_simulate_number_for_number(store: Store, wanted: Spec) -> None:
    results = Results(store.directory)
    assert results.complete
    for memory in (0.2, 0.6):
        policies = [ae.policy("d-ucb", discount=0.7), ae.policy("d-ucb", discount=0.9), ae.policy("round-robin")]
        direct = ae.simulate(
            ae.family("gaussian", memory=memory), policies, horizon=300, instances=2, runs=3, seed=7, checkpoints=4
        )
        for policy in policies:
            problem = f"gaussian:memory={memory}"
            for column in ("regret", "realised_regret", "utility"):
                np.testing.assert_array_equal(
                    results.curves(problem, policy.key, column), getattr(direct[policy.key], column)
                )
            np.testing.assert_allclose(
                results.averages(problem, policy.key, "allocation"),
                direct[policy.key].allocations.mean(axis=0),
                rtol=1e-6,
            )
            np.testing.assert_allclose(
                results.averages(problem, policy.key, "impact"), direct[policy.key].impacts.mean(axis=0), rtol=1e-6
            )


def test_grid_regret_is_there_for_policies_with_a_grid(tmp_path: Path) -> None:
    policies = [{"policy": "history-ucb"}, {"policy": "round-robin"}]
    results = Results(run_spec(spec(policies=policies, runs=1, instances=2), tmp_path / "out").directory)
    direct = ae.simulate(
        ae.family("gaussian", memory=0.2), ae.policy("history-ucb"), 300, instances=2, runs=1, seed=7, checkpoints=4
    )
    np.testing.assert_array_equal(
        results.curves("gaussian:memory=0.2", "history-ucb", "grid_regret"), direct.grid_regret
    )
    assert results.rows("gaussian:memory=0.2", "round-robin")["grid_regret"].null_count() == 2 * 4


def test_no_row_is_lost_or_there_twice(store: Store, wanted: Spec) -> None:
    check_whole(store, wanted, problems=2, policies=3)
    assert len(shard_names(store)) == store.manifest()["shards"] == 12


def test_pandas_reads_the_files(store: Store) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    read = pandas.concat(pandas.read_parquet(path) for path in store.shards.glob("*.parquet"))
    assert len(read) == rows(store).height
    assert read["regret"].sum() == pytest.approx(rows(store)["regret"].sum())


def test_duckdb_reads_the_files(store: Store) -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"select count(*), sum(regret) from '{store.shards}/*.parquet'").fetchall()[0]
    assert found == (rows(store).height, pytest.approx(rows(store)["regret"].sum()))


def test_the_manifest_says_where_results_come_from(store: Store, wanted: Spec) -> None:
    manifest = json.loads((store.directory / "manifest.json").read_text())
    assert manifest["hash"] == Plan(wanted).digest
    assert manifest["seed"] == 7
    assert store.spec() == wanted
    assert {"aftereffect", "numpy", "numba", "polars", "python"} <= set(manifest["versions"])
    assert all(manifest["versions"].values())
    assert set(manifest["machine"]) == {"system", "architecture", "cores"}
    assert manifest["commit"] is None or len(manifest["commit"]) == 40


# Running again.


def test_running_again_computes_nothing(store: Store, wanted: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shard_names(store)
    _no_computing(monkeypatch)
    done: list[int] = []
    run_spec(wanted, store.directory, progress=lambda _, rounds: done.append(rounds))
    assert shard_names(store) == before
    assert sum(done) == Plan(wanted).work  # what is there counts as progress


def test_words_about_an_experiment_may_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_computing(monkeypatch)
    run_spec(spec(title="Another title", caption="Another caption", scales={"quick": {}}), store.directory)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 8}, "seed is 7 there, 8 here"),
        ({"horizon": 301}, "horizon is 300 there, 301 here"),
        ({"checkpoints": [5]}, r"checkpoints is 4 there, \[5\] here"),
        ({"problems": [{"family": "gaussian", "memory": [0.2, 0.5]}]}, r"problems\[0\].memory\[1\] is 0.6 there, 0.5 here"),
        ({"policies": [{"policy": "round-robin"}]}, r"policies\[0\].policy is 'd-ucb' there, 'round-robin' here"),
        ({"problems": [{"family": "gaussian", "memory": [0.2]}]}, r"problems\[0\].memory has 2 entries there, 1 here"),
    ],
)  # fmt: skip
def test_another_spec_is_refused_naming_the_difference(store: Store, changes: dict[str, Any], difference: str) -> None:
    before = shard_names(store)
    with pytest.raises(AftereffectError, match=rf"holds another experiment \({difference}\); use --fresh"):
        run_spec(spec(**changes), store.directory)
    assert shard_names(store) == before


def test_fresh_starts_over(store: Store, wanted: Spec, tmp_path: Path) -> None:
    (store.directory / "notes.txt").write_text("mine")
    (store.shards / ".part-left").write_text("torn")
    other = spec(seed=8)
    run_spec(other, store.directory, fresh=True)
    assert shard_names(store) == shard_names(run_spec(other, tmp_path / "other"))
    assert store.spec() == other
    assert (store.directory / "notes.txt").read_text() == "mine"
    assert not (store.shards / ".part-left").exists()


def test_describe_difference_ignores_words() -> None:
    assert describe_difference({"title": "a", "runs": 1}, {"title": "b", "runs": 2}) == "runs is 1 there, 2 here"
    assert describe_difference({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}) == "a.b[1] is 2 there, 3 here"
    assert describe_difference({"a": 1}, {"a": 1, "b": 2}) == "b is None there, 2 here"


# Damage.


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _edited(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _renamed(path: Path) -> None:
    path.rename(path.with_name(f"copy of {path.name}"[:-10] + ".parquet"))


@pytest.mark.parametrize("damage", [_torn, _empty, _edited, _renamed])
def test_a_damaged_shard_is_said_and_computed_again(damage: Callable[[Path], None], store: Store, wanted: Spec) -> None:
    before, undisturbed = shard_names(store), rows(store)
    damage(store.shards / before[3])
    assert not Results(store.directory).complete  # reading neither counts it nor removes it
    assert len(shard_names(store)) == len(before)
    said: list[str] = []
    run_spec(wanted, store.directory, say=said.append)
    assert len(said) == 1
    assert "was torn or edited; it is computed again" in said[0]
    assert shard_names(store) == before
    assert rows(store).equals(undisturbed)


def test_missing_shards_are_computed_again(store: Store, wanted: Spec) -> None:
    before = shard_names(store)
    for name in before[::5]:
        (store.shards / name).unlink()
    assert not Results(store.directory).complete
    run_spec(wanted, store.directory)
    assert shard_names(store) == before
    assert Results(store.directory).complete


def test_damaged_tuning_is_searched_again(tmp_path: Path) -> None:
    wanted = spec(TUNED)
    store = run_spec(wanted, tmp_path / "out")
    before, chosen = shard_names(store), Results(store.directory).tuning()
    _torn(store.shards / next(name for name in before if name.startswith("tuning")))
    (store.directory / "tuning.json").unlink()
    said: list[str] = []
    run_spec(wanted, store.directory, say=said.append)
    assert len(said) == 1
    assert shard_names(store) == before
    assert Results(store.directory).tuning() == chosen


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": "aftereffect-experiment", "version": 1}', "\udcff"]
)
def test_a_damaged_manifest_is_said(content: str, store: Store, wanted: Spec) -> None:
    store.manifest_path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(AftereffectError, match=r"manifest.json' is (damaged|not this version's)") as error:
        run_spec(wanted, store.directory)
    assert len(str(error.value).splitlines()) == 1
    run_spec(wanted, store.directory, fresh=True)
    assert Results(store.directory).complete


# Directories.


def test_an_empty_directory_is_taken(wanted: Spec, tmp_path: Path) -> None:
    assert Results(run_spec(wanted, tmp_path).directory).complete


def test_a_directory_of_something_else_is_left_alone(wanted: Spec, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(AftereffectError, match="is not empty and holds no experiment"):
        run_spec(wanted, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_shards_without_a_manifest_are_not_taken_over(store: Store, wanted: Spec) -> None:
    store.manifest_path.unlink()
    with pytest.raises(AftereffectError, match="holds no experiment"):
        run_spec(wanted, store.directory)


def test_a_start_that_was_cut_short_does_no_harm(wanted: Spec, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / ".part-abc").write_text('{"format":')
    (tmp_path / "shards" / ".part-def").write_bytes(b"PAR1")
    store = run_spec(wanted, tmp_path)
    check_whole(store, wanted, problems=2, policies=3)


def test_a_file_in_place_of_the_directory(wanted: Spec, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("a file")
    with pytest.raises(AftereffectError, match=r"cannot write into '.*out'"):
        run_spec(wanted, path)


def test_no_experiment_there(tmp_path: Path) -> None:
    with pytest.raises(AftereffectError, match="holds no experiment: No such file"):
        Results(tmp_path)


# Disks that are full or read-only.


def _failing_after(successes: int, code: int, real: Callable[..., Any]) -> Callable[..., Any]:
    left = [successes]

    def replace(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    return replace


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_stops_taking_files_loses_nothing_finished(
    call: str, code: int, wanted: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = run_spec(wanted, tmp_path / "undisturbed")
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, call, _failing_after(4, code, getattr(os, call)))
        with pytest.raises(AftereffectError, match=f"cannot write into '.*': {os.strerror(code)}; finished") as error:
            run_spec(wanted, out, executor=Threads(2))
    assert len(str(error.value).splitlines()) == 1
    kept = shard_names(Store(out))
    assert len(kept) == 3  # the first file was the manifest
    assert set(kept) <= set(shard_names(undisturbed))
    assert not list(out.rglob(".part-*"))
    assert shard_names(run_spec(wanted, out)) == shard_names(undisturbed)


def test_a_directory_that_cannot_be_made(wanted: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", _failing_after(0, errno.EACCES, Path.mkdir))
    with pytest.raises(AftereffectError, match=r"cannot write into '.*out': Permission denied"):
        run_spec(wanted, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory(wanted: Spec, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(AftereffectError, match=r"cannot write into '.*': Permission denied"):
            run_spec(wanted, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_rows_of_an_experiment_that_has_not_begun(tmp_path: Path) -> None:
    frame = Store(tmp_path).frame().collect()
    assert frame.height == 0
    assert isinstance(frame, polars.DataFrame)
    assert "regret" in frame.columns
