"""The reproduction's page: one row for both readings, the paper's claims apart from ours, what is said comes from the data."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from aftereffect.experiments.run import Results
from aftereffect.report.reproduction import _page
from tests.experiments.fakes import Fake


def _verdict(name: str, statement: str, reading: str, verdict: str, ours: bool = False) -> dict[str, Any]:
    numbers = {"estimate": 1234.5, "low": -0.01234, "high": None, "statistic": "regret", "explanation": ""}
    head = {"id": name, "figures": ["negative-10"], "sentence": f"{statement} ({reading})", "statement": statement}
    return {**head, **numbers, "verdict": verdict, "reading": reading, "ours": ours}


VERDICTS = [
    _verdict("a", "Both agree.", "lemma", "holds"),
    _verdict("a2", "Both agree.", "printed", "holds"),
    _verdict("b", "They differ.", "lemma", "holds"),
    _verdict("b2", "They differ.", "printed", "fails"),
    _verdict("c", "We ask.", "", "undecided", ours=True),
]


class _Part(Fake):
    figure = "negative"
    manifest: ClassVar[dict[str, Any]] = {
        "command": "aftereffect reproduce",
        "versions": {"numpy": "1"},
        "commit": None,
    }

    @property
    def spec(self) -> Any:
        found = super().spec
        found.name, found.title, found.caption, found.seed, found.runs = f"negative-{self.horizon}", "T", "C", 17, 2
        return found


def _lines() -> list[str]:
    parts = [_Part({("p", "us"): np.zeros(20)}, horizon=h) for h in (10, 30)]
    return "\n".join(_page(cast(list[Results], parts), VERDICTS, ["negative"])).splitlines()


def test_readings_share_a_row_and_ours_are_apart() -> None:
    lines = _lines()
    papers, ours = lines.index("## The paper's claims"), lines.index("## Questions of our own")
    assert "**2: 1 hold, 1 differ between the readings.**" in lines[papers:ours]
    row = "| They differ. | lemma: 1,234 [-0.0123, ?]<br>printed: 1,234 [-0.0123, ?] | **holds**<br>**fails** |"
    assert row in lines[papers:ours]
    assert "**1: 1 undecided.**" in lines[ours:]
    assert "| We ask. | 1,234 [-0.0123, ?] | **undecided** |" in lines[ours:]


def test_thresholds_commands_runs_and_seeds_are_said() -> None:
    text = " ".join(_lines())
    for words in ("within 25%", "within 5%", "1.5 times", "`aftereffect reproduce`", "10 instances x 2 runs, seed 17."):
        assert words in text
    assert sum("- **" in line for line in _lines()) == len(VERDICTS)  # a figure of several experiments has each once
