"""A sample program for a first look: a year of a simulated lender, clearly marked as such."""

from __future__ import annotations

import numpy as np

from aftereffect.model.catalog import problem
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store

NAME = "sample"
ARMS = ("north", "east", "south", "west")
WEEKS = 52
LATE = 3  # weeks until repayments are known
UNITS = 300
MEMORY = 0.7
SEED = 7


def sample_program(store: Store) -> Program:
    """The sample program, made on first use: 52 weeks of 300 loans over four regions, repayments known three weeks later."""
    if any(row["name"] == NAME for row in store.programs()):
        return store.program(NAME)
    program = store.create(NAME, list(ARMS), units=UNITS, seed=SEED, by="simulation")
    world = problem("lending", arms=len(ARMS), memory=MEMORY, seed=SEED)
    chance = np.random.default_rng(SEED)
    impact, weight = np.zeros(len(ARMS)), 0.0
    came: list[tuple[int, dict[str, float], dict[str, int]]] = []
    for week in range(1, WEEKS + 1):
        program.ask(by="simulation")
        deployed = program.note_deployment(by="simulation")
        number, shares = deployed["round"], np.array(list(deployed["allocation"].values()))
        weight = 1.0 + MEMORY * weight
        impact += (shares - impact) / weight
        rates = [float(np.asarray(response(x))) for response, x in zip(world.responses, impact, strict=True)]
        loans = {arm: round(UNITS * share) for arm, share in zip(ARMS, shares, strict=True)}
        repaid = {arm: int(chance.binomial(loans[arm], rate)) for arm, rate in zip(ARMS, rates, strict=True)}
        came.append(
            (number, {a: repaid[a] / loans[a] for a in ARMS if loans[a]}, {a: n for a, n in loans.items() if n})
        )
        if week > LATE:
            number, rewards, trials = came.pop(0)
            program.tell(rewards, trials=trials, round=number, by="simulation")
    return program
