"""KL-UCB's guarantee, measured: its bounds cover the responses as often as promised, and they are not vacuous.

Statistical tests here fail by chance with probability FALSE_ALARM at most, if the promise is kept: the number of
failures among n independent runs is compared with a binomial of n runs and the promised probability.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import POLICY, stream
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.feedback import Feedback
from aftereffect.policies.kl_ucb import BEFORE, CELL, KLUCBState, kl_upper, learn_bounds
from aftereffect.policies.rules import bind
from aftereffect.simulation.runs import setting_for
from tests.policies.twins import kl, kl_bound

FALSE_ALARM = 1e-6


def tail(failures: int, runs: int, chance: float) -> float:
    """Probability of at least so many failures in so many runs."""
    ways = [math.log(math.comb(runs, i)) for i in range(failures, runs + 1)]
    odds, none = math.log(chance / (1 - chance)), runs * math.log(1 - chance)
    return math.fsum(math.exp(way + (failures + i) * odds + none) for i, way in enumerate(ways))


def truth(problem: ae.Problem, levels: int) -> Floats:
    shares = np.arange(levels + 1) / levels
    return np.array([problem.steady(k, shares) for k in range(problem.arms)])


# The inversion.


@pytest.mark.parametrize("mean", [0.0, 1e-12, 1e-5, 0.03, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("budget", [1e-9, 1e-4, 0.01, 0.3, 1.0, 5.0, 100.0])
def test_kl_bound_is_the_one_brute_force_finds(mean: float, budget: float) -> None:
    found = kl_upper(mean, budget)
    assert found == pytest.approx(kl_bound(mean, budget), abs=1e-9)
    assert mean <= found <= 1.0
    if found < 1.0:  # never short of the bound: what lies right of it is excluded
        assert kl(mean, found) >= budget * (1 - 1e-6) - 1e-12


def test_mixture_is_as_large_as_the_proof_says() -> None:
    # B(s + 1/2, n - s + 1/2) / pi >= (s/n)^s (1 - s/n)^(n - s) / sqrt(1 + pi n), whole rewards or not.
    for n in (1.0, 1.5, 2.0, 3.0, 10.0, 100.0, 12345.0):
        for s in np.linspace(0.0, n, 401):
            mixture = math.lgamma(s + 0.5) + math.lgamma(n - s + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
            most = sum(x * math.log(x / n) for x in (s, n - s) if x > 0)
            assert mixture >= most - 0.5 * math.log(1 + math.pi * n) - 1e-9 * n


# The radius: one sequence, looked at after every observation.


@pytest.mark.parametrize("q", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("adversary", ["none", "raises", "fractions"])
def test_radius_holds_at_all_counts_at_once(q: float, adversary: str) -> None:
    chance, runs, length = 0.1, 2000, 1000
    random = np.random.default_rng(7)
    n = np.arange(1, length + 1)
    allowed = 0.5 * np.log(1 + math.pi * n) - math.log(chance)
    failures, total = np.zeros(runs, dtype=bool), np.zeros(runs)
    for i in range(length):
        # Who looks at the past may raise the mean above q, here wherever the average runs high.
        lifted = adversary == "raises"
        mean = np.where(lifted & (total > q * i), (1 + q) / 2, q)
        if adversary == "fractions":
            total += random.beta(4 * mean, 4 * (1 - mean))
        else:
            total += random.random(runs) < mean
        average = total / (i + 1)
        short = average < q
        failures[short] |= (i + 1) * _kl(average[short], q) >= allowed[i]
    assert tail(int(failures.sum()), runs, chance) >= FALSE_ALARM
    if adversary == "none":
        assert failures.sum() > runs * chance / 20  # and it is not wider than it must be by much


def _kl(average: Floats, q: float) -> Floats:
    a = np.clip(average, 1e-300, 1 - 1e-16)
    return np.asarray(a * np.log(a / q) + (1 - a) * np.log((1 - a) / (1 - q)))


def _own_failures(q: float, chance: float, runs: int, length: int, *, anytime: bool) -> int:
    """Runs in which the policy's own bound on one cell falls below the mean at some count.

    Without `anytime` the budget is cut to ln(1/d), as would do for a count that is settled beforehand.
    """
    rewards = np.random.default_rng(11).random((runs, length)) < q
    cells, before, failures = np.zeros((1, 2), dtype=CELL), np.zeros(3, dtype=BEFORE), 0
    for row in rewards.astype(float):
        total = 0.0
        for n, reward in enumerate(row, start=1):
            total += reward
            cells[0, 0]["count"], cells[0, 0]["reward"] = n, total
            log = -math.log(chance) - (0.0 if anytime else 0.5 * math.log(1 + math.pi * n))
            learn_bounds(cells, 0, 1.0, log, before)
            if cells[0, 0]["bound"] < q:
                failures += 1
                break
    return failures


@pytest.mark.parametrize("q", [0.1, 0.6])
def test_the_policys_own_radius_holds_at_all_counts_and_one_for_a_single_count_would_not(q: float) -> None:
    chance, runs = 0.2, 400
    assert tail(_own_failures(q, chance, runs, 200, anytime=True), runs, chance) >= FALSE_ALARM
    assert tail(_own_failures(q, chance, runs, 200, anytime=False), runs, chance) < FALSE_ALARM


# All bounds of a whole run, looked at after every round.


def never_covered(
    problem: ae.Problem, policy: ae.KLUCB, rounds: int, seed: int, log: float | None = None
) -> tuple[bool, KLUCBState]:
    """Run the policy; did any cell's bound miss its response after any round? `log` replaces ln(1/d) in the check."""
    trace = ae.simulate(problem, policy, rounds, runs=1, seed=seed, trace=True, threads=1).trace
    assert trace is not None
    setting = setting_for(problem, rounds, stream(seed, 0, 0, POLICY))
    state = policy.state(setting)
    rule, asked = bind(state), np.zeros(problem.arms)
    slope, used = state.settings["slope"][0], state.settings["log"][0] if log is None else log
    real = truth(problem, state.cells.shape[1] - 1) - 0.5 * slope - 1e-12
    cells, before, missed = state.cells.copy(), state.before.copy(), False
    for t in range(rounds):
        rule.ask(state, t + 1, asked)
        assert asked.tolist() == trace.allocation[0, t].tolist()
        rule.tell(state, t + 1, asked, trace.seen[0, t], trace.reward[0, t])
        cells[...] = state.cells
        for k in range(problem.arms):
            learn_bounds(cells, k, slope, used, before)
        missed = missed or bool(np.any(cells["bound"] < real))
    return missed, state


