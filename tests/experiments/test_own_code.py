"""Experiments with policies and problems of a user's own: known everywhere, and old code's results are never taken for new."""

from __future__ import annotations

import importlib
import json
import subprocess
from pathlib import Path

import polars
import pytest

from tests.forked import run_python
from tests.own_code import restored_names, spec_of, write_module

__all__ = ["restored_names"]

SIMULATE = "simulate --problem mine-world:arms=3 --policy mine --horizon 50 --runs 2 --json"


def command(*arguments: str | Path, where: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which loads modules as they are now."""
    return run_python(["-m", "aftereffect", *map(str, arguments)], where)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_module(tmp_path, "mine")
    (tmp_path / "mine.toml").write_text(spec_of("mine"))
    return tmp_path


def last_regrets(folder: Path) -> dict[str, float]:
    frame = polars.read_parquet(folder / "out/mine/shards/main-*.parquet").filter(polars.col("round") == 60)
    return dict(frame.group_by("policy").agg(polars.col("regret").mean()).iter_rows())


def test_edited_code_is_refused_and_fresh_gives_new_numbers(folder: Path) -> None:
    assert command("run", "mine.toml", "--quiet", where=folder).returncode == 0
    before = last_regrets(folder)
    manifest = json.loads((folder / "out/mine/manifest.json").read_text())
    assert manifest["imports"] == ["mine"]
    assert {name.partition(":")[0] for name in manifest["sources"]} == {"mine", "mine-world"}

    assert command("run", "mine.toml", "--quiet", where=folder).returncode == 0  # nothing to do
    assert last_regrets(folder) == before
    (folder / "mine_helper.py").write_text("SHARE = 0.35\n")
    done = command("run", "mine.toml", "--quiet", where=folder)
    assert done.returncode == 2
    assert "was begun with another version of the code of mine" in done.stderr
    assert done.stderr.count("\n") == 1
    (folder / "more.toml").write_text(spec_of("mine").replace("runs = 2", "runs = 3"))
    grown = command("run", "more.toml", "--out", "out/mine", "--quiet", where=folder)
    assert grown.stderr == done.stderr  # not that it has more runs, which would be fine

    report = command("report", "out/mine", where=folder)  # what is there can still be shown
    assert report.returncode == 0, report.stderr
    assert command("run", "mine.toml", "--quiet", "--fresh", where=folder).returncode == 0
    after = last_regrets(folder)
    assert after["mine"] != before["mine"]
    assert after["round-robin"] == before["round-robin"]


def test_workers_import_what_they_need(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aftereffect.experiments.executors import DaskCluster, Threads
    from aftereffect.experiments.run import run_spec
    from aftereffect.experiments.spec import load_spec

    monkeypatch.chdir(folder)
    write_module(folder, "for_workers")
    (folder / "mine.toml").write_text(spec_of("for_workers"))
    spec = load_spec("mine.toml")
    here = run_spec(spec, folder / "here", executor=Threads(1))
    there = run_spec(spec, folder / "there", executor=DaskCluster("local:1"))
    assert [p.name for p in sorted(here.shards.iterdir())] == [p.name for p in sorted(there.shards.iterdir())]


def test_a_worker_with_other_sources_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aftereffect.errors import AftereffectError
    from aftereffect.experiments.plan import Plan
    from aftereffect.experiments.shards import compute
    from aftereffect.experiments.spec import load_spec

    monkeypatch.syspath_prepend(tmp_path)
    write_module(tmp_path, "elsewhere")
    (tmp_path / "mine.toml").write_text(spec_of("elsewhere"))
    task = next(t for t in Plan(load_spec(tmp_path / "mine.toml")).main_tasks({}) if t.policy == "elsewhere")
    compute(task)
    write_module(tmp_path, "elsewhere", share=0.55)
    importlib.reload(importlib.import_module("elsewhere"))
    with pytest.raises(AftereffectError, match="the modules elsewhere are not the same where this is computed"):
        compute(task)


def test_every_command_takes_import(folder: Path) -> None:
    done = command(*SIMULATE.split(), "--import", "mine", where=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["policies"][0]["policy"] == "mine"
    known = json.loads(command("--import=mine", "policies", "--json", where=folder).stdout)
    assert "mine" in str(known)
    assert "mine-world" in command("problems", "--import", "mine", where=folder).stdout
    assert "unknown problem 'mine-world'" in command(*SIMULATE.split(), "--import", "json", where=folder).stderr
    for wrong in (["policies", "--import"], ["policies", "--import", "--json"]):
        refused = command(*wrong, where=folder)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "--import needs the name of a module" in refused.stderr
