"""The paper's claims, each as one sentence with the experiments it rests on and the way it is judged.

Nothing is tuned to make a claim hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from aftereffect.experiments.judges import (
    BASELINES,
    BY_MEMORY,
    NEGATIVE,
    Experiments,
    Finding,
    advantage_shrinks,
    beats_all,
    better_for_larger_rho,
    carries_over,
    grows_with_arms,
    insensitive,
    linear_at,
    memory_fades,
    robust_to_memory,
    search_picks,
    sublinear,
)
from aftereffect.experiments.parameters import Which, which
from aftereffect.experiments.statistics import LEVEL

Judge = Callable[[Experiments], Finding]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a question of our own: which experiments it rests on, and how it is judged."""

    id: str
    figures: tuple[str, ...]
    statement: str
    judge: Judge
    why: str = ""  # said when it does not hold
    reading: str = ""  # of Algorithm 3's radius: the same statement is judged in each
    ours: bool = False  # a question that the paper does not answer by measuring

    @property
    def sentence(self) -> str:
        """The statement with its reading."""
        if not self.reading:
            return self.statement
        return self.statement.replace("Algorithm 3", f"Algorithm 3 ({self.reading})", 1)


def judge_all(experiments: Experiments) -> list[dict[str, Any]]:
    """Every claim whose experiments are there and complete, in plain data."""
    verdicts = []
    for claim in CLAIMS:
        if all(name in experiments and experiments[name].complete for name in claim.figures):
            found = claim.judge(experiments)
            explanation = " ".join(filter(None, [found.explanation, claim.why if found.verdict != "holds" else ""]))
            head = {"id": claim.id, "figures": list(claim.figures), "sentence": claim.sentence, "level": LEVEL}
            head |= {"statement": claim.statement, "reading": claim.reading, "ours": claim.ours}
            bounds = {k: v if math.isfinite(v) else None for k, v in (("low", found.low), ("high", found.high))}
            verdicts.append({**head, **asdict(found), **bounds, "explanation": explanation})
    return verdicts


ROUND_ROBIN = (
    "D-UCB with discount .8 keeps at most 5 effective samples, so it plays the arms in turn. An arm that comes up every K "
    "rounds has, when it is played, the impact (1 - memory) / (1 - memory^K): .83, .71 and .63 at memory .2, .4 and .6 for two "
    "arms, .61 for five arms at .4. The responses peak near .5, so this costs about .105, .045, .016 and .011 a round: a "
    "constant share for ever, but up to this horizon less than Algorithm 3 spends on exploring with radii as wide as its proof "
    "needs."
)
LEMMA, PRINTED = which("history-ucb", log="lemma"), which("history-ucb", log="printed")
READINGS = (("lemma", LEMMA, "ln(L rho m)"), ("printed", PRINTED, "printed ln(L rho)"))


def _figure_2a() -> list[Claim]:
    others = (
        which("cucb", clip=False, grid_for="action"),
        which("cucb", clip=True, grid_for="cucb"),
        which("cucb", clip=False, grid_for="cucb"),
        which("meta-exp3", form="loss"),
    )
    return [
        Claim(
            "2a",
            ("fig2a",),
            "With no memory, Algorithm 1 has lower regret than CUCB, mEXP3 and EXP3.",
            beats_all("fig2a", which("action-ucb"), (which("cucb"), which("meta-exp3"), which("exp3"))),
        ),
        Claim(
            "2a-meta",
            ("fig2a",),
            "mEXP3 does better than EXP3 for large T.",
            beats_all("fig2a", which("meta-exp3"), (which("exp3"),)),
        ),
        Claim(
            "2a-options",
            ("options",),
            "Algorithm 1 keeps that lead under the other readings of CUCB and mEXP3.",
            beats_all("options", which("action-ucb"), others),
            "The order of Fig. 2(a) turns with details the paper leaves open: unclipped bounds let CUCB tell apart cells that "
            "clipping makes equal, and a coarser grid has fewer cells to explore.",
            ours=True,
        ),
    ]


