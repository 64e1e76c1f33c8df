"""Conformance: what every policy must do, as checks that a user's own policy can be put through.

    from aftereffect.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy(width=0.3), arms=4, feedback="split")

or, with one test for each property:

    class TestMyPolicy(PolicyConformance):
        policy = MyPolicy(width=0.3)

Every policy of this library passes. A failed check raises `AssertionError` with the policy, the check and what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from aftereffect.errors import AftereffectError, shown
from aftereffect.model.feedback import Feedback
from aftereffect.policies.base import Policy
from aftereffect.testing.checks import CHECKS
from aftereffect.testing.playing import Broken, Case

__all__ = ["CHECKS", "PolicyConformance", "check_policy"]


def check_policy(
    policy: Policy, arms: int = 3, horizon: int = 120, feedback: Feedback = "independent", seed: int = 0
) -> None:
    """Put a policy through every check of `CHECKS`; the first that fails raises `AssertionError`.

    The policy must be able to start live with these arms, horizon and feedback: what it lacks (a memory, say) it must be
    given; if it cannot start, its own error comes through.

    >>> import numpy as np
    >>> import aftereffect as ae
    >>> class Drift(ae.PlainPolicy):
    ...     name = "drift"
    ...     def arrays(self, setting):
    ...         return {"share": np.full(setting.arms, 1 / setting.arms)}
    ...     def ask(self, arrays, t, allocation):
    ...         allocation[:] = arrays["share"]
    ...     def tell(self, arrays, t, allocation, seen, reward):
    ...         arrays["share"] += 0.01 * seen * reward
    >>> check_policy(Drift(), arms=2)
    Traceback (most recent call last):
    ...
    AssertionError: drift: check 'simplex': in round 2 the shares sum to 1.01, not to 1: [0.5, 0.51]
    """
    if not isinstance(policy, Policy):
        raise AftereffectError(f"check_policy takes a policy, got {_instead(policy)}")
    case = Case(policy, arms, horizon, feedback, seed)
    case.start()
    key = policy.key or type(policy).__name__  # as it was: a broken policy may change its own parameters
    for name in CHECKS:
        _run_check(name, case, key)


def _instead(policy: object) -> str:
    return f"the class {policy.__name__}, not one of its kind" if isinstance(policy, type) else shown(policy)


def _run_check(name: str, case: Case, key: str) -> None:
    try:
        CHECKS[name](case)
    except Broken as error:
        raise AssertionError(f"{key}: check {name!r}: {error}") from None
    except Exception as error:
        raise AssertionError(f"{key}: check {name!r}: {type(error).__name__}: {error}") from error


class PolicyConformance:
    """Base of a pytest class with a test for each check: subclass it as `Test..` and say which `policy`."""

    policy: ClassVar[Policy]
    arms: ClassVar[int] = 3
    horizon: ClassVar[int] = 120
    feedback: ClassVar[Feedback] = "independent"
    seed: ClassVar[int] = 0


def _as_test(name: str) -> Callable[[PolicyConformance], None]:
    def test(self: PolicyConformance) -> None:
        case = Case(self.policy, self.arms, self.horizon, self.feedback, self.seed)
        _run_check(name, case, self.policy.key or type(self.policy).__name__)

    test.__doc__ = CHECKS[name].__doc__
    return test


for _name in CHECKS:
    setattr(PolicyConformance, "test_" + re.sub(r"\W+", "_", _name), _as_test(_name))
