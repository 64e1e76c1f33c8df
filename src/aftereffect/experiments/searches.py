"""What tuning found: for each tuned policy and problem every candidate's mean regret, and the least of them."""

from __future__ import annotations

from typing import TypedDict

import polars

from aftereffect.experiments.plan import Plan


class Search(TypedDict):
    """One search: candidates with their mean regret on the tuning instances."""

    problem: str
    policy: str
    candidates: dict[str, float]
    chosen: str


def searches(plan: Plan, rows: polars.LazyFrame) -> list[Search]:
    """Every search of a plan, from all rows of its tuning."""
    frame = rows.group_by("problem", "policy").agg(polars.col("regret").mean()).collect()
    means = {(row["problem"], row["policy"]): float(row["regret"]) for row in frame.to_dicts()}
    found: list[Search] = []
    for problem in plan.problems:
        for label, (_, candidates) in zip(plan.labels, plan.policies, strict=True):
            if candidates:
                regrets = {c: means[problem, c] for c in candidates}
                best = min(regrets, key=lambda c: regrets[c])
                found.append({"problem": problem, "policy": label, "candidates": regrets, "chosen": best})
    return found


def chosen(plan: Plan, found: list[Search]) -> dict[tuple[int, int], str]:
    """The choices by the places of problem and policy."""
    return {
        (plan.problems.index(search["problem"]), plan.labels.index(search["policy"])): search["chosen"]
        for search in found
    }
