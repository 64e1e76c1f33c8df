"""Worlds stepped by hand draw and pay what the simulator's do, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import AftereffectError
from aftereffect.model.family_notation import family_from

PROBLEMS = {
    "memory": "lending:arms=3,memory=0.6",
    "units": "loan:arms=3,memory=0.5,units=40,shock=0.05",
    "one": "patrol:arms=3,feedback=one,driver=realised",
    "window": "bump:arms=3,impact=window(length=4)",
}


@pytest.mark.parametrize("notation", PROBLEMS.values(), ids=PROBLEMS)
def test_the_same_as_simulated(notation: str) -> None:
    problem = family_from(notation)[0].draw(3)
    shares = [0.5, 0.3, 0.2]
    run = ae.simulate(problem, ae.Fixed(shares), 60, runs=3, seed=5, checkpoints=60, trace=True, threads=1)
    worlds, earned = ae.Worlds(problem, count=3, seed=5), np.zeros((3, 60))
    assert run.trace is not None
    for t in range(60):
        done = worlds.step(shares)
        earned[:, t] = done.expected
        assert np.array_equal(done.seen, run.trace.seen[:, t])
        assert np.array_equal(np.nan_to_num(done.reward), run.trace.reward[:, t])
        assert np.array_equal(done.impact, run.trace.impact[:, t])
    assert np.array_equal(np.cumsum(earned, axis=1), run.utility)


def test_several_problems_whose_curves_have_different_lengths() -> None:
    problems = [
        ae.Problem([ae.Table([0, 1], [0.2, 0.9]), ae.Table([0, 0.5, 1], [0.9, 0.1, 0.4])]),
        ae.Problem([ae.Gaussian(0.4), ae.Tent(0.3, 0.8, 0.5)], impact=ae.Discounted(0.5)),
    ]
    worlds = ae.Worlds(problems, count=5, seed=2)
    for shares in ([0.25, 0.75], [0.9, 0.1], [0.5, 0.5]):
        expected = worlds.step(shares).expected
        assert np.array_equal(expected[[0, 1, 0]], expected[[2, 3, 4]])
    apart = ae.Worlds(problems[1], seed=2)
    for shares in ([0.25, 0.75], [0.9, 0.1], [0.5, 0.5]):
        last = apart.step(shares).expected
    assert last[0] == expected[1]


def test_a_users_own_impact_is_stepped_too() -> None:
    own = ae.OwnImpact(start=0.0, step=lambda _, share: (share, share))
    responses = [ae.LinearDecline(0.9, 0.2), ae.LinearDecline(0.5, 0.1)]
    slow, fast = (ae.Worlds(ae.Problem(responses, impact=i), count=2, seed=1) for i in (own, ae.Instant()))
    for shares in ([[0.2, 0.8], [0.6, 0.4]], [[1.0, 0.0], [0.5, 0.5]]):
        first, second = slow.step(shares), fast.step(shares)
        assert np.allclose(first.expected, second.expected, atol=1e-12)
        assert np.array_equal(first.seen, second.seen)


def test_reset_begins_again() -> None:
    worlds = ae.Worlds(ae.problem("loan", memory=0.8), count=4, seed=1)
    first = [worlds.step([0.7, 0.3]).reward for _ in range(5)]
    worlds.reset(1)
    assert all(np.array_equal(worlds.step([0.7, 0.3]).reward, kept, equal_nan=True) for kept in first)
    worlds.reset(2)
    assert not all(np.array_equal(worlds.step([0.7, 0.3]).reward, kept, equal_nan=True) for kept in first)


@pytest.mark.parametrize("wrong", [[0.5, 0.6], [1.5, -0.5], [1.0], [[0.5, 0.5]] * 3, [float("nan"), 1.0], "a"])
def test_allocations_that_are_none(wrong: object) -> None:
    with pytest.raises(AftereffectError, match="allocations: "):
        ae.Worlds(ae.problem("loan"), count=2).step(wrong)  # type: ignore[arg-type]


def test_worlds_are_of_problems() -> None:
    with pytest.raises(AftereffectError, match="worlds are of a problem, or of a list of them, got 'tent'"):
        ae.Worlds("tent")  # type: ignore[arg-type]
