"""`run`, `report` and `reproduce` where something is in the way, or a name means something: one line, the right exit code."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

from aftereffect.experiments import paper
from aftereffect.experiments.paper import Experiment, experiments_of
from aftereffect.experiments.spec import parse_spec
from tests.cli.conftest import Outcome, Run

SPEC = """\
name = "NAME"
title = "TITLE"
horizon = 50
runs = 2
checkpoints = 5

[[problems]]
family = "gaussian"
memory = 0.4

[[policies]]
policy = "round-robin"

[[policies]]
policy = "d-ucb"
TUNE
"""


def _spec(directory: Path, name: str = "mine", title: str = "", tune: bool = False) -> Path:
    path = directory / "spec.toml"
    text = SPEC.replace("NAME", name).replace("TITLE", title.replace("\\", "\\\\").replace('"', '\\"'))
    path.write_text(text.replace("TUNE", "tune = { discount = [0.7, 0.9] }" if tune else ""), encoding="utf-8")
    return path


def _one_line(outcome: Outcome, code: int = 2) -> str:
    assert outcome.code == code, outcome.err
    assert outcome.err.startswith("aftereffect: ")
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    return outcome.err


@pytest.fixture
def done(run: Run, tmp_path: Path) -> Path:
    """A finished experiment's directory."""
    out = tmp_path / "out"
    outcome = run("run", str(_spec(tmp_path)), "--out", str(out), "--threads", "1")
    assert (outcome.code, outcome.err) == (0, "")
    return out


# What an experiment is does not hang on its name.

NAMES = (
    "tuning",
    "fig1",
    "fig2a",
    "fig3d",
    "negative",
    "negative-x",
    "negative-10000",
    "options",
    "general",
    "long",
    "all",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_may_have_any_name(name: str, run: Run, tmp_path: Path) -> None:
    out = tmp_path / name
    for arguments in (("run", str(_spec(tmp_path, name)), "--out", str(out)), ("report", str(out))):
        outcome = run(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        assert (out / "figures" / f"{name}.png").exists()
        assert "holds" not in outcome.out  # the paper's claims are not judged by it
    assert json.loads((out / "verdicts.json").read_text()) == []


@pytest.mark.parametrize(
    "title", ["$", "$$", "costs $5 to $7", r"$\frac{", r"\$5", "^_{}", "a\tb", "ü 日本 \U0001f600", "%s {x} <b>"]
)
def test_a_title_may_look_like_anything(title: str, run: Run, tmp_path: Path) -> None:
    outcome = run("run", str(_spec(tmp_path, title=title)), "--out", str(tmp_path / "out"))
    assert (outcome.code, outcome.err) == (0, "")


def test_an_own_experiment_beside_the_papers_with_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"horizon": 100, "instances": 2, "runs": 2, "checkpoints": 5}

    def miniature(figure: str, scale: str) -> list[Experiment]:
        return [Experiment(figure, parse_spec({**e.spec.model_dump(), **small})) for e in experiments_of(figure, scale)]

    monkeypatch.setattr(paper, "experiments_of", miniature)
    paper.reproduce(paper.to_do(["fig2b"], "quick"), tmp_path / "out")
    assert run("run", str(_spec(tmp_path, "fig2b")), "--out", str(tmp_path / "out" / "own")).code == 0
    outcome = run("report", str(tmp_path / "out"))
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(p.name for p in (tmp_path / "out" / "figures").glob("*.png")) == ["fig2b-2.png", "fig2b.png"]
    assert [v["figures"] for v in json.loads((tmp_path / "out" / "verdicts.json").read_text())] == [["fig2b"]] * 2


def test_several_horizons_are_one_sweep(run: Run, tmp_path: Path) -> None:
    spec, out = _spec(tmp_path), tmp_path / "out"
    text = spec.read_text()
    (horizon,) = (line for line in text.splitlines() if line.startswith("horizon"))
    spec.write_text(text.replace(horizon, "horizon = [30, 60]"))
    checked = run("run", str(spec), "--check")
    assert ("mine-30: " in checked.out, "mine-60: " in checked.out) == (True, True)
    assert run("run", str(spec), "--out", str(out)).code == 0
    assert sorted(p.parent.name for p in out.glob("*/manifest.json")) == ["mine-30", "mine-60"]
    assert set(polars.read_parquet(out / "rows.parquet")["horizon"]) == {30, 60}
    assert run("report", str(out), "--against", "horizon").code == 0
    assert (out / "figures" / "regret-against-horizon.png").exists()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ("runs = 4", "mine: 4 runs of 1 instance, 50 rounds each, "),
        ("runs = 4\ninstances = 2", "mine: 2 instances x 4 runs, 50 rounds each, "),
    ],
)
def test_check_says_how_many_instances_and_no_time_that_it_does_not_know(
    run: Run, tmp_path: Path, numbers: str, said: str
) -> None:
    path = tmp_path / "spec.toml"
    lines = f'name = "mine"\nhorizon = 50\n{numbers}\nproblems = ["loan:units=100"]\n'
    path.write_text(lines + 'policies = ["d-ucb"]\n')
    out = run("run", str(path), "--check").out
    assert out.startswith(said)
    assert ": about " in out
    path.write_text(lines + 'policies = ["d-ucb", "curve-thompson"]\n')
    out = run("run", str(path), "--check").out
    assert "how long cannot be told, rounds can be thousands of times slower with curve-thompson\n" in out
    assert ": about " not in out


