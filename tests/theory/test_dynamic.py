"""The best policy that may depend on history: cases solved by hand, brute force over short cycles, and the order of bounds."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from aftereffect.errors import AftereffectError
from aftereffect.model.catalog import problem as named
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import Discounted, Instant, OwnImpact, Power, Smoothed, Window
from aftereffect.model.problem import Problem
from aftereffect.model.responses import LinearDecline, Table, Tent
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.theory import dynamic
from aftereffect.theory.dynamic import DynamicOptimum, dynamic_optimum, dynamic_upper_bound


def constant(value: float) -> Table:
    return Table([0.0, 1.0], [value, value])


def repeated(problem: Problem, memory: float | Floats, cycles: Floats) -> Floats:
    """What repeating each of (many, rounds, arms) cycles earns a round: played until the start is forgotten, then summed."""
    rounds = cycles.shape[1]
    f = cycles.mean(axis=1)
    laps = int(np.ceil(-40.0 / np.log(np.max(memory)) / rounds)) + 1
    total = np.zeros(len(cycles))
    for lap in range(laps):
        for t in range(rounds):
            f = memory * f + (1.0 - memory) * cycles[:, t]
            if lap == laps - 1:
                total += sum(cycles[:, t, k] * curve(f[:, k]) for k, curve in enumerate(problem.curves))
    result: Floats = total / rounds
    return result


# Two arms over the catalog and beyond it; the memory stands beside each.
CASES: dict[str, tuple[Problem, float]] = {
    "tent": (named("tent", memory=0.5), 0.5),
    "gaussian": (named("gaussian", memory=0.8, seed=5), 0.8),
    "bump": (named("bump", memory=0.5, seed=2), 0.5),
    "brier": (named("brier", memory=0.2), 0.2),
    "lending": (named("lending", arms=2, memory=0.8), 0.8),
    "power": (named("gaussian", impact=Discounted(0.4, g=Power(2))), 0.4),
    "root": (named("loan", impact=Smoothed(0.7, g=Power(0.5)), seed=1), 0.7),
    "rough": (named("lipschitz", memory=0.6, seed=3, floors=[0.15, 0.0], caps=[0.8, 1.0], knots=33), 0.6),
    "steep": (Problem([Table([0, 0.3, 0.45, 1], [0.9, 0.2, 1, 0]), Tent(0.6, 0.8, 1.0)], Discounted(0.55)), 0.55),
}


@cache
def solved(name: str) -> DynamicOptimum:
    return dynamic_optimum(CASES[name][0])


# By hand.


def test_without_memory_the_best_fixed_allocation_is_best() -> None:
    problem = named("gaussian", arms=3, memory=0.0, seed=4)
    found, fixed = dynamic_optimum(problem), best_fixed(problem)
    assert found.utility == found.achieved == fixed.utility
    assert found.gap == 0.0
    assert np.array_equal(found.cycle, fixed.allocation[None, :])
    assert fixed.bound <= found.bound < fixed.utility + 1e-3


def test_one_arm_has_no_choice() -> None:
    found = dynamic_optimum(Problem([LinearDecline(0.9, 0.3)], impact=Discounted(0.5)))
    assert found.utility == pytest.approx(0.3, abs=1e-12)
    assert found.cycle.tolist() == [[1.0]]


def test_limits_that_leave_one_allocation() -> None:
    problem = Problem([constant(0.2), LinearDecline(0.9, 0.3)], impact=Discounted(0.5), floors=[0.25, 0.75])
    found = dynamic_optimum(problem)
    assert found.utility == pytest.approx(0.25 * 0.2 + 0.75 * 0.45, abs=1e-9)


@pytest.mark.parametrize("arms", [2, 3])
def test_constant_responses_all_to_the_best_arm(arms: int) -> None:
    problem = Problem([constant(v) for v in (0.3, 0.7, 0.5)[:arms]], impact=Discounted(0.6))
    found = dynamic_optimum(problem, steps=40)
    assert found.utility == pytest.approx(0.7, abs=1e-9)
    assert found.error < 1e-4
    assert found.cycle[0].tolist() == pytest.approx([0.0, 1.0, 0.0][:arms])


@pytest.mark.parametrize("memory", [0.3, 0.5, 0.8])
def test_alternating_is_best_where_its_impact_meets_both_peaks(memory: float) -> None:
    """Taking turns, an arm is at impact 1/(1 + memory) when it is used: with both peaks there it earns 1, the most
    there is, and a fixed split, which cannot give both arms more than a half, earns less."""
    peak = 1.0 / (1.0 + memory)
    problem = Problem([Tent(peak, 1.0, 1.0)] * 2, impact=Discounted(memory))
    found = dynamic_optimum(problem)
    assert found.utility == pytest.approx(1.0, abs=1e-9)
    assert found.bound == pytest.approx(1.0, abs=1e-3)
    assert sorted(found.cycle.tolist()) == [[0.0, 1.0], [1.0, 0.0]]
    assert found.gap > 0.02


def test_three_taking_turns() -> None:
    """Each of three arms in turn is at (1 - m)/(1 - m^3) when used; with the peaks there no policy earns more than 1."""
    memory = 0.5
    peak = (1 - memory) / (1 - memory**3)
    narrow = Table([0, peak - 0.1, peak, peak + 0.1, 1], [0.1, 0.1, 1.0, 0.1, 0.1])
    found = dynamic_optimum(Problem([narrow] * 3, impact=Discounted(memory)), steps=64)
    assert found.utility == pytest.approx(1.0, abs=1e-9)
    assert len(found.cycle) == 3
    assert sorted(found.cycle.tolist()) == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


def test_taking_turns_beats_every_fixed_split_when_the_impact_is_squared() -> None:
    problem, memory = CASES["power"]
    turns = sum(float(c(1.0 / (1.0 + memory))) for c in problem.curves) / 2
    found = solved("power")
    assert found.utility >= turns - 1e-9
    assert found.gap > 0.04
    assert found.error < 1e-4


def test_patience_in_the_plain_gaussian() -> None:
    """Even with the plain discounted average: both peaks above a half (seed 5), so taking turns gains a little."""
    problem, memory = CASES["gaussian"]
    turns = repeated(problem, memory, np.array([[[1.0, 0.0], [0.0, 1.0]]]))[0]
    assert turns > best_fixed(problem).bound + 1e-4  # so that no fixed allocation comes near
    assert solved("gaussian").utility >= turns - 1e-9


# The order of bounds.


@pytest.mark.parametrize("name", CASES)
def test_lower_and_upper_bounds_stand_in_order(name: str) -> None:
    problem, memory = CASES[name]
    found, relaxed = solved(name), dynamic_upper_bound(problem)
    assert found.achieved == pytest.approx(found.utility, abs=1e-10)
    assert found.utility >= found.fixed.utility - 1e-12
    assert 0.0 <= found.error < 1e-3
    assert found.utility <= relaxed.bound + 1e-9
    assert relaxed.bound >= relaxed.fixed.utility
    assert repeated(problem, memory, found.cycle[None])[0] == pytest.approx(found.utility, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_no_short_cycle_beats_the_bound(name: str) -> None:
    problem, memory = CASES[name]
    low, high = problem.limits.floors, problem.limits.caps
    for rounds, count in ((1, 1001), (2, 61), (3, 17), (4, 9)):
        shares = np.linspace(max(low[0], 1.0 - high[1]), min(high[0], 1.0 - low[1]), count)
        first = np.array(list(itertools.product(shares, repeat=rounds)))
        best = repeated(problem, memory, np.stack([first, 1.0 - first], axis=2)).max()
        assert best <= solved(name).bound + 1e-12
        assert best <= solved(name).utility + 1e-6, "the cycle found is not the best"


@pytest.mark.parametrize(
    "problem",
    [
        named("gaussian", arms=3, impact=Discounted(0.4, g=Power(2)), seed=1),
        named("bump", arms=3, memory=0.7, seed=1),
        named("lipschitz", arms=3, memory=0.3, seed=2, floors=[0.1, 0.0, 0.2], caps=[0.5, 0.6, 1.0]),
    ],
    ids=["gaussian", "bump", "limits"],
)
def test_three_arms_against_random_cycles(problem: Problem) -> None:
    found, relaxed = dynamic_optimum(problem, steps=72), dynamic_upper_bound(problem)
    assert found.error < 3e-3
    assert found.fixed.utility - 1e-12 <= found.utility <= found.bound <= relaxed.bound + 1e-12
    assert found.achieved == pytest.approx(found.utility, abs=1e-10)
    random = np.random.default_rng(1)
    memory = problem.memory
    assert memory is not None
    for rounds in (1, 2, 3, 4, 6):
        cycles = random.dirichlet([0.3] * 3, size=(5_000, rounds))
        keep = np.all((cycles >= problem.limits.floors) & (cycles <= problem.limits.caps), axis=(1, 2))
        if keep.any():
            best = repeated(problem, memory, cycles[keep]).max()
            assert best <= found.bound
            assert best <= found.utility + 1e-6, "the cycle found is not the best"


@pytest.fixture
def unrelaxed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three arms take the smaller of two bounds; here value iteration's own."""

    class Loose:
        bound = 10.0

    monkeypatch.setattr(dynamic, "dynamic_upper_bound", lambda _: Loose)


