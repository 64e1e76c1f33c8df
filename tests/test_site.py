"""The site builds, strictly: no broken link, every public name in the reference. Needs the group `docs`."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import aftereffect as ae

ROOT = Path(__file__).parent.parent


@pytest.mark.soak
def test_the_site_builds_with_every_public_name(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "api.html").read_text()
    missing = [name for name in ae.__all__ if f'.{name}"' not in reference]
    assert missing == []
    assert f"Aftereffect {version('aftereffect')}" in reference
