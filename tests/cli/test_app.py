"""Help, version, the lists of names, and what the command line may not import to answer quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import aftereffect as ae
from aftereffect.model.catalog import catalog
from aftereffect.plugins import import_modules
from aftereffect.policies.base import registry
from tests.cli.conftest import Run
from tests.own_code import restored_names

__all__ = ["restored_names"]

WORDLESS = """
from dataclasses import dataclass, field
from typing import ClassVar
import aftereffect as ae

@ae.register
@dataclass(frozen=True)
class Wordless(ae.PlainPolicy):
    name: ClassVar[str] = "wordless"
    inner: ae.Policy = ae.CUCB()
    weights: tuple = field(default_factory=lambda: (1, 2))

@ae.register_problem("wordless")
def wordless(random, arms, speed):
    return [ae.Gaussian(0.5)] * arms
"""


def test_without_arguments_it_shows_its_help(run: Run):
    outcome = run()
    assert (outcome.code, outcome.err) == (0, "")
    assert all(command in outcome.out for command in ("problems", "policies", "simulate"))
    assert outcome.out == run("--help").out


def test_help_of_simulate_names_every_option(run: Run):
    outcome = run("simulate", "--help")
    assert outcome.code == 0
    for option in (
        *("--problem", "--policy", "--horizon", "--runs", "--instances", "--seed"),
        *("--threads", "--checkpoints", "--json", "--out"),
    ):
        assert option in outcome.out


def test_version(run: Run):
    outcome = run("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"aftereffect {ae.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["simulate", "--help"], ["--version"], ["nonsense"]])
def test_help_and_the_like_import_nothing_heavy(arguments: list[str]):
    code = (
        "import atexit, sys\n"
        "heavy = ('numba', 'numpy', 'scipy', 'polars', 'matplotlib', 'rich')\n"
        "atexit.register(lambda: print('heavy:', [m for m in heavy if m in sys.modules], file=sys.stderr))\n"
        f"sys.argv = ['aftereffect', *{arguments!r}]\n"
        "from aftereffect.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "heavy: []"


def test_problems_lists_every_problem(run: Run):
    outcome = run("problems")
    assert (outcome.code, outcome.err) == (0, "")
    for name, entry in catalog().items():
        assert name in outcome.out
        assert all(parameter in outcome.out for parameter in entry.parameters)
    assert "memory=0.4" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_problems_as_json(run: Run):
    listed = {entry["name"]: entry for entry in json.loads(run("problems", "--json").out)}
    assert set(listed) == set(catalog())
    assert listed["tent"]["parameters"]["eps"] == 0.2
    assert listed["lending"]["parameters"]["arms"] == 4
    for entry in listed.values():
        assert {"arms", "memory", "seed", "feedback"} <= set(entry["parameters"])
        given = {k: v for k, v in entry["parameters"].items() if v is not None}
        assert ae.problem(entry["name"], **given).arms == given["arms"]  # the defaults are what they say


def test_what_users_bring_is_listed_with_or_without_words_and_defaults(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "wordless.py").write_text(WORDLESS)
    monkeypatch.syspath_prepend(tmp_path)
    import_modules(["wordless"])
    listed = {entry["name"]: entry for entry in json.loads(run("policies", "--json").out)}["wordless"]
    assert listed["parameters"] == {"inner": "cucb", "weights": [1, 2]}
    assert "wordless" in run("policies").out
    listed = {entry["name"]: entry for entry in json.loads(run("problems", "--json").out)}["wordless"]
    assert (listed["summary"], listed["required"]) == ("", ["speed"])
    assert "speed=.. (required)" in run("problems").out


def test_policies_lists_every_policy(run: Run):
    outcome = run("policies")
    assert (outcome.code, outcome.err) == (0, "")
    assert all(name in outcome.out for name in registry())
    assert "discount=0.8, xi=1" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_policies_as_json(run: Run):
    listed = {entry["name"]: entry for entry in json.loads(run("policies", "--json").out)}
    assert set(listed) == set(registry())
    assert listed["phased"]["required"] == ["inner"]
    for name, entry in listed.items():
        assert entry["summary"]
        if not entry["required"]:
            assert ae.policy(name, **entry["parameters"]) == ae.policy(name)
