"""The constants of the curve family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments.sensitivity import Retuned
from aftereffect.policies.curves.fit import book, renew_scale
from aftereffect.policies.curves.state import TUNED, CurvesState, tuning_record, wariness
from aftereffect.policies.saving import agent_text
from aftereffect.policies.storage import read_agent

NAN = float("nan")
LATE = ("ease", "growth")  # constants that matter once most is known: a few units a round tell it sooner
FAR = ("ahead", "unsure", "unlucky", "foresight")  # constants that matter where a long horizon was told
PATIENT = ("unsure", "unlucky", "foresight")  # and only after thousands of rounds


def test_the_constants_are_one_record() -> None:
    record = tuning_record(500, caution=2.5)[0]
    assert {n: float(record[n]) for n in record.dtype.names} == {**TUNED, "caution": 2.5, "horizon": 500.0, "out": 0.0}
    assert tuning_record()[0]["horizon"] == 0.0


def _seen(units: float, rate: float) -> CurvesState:
    """An arm of two was seen for so many units at one half, and neither anywhere else; the other for as many."""
    state = ae.CurveThompson(memory=0.3, levels=20).start(2, seed=1).state
    for k in range(2):
        book(state.banks[0], k, 0.5, units, rate, rate * (1.0 - rate), 0.0)
    renew_scale(state.banks[0], state.belief[0])
    return state  # type: ignore[no-any-return]


def test_caution_is_larger_while_little_was_seen() -> None:
    """Three times as large before anything was, half of the rest gone after eight coins an arm."""
    assert wariness(ae.CurveThompson(memory=0.3).start(2, seed=1).state) == pytest.approx(3.0)
    assert wariness(_seen(8.0, 0.5)) == pytest.approx(2.0)
    assert wariness(_seen(1e6, 0.5)) == pytest.approx(1.0, abs=1e-4)


def test_caution_is_larger_while_rewards_are_out() -> None:
    """By a tenth for every round, three times as large at most."""
    state = _seen(1e6, 0.5)
    for rounds, times in ((1, 1.1), (5, 1.5), (20, 3.0), (300, 3.0), (0, 1.0)):
        ae.CurveThompson(memory=0.3).await_rewards(state, rounds)
        assert wariness(state) == pytest.approx(times, abs=1e-4)


def test_at_low_rates_it_takes_as_many_successes() -> None:
    """400 units at two percent tell what 8 at one half do, but for what a coin's variance lacks of its mean."""
    assert wariness(_seen(400.0, 0.02)) == pytest.approx(wariness(_seen(8.0, 0.5)), rel=0.02)


def _asked(constant: str, factor: float) -> list[list[float]]:
    """What is deployed in a world where one arm tires, with a constant multiplied."""
    policy = Retuned(
        memory=0.3,
        levels=20,
        driver="realised" if constant == "exploring" else "intended",
        constant=constant,
        factor=factor,
    )
    horizon = 10**6 if constant in FAR else None
    agent, random, asked = policy.start(2, horizon=horizon, seed=3), np.random.default_rng(3), []
    waiting: list[dict[str, Any]] = []
    units, rounds = (4, 3_000) if constant in LATE else (1, 12_000 if constant in PATIENT else 700)
    for _ in range(rounds):
        p = agent.ask()
        asked.append(p.tolist())
        rewards = random.binomial(units, [0.9 - 0.6 * p[0], 0.7]) / units
        seen = random.random(2) < p
        known: dict[str, Any] = {"rewards": np.where(seen, rewards, NAN), "trials": units * seen}
        if constant != "late":
            agent.tell(**known)
            continue
        waiting.append({**known, "round": agent.deploy()})
        if len(waiting) > 8:
            agent.tell(**waiting.pop(0))
    return asked


@pytest.mark.parametrize("constant", TUNED)
def test_every_constant_is_read(constant: str) -> None:
    """A hundred times as large or a tenth, other allocations are deployed: a constant that changes none has no place here."""
    usual = _asked(constant, 1.0)
    assert any(_asked(constant, factor) != usual for factor in (100.0, 0.1))


def test_a_file_outlives_a_change_of_the_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = ae.CurveThompson(memory=0.3, levels=20).start(2, seed=1)
    agent.ask()
    agent.tell([1.0, 0.0])
    text = agent_text(agent)
    monkeypatch.setitem(TUNED, "turn", 0.9)
    assert float(read_agent(text, "saved").state.tuning[0]["turn"]) == 0.9
