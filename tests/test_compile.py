"""The disk cache of kernels: keyed by the sources, and nobody else's settings are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import pytest

from aftereffect import _compile

KERNELS = "from aftereffect._compile import kernel\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of ours: a module with kernels, and rooms without."""
    files = {
        "_compile.py": "",
        "model/world.py": KERNELS + "x = 1\n",
        "model/codes.py": "ONE: int = 1\nTWO, THREE = 2, 3\n",
        "experiments/plan.py": "def plan():\n    return 1\n",
        "cli/app.py": "x = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(_compile, "ROOT", tmp_path)
    return tmp_path


def _hashes() -> tuple[str, str]:
    return _compile.kernel_hash.__wrapped__(), _compile.results_hash.__wrapped__()


@pytest.mark.parametrize(
    ("name", "text", "recompiles", "recomputes"),
    [
        ("model/world.py", KERNELS + "x = 2\n", True, True),
        ("model/codes.py", "ONE: int = 7\nTWO, THREE = 2, 3\n", True, True),
        ("model/codes.py", "ONE: int = 1\nTWO, THREE = 2, 4\n", True, True),
        ("model/codes.py", "ONE: int = 1\nTWO, THREE = 2, 3\ndef name(): ...\n", False, True),
        ("model/new.py", KERNELS, True, True),
        ("experiments/plan.py", "def plan():\n    return 2\n", False, True),
        ("__init__.py", "__all__ = ['plan']\n", False, True),
        ("cli/app.py", "x = 2\n", False, False),
    ],
)
def test_an_edit_starts_anew_what_it_can_change_and_no_more(
    package: Path, name: str, text: str, recompiles: bool, recomputes: bool
) -> None:
    kernels, results = _hashes()
    assert _hashes() == (kernels, results)
    (package / name).write_text(text)
    after = _hashes()
    assert (after[0] != kernels, after[1] != results) == (recompiles, recomputes)


def test_a_renamed_module_starts_anew(package: Path) -> None:
    before = _hashes()
    (package / "model" / "world.py").rename(package / "model" / "third.py")
    assert all(a != b for a, b in zip(before, _hashes(), strict=True))


def test_kernels_depend_on_numba(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _hashes()
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    assert _hashes()[0] != before[0]


def test_the_cache_is_named_after_the_sources() -> None:
    directory, _ = _compile.cache_directory()
    assert directory is not None
    assert directory.name == _compile.kernel_hash()


def test_the_users_cache_directory_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "the users own")

    def double(x: float) -> float:
        return 2.0 * x

    compiled = _compile.kernel(double)
    config: Any = numba.config
    assert config.CACHE_DIR == "the users own"
    assert compiled(1.5) == 3.0


def test_kernels_are_kept_on_disk_and_uncached_ones_are_not() -> None:
    from aftereffect.simulation import kernel

    kept = kernel._compiled._cache  # type: ignore[attr-defined]
    assert kept.cache_path == str(_compile.cache_directory()[0])
    assert type(kernel._foreign._cache).__name__ == "NullCache"  # type: ignore[attr-defined]


def test_without_annotations_keeps_everything_else() -> None:
    def example(x: int, y: int = 3) -> int:
        return x + y

    bare = _compile.without_annotations(example)
    assert bare.__annotations__ == {}
    assert bare(1) == 4
    assert (bare.__name__, bare.__module__) == (example.__name__, example.__module__)
