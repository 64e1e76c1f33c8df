"""Results and comparisons: regret identities, tables, intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy import stats

import aftereffect as ae
from aftereffect.oracle.benchmark import fixed_utilities, moving_utilities
from aftereffect.simulation.simulate import draw_instances

OPTIONS: dict[str, Any] = {"horizon": 500, "seed": 3, "checkpoints": 5, "threads": 1}


@pytest.fixture(scope="module")
def comparison() -> ae.Comparison:
    policies = [ae.DUCB(), ae.UCB1(), ae.HistoryUCB(), ae.ActionUCB()]
    return ae.simulate(ae.family("patrol", arms=2), policies, runs=3, instances=4, **OPTIONS)


@pytest.mark.parametrize("impact", [ae.Discounted(0.4), ae.Smoothed(0.9, 1.0)])
def test_regret_is_the_benchmark_minus_utility(impact) -> None:
    problem = ae.problem("patrol", arms=2, impact=impact)
    result = ae.simulate(problem, ae.UCB1(), runs=2, **OPTIONS)
    benchmark = fixed_utilities(problem, result.best[0], result.rounds)
    assert np.allclose(result.regret, benchmark - result.utility, rtol=0, atol=1e-9)
    if not problem.transient:
        assert np.allclose(benchmark, result.rounds * result.best[0].utility, rtol=0, atol=1e-9)


def test_utility_is_the_sum_of_equation_1_over_the_trace() -> None:
    problem = ae.problem("lipschitz", arms=3, seed=2)
    result = ae.simulate(problem, ae.Thompson(), runs=2, trace=True, **OPTIONS)
    assert result.trace is not None
    means = np.stack([problem.curves[k](result.trace.impact[:, :, k]) for k in range(3)], axis=-1)
    sums = np.cumsum((result.trace.allocation * means).sum(axis=-1), axis=1)
    assert np.allclose(result.utility, sums[:, result.rounds - 1], rtol=0, atol=1e-8)
    assert np.array_equal(result.allocations, result.trace.allocation[:, result.rounds - 1])
    assert np.array_equal(result.impacts, result.trace.impact[:, result.rounds - 1])
    drawn = np.cumsum((result.trace.seen * result.trace.reward).sum(axis=-1), axis=1)[:, result.rounds - 1]
    benchmark = result.regret + result.utility
    assert np.allclose(result.realised_regret, benchmark - drawn, rtol=0, atol=1e-8)


@pytest.mark.parametrize("feedback", ["independent", "one", "split"])
def test_realised_regret_has_the_mean_of_regret(feedback) -> None:
    """Within 4 standard errors over 200 runs: error rate 6e-5 each."""
    problem = ae.problem("gaussian", arms=2, seed=1, feedback=feedback)
    result = ae.simulate(problem, ae.UCB1(), 400, runs=200, seed=5, checkpoints=1, threads=2)
    gap = (result.realised_regret - result.regret)[:, -1]
    assert abs(gap.mean()) < 4.0 * gap.std(ddof=1) / np.sqrt(len(gap))
    assert gap.std() > 0


def test_grid_regret_is_below_regret_and_only_for_grids(comparison: ae.Comparison) -> None:
    for key in ("history-ucb", "action-ucb"):
        result = comparison[key]
        assert result.grid_regret is not None
        assert np.all(result.grid_regret <= result.regret + 1e-9)
    assert comparison["d-ucb"].grid_regret is None
    assert comparison["ucb1"].grid_regret is None
    grid = ae.ActionUCB().grid(ae.Setting(2, 500))
    loss = [b.utility - b.on_grid(grid.levels, grid.low, grid.high) for b in comparison["action-ucb"].best]
    expected = comparison["action-ucb"].regret - np.repeat(loss, 3)[:, None] * comparison.rounds
    assert comparison["action-ucb"].grid_regret == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "patrol", "loan", "tent", "bump", "lipschitz", "brier", "lending"])
@pytest.mark.parametrize("impact", [ae.Instant(), ae.Discounted(0.7), ae.Smoothed(0.7, 1.0), ae.Window(5)])
def test_the_best_fixed_allocation_has_no_regret(name: str, impact: ae.Impact) -> None:
    problem = ae.problem(name, impact=impact, seed=1)
    best = ae.best_fixed(problem, 400)
    result = ae.simulate(problem, ae.Fixed(best.allocation.tolist()), 400, runs=2, threads=1)
    assert np.all(np.abs(result.regret[:, -1]) < 1e-6 * 400)


def test_shapes(comparison: ae.Comparison) -> None:
    result = comparison["d-ucb"]
    assert result.regret.shape == result.realised_regret.shape == result.utility.shape == (12, 5)
    assert result.impact.shape == result.allocation.shape == (12, 2)
    assert result.impacts.shape == result.allocations.shape == (12, 5, 2)
    assert (result.instances, result.runs, result.horizon, len(result.best)) == (4, 3, 500, 4)
    assert result.names == ("arm 0", "arm 1")
    assert ae.simulate(ae.problem("lending", arms=2), ae.Fixed(), 10, runs=1).names == ("white", "black")


def test_statistics(comparison: ae.Comparison) -> None:
    result = comparison["ucb1"]
    assert result.mean == pytest.approx(result.regret.mean(axis=0))
    assert result.std == pytest.approx(result.regret.std(axis=0, ddof=1))
    assert result.quantiles(0.1, 0.5) == pytest.approx(np.quantile(result.regret, [0.1, 0.5], axis=0))
    single = ae.simulate(ae.problem("tent"), ae.Fixed(), 10, runs=1, threads=1)
    assert np.all(single.std == 0)
    assert np.all(np.isinf(single.interval().high))


def test_the_interval_of_one_problem_is_students() -> None:
    result = ae.simulate(ae.problem("gaussian"), ae.Thompson(), runs=12, **OPTIONS)
    found = result.interval(0.9)
    for i in range(5):
        values = result.regret[:, i]
        low, high = stats.t.interval(0.9, 11, loc=values.mean(), scale=stats.sem(values))
        assert (found.low[i], found.high[i]) == (pytest.approx(low), pytest.approx(high))


def test_the_difference_is_a_paired_interval_over_instances(comparison: ae.Comparison) -> None:
    found = comparison.difference("d-ucb", "history-ucb")
    gaps = (comparison["d-ucb"].regret - comparison["history-ucb"].regret).reshape(4, 3, 5).mean(axis=1)
    for i in range(5):
        low, high = stats.t.interval(0.95, 3, loc=gaps[:, i].mean(), scale=stats.sem(gaps[:, i]))
        assert found.mean[i] == pytest.approx(gaps[:, i].mean())
        assert (found.low[i], found.high[i]) == (pytest.approx(low), pytest.approx(high))


def test_the_difference_on_one_problem_is_paired_by_run() -> None:
    problem = ae.problem("gaussian")
    both = ae.simulate(problem, [ae.UCB1(), ae.Thompson()], runs=8, **OPTIONS)
    gaps = both["ucb1"].regret - both["thompson"].regret
    test = stats.ttest_rel(both["ucb1"].regret[:, -1], both["thompson"].regret[:, -1]).confidence_interval(0.99)
    found = both.difference("ucb1", "thompson", 0.99)
    assert found.mean == pytest.approx(gaps.mean(axis=0))
    assert (found.low[-1], found.high[-1]) == (pytest.approx(test.low), pytest.approx(test.high))


def test_to_frame(comparison: ae.Comparison) -> None:
    frame = comparison["history-ucb"].to_frame()
    columns = ["problem", "policy", "instance", "run", "round", "regret", "realised_regret", "grid_regret", "utility"]
    columns += ["violation", "violated"]  # patrol has a fairness measure
    assert frame.columns == columns
    assert frame.shape == (60, 11)
    row = frame.filter((polars.col("instance") == 2) & (polars.col("run") == 1) & (polars.col("round") == 300))
    assert row["regret"].to_list() == [comparison["history-ucb"].regret[2 * 3 + 1, 2]]
    assert comparison["d-ucb"].to_frame()["grid_regret"].null_count() == 60
    whole = comparison.to_frame()
    assert whole.shape == (240, 11)
    assert set(whole["policy"].unique()) == set(comparison)


def test_a_comparison_is_a_mapping_by_key() -> None:
    policies = [ae.DUCB(), ae.DUCB(discount=0.9), ae.Phased(ae.CUCB(zero=True), memory=0.4)]
    found = ae.simulate(ae.problem("tent"), policies, runs=1, **OPTIONS)
    assert list(found) == ["d-ucb", "d-ucb:discount=0.9", "phased:inner=cucb(zero=true),memory=0.4"]
    assert len(found) == 3
    assert "d-ucb" in found
    assert "ucb1" not in found
    with pytest.raises(ae.UnknownName, match="d-ucb"):
        found["d-ucp"]


def test_the_same_policy_twice_is_refused() -> None:
    with pytest.raises(ae.AftereffectError, match="'ucb1' is given twice"):
        ae.simulate(ae.problem("tent"), [ae.UCB1(), ae.UCB1(scale=1)], 10)


def test_results_are_worth_reading(comparison: ae.Comparison) -> None:
    text = repr(comparison["d-ucb"])
    assert "d-ucb on patrol" in text
    assert "4 instances x 3 runs" in text
    assert f"{comparison['d-ucb'].mean[-1]:,.1f}" in text
    table = repr(comparison)
    assert [line.split()[0] for line in table.splitlines()[2:]] == sorted(
        comparison, key=lambda k: comparison[k].mean[-1]
    )


@pytest.mark.parametrize("moving", [{"drift": 100}, {"season": 40}, {"change": 60}])
def test_where_responses_move_regret_says_what_it_is_against(moving: dict[str, Any], tmp_path: Path) -> None:
    family = ae.family("patrol", arms=3, **moving)
    found = ae.simulate(family, ae.Fixed(), horizon=120, runs=1, instances=2, seed=1)
    problems = draw_instances(family, 2, 1)
    wanted = [moving_utilities(problem, np.array([120]))[0] / 120 for problem in problems]
    assert found.benchmarks == pytest.approx(wanted)
    said = f"a round of {np.mean(wanted):.4f} that the best allocation of each moment earns"
    assert said in repr(found)
    found.save(tmp_path / "found.npz")
    assert said in repr(ae.load_result(tmp_path / "found.npz"))
    still = ae.simulate(ae.family("patrol", arms=3), ae.Fixed(), horizon=120, runs=2, seed=1)
    assert "that the best fixed allocation earns" in repr(still)


def test_one_instance_of_a_family_says_that_it_stands_for_itself_only() -> None:
    family, said = ae.family("patrol", arms=2), "one instance of the family"
    one = ae.simulate(family, [ae.DUCB()], runs=3, instances=1, **OPTIONS)
    for shown in (repr(one), one._repr_html_(), repr(one["d-ucb"]), one["d-ucb"]._repr_html_()):
        assert said in shown
    for other in (family, family.draw(1)):
        assert said not in repr(ae.simulate(other, ae.DUCB(), runs=3, **OPTIONS))


def test_fair_regret_is_against_the_fair_optimum_on_its_own_history() -> None:
    """Held from the first round on, after another start, the fair optimum has no regret against itself."""
    problem = ae.problem("loan", arms=3, seed=3, memory=0.95, start=[0.9, 0.05, 0.05], units=100, tolerance=0.1)
    held = ae.Fixed(ae.fair_optimum(problem).allocation.tolist())
    found = ae.simulate(problem, held, horizon=200, runs=2, seed=1)
    assert found.parity is not None
    assert found.parity.fair_regret == pytest.approx(0.0, abs=1e-9)
