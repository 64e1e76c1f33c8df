"""The package as a whole: its public names and what importing it costs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from doctest import DocTestParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import aftereffect as ae
from tests.simulation.cases import OURS

ROOT = Path(__file__).parents[1]


def test_every_public_name_can_be_had():
    for name in ae.__all__:
        assert getattr(ae, name) is not None
    assert set(ae.__all__) <= set(dir(ae))


def test_the_stub_lists_each_name_once_on_a_line_of_its_own():
    lines = (ROOT / "src/aftereffect/__init__.pyi").read_text().splitlines()
    imports = [line for line in lines if line.startswith(("from ", "import "))]
    assert imports == [f"from {home} import {name} as {name}" for name, home in ae.HOMES.items()]


def test_every_policy_is_public_and_known_by_its_name():
    for cls in OURS.values():
        assert getattr(ae, cls.__name__) is cls


@pytest.mark.parametrize("cls", OURS.values(), ids=OURS)
def test_every_policys_documentation_shows_a_number(cls: type[ae.Policy]) -> None:
    examples = DocTestParser().get_examples(cls.__doc__ or "")
    assert any(re.search(r"\d", example.want) for example in examples)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        ae.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, aftereffect; print([m for m in ('numpy', 'numba', 'matplotlib', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_recommended_takes_what_is_known_about_the_memory():
    assert ae.recommended(3, memory=0.4) == ae.CurveThompson(memory=0.4)
    assert ae.recommended(3, memory_bound=0.6) == ae.CurveThompson(memory_bound=0.6)
    assert ae.recommended(3) == ae.CurveThompson(memory_bound=0.95)
    with pytest.raises(ae.AftereffectError, match="give memory or memory_bound, not both"):
        ae.recommended(3, memory=0.4, memory_bound=0.6)


def test_levels_too_few_for_a_grid_without_zero_are_raised_and_said():
    from aftereffect.errors import AftereffectWarning

    with pytest.warns(AftereffectWarning, match="taking 6"):
        grid = ae.ActionUCB(levels=4).grid(ae.Setting(3))
    assert grid.levels == 6


def test_the_benchmark_can_start_every_policy():
    """`make bench` is not part of the checks; a new policy must not break it unnoticed."""
    for cls in OURS.values():
        assert cls.examples()[0].state(ae.Setting(2, 1000, memory=0.4)) is not None


# What others' releases can break.


def _requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    extras = (line for extra in project["project"]["optional-dependencies"].values() for line in extra)
    return [
        Requirement(line) for line in (*project["project"]["dependencies"], *extras, *groups["dev"], *groups["docs"])
    ]


def _known_good() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def test_the_known_good_set_has_every_dependency_within_its_bounds() -> None:
    known = _known_good()
    for requirement in _requirements():
        assert requirement.specifier.contains(known[canonicalize_name(requirement.name)]), str(requirement)


@pytest.mark.parametrize("name", ["numba", "typer"])
def test_where_private_parts_are_used_there_is_an_upper_bound(name: str) -> None:
    [requirement] = [r for r in _requirements() if r.name == name]
    assert any(bound.operator == "<" for bound in requirement.specifier)
