"""The order of Fig. 2(a): without memory, Algorithm 1 below mEXP3 and CUCB, and these far below EXP3."""

from __future__ import annotations

import pytest

import aftereffect as ae

ERROR = 1e-3  # of each of the five comparisons, two-sided Student intervals over instances: 5e-3 in all


@pytest.fixture(scope="module")
def comparison() -> ae.Comparison:
    family = ae.family("gaussian", arms=2, memory=0.0)
    policies = [ae.policy(name) for name in ("action-ucb", "meta-exp3", "cucb", "exp3")]
    return ae.simulate(family, policies, horizon=100_000, instances=10, runs=4, seed=1, checkpoints=1)


@pytest.mark.parametrize("baseline", ["meta-exp3", "cucb", "exp3"])
def test_algorithm_1_has_less_regret_than(comparison: ae.Comparison, baseline: str) -> None:
    # Paired on the same random numbers; instances count as independent, their runs do not.
    assert comparison.difference("action-ucb", baseline, level=1 - ERROR).high[-1] < 0


@pytest.mark.parametrize("policy", ["meta-exp3", "cucb"])
def test_exp3_over_base_arms_is_far_behind(comparison: ae.Comparison, policy: str) -> None:
    # Its regret is linear: more than .1 a round above the others, who lose about .03.
    assert comparison.difference(policy, "exp3", level=1 - ERROR).high[-1] < -0.1 * 100_000


def test_algorithm_1_has_about_the_regret_of_independent_simulations(comparison: ae.Comparison) -> None:
    # Independent simulations gave 2000 to 2070; the interval of 40 runs on ten instances must come near.
    low, high = (v[-1] for v in comparison["action-ucb"].interval(level=1 - ERROR)[1:])
    assert low < 2070
    assert high > 2000
    assert high - low < 500
