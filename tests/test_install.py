"""The wheel in empty environments: every supported Python that is here, every extra by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
FIRST_USE = {  # of each extra
    "cluster": "import distributed",
    "tune": "import optuna, aftereffect.experiments.multipliers",
    "gym": "import aftereffect.gym",
    "xarray": "import xarray",
    "postgres": "import psycopg",
    "service": "import aftereffect.service.app",
}
SIMULATE = [
    "simulate",
    "--problem",
    "patrol:arms=2,memory=0.4",
    "--policy",
    "d-ucb",
    "--horizon",
    "50",
    "--runs",
    "2",
    "--seed",
    "1",
    "--json",
]


def _run(*command: str | Path, where: Path) -> str:
    """Out of the checkout, and with no sources of it on the path."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV_"))}
    done = subprocess.run([*map(str, command)], cwd=where, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _python(version: str) -> str | None:
    """An interpreter of this version that really runs."""
    known = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    for found in filter(None, (shutil.which(f"python{version}"), *map(str, known))):
        if subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, ROOT, where=out)
    [built] = out.glob("aftereffect-*.whl")
    return built


def _empty(python: str, where: Path) -> Path:
    _run(python, "-m", "venv", where / "env", where=where)
    return where / "env" / "bin"


@pytest.mark.soak
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_an_empty_environment(version: str, wheel: Path, tmp_path: Path) -> None:
    python = _python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    bin_ = _empty(python, tmp_path)
    _run(bin_ / "pip", "install", "--quiet", wheel, where=tmp_path)
    document = json.loads(_run(bin_ / "aftereffect", *SIMULATE, where=tmp_path))
    assert document["policies"][0]["policy"] == "d-ucb"
    shown = _run(
        bin_ / "python", "-c", "import aftereffect as ae; print(ae.__file__, ae.recommended(2))", where=tmp_path
    )
    assert str(tmp_path) in shown


@pytest.mark.soak
@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_an_extra_can_be_installed_by_itself(extra: str, wheel: Path, tmp_path: Path) -> None:
    bin_ = _empty(sys.executable, tmp_path)
    _run(bin_ / "pip", "install", "--quiet", f"{wheel}[{extra}]", where=tmp_path)
    _run(bin_ / "python", "-c", FIRST_USE[extra], where=tmp_path)


def test_every_extra_has_a_first_use() -> None:
    assert FIRST_USE.keys() == PROJECT["optional-dependencies"].keys()
