"""The search for App. B's multipliers as hyperparameter optimisation on validation runs (needs the extra `tune`)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from aftereffect.errors import AftereffectError, require, require_numbers, require_whole, shown
from aftereffect.model.catalog import Family
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy
from aftereffect.policies.phased import HistoryUCB
from aftereffect.simulation.simulate import draw_instances, simulate

VALIDATION_STREAM = 0x7A11  # validation runs never share random numbers with a simulation under the same seed


@dataclass(frozen=True)
class Trial:
    """Multipliers that were tried, and what the validation runs gave: utility and violation a round."""

    multipliers: tuple[float, ...]
    utility: float
    violation: float


@dataclass(frozen=True, eq=False)
class TunedMultipliers:
    """The multipliers that served best, the policy with them, and every trial.

    `fair` says whether their violation stayed within what was allowed; if no trial's did, the least violation was taken.
    """

    policy: Policy
    chosen: Trial
    allowed: float
    trials: tuple[Trial, ...]

    @property
    def fair(self) -> bool:
        """Did the validation runs stay within the allowed violation?"""
        return self.chosen.violation <= self.allowed


def tune_multipliers(
    problem: Problem | Family,
    policy: Policy | None = None,
    horizon: int = 10_000,
    *,
    trials: int = 40,
    runs: int = 2,
    instances: int | None = None,
    allowed: float = 0.01,
    limit: float = 1.0,
    seed: int = 0,
    threads: int | None = None,
) -> TunedMultipliers:
    """Search the lambda_k for the largest utility with a violation of at most `allowed` a round.

    `policy` takes multipliers (default: `history-ucb` with zero); each trial is `runs` validation runs of `horizon` rounds.
    All but the last lambda_k are searched in [-limit, limit]; the last makes them add up to zero, as those made from pairs'
    multipliers do.
    """
    try:
        import optuna
    except ImportError:
        raise AftereffectError("the search for multipliers needs optuna: pip install 'aftereffect[tune]'") from None
    require_whole("trials", trials)
    require_whole("horizon", horizon)
    require_whole("runs", runs)
    require_whole("seed", seed, 0)
    require_numbers("tune_multipliers", allowed=allowed, limit=limit)
    require(allowed >= 0, f"allowed must be a violation from 0, got {allowed}")
    require(limit > 0, f"limit must be above 0, got {limit}")
    base = HistoryUCB(zero=True) if policy is None else policy
    require(isinstance(base, Policy), f"policy must be a Policy, got {shown(base)}")
    if not any(f.name == "multipliers" for f in dataclasses.fields(base)):
        raise AftereffectError(f"{base.name} takes no multipliers; use history-ucb or action-ucb")
    first = draw_instances(problem, instances, seed)[0]
    if first.fairness is None:
        raise AftereffectError(f"problem {first.label!r} has no fairness measure")
    validation = int(np.random.SeedSequence(seed, spawn_key=(VALIDATION_STREAM,)).generate_state(1)[0])
    tried: list[Trial] = []

    def attempt(trial: Any) -> float:
        free = [trial.suggest_float(f"lambda_{k}", -limit, limit) for k in range(first.arms - 1)]
        multipliers = (*free, -sum(free))
        candidate = dataclasses.replace(base, multipliers=multipliers)  # type: ignore[call-arg]
        result = simulate(problem, candidate, horizon, runs, instances, seed=validation, checkpoints=1, threads=threads)
        assert result.parity is not None  # the problem has a measure
        tried.append(
            Trial(multipliers, float(result.utility.mean()) / horizon, float(result.parity.mean_violation.mean()))
        )
        trial.set_constraint("violation", tried[-1].violation - allowed)
        return tried[-1].utility

    said = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=validation))
    study.enqueue_trial(
        {f"lambda_{k}": 0.0 for k in range(first.arms - 1)}
    )  # no fairness at all: the place to start from
    try:
        study.optimize(attempt, n_trials=trials)
    finally:
        optuna.logging.set_verbosity(said)
    fair = [t for t in tried if t.violation <= allowed]
    chosen = max(fair, key=lambda t: t.utility) if fair else min(tried, key=lambda t: t.violation)
    best = dataclasses.replace(base, multipliers=chosen.multipliers)  # type: ignore[call-arg]
    return TunedMultipliers(best, chosen, allowed, tuple(tried))