@pytest.mark.parametrize(
    ("name", "arms", "memory", "feedback"),
    [("lipschitz", 2, 0.5, "independent"), ("gaussian", 3, 0.7, "one"), ("patrol", 2, 0.0, "split")],
)
def test_bounds_cover_all_cells_at_all_times(name: str, arms: int, memory: float, feedback: Feedback) -> None:
    delta, runs, missed = 0.3, 100, 0
    for seed in range(runs):
        problem = ae.problem(name, arms=arms, memory=memory, seed=seed, feedback=feedback)
        missed += never_covered(problem, ae.KLUCB(delta=delta, levels=8), 300, seed)[0]
    assert tail(missed, runs, delta) >= FALSE_ALARM


def test_coverage_would_notice_a_radius_too_narrow() -> None:
    missed = 0
    for seed in range(60):
        problem = ae.problem("lipschitz", arms=2, memory=0.5, seed=seed)
        missed += never_covered(problem, ae.KLUCB(delta=0.3, levels=8), 300, seed, log=-1.0)[0]
    assert tail(missed, 60, 0.3) < FALSE_ALARM


@pytest.mark.parametrize(
    ("world", "doubted"),
    [({"shock": 0.1, "units": 1000}, True), ({"shock": 0.1}, False), ({"units": 1000}, False)],
)
def test_units_that_share_a_shock_are_doubted_and_nothing_else(world: dict[str, float], doubted: bool) -> None:
    problem = ae.problem("lipschitz", arms=2, memory=0.5, seed=1, **world)
    said = ae.KLUCB(memory=0.5).doubts(problem)
    assert any("share the round's shock" in clause for clause in said) == doubted
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ae.simulate(problem, ae.KLUCB(memory=0.5), 10, runs=1, threads=1)
    assert any("share the round's shock" in str(w.message) for w in warned) == doubted


def test_bounds_do_fail_where_units_share_a_shock() -> None:
    missed = 0
    for seed in range(20):
        problem = ae.problem("lipschitz", arms=2, memory=0.5, seed=seed, shock=0.1, units=1000)
        missed += never_covered(problem, ae.KLUCB(delta=0.05, levels=8), 100, seed)[0]
    assert tail(missed, 20, 0.05) < FALSE_ALARM