@pytest.mark.usefixtures("unrelaxed")
def test_the_three_arm_bound_tightens_with_the_grid() -> None:
    problem = named("gaussian", arms=3, impact=Discounted(0.4, g=Power(2)), seed=1)
    found = [dynamic_optimum(problem, steps=steps) for steps in (12, 24, 48)]
    most = max(f.utility for f in found)
    assert all(f.bound >= most - 1e-12 for f in found)
    assert found[2].error < found[1].error < found[0].error
    assert found[2].error < 2e-3


@pytest.mark.usefixtures("unrelaxed")
@pytest.mark.parametrize(("arms", "steps"), [(2, 9), (3, 8)])
@pytest.mark.parametrize("memory", [0.3, 0.7])
def test_an_optimum_between_grid_points_is_not_missed(arms: int, steps: int, memory: float) -> None:
    """The best split is even and the grid does not have it: only what is added for bends and kinks reaches it."""
    bent = Problem([LinearDecline(0.9, 0.3)] * arms, impact=Discounted(memory))
    kinked = Problem([Tent(1 / arms, 1.0, 1.0)] * arms, impact=Discounted(memory))
    for problem in (bent, kinked):
        assert dynamic_optimum(problem, steps=steps).bound >= best_fixed(problem).utility - 1e-12
        assert best_fixed(problem).utility == pytest.approx(1.0 if problem is kinked else 0.9 - 0.6 / arms, abs=1e-6)


