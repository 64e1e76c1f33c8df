"""The robustness page: one section can be measured again without the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aftereffect.experiments.robustness import Bands, Changes, FalseAlarms, QuietRewards
from aftereffect.report import robustness_page as page


def _written(monkeypatch: pytest.MonkeyPatch, docs: Path, *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["robustness_page", "--docs", str(docs), *arguments])
    page.main()
    return (docs / "robustness.md").read_text()


def test_a_section_is_measured_again_and_the_others_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times: list[str] = []

    def section(name: str) -> str:
        times.append(name)
        return f"## {page.SECTIONS[name][0]}\n\n{name}, measured for the {len(times)}th time"

    fake = {name: (title, lambda name=name: section(name)) for name, (title, _) in page.SECTIONS.items()}
    monkeypatch.setattr(page, "SECTIONS", fake)
    first = _written(monkeypatch, tmp_path)
    assert list(page.sections_of(first)) == [title for title, _ in fake.values()]
    again = _written(monkeypatch, tmp_path, "--section", "change")
    assert times == [*fake, "change"]
    assert again == first.replace("change, measured for the 6th time", "change, measured for the 8th time")


def test_titles_are_those_of_the_sections() -> None:
    change = page.changes_section([Changes("loan", 100.0, 80.0, 60.0, 40.0, 8)], 20_000)
    assert "| loan | 100 | 80 | 1.25 | 60 | 40 | 1.50 |" in change
    noise = page.noise_section([Bands("x", 208, 0.95, 40)], [QuietRewards("loan", 3.0, 2.0, 4)], 260, 0.02)
    assert "| all | 3.00 | 2.00 | 1.50 | 4 |" in noise
    assert "625 trials" in noise
    false = page.false_alarms_section([FalseAlarms("30 units", 200, 0.05, (0.0, 0.1), 0.5, 0.9, 20)])
    assert "| all | 200 | 5.0% | 0.0% | 10.0% | | | 20 |" in false
    for name, text in (("change", change), ("noise", noise), ("false-alarms", false)):
        assert list(page.sections_of("\n" + text)) == [page.SECTIONS[name][0]]
