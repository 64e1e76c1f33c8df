"""Pages of the documentation that are written from what was measured elsewhere."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aftereffect._files import write_output


def write_measured(name: str, text: Callable[[Any, str], str]) -> None:
    """Command line of a page, `FILE.json [--docs DIR]`: its text from what was measured, and from the page as it was."""
    parser = argparse.ArgumentParser(description=f"Write docs/{name} from what was measured.")
    parser.add_argument("measured", type=Path)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args()
    page: Path = given.docs / name
    before = page.read_text() if page.exists() else ""
    print(write_output(page, text(json.loads(given.measured.read_text()), before).encode()))


def measured_at(part: Mapping[str, Any], seed: int | None = None) -> str:
    """With which code, and which seed where the page does not say that elsewhere: parts are measured one by one."""
    drawn = "" if seed is None else f", seed {seed}"
    return f"Measured at commit {part['commit'][:7]}{drawn}." if part.get("commit") else ""