def test_a_third_arm_nobody_wants_changes_nothing() -> None:
    two = solved("power")
    problem, _ = CASES["power"]
    three = dynamic_optimum(
        Problem([*problem.responses, constant(0.0)], impact=Discounted(0.4, g=Power(2))),
        steps=48,
    )
    assert three.utility == pytest.approx(two.utility, abs=1e-6)
    assert three.bound >= two.utility - 1e-12


def test_coarser_grids_state_larger_errors() -> None:
    problem, _ = CASES["steep"]
    coarse, fine = dynamic_optimum(problem, steps=20), solved("steep")
    assert coarse.error > fine.error
    assert coarse.bound >= fine.utility - 1e-12


@pytest.mark.parametrize("name", CASES)
def test_the_gap_is_at_most_m_one_minus_m_times_the_steepest_rise(name: str) -> None:
    problem, memory = CASES[name]
    rise = max(0.0, *(float((np.diff(c.y) / np.diff(c.x)).max()) for c in problem.curves))
    assert solved(name).gap <= memory * (1 - memory) * rise + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_where_responses_only_fall_holding_is_best(seed: int) -> None:
    random = np.random.default_rng(seed)
    falling = [Table([0, 0.2, 0.4, 0.6, 0.8, 1], sorted(random.uniform(0, 1, 6), reverse=True)) for _ in range(2)]
    found = dynamic_optimum(Problem(falling, impact=Discounted(float(random.uniform(0.2, 0.8)))))
    assert found.gap == 0.0
    assert found.error < 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_bounds_on_a_very_coarse_grid_still_hold(seed: int) -> None:
    """Eight steps miss most kinks and most of every bend: what they add for that must suffice."""
    memory, power = (0.2, 0.5, 0.8, 0.9)[seed % 4], (0.5, 2.0)[seed // 4]
    problem = named("lipschitz", seed=seed, impact=Discounted(memory, g=Power(power)), floors=[0.07, 0.11])
    fine = dynamic_optimum(problem)
    assert dynamic_optimum(problem, steps=8).bound >= fine.utility - 1e-12
    assert dynamic_upper_bound(problem, steps=8).bound >= fine.utility - 1e-12


# Limits.


def test_floors_and_caps_are_kept() -> None:
    problem = named("gaussian", impact=Discounted(0.4, g=Power(2)), floors=[0.2, 0.1], caps=[0.7, 1.0])
    found = dynamic_optimum(problem)
    assert found.cycle[:, 0].min() >= 0.2 - 1e-9
    assert found.cycle[:, 0].max() <= 0.7 + 1e-9
    assert found.cycle[:, 1].min() >= 0.3 - 1e-9
    assert found.cycle.sum(axis=1) == pytest.approx(1.0)
    assert found.bound < solved("power").utility  # the limits cost something, and the bound sees it
    assert dynamic_upper_bound(problem).bound >= found.utility


def test_limits_on_three_arms() -> None:
    problem = named("gaussian", arms=3, impact=Discounted(0.4, g=Power(2)), floors=[0.1, 0.0, 0.05], caps=[1, 0.6, 1])
    found = dynamic_optimum(problem)
    assert np.all(found.cycle >= np.array([0.1, 0.0, 0.05]) - 1e-9)
    assert np.all(found.cycle <= np.array([1.0, 0.6, 1.0]) + 1e-9)
    assert found.error < 3e-3


# The relaxation on its own.


def test_the_relaxation_is_tight_where_arms_do_not_bend() -> None:
    problem = Problem([constant(v / 10) for v in range(10)], impact=Discounted(0.5))
    relaxed = dynamic_upper_bound(problem)
    assert relaxed.bound == pytest.approx(0.9, abs=1e-3)
    assert relaxed.gap >= 0.0


def test_the_relaxation_takes_a_memory_per_arm_and_many_arms() -> None:
    impacts = [Discounted(0.2), Smoothed(0.9), Instant(), Window(1), Discounted(0.5)]
    problem = Problem([LinearDecline(0.9 - 0.05 * k, 0.2) for k in range(5)], impact=impacts)
    relaxed = dynamic_upper_bound(problem)
    assert relaxed.fixed.utility <= relaxed.bound <= relaxed.fixed.utility + 1e-3  # p r(p) is concave: holding is best
    memories = np.array([0.2, 0.9, 0.0, 0.0, 0.5])
    random = np.random.default_rng(2)
    f, total = np.full(5, 0.2), 0.0
    for p in random.dirichlet([0.5] * 5, size=4000):
        f = memories * f + (1 - memories) * p
        total += sum(p[k] * float(c(f[k])) for k, c in enumerate(problem.curves))
    assert total / 4000 <= relaxed.bound


def test_prices_far_from_the_usual() -> None:
    """Floors that force shares on arms which lose by them push the price below zero."""
    steep = Table([0.0, 0.5, 0.55, 1.0], [1.0, 1.0, 0.0, 0.0])
    problem = Problem([steep, steep], impact=Discounted(0.3), caps=[0.52, 1.0])
    relaxed = dynamic_upper_bound(problem)
    assert relaxed.fixed.utility <= relaxed.bound <= relaxed.fixed.utility + 1e-2


# Mistakes.


def test_too_many_arms_are_offered_the_bound() -> None:
    with pytest.raises(AftereffectError, match=r"up to 3 arms, this problem has 4; dynamic_upper_bound"):
        dynamic_optimum(named("gaussian", arms=4))


APART: dict[str, tuple[Problem, Floats]] = {
    "turns pay": (
        Problem([Tent(1 / 1.5, 1.0, 1.0), Tent(1 / 1.3, 1.0, 1.0)], [Discounted(0.5), Discounted(0.3)]),
        np.array([0.5, 0.3]),
    ),
    "one forgets at once": (
        Problem([LinearDecline(0.9, 0.2), LinearDecline(0.8, 0.3)], [Instant(), Discounted(0.6)]),
        np.array([0.0, 0.6]),
    ),
    "limits": (
        Problem([Tent(0.6, 0.9, 1.0), LinearDecline(0.8, 0.1)], [Discounted(0.2), Discounted(0.8)], floors=[0.1, 0.3]),
        np.array([0.2, 0.8]),
    ),
}


@pytest.mark.parametrize("name", APART)
def test_arms_with_different_memories(name: str) -> None:
    """Above every cycle of three rounds in steps of a tenth, at most the bound, and what its own cycle earns when played."""
    problem, memories = APART[name]
    found = dynamic_optimum(problem)
    shares = [p for p in np.arange(11) / 10 if problem.limits.allows(np.array([p, 1 - p]))]
    cycles = np.array([[[p, 1 - p] for p in cycle] for cycle in itertools.product(shares, repeat=3)])
    best = repeated(problem, memories, cycles).max()
    assert best <= found.bound + 1e-9
    assert found.utility >= best - 1e-9
    assert found.fixed.utility - 1e-9 <= found.utility
    assert repeated(problem, memories, found.cycle[None])[0] == pytest.approx(found.utility, abs=1e-6)
    assert found.achieved == pytest.approx(found.utility, abs=1e-6)
    assert all(problem.limits.allows(p) for p in found.cycle)


def test_taking_turns_pays_for_different_memories_too() -> None:
    found = dynamic_optimum(APART["turns pay"][0])
    assert found.utility == pytest.approx(1.0, abs=1e-6)  # each arm meets its own peak, 1/(1 + memory), in its turn
    assert found.gap > 0.1


def test_memories_that_hardly_differ_are_as_one() -> None:
    responses = [LinearDecline(0.9, 0.2), LinearDecline(0.8, 0.3)]
    same, apart = (dynamic_optimum(Problem(responses, [Discounted(0.5), Discounted(m)])) for m in (0.5, 0.5 + 1e-7))
    assert apart.utility == pytest.approx(same.utility, abs=1e-5)
    assert apart.bound >= same.utility - 1e-6


@pytest.mark.parametrize("function", [dynamic_optimum, dynamic_upper_bound])
def test_what_is_not_a_discounted_average_is_refused(function) -> None:
    own = OwnImpact(lambda _, share: (share, share), start=0.0)
    for impact in (Window(5), own):
        with pytest.raises(AftereffectError, match=r"arm 0's impact must be a discounted average"):
            function(Problem([constant(0.5)] * 2, impact=impact))
    with pytest.raises(AftereffectError, match="not realised activations"):
        function(named("gaussian", driver="realised"))
    with pytest.raises(AftereffectError, match="takes a problem"):
        function("gaussian")
    for steps in (3, True, 2.5, 10**6):
        with pytest.raises(AftereffectError, match="steps must be a whole number"):
            function(named("gaussian"), steps=steps)


def test_realised_activations_do_not_matter_when_everybody_is_split() -> None:
    problem = named("patrol", driver="realised", feedback="split", memory=0.5)
    assert dynamic_optimum(problem, steps=50).gap == 0.0


def test_a_largest_step_is_refused_where_cycles_would_break_it() -> None:
    problem = named("gaussian", arms=2, memory=0.8, seed=3, step=0.05)
    with pytest.raises(
        AftereffectError, match=r"^dynamic_optimum: its cycles may change any share at once, .*step=0\.05"
    ):
        dynamic_optimum(problem)
    free = named("gaussian", arms=2, memory=0.8, seed=3)
    assert dynamic_upper_bound(problem).bound == dynamic_upper_bound(free).bound
    anything = named("gaussian", arms=2, memory=0.8, seed=3, step=1.0)
    assert dynamic_optimum(anything, steps=50).utility == dynamic_optimum(free, steps=50).utility
