"""How a plan begins: history-ucb's first phases, played."""

from __future__ import annotations

from aftereffect.model.catalog import family
from aftereffect.model.curves import Floats
from aftereffect.policies.phased import HistoryUCB
from aftereffect.simulation.planning import PlanOfRounds
from aftereffect.simulation.simulate import simulate

SHOWN = 6  # phases


def first_phases(plan: PlanOfRounds) -> tuple[Floats, Floats]:
    """Allocations and impacts, (rounds, arms), of history-ucb through its first phases on the paper's problem.

    The sweep does not look at rewards, so on any problem with this memory it is like this one. The grid is the plan's, and
    with it the phases, however few rounds are played.
    """
    policy = HistoryUCB(
        memory=plan.memory,
        estimation=plan.estimation,
        zero=plan.zero,
        levels=plan.levels,
        lipschitz=plan.lipschitz,
    )
    rounds = min(plan.horizon, SHOWN * plan.phase_length)
    problem = family("gaussian", arms=plan.arms, memory=plan.memory).draw(0)
    trace = simulate(problem, policy, rounds, runs=1, checkpoints=1, threads=1, trace=True).trace
    assert trace is not None
    return trace.allocation[0], trace.impact[0]
