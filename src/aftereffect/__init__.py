"""Aftereffect: bandit learning when today's actions change tomorrow's rewards.

Names are imported when they are first used, so that `import aftereffect` and the command line's help are quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "aftereffect.errors": ("AftereffectError", "CorruptFile", "MissingParameter", "UnknownName", "WrongTell"),
    "aftereffect.model.responses": (
        "Bump", "Gaussian", "LinearDecline", "Response", "SaturatingRise", "Scaled", "Table", "Tabulated", "Tent",
    ),
    "aftereffect.model.impacts": (
        "Discounted", "Impact", "Instant", "Logistic", "MonotoneTable", "OwnImpact", "Power", "Smoothed", "Window",
    ),
    "aftereffect.model.feedback": ("Noise", "Shock"),
    "aftereffect.model.problem": ("Problem",),
    "aftereffect.model.catalog": ("Family", "family", "problem", "register_problem"),
    "aftereffect.oracle.levels": ("best_levels",),
    "aftereffect.oracle.best_fixed": ("BestFixed", "best_fixed"),
    "aftereffect.theory.dynamic": ("dynamic_optimum", "dynamic_upper_bound"),
    "aftereffect.policies": ("KLUCB", "CurveThompson", "FairThompson",
        "CUCB", "DUCB", "SWUCB", "UCB1", "ActionUCB", "Exp3", "Fixed", "HistoryUCB", "LipschitzElimination",
        "LipschitzUCB", "MetaExp3", "OneArmUCB", "Phased", "QuadraticFit", "RoundRobin",
        "Thompson", "ThompsonSplit", "policy", "recommended",
    ),
    "aftereffect.policies.base": ("PlainPolicy", "Policy", "Setting", "register"),
    "aftereffect.policies.agent": ("Agent",),
    "aftereffect.policies.storage": ("load_agent",),
    "aftereffect.simulation.simulate": ("simulate",),
    "aftereffect.simulation.result": ("Comparison", "Result"),
    "aftereffect.report.plot": ("plot",),
    "aftereffect.model.fairness": ("Fairness",),
    "aftereffect.model.drift": ("Change", "Drift", "Season"),
    "aftereffect.theory.fair": ("FairOptimum", "Unattainable", "arm_multipliers", "fair_frontier", "fair_optimum"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CUCB",
    "DUCB",
    "KLUCB",
    "SWUCB",
    "UCB1",
    "ActionUCB",
    "AftereffectError",
    "Agent",
    "BestFixed",
    "Bump",
    "Change",
    "Comparison",
    "CorruptFile",
    "CurveThompson",
    "Discounted",
    "Drift",
    "Exp3",
    "FairOptimum",
    "FairThompson",
    "Fairness",
    "Family",
    "Fixed",
    "Gaussian",
    "HistoryUCB",
    "Impact",
    "Instant",
    "LinearDecline",
    "LipschitzElimination",
    "LipschitzUCB",
    "Logistic",
    "MetaExp3",
    "MissingParameter",
    "MonotoneTable",
    "Noise",
    "OneArmUCB",
    "OwnImpact",
    "Phased",
    "PlainPolicy",
    "Policy",
    "Power",
    "Problem",
    "QuadraticFit",
    "Response",
    "Result",
    "RoundRobin",
    "SaturatingRise",
    "Scaled",
    "Season",
    "Setting",
    "Shock",
    "Smoothed",
    "Table",
    "Tabulated",
    "Tent",
    "Thompson",
    "ThompsonSplit",
    "Unattainable",
    "UnknownName",
    "Window",
    "WrongTell",
    "arm_multipliers",
    "best_fixed",
    "best_levels",
    "dynamic_optimum",
    "dynamic_upper_bound",
    "fair_frontier",
    "fair_optimum",
    "family",
    "load_agent",
    "plot",
    "policy",
    "problem",
    "recommended",
    "register",
    "register_problem",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'aftereffect' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]


if TYPE_CHECKING:
    from aftereffect.errors import AftereffectError, CorruptFile, MissingParameter, UnknownName, WrongTell
    from aftereffect.model.catalog import Family, family, problem, register_problem
    from aftereffect.model.drift import Change, Drift, Season
    from aftereffect.model.fairness import Fairness
    from aftereffect.model.feedback import Noise, Shock
    from aftereffect.model.impacts import (
        Discounted,
        Impact,
        Instant,
        Logistic,
        MonotoneTable,
        OwnImpact,
        Power,
        Smoothed,
        Window,
    )
    from aftereffect.model.problem import Problem
    from aftereffect.model.responses import (
        Bump,
        Gaussian,
        LinearDecline,
        Response,
        SaturatingRise,
        Scaled,
        Table,
        Tabulated,
        Tent,
    )
    from aftereffect.oracle.best_fixed import BestFixed, best_fixed
    from aftereffect.oracle.levels import best_levels
    from aftereffect.policies import (
        CUCB,
        DUCB,
        KLUCB,
        SWUCB,
        UCB1,
        ActionUCB,
        CurveThompson,
        Exp3,
        FairThompson,
        Fixed,
        HistoryUCB,
        LipschitzElimination,
        LipschitzUCB,
        MetaExp3,
        OneArmUCB,
        Phased,
        QuadraticFit,
        RoundRobin,
        Thompson,
        ThompsonSplit,
        policy,
        recommended,
    )
    from aftereffect.policies.agent import Agent
    from aftereffect.policies.base import PlainPolicy, Policy, Setting, register
    from aftereffect.policies.storage import load_agent
    from aftereffect.report.plot import plot
    from aftereffect.simulation.result import Comparison, Result
    from aftereffect.simulation.simulate import simulate
    from aftereffect.theory.dynamic import dynamic_optimum, dynamic_upper_bound
    from aftereffect.theory.fair import FairOptimum, Unattainable, arm_multipliers, fair_frontier, fair_optimum
