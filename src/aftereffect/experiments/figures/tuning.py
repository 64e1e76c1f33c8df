"""The grid searches for the baselines' parameters."""

from __future__ import annotations

from dataclasses import replace

import polars

from aftereffect.experiments.figures.judging import Claim, Experiments, Finding, by_worst, judge, verdict_below
from aftereffect.experiments.parameters import the_one, which
from aftereffect.experiments.statistics import mean_of, widened


@judge
def search_picks(experiments: Experiments, policy: str, parameter: str, value: float) -> Finding:
    """The grid search picks the paper's value at every memory; a better candidate anywhere refutes it."""
    r = experiments["tuning"]
    frame = r.store.frame("tuning").sort("policy", "instance", "run").collect()
    mine = [s for s in r.tuning() if r.policy_values[s["policy"]]["name"] == policy]
    parts, picked = [], []
    for search in mine:
        candidates = list(search["candidates"])
        wanted = the_one(which(policy, **{parameter: value}), r.candidates(search["policy"]))
        here = frame.filter(polars.col("problem") == search["problem"])
        runs = {c: here.filter(polars.col("policy") == c)["regret"].to_numpy() for c in candidates}
        picked.append(f"{search['problem']}: {search['chosen']}")
        level = widened(len(mine) * (len(candidates) - 1))
        for other in (c for c in candidates if c != wanted):
            mean, low, high = mean_of(runs[wanted] - runs[other], r.spec.tuning.instances, level)
            statistic = f"regret minus {other}'s on {search['problem']}"
            parts.append(Finding(statistic, mean, low, high, verdict_below(low, high)))
    return replace(by_worst(parts, wanted), explanation=f"Picked: {'; '.join(picked)}.")


CLAIMS = [
    Claim(
        "tuning-d-ucb",
        ("tuning",),
        "The grid search for D-UCB's discount picks .8.",
        search_picks("d-ucb", "discount", 0.8),
        "All these discounts come down to playing the arms in turn, with little to choose between them.",
    ),
    Claim(
        "tuning-sw-ucb",
        ("tuning",),
        "The grid search for SW-UCB's window picks 200.",
        search_picks("sw-ucb", "window", 200),
        "A shorter window switches arms more often, which keeps the impact nearer to equal shares.",
    ),
]