def _figures_2_and_3() -> list[Claim]:
    places = [(f"2{f}", f"At memory {m}") for f, m in (("b", ".2"), ("c", ".4"), ("d", ".6"))]
    places += [(f"3{f}", f"With {k} arms") for f, k in (("a", 3), ("b", 4), ("c", 5))]
    return [
        Claim(
            f"{place}-{reading}",
            (f"fig{place}",),
            f"{where} Algorithm 3 has lower regret than D-UCB, SW-UCB and EXP3.",
            beats_all(f"fig{place}", policy, BASELINES),
            ROUND_ROBIN,
            words,
        )
        for place, where in places
        for reading, policy, words in READINGS
    ]


def _trends() -> list[Claim]:
    statements: list[tuple[str, tuple[str, ...], str, Callable[[str, Which], Judge]]] = [
        (
            "small-memory",
            ("fig2b", "fig2d"),
            "The advantage of Algorithm 3 is larger at small memory.",
            lambda _, policy: advantage_shrinks(policy),
        ),
        (
            "arms",
            ("fig2c", "fig3a", "fig3b", "fig3c"),
            "The slope of the regret of Algorithm 3 grows with K.",
            lambda _, policy: grows_with_arms(policy),
        ),
        ("rho-flat", ("fig3d",), "Algorithm 3 is insensitive to rho.", lambda log, _: insensitive(log)),
        (
            "rho-better",
            ("fig3d",),
            "Algorithm 3 does slightly better for larger rho.",
            lambda log, _: better_for_larger_rho(log),
        ),
        ("memory-flat", BY_MEMORY, "Algorithm 3 is robust to the memory.", lambda _, policy: robust_to_memory(policy)),
        (
            "memory-fades",
            BY_MEMORY,
            "The memory's effect on Algorithm 3 fades as T grows.",
            lambda _, policy: memory_fades(policy),
        ),
    ]
    return [
        Claim(f"{name}-{log}", figures, statement, judge(log, policy), reading=words)
        for log, policy, words in READINGS
        for name, figures, statement, judge in statements
    ]


def _example_1() -> list[Claim]:
    claims = []
    for memory in (0.0, 0.5):
        where = f"On Example 1 at memory {memory:g}"
        for name, words in (("thompson", "Thompson sampling"), ("ucb1", "UCB1"), ("exp3", "EXP3")):
            sentence = f"{where} {words} loses eps/2 a round for ever."
            claims.append(Claim(f"linear-{name}-{memory:g}", NEGATIVE, sentence, linear_at(which(name), memory)))
        learners = READINGS if memory else (("action-ucb", which("action-ucb"), ""),)
        for name, policy, words in learners:
            alg = "Algorithm 3" if words else "Algorithm 1"
            sentence = f"{where} {alg} does not: its regret grows more slowly than T."
            judge = sublinear(policy, memory)
            claims.append(Claim(f"sublinear-{name}-{memory:g}", NEGATIVE, sentence, judge, reading=words))
    return claims


def _searches_and_extensions() -> list[Claim]:
    claims = [
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
    for log, _, words in READINGS:
        claims += [
            Claim(
                f"general-{log}",
                ("general",),
                "Algorithm 3 carries over to other impacts: at most half again its regret under the discounted average.",
                carries_over(log, None),
                reading=words,
                ours=True,
            ),
            Claim(
                f"bound-{log}",
                ("general",),
                "Knowing only that memory is at most .9, Algorithm 3 has at most half again the regret.",
                carries_over(log, 0.9),
                reading=words,
                ours=True,
            ),
        ]
    return claims


def _longer() -> list[Claim]:
    problems = [(which("gaussian", arms=2, memory=0.6), "memory .6")]
    problems += [(which("gaussian", arms=k, memory=0.4), f"{k} arms") for k in (3, 4, 5)]
    variants = [(log, zero, words) for log, _, words in READINGS for zero in (False, True)]
    return [
        Claim(
            f"long-{where.replace(' ', '-')}-log={log}{',zero=true' * zero}",
            ("long",),
            f"At T = 1,000,000 and {where} Algorithm 3 has lower regret than D-UCB.",
            beats_all("long", which("history-ucb", log=log, zero=zero), (which("d-ucb"),), problem),
            reading=f"{words}{', grid with zero' * zero}",
            ours=True,
        )
        for problem, where in problems
        for log, zero, words in variants
    ]


CLAIMS = [
    *_figure_2a(),
    *_figures_2_and_3(),
    *_trends(),
    *_example_1(),
    *_searches_and_extensions(),
    *_longer(),
]
