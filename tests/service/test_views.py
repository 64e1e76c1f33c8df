"""What the page draws, against what the record says."""

from __future__ import annotations

import pytest

from aftereffect.service.views import charts
from tests.service.conftest import ARMS, Service


def test_the_charts_over_time_are_the_record(service: Service) -> None:
    program = service.store.create("curves", ARMS, policy="curve-thompson:memory=0.5")
    splits = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]
    for split in splits:
        program.ask()
        program.tell([0.6, 0.5, 0.4], trials=[50, 50, 50], allocation=split)
    shares, impacts, rewards, earned = charts(program)["time"]
    assert [line["values"] for line in shares["lines"]] == [list(arm) for arm in zip(*splits, strict=True)]
    for k, line in enumerate(impacts["lines"]):  # sums of 0.5^age x share over sums of 0.5^age
        expected = [
            sum(0.5 ** (t - s) * splits[s][k] for s in range(t + 1)) / sum(0.5**age for age in range(t + 1))
            for t in range(3)
        ]
        assert line["values"] == pytest.approx(expected)
    assert [line["values"] for line in rewards["lines"]] == [[0.6] * 3, [0.5] * 3, [0.4] * 3]
    achieved = {line["label"]: line["values"] for line in earned["lines"]}
    assert achieved["achieved"] == pytest.approx([0.53, 0.47, 0.52])
    assert all(0.4 < value < 0.6 for value in achieved["even split, by today's curves"])


def test_the_curves_are_those_of_the_explanation(service: Service) -> None:
    program = service.store.create("believed", ARMS, policy="curve-thompson:memory_bound=0.9,levels=100")
    for split in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]):
        program.ask()
        program.tell([0.6, 0.5, 0.4], trials=[50, 50, 50], allocation=split)
    program.ask()
    for arm, drawn in zip(program.explain()["arms"], charts(program)["curves"], strict=True):
        at = drawn["share"].index(pytest.approx(arm["share"]))
        assert drawn["estimate"][at] == pytest.approx(arm["estimate"])
        wide = [min(1, max(0, arm["estimate"] + side * 1.96 * arm["deviation"])) for side in (-1, 1)]
        assert [drawn["low"][at], drawn["high"][at]] == pytest.approx(wide)
        assert any(y is not None for y in drawn["seen"])


def test_without_curves_there_is_no_even_split_and_no_impact(service: Service) -> None:
    program = service.store.program("calls")
    program.ask()
    program.tell([0.5, 0.5])
    found = charts(program)
    assert found["curves"] == []
    assert [chart["title"] for chart in found["time"]] == ["Shares deployed", "Rewards told", "Expected and achieved"]
    assert len(found["time"][-1]["lines"]) == 2
