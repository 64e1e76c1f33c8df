"""Policies and problems that the tests of simulator, agent, storage and conformance run through."""

from __future__ import annotations

import aftereffect as ae
from aftereffect.model.feedback import Feedback
from aftereffect.policies.base import registry

# Every registered policy at least once, options that change the rule, and phases around several of them.
POLICIES: list[ae.Policy] = [
    ae.ActionUCB(),
    ae.ActionUCB(zero=True, levels=8, scale=0.3),
    ae.OneArmUCB(),
    ae.HistoryUCB(memory=0.4),
    ae.HistoryUCB(memory=0.2, log="printed", zero=True),
    ae.HistoryUCB(memory=0.0),
    ae.CUCB(),
    ae.CUCB(clip=False, grid_for="cucb", zero=True),
    ae.KLUCB(memory=0.4),
    ae.KLUCB(memory=0.0, lipschitz=3.0, delta=0.5, levels=7),
    ae.DUCB(),
    ae.SWUCB(window=20),
    ae.UCB1(),
    ae.Thompson(),
    ae.ThompsonSplit(draws=20),
    ae.QuadraticFit(weeks=10, levels=20),
    ae.Exp3(),
    ae.Exp3(rate=0.1, deploy="distribution"),
    ae.Exp3(form="loss"),
    ae.MetaExp3(),
    ae.LipschitzUCB(),
    ae.LipschitzElimination(),
    ae.Fixed(),
    ae.RoundRobin(),
    ae.CurveThompson(memory=0.4),
    ae.FairThompson(memory=0.4, tolerance=0.1),
    ae.Phased(ae.CUCB(zero=True), 0.4),
    ae.Phased(ae.UCB1(), 0.5, estimation=0.5),
    ae.Phased(ae.Exp3(), 0.4),
    ae.Phased(ae.Thompson(), approach=2),
]
IDS = [p.key for p in POLICIES]

FEEDBACKS: tuple[Feedback, ...] = ("independent", "one", "split")

OURS = {name for name, cls in registry().items() if cls.__module__.startswith("aftereffect.")}
assert {p.name for p in POLICIES} == OURS, "a new policy belongs into this list"
