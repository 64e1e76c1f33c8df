"""Policies and problems that the tests of simulator, agent, storage and conformance run through."""

from __future__ import annotations

import aftereffect as ae
from aftereffect.model.feedback import Feedback
from aftereffect.policies.base import registry

OURS = {name: cls for name, cls in sorted(registry().items()) if cls.__module__.startswith("aftereffect.")}


def _startable(policy: ae.Policy) -> ae.Policy:
    """Agents need the memory that examples leave open."""
    open_ = policy.parameters.get("memory", 0.4) is None
    return ae.policy(policy.name, **{**policy.parameters, "memory": 0.4}) if open_ else policy


EXAMPLES = [_startable(policy) for cls in OURS.values() for policy in cls.examples()]
POLICIES: list[ae.Policy] = [
    *EXAMPLES,
    ae.Phased(ae.UCB1(), 0.5, estimation=0.5),
    ae.Phased(ae.Exp3(), 0.4),
    ae.Phased(ae.Thompson(), approach=2),
]
IDS = [p.key for p in POLICIES]

FEEDBACKS: tuple[Feedback, ...] = ("independent", "one", "split")

assert {p.name for p in POLICIES} == set(OURS), "a policy of the package gives examples"