def test_memory_may_be_an_upper_bound() -> None:
    delta, runs, missed = 0.3, 60, 0
    for seed in range(runs):
        problem = ae.problem("lipschitz", arms=2, memory=0.2, seed=seed)
        missed += never_covered(problem, ae.KLUCB(memory=0.8, delta=delta, levels=8), 300, seed)[0]
    assert tail(missed, runs, delta) >= FALSE_ALARM


def test_bounds_are_not_vacuous() -> None:
    problem = ae.problem("patrol", arms=2, memory=0.5, seed=1)
    _, state = never_covered(problem, ae.KLUCB(levels=10), 5000, 1)
    over = state.cells["bound"] - truth(problem, 10)
    most = np.unravel_index(np.argmax(state.cells["count"]), over.shape)
    assert over[most] < 0.15
    assert np.all(state.cells["bound"][:, 4:7] < 0.95)


# How far the impact lags behind, and what may be booked.


def test_the_lag_bounds_the_distance_of_the_impact() -> None:
    problem = ae.problem("lipschitz", arms=3, memory=0.6, seed=2)
    policy = ae.KLUCB(memory=0.7, levels=6)
    trace = ae.simulate(problem, policy, 2000, runs=1, seed=4, trace=True, threads=1).trace
    assert trace is not None
    state = policy.state(setting_for(problem, 2000, stream(4, 0, 0, POLICY)))
    rule, booked = bind(state), np.zeros(2000)
    for t in range(2000):
        rule.tell(state, t + 1, trace.allocation[0, t], trace.seen[0, t], trace.reward[0, t])
        away = np.abs(trace.impact[0, t] - trace.allocation[0, t])
        assert np.all(away <= state.arms["lag"] + 1e-12)
        booked[t] = state.cells["count"].sum()
    assert 0.8 * trace.seen[0].sum() < booked[-1] < trace.seen[0].sum()


def test_nothing_is_booked_before_the_impact_has_settled() -> None:
    agent = ae.KLUCB(memory=0.5, levels=10).start(arms=2)
    counts = []
    for _ in range(8):
        agent.ask()
        agent.tell([0.5, 0.5], allocation=[0.3, 0.7])
        counts.append(agent.state.cells["count"].sum())
    assert counts == [0, 0, 0, 0, 2, 4, 6, 8]  # from anywhere: .5^5 is the first below half a step


def test_rounds_without_rewards_count_for_the_lag_only() -> None:
    agent = ae.KLUCB(memory=0.5, levels=10).start(arms=2, history=[[0.3, 0.7]] * 5)
    assert agent.state.cells["count"].sum() == 0
    agent.ask()
    agent.tell([0.5, 0.5], allocation=[0.3, 0.7], trials=[3, 1])
    assert agent.state.cells["count"][0, 3] == 3
    assert agent.state.cells["count"][1, 7] == 1


# Parameters and explanation.


@pytest.mark.parametrize(
    "wrong", [{"memory": 1.0}, {"lipschitz": 0.0}, {"delta": 0.0}, {"delta": 1.0}, {"levels": 0}, {"levels": 2.5}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(AftereffectError, match=next(iter(wrong))):
        ae.policy("kl-ucb", **wrong)


def test_memory_must_come_from_somewhere() -> None:
    with pytest.raises(ae.MissingParameter, match="memory"):
        ae.KLUCB().start(arms=2)


def test_explanation_shows_bound_estimate_and_what_the_epoch_waits_for() -> None:
    problem = ae.problem("gaussian", arms=2, memory=0.4, seed=1)
    agent = ae.KLUCB(memory=0.4, levels=10).start(arms=2, horizon=1000, seed=1)
    random = np.random.default_rng(1)
    for _ in range(400):
        p = agent.ask()
        rewards = [float(random.random() < problem.steady(k, x)) for k, x in enumerate(p)]
        agent.tell([r if random.random() < x else math.nan for r, x in zip(rewards, p, strict=True)])
    reasons = agent.explain()
    for arm in reasons["arms"]:
        if arm["observations"]:
            assert 0 <= arm["estimate"] <= arm["bound"] <= 1
        assert arm["observations_to_go"] > 0
    assert reasons["index"] >= reasons["runner_up"]["index"]
    assert reasons["epoch"] > 5
