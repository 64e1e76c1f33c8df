"""The disk cache of kernels: keyed by the sources, and nobody else's settings are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import pytest

from aftereffect import _compile


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of ours."""
    for name in ("_compile.py", "model/world.py", "cli/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(_compile, "__file__", str(tmp_path / "_compile.py"))
    return tmp_path


def _hash() -> str:
    return _compile.source_hash.__wrapped__()


def test_the_hash_notices_an_edit_anywhere_kernels_live(package: Path) -> None:
    before = _hash()
    assert _hash() == before
    (package / "model" / "world.py").write_text("x = 2\n")
    assert _hash() != before


def test_the_hash_notices_a_new_and_a_renamed_file(package: Path) -> None:
    before = _hash()
    (package / "model" / "other.py").write_text("x = 1\n")
    added = _hash()
    (package / "model" / "other.py").rename(package / "model" / "third.py")
    assert len({before, added, _hash()}) == 3


def test_the_hash_depends_on_numba(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _hash()
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    assert _hash() != before


def test_the_cache_is_named_after_the_sources() -> None:
    directory, _ = _compile.cache_directory()
    assert directory is not None
    assert directory.name == _compile.source_hash()


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
