"""Wrong command lines, made from right ones by slips of the hand: exit code 2, one line on standard error, nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aftereffect.errors import AftereffectError
from tests.cli.conftest import Run
from tests.experiments.specs import SMALL

LINES = (
    "problems --json",
    "policies --json",
    "simulate --problem gaussian:arms=2,memory=0.4 --policy d-ucb --horizon 50 --runs 2 --seed 1 --threads 1 --checkpoints 5",
    "simulate --problem tent --policy phased:inner=cucb(zero=true),memory=0.4 --horizon 1e3 --runs 1 --instances 2 --json",
    "run spec.toml --out out --threads 1 --quiet --band sd",
    "run spec.toml --check",
    "run spec.toml --shard 1/2 --scheduler local:1",
    "reproduce fig1 --scale quick --out out --threads 2",
    "report out --band ci",
    "arena --quick --policy d-ucb --seed 3 --out out --docs page.md",
    "plan --arms 3 --horizon 1e5 --memory 0.4 --estimation 0.2 --lipschitz 1 --out plan.png",
    "frontier --problem lending --levels 20 --out out",
    "learn records.csv --memory-bound 0.9 --floor north=0.1 --cap south=0.8 --out out --json",
    "program create loans --arms north,south --policy d-ucb --units 300 --store sqlite:///s.db --json",
    "program ask loans --store sqlite:///s.db --json",
    "program deploy loans north=0.5 south=0.5 --store sqlite:///s.db",
    "program tell loans north=0.5 --round 1 --store sqlite:///s.db",
    "program limits loans --floor north=0.1 --store sqlite:///s.db",
    "program log loans --limit 5 --store sqlite:///s.db",
    "program audit loans --store sqlite:///s.db",
    "token create --role viewer --program loans --store sqlite:///s.db",
    "serve --store sqlite:///s.db --host 127.0.0.1 --port 8337 --quiet",
)

ODD = (
    "", " ", "-", "--", "-1", "0", "0.5", "1.5", "nan", "inf", "-inf", "1e999999999", "9" * 400, "x", "ü☃",
    "a\nb", "\x00", "\udcff", "x" * 300,
    "[", "]", "((((", "gaussian:", "gaussian:arms=0", "gaussian:memory=2", "gaussian:arms=2,arms=3",
    "d-ucb:discount=7", "d-ucb:=", ":", "=",
    "None", "true", "../..", "/dev/null", "/dev/zero", "/", "1/0", "3/2", "tcp://", "{{}}", "%s", "*", "~", "$HOME", "\u202e",
)  # fmt: skip


class WouldRun(AftereffectError):
    """A line that is right after all: nothing is to be computed here."""


@pytest.fixture
def _nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise WouldRun("it would run")

    for place in (
        "cli.request.Request.run",
        "cli.experiments.run_spec",
        "cli.experiments.reproduce",
        "cli.experiments.load_experiments",
        "cli.arena.run_arena",
        "cli.frontier.frontier_document",
        "cli.planning.plan",
        "cli.learn.fit",
        "service.run.serve",
    ):
        monkeypatch.setattr(f"aftereffect.{place}", stop)
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(SMALL)
    Path("records.csv").write_text("round,arm,share,reward\n1,north,0.5,0.5\n1,south,0.5,0.25\n")
    Path("out").mkdir()


def wrong_lines(seed: int) -> Iterator[list[str]]:
    """Endlessly many lines with one to three slips each."""
    chance = random.Random(seed)
    while True:
        words = chance.choice(LINES).split()
        for _ in range(chance.choice((1, 1, 2, 3))):
            words = _slip(words, chance)
        yield words


def _slip(words: list[str], chance: random.Random) -> list[str]:
    if not words:
        return [chance.choice(ODD)]
    i = chance.randrange(len(words))
    word, slip = words[i], chance.randrange(7)
    if slip == 0:
        return words[:i] + words[i + 1 :]
    if slip == 1:
        return [*words[:i], word, *words[i:]]
    if slip == 2:
        return [*words[:i], chance.choice(ODD), *words[i:]]
    if slip == 3 and len(word) > 1:
        j = chance.randrange(len(word))
        return [*words[:i], word[:j] + chance.choice("x-=:,.0 ") + word[j + 1 :], *words[i + 1 :]]
    if slip == 4 and word.startswith("--"):
        return [*words[:i], f"{word}={chance.choice(ODD)}", *words[i + 1 :]]
    if slip == 5:
        j = chance.randrange(len(words))
        words = list(words)
        words[i], words[j] = words[j], words[i]
        return words
    return [*words[:i], chance.choice(ODD), *words[i + 1 :]]


def _check_lines(run: Run, count: int, seed: int) -> None:
    wrong = 0
    for words in wrong_lines(seed):
        outcome = run(*words)
        if outcome.code == 0 or "it would run" in outcome.err:
            continue  # the slip changed nothing that matters, or asks for help
        assert outcome.code == 2, words
        assert outcome.out == "", words
        assert outcome.err.startswith("aftereffect: "), words
        assert outcome.err.endswith("\n"), words
        assert outcome.err.count("\n") == 1, words
        assert "Traceback" not in outcome.err, words
        wrong += 1
        if wrong == count:
            return


@pytest.mark.usefixtures("_nothing_runs")
def test_500_wrong_lines(run: Run) -> None:
    _check_lines(run, 500, seed=1)


@pytest.mark.soak
@pytest.mark.usefixtures("_nothing_runs")
def test_3000_wrong_lines(run: Run) -> None:
    _check_lines(run, 3_000, seed=2)
