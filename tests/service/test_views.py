"""What the page draws, against what the record says."""

from __future__ import annotations

import pytest
from starlette.datastructures import FormData

from aftereffect.errors import AftereffectError
from aftereffect.service import forms
from aftereffect.service.views import charts, program_view
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


def test_money_is_drawn_as_money(service: Service) -> None:
    service.send(
        "chief",
        "POST",
        "/api/programs",
        json={"name": "shops", "arms": ARMS, "policy": "curve-thompson:memory=0.5", "reward_range": [100, 500]},
    )
    program, plain = service.store.program("shops"), service.store.create("p", ARMS, policy="curve-thompson:memory=0.5")
    for one, rewards in ((program, [300.0, 200.0, 400.0]), (plain, [0.5, 0.25, 0.75])):
        one.ask()
        one.tell(rewards, trials=[50, 50, 50], allocation=[0.5, 0.3, 0.2])
        one.ask()
    here, there = charts(program), charts(plain)
    for ours, usual in zip(here["curves"], there["curves"], strict=True):
        for part in ("estimate", "low", "high"):
            assert ours[part] == pytest.approx([100 + 400 * value for value in usual[part]])
        assert [value for value in ours["seen"] if value] == pytest.approx(
            [100 + 400 * value for value in usual["seen"] if value is not None]
        )
    *_, rewards, earned = here["time"]
    assert [line["values"] for line in rewards["lines"]] == [[300.0], [200.0], [400.0]]
    values = {line["label"]: line["values"][0] for line in earned["lines"]}
    assert values["achieved"] == pytest.approx(290)
    assert all(100 <= value <= 500 for value in values.values())
    shown = service.send("chief", "GET", "/api/programs/shops").json()
    assert shown["reward_range"] == [100, 500]
    said = program_view(program)
    assert f"{program.explain()['expected']:.4g}" in " ".join(said["reason"])
    assert said["events"][1]["words"].endswith(
        "told north 300 (50 trials), centre 200 (50 trials), south 400 (50 trials)"
    )


def test_what_people_type_in_money(service: Service) -> None:
    program = service.store.create("shops", ARMS, policy="thompson-split", reward_range=(0, 500))
    form = FormData([("round", "1"), ("reward", "12400"), ("trials", "120"), ("reward", "0"), ("trials", "3")])
    assert forms.told(program, form)["rewards"] == {"north": pytest.approx(12400 / 120), "centre": 0.0}
    with pytest.raises(AftereffectError, match="'north' has 2 trials, so its total lies between 0 and 1000, got 1001"):
        forms.told(program, FormData([("round", "1"), ("reward", "1001"), ("trials", "2")]))
    assert forms.reward_range(FormData([("lowest", " "), ("highest", "")])) is None
    assert forms.reward_range(FormData([("lowest", "-5"), ("highest", "500")])) == (-5.0, 500.0)
    with pytest.raises(AftereffectError, match="the highest reward must be a number, got ''"):
        forms.reward_range(FormData([("lowest", "0")]))


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
