"""What code of a user's own results were computed with."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import aftereffect as ae
from aftereffect._sources import modules_of, own_hash, take_sources
from tests.own_code import restored_names, write_module

__all__ = ["restored_names"]


def test_what_is_the_librarys_has_no_hash() -> None:
    assert own_hash(ae.policy("d-ucb"), ae.CUCB, ae.problem, ae.Gaussian(0.5), None, [1.0, "word"]) == ""
    assert modules_of(ae.policy("d-ucb")) == []


FILES = {
    "pack/__init__.py": "",
    "pack/top.py": "import json\nimport numpy\nfrom .near import f\nfrom pack import side\ndef top(): from far import g\n",
    "pack/near.py": "def f(): return 1\n",
    "pack/side.py": "S = 1\n",
    "pack/unused.py": "U = 1\n",
    "far.py": "import deeper\ng = 1\n",
    "deeper.py": "D = 1\n",
    "bystander.py": "B = 1\n",
}


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "pack").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pack", "pack.top", "pack.near", "pack.side", "far", "deeper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("pack.top")


@pytest.mark.parametrize("edited", FILES)
def test_a_hash_follows_all_that_is_imported_and_nothing_else(edited: str, top: ModuleType, tmp_path: Path) -> None:
    take_sources("pack.top")
    before = own_hash(top.top)
    (tmp_path / edited).write_text(FILES[edited] + "# edited\n")
    take_sources("pack.top")
    assert (own_hash(top.top) != before) == (edited not in ("pack/unused.py", "bystander.py"))


def test_an_edit_counts_from_when_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_module(tmp_path, "edited_late", share=0.7)
    module = importlib.import_module("edited_late")
    before = own_hash(ae.policy("edited-late"))
    write_module(tmp_path, "edited_late", share=0.123)
    assert own_hash(ae.policy("edited-late")) == before
    importlib.reload(module)
    assert own_hash(ae.policy("edited-late")) != before
    assert modules_of(ae.policy("edited-late")) == ["edited_late"]


def test_inner_policies_responses_and_functions_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_module(tmp_path, "inner_one")
    importlib.import_module("inner_one")
    phased = ae.Phased(inner=ae.policy("inner-one"), memory=0.4)
    assert own_hash(phased)
    assert modules_of(phased) == ["inner_one"]
    assert own_hash(ae.Problem([lambda x: 0.5 * x, ae.Gaussian(0.5)]))
    assert not own_hash(ae.problem("gaussian"))


def test_code_in_no_file_is_known_by_what_it_does() -> None:
    found = []
    for number in (1, 2, 1):
        space: dict[str, object] = {"__name__": "a_notebook"}
        exec(f"def response(x):\n    return {number} * x / 9", space)
        found.append(own_hash(space["response"]))
    assert found[0] == found[2] != found[1]