def test_several_experiments_do_not_go_where_one_is(run: Run, done: Path) -> None:
    spec = done.parent / "spec.toml"
    spec.write_text("seed = [1, 2]\n" + spec.read_text())
    assert "holds one experiment, not 2; choose another --out" in _one_line(run("run", str(spec), "--out", str(done)))


# Other people's directories.


@pytest.mark.parametrize(
    "arguments",
    [
        ("reproduce", "fig1"),
        ("reproduce", "fig1", "--fresh"),
        ("arena", "--quick", "--policy", "round-robin"),
        ("frontier", "--problem", "lending", "--levels", "10"),
        ("run", "spec.toml"),
        ("run", "spec.toml", "--fresh"),
    ],
)
@pytest.mark.parametrize(
    "name", ["runs.parquet", "report.html", "manifest.json", "shards/data.parquet", "fig1/notes.txt"]
)
def test_a_directory_of_something_else_is_left_alone(
    arguments: tuple[str, ...], name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _spec(tmp_path)
    mine = tmp_path / "mine" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("my own")
    before = sorted(tmp_path.rglob("*"))
    assert "mine" in _one_line(run(*arguments, "--out", "mine"))
    assert sorted(tmp_path.rglob("*")) == before
    assert mine.read_text() == "my own"


# Things in the way.


def test_names_of_300_letters(run: Run, tmp_path: Path) -> None:
    long = str(tmp_path / ("x" * 300))
    spec = str(_spec(tmp_path))
    for arguments in (
        ("run", f"{long}.toml"),
        ("run", spec, "--out", long),
        ("report", long),
        ("arena", "--quick", "--policy", "round-robin", "--out", long),
        ("arena", "--quick", "--docs", f"{long}.md"),
        ("reproduce", "fig1", "--out", long),
        ("frontier", "--problem", "lending", "--levels", "10", "--out", long),
        ("plan", "--arms", "2", "--horizon", "100", "--memory", "0.2", "--out", f"{long}.png"),
        ("simulate", "--problem", "tent", "--policy", "fixed", "--horizon", "5", "--runs", "1", "--out", f"{long}.csv"),
    ):
        assert "name too long" in _one_line(run(*arguments)), arguments


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written(run: Run, done: Path) -> None:
    done.chmod(0o500)
    try:
        assert "Permission denied" in _one_line(run("report", str(done)))
    finally:
        done.chmod(0o700)


@pytest.mark.parametrize("name", ["figures", "report.html", "verdicts.json"])
def test_something_in_the_place_of_what_is_written(name: str, run: Run, done: Path) -> None:
    path = done / name
    if path.is_dir():
        path.rename(done / "aside")
        path.write_text("a file")
    else:
        path.unlink(missing_ok=True)
        path.mkdir()
    assert str(path) in _one_line(run("report", str(done)))


@pytest.mark.parametrize("name", ["report.html", "verdicts.json", "figures", "figures/mine.png", "figures/mine.pdf"])
def test_nothing_is_written_through_a_symlink(name: str, run: Run, done: Path, tmp_path: Path) -> None:
    path, mine = done / name, tmp_path / "mine"
    if path.is_dir():
        path.rename(mine)
    else:
        path.unlink(missing_ok=True)
        mine.write_text("my own")
    path.symlink_to(mine)
    before = {p: p.stat().st_mtime_ns for p in (mine, *mine.glob("*"))}
    assert "symlink" in _one_line(run("report", str(done)))
    assert {p: p.stat().st_mtime_ns for p in (mine, *mine.glob("*"))} == before


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"searches": 3}', "null"])
def test_a_damaged_tuning_does_no_harm(content: str, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = str(_spec(tmp_path, tune=True))
    assert run("run", spec, "--out", str(out)).code == 0
    whole = (out / "tuning.json").read_text()
    (out / "tuning.json").write_text(content)
    assert run("report", str(out)).code == 0  # what was found stands in the shards
    assert run("run", spec, "--out", str(out)).code == 0
    assert (out / "tuning.json").read_text() == whole


def test_a_manifest_without_a_key(run: Run, done: Path) -> None:
    whole = json.loads((done / "manifest.json").read_text())
    for key in whole:
        (done / "manifest.json").write_text(json.dumps({k: v for k, v in whole.items() if k != key}))
        for command in (("report", str(done)), ("run", str(done.parent / "spec.toml"), "--out", str(done), "--fresh")):
            assert "manifest.json" in _one_line(run(*command))


def test_a_stray_shard_is_named_and_the_count_is_right(run: Run, done: Path) -> None:
    shards = sorted((done / "shards").iterdir())
    (done / "shards" / "mine.parquet").write_bytes(shards[0].read_bytes())
    outcome = run("report", str(done))
    assert outcome.code == 0
    assert outcome.err == "aftereffect: mine.parquet is no shard of this experiment; it is left out\n"
    shards[0].unlink()
    outcome = run("report", str(done))
    assert outcome.code == 2
    assert f"mine is not complete: {len(shards) - 1} of {len(shards)} shards are there" in outcome.err


@pytest.fixture
def _small_files_only() -> Iterator[None]:
    """As `ulimit -f` does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("_small_files_only")
def test_files_may_not_grow(run: Run, tmp_path: Path) -> None:
    _one_line(run("run", str(_spec(tmp_path)), "--out", str(tmp_path / "out")))
    target = str(tmp_path / "out.json")
    numbers = ("--horizon", "500", "--runs", "1", "--checkpoints", "300", "--json")
    outcome = run("simulate", "--problem", "tent", "--policy", "fixed", *numbers, "--out", target)
    assert outcome.code == 2
    assert "File too large" in outcome.err
    assert not list(tmp_path.rglob(".part-*"))


# Files that bite.


def test_a_key_of_very_many_parts_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    for text in (
        ".".join(["a"] * 20_000) + " = 1",
        f"[{'.'.join(['a'] * 20_000)}]",
        "x = { " + " . ".join(['"a"'] * 20_000) + " = 1 }",
        ".".join(["'a b'"] * 20_000) + " = 1",
    ):
        path.write_text(text)
        assert "more than 100 parts" in _one_line(run("run", str(path), "--check"))


def test_captions_and_numbers_may_have_dots(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    dots = "caption = 'e.g. 1.5 ... www.example.org. A. B. C. D. E. F. G. H. I. J. K. L. M. N. O. P.'\\ncheckpoints = [1, 2]\\n"
    path.write_text(dots.replace("\\n", "\n") + SPEC.replace("checkpoints = 5\n", "").replace("TUNE", ""))
    assert run("run", str(path), "--check").code == 0


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/stdin", "folder", "large"])
def test_a_spec_that_is_no_file(kind: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_bytes(b"#" * 2_000_000)
    else:
        path.symlink_to(kind)
    assert "cannot read the spec" in _one_line(run("run", str(path)))
