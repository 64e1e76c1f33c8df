"""The picture of an agent shows its curves, its rounds and what they earned."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae


def _told(policy: ae.Policy, rounds: int) -> ae.Agent:
    agent = policy.start(3, 200, seed=1, feedback="split", names=["north", "centre", "south"])
    for _ in range(rounds):
        shares = agent.ask()
        agent.tell(np.where(shares > 0, [0.6, 0.4, 0.5], np.nan), trials=np.where(shares > 0, 90, 0))
    return agent


@pytest.mark.parametrize(
    "policy", [ae.CurveThompson(memory_bound=0.9, levels=20), ae.FairThompson(tolerance=0.3, memory=0.5, levels=20)]
)
def test_curves_shares_and_what_was_earned(policy: ae.Policy) -> None:
    agent = _told(policy, 12)
    agent.ask()
    agent.deploy()
    figure = ae.plot(agent)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [
        "north",
        "centre",
        "south",
        "What was given, and what the past made of it",
        "Expected against achieved",
    ]
    lines = [np.asarray(line.get_ydata()) for line in (*figure.axes[4].get_lines(), figure.axes[3].get_lines()[0])]
    achieved, expected, north = lines
    deployed = agent.log.filter(agent.log["arm"] == "north")["share"].to_numpy()
    assert north.tolist() == deployed.tolist()
    earned = agent.log.filter(agent.log["round"] == 1)
    assert achieved[0] == pytest.approx(float((earned["share"] * earned["reward"]).sum()))
    assert np.isnan(achieved[-1])  # the last round is open
    assert len(expected) == 13


def test_a_policy_without_curves_shows_its_rounds() -> None:
    assert len(ae.plot(_told(ae.CUCB(levels=6), 5)).axes) == 2
    with pytest.raises(ae.AftereffectError, match="nothing to plot yet"):
        ae.plot(_told(ae.CUCB(levels=6), 0))
