"""Judges on made-up results: clearly so, clearly not, and nothing but noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars
import pytest
import scipy.stats

from aftereffect.experiments.figures.fig3d import better_for_larger_rho, insensitive
from aftereffect.experiments.figures.general import carries_over
from aftereffect.experiments.figures.judging import Finding, beats_all
from aftereffect.experiments.figures.memory_and_arms import (
    BY_MEMORY,
    advantage_shrinks,
    grows_with_arms,
    memory_fades,
    robust_to_memory,
)
from aftereffect.experiments.figures.negative import HORIZONS, NEGATIVE, linear_at, sublinear
from aftereffect.experiments.figures.tuning import search_picks
from aftereffect.experiments.parameters import which
from aftereffect.model.curves import Floats
from tests.experiments.fakes import Fake, noisy, one, several

US = which("us")


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(5)


def _consistent(found: Finding, verdict: str) -> None:
    assert found.verdict == verdict
    assert found.low <= found.estimate <= found.high
    assert found.statistic


# Lower regret than each rival.


def _rivals(random: np.random.Generator, ours: float, theirs: Sequence[float], spread: float = 1.0) -> Fake:
    regrets: dict[tuple[str, str], Floats] = {("p", "us"): noisy(random, ours, spread)}
    for i, mean in enumerate(theirs):
        regrets["p", f"rival-{i}"] = noisy(random, mean, spread)
    return Fake(regrets)


def _beats(fake: Fake) -> Finding:
    return beats_all("x", US, [which(p) for p in fake.policies if p != "us"])(one("x", fake))


def test_better_than_all_holds(random: np.random.Generator) -> None:
    found = _beats(_rivals(random, 10.0, [20.0, 30.0, 15.0]))
    _consistent(found, "holds")
    assert found.estimate == pytest.approx(-5, abs=2)  # told by the nearest rival
    assert "rival-2" in found.statistic


def test_worse_than_one_fails(random: np.random.Generator) -> None:
    found = _beats(_rivals(random, 20.0, [30.0, 10.0, 40.0]))
    _consistent(found, "fails")
    assert "rival-1" in found.statistic
    assert all(f"rival-{i}" in found.explanation for i in range(3))


def test_noise_is_undecided(random: np.random.Generator) -> None:
    _consistent(_beats(_rivals(random, 10.0, [10.5, 30.0], spread=20.0)), "undecided")


def test_one_undecided_comparison_keeps_the_claim_undecided(random: np.random.Generator) -> None:
    regrets = {("p", "us"): noisy(random, 10.0), ("p", "rival-0"): noisy(random, 50.0)}
    regrets["p", "rival-1"] = regrets["p", "us"] + random.permutation(np.linspace(-1, 1, 40))
    _consistent(_beats(Fake(regrets)), "undecided")


def test_common_random_numbers_sharpen_the_comparison(random: np.random.Generator) -> None:
    shared = noisy(random, 100.0, 50.0)
    fake = Fake({("p", "us"): shared, ("p", "them"): shared + 1.0 + 0.1 * random.normal(size=40)})
    _consistent(beats_all("x", US, [which("them")])(one("x", fake)), "holds")


def test_one_of_several_problems_can_be_named(random: np.random.Generator) -> None:
    regrets = {
        ("a", "us"): noisy(random, 10.0), ("a", "them"): noisy(random, 50.0),
        ("b", "us"): noisy(random, 50.0), ("b", "them"): noisy(random, 10.0),
    }  # fmt: skip
    verdicts = [
        beats_all("x", US, [which("them")], where)(one("x", Fake(regrets))).verdict
        for where in (None, which("a"), which("b"))
    ]
    assert verdicts == ["holds", "holds", "fails"]


@pytest.mark.parametrize("rivals", [1, 3])
def test_without_a_difference_a_verdict_is_rare(rivals: int, random: np.random.Generator) -> None:
    verdicts = [_beats(_rivals(random, 10.0, [10.0] * rivals)).verdict for _ in range(600)]
    decided = 1 - verdicts.count("undecided") / len(verdicts)
    assert decided < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
    assert verdicts.count("holds") < 0.025 * 600 + 3 * np.sqrt(0.025 * 600)


def test_runs_on_one_instance_do_not_count_as_independent(random: np.random.Generator) -> None:
    def by_instance() -> Floats:
        return np.repeat(random.normal(10.0, 1.0, 5), 200)

    fakes = [Fake({("p", "us"): by_instance(), ("p", "them"): by_instance()}, instances=5) for _ in range(300)]
    verdicts = [beats_all("x", US, [which("them")])(one("x", fake)).verdict for fake in fakes]
    assert verdicts.count("undecided") > 0.9 * 300


# Trends.


@pytest.mark.parametrize(
    ("gap", "verdict"), [((30.0, 5.0), "holds"), ((5.0, 30.0), "fails"), ((10.0, 10.1), "undecided")]
)
def test_advantage_shrinks(gap: tuple[float, float], verdict: str, random: np.random.Generator) -> None:
    fakes = {}
    for name, advantage in zip(("fig2b", "fig2d"), gap, strict=True):
        means = {"us": 50.0, "d-ucb": 50.0 + advantage, "sw-ucb": 200.0, "exp3": 300.0}
        fakes[name] = Fake({("p", policy): noisy(random, mean) for policy, mean in means.items()})
    _consistent(advantage_shrinks(US)(several(fakes)), verdict)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [((10, 20, 30, 40), "holds"), ((10, 20, 15, 40), "fails"), ((10, 20, 20, 40), "undecided")],
)
def test_grows_with_arms(means: tuple[float, ...], verdict: str, random: np.random.Generator) -> None:
    fakes = {
        name: Fake({("p", "us"): noisy(random, m)})
        for name, m in zip(("fig2c", "fig3a", "fig3b", "fig3c"), means, strict=True)
    }
    _consistent(grows_with_arms(US)(several(fakes)), verdict)


def _by_rho(random: np.random.Generator, small: float, large: float, spread: float = 1.0) -> Fake:
    means = np.linspace(small, large, 5)
    return Fake(
        {
            ("p", f"history-ucb:estimation={rho},log=lemma"): noisy(random, float(mean), spread)
            for rho, mean in zip((0.1, 0.2, 0.4, 0.6, 0.8), means, strict=True)
        }
    )


def test_insensitive(random: np.random.Generator) -> None:
    judge = insensitive("lemma")
    _consistent(judge(one("fig3d", _by_rho(random, 100, 105))), "holds")
    _consistent(judge(one("fig3d", _by_rho(random, 100, 200))), "fails")
    _consistent(judge(one("fig3d", _by_rho(random, 100, 128, spread=6.0))), "undecided")
    assert "0.1: " in judge(one("fig3d", _by_rho(random, 100, 105))).explanation


def test_better_for_larger_rho(random: np.random.Generator) -> None:
    judge = better_for_larger_rho("lemma")
    _consistent(judge(one("fig3d", _by_rho(random, 100, 90))), "holds")
    _consistent(judge(one("fig3d", _by_rho(random, 90, 100))), "fails")
    _consistent(judge(one("fig3d", _by_rho(random, 100, 100.1, spread=20.0))), "undecided")


def test_robust_to_memory(random: np.random.Generator) -> None:
    for means, verdict in (((100, 105, 102), "holds"), ((100, 150, 200), "fails")):
        fakes = {n: Fake({("p", "us"): noisy(random, m)}) for n, m in zip(BY_MEMORY, means, strict=True)}
        _consistent(robust_to_memory(US)(several(fakes)), verdict)


def test_memory_fades(random: np.random.Generator) -> None:
    # Curves end together or apart, and rise as t^power: equal powers keep the relative range, others change it.
    for means, powers, verdict in (
        ((100, 101, 102), (0.5, 0.7, 0.9), "holds"),
        ((50, 100, 200), (0.5, 0.8, 1.1), "fails"),
    ):
        fakes = {
            n: Fake({("p", "us"): noisy(random, m)}, power=p) for n, m, p in zip(BY_MEMORY, means, powers, strict=True)
        }
        _consistent(memory_fades(US)(several(fakes)), verdict)


# Example 1.


@pytest.mark.parametrize(
    ("slope", "spread", "verdict"),
    [(0.1, 1e-4, "holds"), (0.103, 1e-4, "holds"), (0.12, 1e-4, "fails"), (0.05, 1e-4, "fails"), (0.1, 0.05, "undecided")],
)  # fmt: skip
def test_linear_at(slope: float, spread: float, verdict: str, random: np.random.Generator) -> None:
    horizon = HORIZONS[-1]
    regrets = {("tent:memory=0.5", "ucb1"): horizon * random.normal(slope, spread, 20)}
    fake = Fake(regrets, instances=1, horizon=horizon)
    _consistent(linear_at(which("ucb1"), 0.5)(one(NEGATIVE[-1], fake)), verdict)


@pytest.mark.parametrize(
    ("power", "spread", "verdict"), [(0.7, 0.02, "holds"), (1.2, 0.02, "fails"), (1.0, 0.2, "undecided")]
)
def test_sublinear(power: float, spread: float, verdict: str, random: np.random.Generator) -> None:
    fakes = {
        name: Fake({("tent:memory=0", "us"): h**power * random.lognormal(0, spread, 20)}, instances=1, horizon=h)
        for name, h in zip(NEGATIVE, HORIZONS, strict=True)
    }
    found = sublinear(US, 0.0)(several(fakes))
    _consistent(found, verdict)
    assert found.estimate == pytest.approx(power, abs=0.1)


# Searches and extensions.


@pytest.mark.parametrize(
    ("means", "verdict"),
    [((20, 10, 30), "holds"), ((10, 20, 30), "fails"), ((10.0, 10.05, 30), "undecided")],
)
def test_search_picks(means: tuple[float, ...], verdict: str, random: np.random.Generator) -> None:
    candidates = [f"d-ucb:discount={d}" for d in (0.7, 0.8, 0.9)]
    parts = []
    for candidate, mean in zip(candidates, means, strict=True):
        index = np.arange(40)
        parts.append(
            polars.DataFrame(
                {
                    "problem": "p",
                    "policy": candidate,
                    "instance": index // 4,
                    "run": index % 4,
                    "regret": noisy(random, mean),
                }
            )
        )
    chosen = candidates[int(np.argmin(means))]
    search: dict[str, object] = {
        "problem": "p", "policy": "d-ucb (tuned)", "candidates": dict(zip(candidates, means, strict=True)), "chosen": chosen,
    }  # fmt: skip
    other: dict[str, object] = {"problem": "p", "policy": "sw-ucb (tuned)", "candidates": {}, "chosen": ""}
    regrets = {("p", f"{name} (tuned)"): noisy(random, 1.0) for name in ("d-ucb", "sw-ucb")}
    fake = Fake(regrets, searches=[search, other], tuning_rows=polars.concat(parts))
    found = search_picks("d-ucb", "discount", 0.8)(one("tuning", fake))
    _consistent(found, verdict)
    assert f"p: {chosen}" in found.explanation


def _impacts(random: np.random.Generator, ratio: float) -> Fake:
    base, told = "history-ucb:log=lemma", "history-ucb:log=lemma,memory=0.9"
    return Fake(
        {
            ("gaussian:impact=discounted(memory=0.4)", base): noisy(random, 100.0),
            ("gaussian:impact=discounted(memory=0.4)", told): noisy(random, 100.0 * ratio),
            ("gaussian:impact=window(length=5)", base): noisy(random, 100.0 * ratio),
            ("gaussian:impact=window(length=5)", told): noisy(random, 100.0),
        }
    )


@pytest.mark.parametrize(("ratio", "verdict"), [(1.1, "holds"), (3.0, "fails")])
@pytest.mark.parametrize("told", [None, 0.9])
def test_carries_over(ratio: float, verdict: str, told: float | None, random: np.random.Generator) -> None:
    _consistent(carries_over("lemma", told)(one("general", _impacts(random, ratio))), verdict)


def test_on_the_border_a_ratio_rarely_decides(random: np.random.Generator) -> None:
    # Intervals of the logarithm from ten instances are a little narrow: about one in eight decides, not one in twenty.
    found = [carries_over("lemma", None)(one("general", _impacts(random, 1.5))).verdict for _ in range(200)]
    assert found.count("undecided") > 0.75 * 200
    assert found.count("holds") > 0
    assert found.count("fails") > 0


def test_the_same_results_give_the_same_finding(random: np.random.Generator) -> None:
    experiments = one("fig3d", _by_rho(random, 100, 110))
    assert insensitive("lemma")(experiments) == insensitive("lemma")(experiments)


# Several comparisons at once: intervals are as wide as Bonferroni's, which Student's quantile says exactly.


def _student(comparisons: int, units: int = 10) -> float:
    return float(scipy.stats.t.ppf(1 - 0.05 / (2 * comparisons), units - 1))


def _with_t(t: float) -> Floats:
    """Ten differences whose mean is t standard errors below nothing."""
    spread = np.linspace(-1, 1, 10)
    return np.asarray(spread - t * spread.std(ddof=1) / np.sqrt(10))


def test_a_difference_that_one_comparison_shows_is_not_enough_for_three() -> None:
    assert _student(1) < 2.6 < _student(3)
    rival = np.full(10, 100.0)
    regrets = {("p", "us"): rival + _with_t(2.6), ("p", "rival-0"): rival}
    assert _beats(Fake(regrets)).verdict == "holds"
    regrets |= {("p", f"rival-{i}"): rival + 50.0 + np.arange(10) for i in (1, 2)}  # beaten beyond doubt
    assert _beats(Fake(regrets)).verdict == "undecided"


def test_the_widest_pair_is_one_of_all_pairs(random: np.random.Generator) -> None:
    fake = _by_rho(random, 100, 105)
    found = insensitive("lemma")(one("fig3d", fake))
    means = [sample.reshape(10, -1).mean(axis=1) for sample in fake.regrets.values()]
    gap = max(means, key=np.mean) - min(means, key=np.mean)
    half = _student(10) * gap.std(ddof=1) / np.sqrt(10) / np.mean(means)  # five values of rho are ten pairs
    assert found.high - found.estimate == pytest.approx(half)


def test_the_smallest_step_is_one_of_three(random: np.random.Generator) -> None:
    names = ("fig2c", "fig3a", "fig3b", "fig3c")
    fakes = {n: Fake({("p", "us"): noisy(random, m)}) for n, m in zip(names, (10, 20, 30, 100), strict=True)}
    found = grows_with_arms(US)(several(fakes))
    means = [f.regrets["p", "us"].reshape(10, -1).mean(axis=1) / 1000 for f in fakes.values()]
    halves = [_student(3) * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 10) for a, b in pairwise(means)]
    assert min(abs(found.high - found.estimate - half) for half in halves) < 1e-12


def test_a_ratio_is_one_of_all_impacts(random: np.random.Generator) -> None:
    fake = _impacts(random, 1.1)
    found = carries_over("lemma", 0.9)(one("general", fake))
    base = fake.regrets[fake.problems[0], "history-ucb:log=lemma"].reshape(10, -1).mean(axis=1)
    halves = []
    for problem in fake.problems:
        sample = fake.regrets[problem, "history-ucb:log=lemma,memory=0.9"].reshape(10, -1).mean(axis=1)
        logs = sample / sample.mean() - base / base.mean()
        halves.append(_student(len(fake.problems)) * logs.std(ddof=1) / np.sqrt(10))
    assert min(abs(np.log(found.high / found.estimate) - half) for half in halves) < 1e-12
