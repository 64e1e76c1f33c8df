"""Code from outside: installed plugins and modules that a user names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import aftereffect as ae
from aftereffect import plugins
from aftereffect.errors import AftereffectError, AftereffectWarning
from tests.own_code import restored_names, write_module

__all__ = ["restored_names"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder one is in, and a `sys.path` that is put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    return tmp_path


def test_a_module_in_this_folder_is_found_behind_all_others(here: Path) -> None:
    write_module(here, "beside_me")
    (here / "json.py").write_text("raise RuntimeError")
    plugins.import_modules(["beside_me", "json"])
    assert ae.policy("beside-me").key == "beside-me"
    assert ae.problem("beside-me-world", arms=3, height=0.5).arms == 3
    assert sys.path[-1] == str(here)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name", "there is no module 'nothing_of_that_name'"),
        ("x = 1\n1 / 0", "broken_0.py, line 2: ZeroDivisionError: division by zero"),
        ("def f(:\n", "broken_0.py, line 1: SyntaxError"),
        ("import aftereffect as ae\nae.policy('d-ucbb')", "did you mean 'd-ucb'"),
    ],
)
def test_what_is_wrong_with_a_module_is_one_line(here: Path, text: str, said: str) -> None:
    (here / "broken_0.py").write_text(text)
    with pytest.raises(AftereffectError, match="cannot import 'broken_0': ") as error:
        plugins.import_modules(["broken_0"])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["../mine", "mine.py", "mine.py/", "", "a..b", "1st"])
def test_only_names_of_modules(name: str) -> None:
    with pytest.raises(AftereffectError, match="a module's name is wanted"):
        plugins.import_modules([name])


def test_the_librarys_names_cannot_be_taken(here: Path) -> None:
    with pytest.raises(AftereffectError, match="'d-ucb' is the name of a policy of this library"):

        @ae.register
        class Other(ae.PlainPolicy):
            name = "d-ucb"

    with pytest.raises(AftereffectError, match="'gaussian' is the name of a problem of this library"):
        ae.register_problem("gaussian")(lambda _, __: [])


@pytest.fixture
def installed(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two installed packages that plug in, one of them broken."""
    for name, text in (("pluggable", None), ("unpluggable", "raise OSError('no licence')")):
        if text is None:
            write_module(here, name)
        else:
            (here / f"{name}.py").write_text(text)
        info = here / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[aftereffect.plugins]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(here)
    importlib.invalidate_caches()
    plugins.load_installed.cache_clear()
    return here


def test_installed_plugins_are_known_by_name_and_a_broken_one_is_said(installed: Path) -> None:
    with pytest.warns(AftereffectWarning, match=r"plugin 'unpluggable' \(unpluggable\): .*OSError: no licence"):
        assert ae.policy("pluggable").key == "pluggable"
    assert ae.problem("pluggable-world").label == "pluggable-world"
    assert plugins.load_installed() == ("pluggable",)
