"""The disk cache of kernels: keyed by the sources, and nobody else's settings are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from aftereffect import _compile
from aftereffect._parts import Kernel


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of ours."""
    for name in ("model/world.py", "experiments/plan.py", "cli/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(_compile, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "recomputes"),
    [("model/world.py", True), ("model/new.py", True), ("experiments/plan.py", True), ("cli/app.py", False)],
)
def test_results_are_named_after_all_that_can_change_them(package: Path, name: str, recomputes: bool) -> None:
    before = _compile.results_hash.__wrapped__()
    assert _compile.results_hash.__wrapped__() == before
    (package / name).write_text("x = 2\n")
    assert (_compile.results_hash.__wrapped__() != before) == recomputes


def test_results_notice_a_renamed_module(package: Path) -> None:
    before = _compile.results_hash.__wrapped__()
    (package / "model" / "world.py").rename(package / "model" / "third.py")
    assert _compile.results_hash.__wrapped__() != before


def test_the_users_cache_directory_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "the users own")

    def double(x: float) -> float:
        return 2.0 * x

    compiled = _compile.kernel(double)
    config: Any = numba.config
    assert config.CACHE_DIR == "the users own"
    assert compiled(1.5) == 3.0


def test_kernels_are_kept_on_disk() -> None:
    from aftereffect.simulation import kernel

    kept = kernel._compiled._cache  # type: ignore[attr-defined]
    assert kept.cache_path == str(_compile.cache_directory()[0])


def test_without_annotations_keeps_everything_else() -> None:
    def example(x: int, y: int = 3) -> int:
        return x + y

    bare = _compile.without_annotations(example)
    assert bare.__annotations__ == {}
    assert bare(1) == 4
    assert (bare.__name__, bare.__module__) == (example.__name__, example.__module__)


def test_kernels_do_without_numbas_runtime() -> None:
    """A canary: if numba refuses its private option, everything still works and is several times slower."""
    assert _compile.accepted(_compile.WITHOUT_RUNTIME, _compile.WITH_RUNTIME) is _compile.WITHOUT_RUNTIME
    assert _compile.accepted({"_no_such_option": False}, _compile.WITH_RUNTIME) is _compile.WITH_RUNTIME


def test_kernels_work_with_numbas_runtime_too() -> None:
    options: dict[str, Any] = {"forceinline": True, **_compile.WITH_RUNTIME}

    def doubled(x: float) -> float:
        return 2.0 * x

    double = _compile._compiled(doubled, **options)
    assert not isinstance(double, Kernel)
    assert _compile._compiled(lambda x: double(x) + 1.0, **_compile.WITH_RUNTIME)(1.5) == 4.0


def test_what_kernels_call_has_no_machine_code_of_its_own() -> None:
    """A canary: numba's insides are as `_parts` takes them to be."""

    @_compile.helper
    def squared(x: float) -> float:
        return x * x

    @_compile.kernel
    def total(values: Any) -> float:
        result = 0.0
        for x in values:
            result += squared(x)
        return result

    @_compile.kernel
    def both(first: Any, second: Any) -> float:
        return total(first) + total(second)

    first, second = np.array([1.0, 2.0]), np.array([3, 4], dtype=np.int32)
    assert both(first, second) == 30.0
    compiled: Any = (squared, total, both)
    assert [len(k.signatures) for k in compiled] == [0, 0, 1]
    assert total(second) == 25.0  # called from Python it gets its own
    assert [len(k.signatures) for k in compiled] == [0, 1, 1]
