"""`simulate`: threads, checkpoints, chunks, families, common random numbers."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import DoubtfulAssumption
from aftereffect.simulation import runs as module
from aftereffect.simulation.simulate import checkpoint_rounds, draw_instances
from tests.simulation.cases import IDS, POLICIES

CURVES = ("regret", "realised_regret", "utility", "impact", "allocation")


def _identical(first: ae.Result, second: ae.Result) -> None:
    for name in CURVES:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert np.array_equal(first.rounds, second.rounds)
    assert (first.grid_regret is None) == (second.grid_regret is None)
    if first.grid_regret is not None and second.grid_regret is not None:
        assert np.array_equal(first.grid_regret, second.grid_regret)


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_one_and_two_threads_are_bit_identical(policy: ae.Policy) -> None:
    family = ae.family("patrol", arms=3, memory=0.4)
    one, two = (ae.simulate(family, policy, 300, runs=3, instances=2, seed=4, checkpoints=5, threads=n) for n in (1, 2))
    _identical(one, two)


def test_several_policies_together_are_what_they_are_alone() -> None:
    family = ae.family("loan", arms=3)
    policies = [ae.DUCB(), ae.HistoryUCB(), ae.Thompson()]
    options: dict[str, Any] = {"horizon": 400, "runs": 2, "instances": 2, "seed": 1, "threads": 2}
    together = ae.simulate(family, policies, **options)
    for policy in policies:
        _identical(together[policy.key], ae.simulate(family, policy, **options))


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ae.problem("gaussian", arms=2, seed=1)
    policy = ae.Phased(ae.UCB1(), 0.4)
    whole = ae.simulate(problem, policy, 300, runs=2, seed=2, threads=1, trace=True)
    monkeypatch.setattr(module, "CHUNK", chunk)
    parts = ae.simulate(problem, policy, 300, runs=2, seed=2, threads=1, trace=True)
    _identical(whole, parts)
    assert whole.trace is not None
    assert parts.trace is not None
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole.trace, parts.trace, strict=True))


def test_checkpoints_change_nothing_but_where_one_looks() -> None:
    problem = ae.problem("gaussian", arms=2, seed=1)
    options: dict[str, Any] = {"horizon": 1_000, "runs": 3, "seed": 5, "threads": 1}
    dense = ae.simulate(problem, ae.UCB1(), checkpoints=1_000, **options)
    assert dense.rounds.tolist() == list(range(1, 1_001))
    for checkpoints in (1, 7, 50, [3, 10, 999], [1_000]):
        sparse = ae.simulate(problem, ae.UCB1(), checkpoints=checkpoints, **options)
        assert sparse.rounds[-1] == 1_000
        assert np.array_equal(sparse.regret, dense.regret[:, sparse.rounds - 1])
        assert np.array_equal(sparse.allocation, dense.allocation)


@pytest.mark.parametrize(
    ("horizon", "checkpoints", "expected"),
    [
        (100, 4, [25, 50, 75, 100]),
        (10, 50, list(range(1, 11))),
        (7, 2, [4, 7]),
        (1, 1, [1]),
        (100, [50], [50, 100]),
        (100, [20, 10, 20], [10, 20, 100]),
        (100, np.array([100]), [100]),
    ],
)
def test_checkpoint_rounds(horizon: int, checkpoints, expected: list[int]) -> None:
    assert checkpoint_rounds(horizon, checkpoints).tolist() == expected


@pytest.mark.parametrize("horizon", [1, 3, 49, 50, 51, 999, 1_234_567])
@pytest.mark.parametrize("count", [1, 3, 50, 64])
def test_the_last_checkpoint_is_the_horizon(horizon: int, count: int) -> None:
    rounds = checkpoint_rounds(horizon, count)
    assert rounds[-1] == horizon
    assert len(rounds) == min(count, horizon)
    assert rounds[0] >= 1
    assert np.all(np.diff(rounds) > 0)


def test_a_seed_repeats_and_another_differs() -> None:
    problem = ae.problem("gaussian")
    first, again, other = (ae.simulate(problem, ae.Thompson(), 500, runs=2, seed=s, threads=1) for s in (1, 1, 2))
    _identical(first, again)
    assert not np.array_equal(first.utility, other.utility)


def test_runs_differ_and_do_not_depend_on_how_many_there_are() -> None:
    problem = ae.problem("gaussian")
    few, many = (ae.simulate(problem, ae.UCB1(), 300, runs=n, seed=1, threads=1) for n in (2, 5))
    assert np.array_equal(few.regret, many.regret[:2])
    assert len({row[-1] for row in many.realised_regret.tolist()}) > 1


def test_instances_are_reproducible_and_do_not_depend_on_how_many_there_are() -> None:
    family = ae.family("patrol", arms=2)
    few, many = draw_instances(family, 2, 9), draw_instances(family, 4, 9)
    x = np.linspace(0, 1, 11)
    values = [np.stack([c(x) for c in p.curves]) for p in many]
    for i, problem in enumerate(few):
        assert np.array_equal(np.stack([c(x) for c in problem.curves]), values[i])
    assert not np.array_equal(values[0], values[1])
    a, b = (ae.simulate(family, ae.DUCB(), 200, runs=2, instances=n, seed=9, threads=1) for n in (2, 4))
    assert np.array_equal(a.regret, b.regret[:4])


def test_policies_meet_the_same_activations() -> None:
    """Two fixed allocations that give arm 0 the same share see it in the same rounds."""
    problem = ae.problem("gaussian", arms=3, seed=1)
    first, second = ae.Fixed([0.5, 0.5, 0.0]), ae.Fixed([0.5, 0.1, 0.4])
    traces = ae.simulate(problem, [first, second], 500, runs=2, seed=1, threads=1, trace=True)
    a, b = traces[first.key].trace, traces[second.key].trace
    assert a is not None
    assert b is not None
    assert np.array_equal(a.seen[:, :, 0], b.seen[:, :, 0])
    assert np.array_equal(a.reward[:, :, 0], b.reward[:, :, 0])


def test_a_trace_holds_every_round_and_shows_the_impact_after_g() -> None:
    problem = ae.Problem([ae.Bump(0.3), ae.Gaussian(0.5)], ae.Discounted(0.5, ae.Power(2.0)))
    result = ae.simulate(problem, ae.Fixed([0.4, 0.6]), 50, runs=2, threads=1, trace=True)
    assert result.trace is not None
    assert all(part.shape == (2, 50, 2) for part in result.trace)
    assert result.trace.allocation == pytest.approx(np.tile([0.4, 0.6], (2, 50, 1)))
    assert result.trace.impact == pytest.approx(np.tile([0.16, 0.36], (2, 50, 1)))
    assert result.impact == pytest.approx(np.tile([0.16, 0.36], (2, 1)))
    assert ae.simulate(problem, ae.Fixed(), 50, runs=1, threads=1).trace is None


def test_too_large_a_trace_is_refused_before_anything_runs() -> None:
    with pytest.raises(ae.AftereffectError, match="trace"):
        ae.simulate(ae.problem("gaussian"), ae.Fixed(), 10**9, runs=10, trace=True)


def test_progress_counts_every_round() -> None:
    lock = threading.Lock()
    done: dict[str, int] = {}

    def progress(key: str, rounds: int) -> None:
        with lock:
            done[key] = done.get(key, 0) + rounds

    ae.simulate(ae.problem("tent"), [ae.Fixed(), ae.UCB1()], 100, runs=3, threads=2, progress=progress)
    assert done == {"fixed": 300, "ucb1": 300}


def test_an_error_in_a_thread_comes_out() -> None:
    class Failing(ae.PlainPolicy):
        name = "failing"

        def ask(self, arrays, t, allocation) -> None:
            if t == 20:
                raise RuntimeError("round twenty")
            allocation[:] = 0.5

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="round twenty"):
            ae.simulate(ae.problem("tent"), Failing(), 100, runs=4, threads=threads)


def test_missing_memory_is_filled_from_the_problem() -> None:
    problem = ae.problem("gaussian", memory=0.6, seed=1)
    given, filled = ae.HistoryUCB(memory=0.6), ae.HistoryUCB()
    options: dict[str, Any] = {"horizon": 300, "runs": 2, "seed": 1, "threads": 1}
    _identical(ae.simulate(problem, given, **options), ae.simulate(problem, filled, **options))


def test_a_policy_that_cannot_start_says_so() -> None:
    with pytest.raises(ae.AftereffectError, match="floors or caps"):
        ae.simulate(ae.problem("gaussian", floors=0.1), [ae.Fixed(), ae.UCB1()], 100)
    own = ae.OwnImpact(lambda s, p: (s, p), limit_at=lambda p: p)
    with pytest.raises(ae.MissingParameter, match="memory"):
        ae.simulate(ae.problem("gaussian", impact=own), ae.HistoryUCB(), 100)


def test_a_family_without_instances_gives_each_run_its_own() -> None:
    family = ae.family("patrol", arms=2, memory=0.3)
    own = ae.simulate(family, ae.DUCB(), 100, runs=3, seed=9, threads=1)
    _identical(own, ae.simulate(family, ae.DUCB(), 100, runs=1, instances=3, seed=9, threads=1))
    assert own.regret.shape[0] == 3
    assert len({b.utility for b in own.best}) == 3


def test_the_best_fixed_allocations_do_not_depend_on_threads() -> None:
    family = ae.family("lipschitz", arms=3)
    one, two = (ae.simulate(family, ae.RoundRobin(), 20, runs=1, instances=4, threads=n) for n in (1, 2))
    _identical(one, two)
    assert [b.utility for b in one.best] == [b.utility for b in two.best]


@pytest.mark.parametrize(
    ("policy", "options", "said"),
    [
        (ae.KLUCB(lipschitz=0.1), {}, "lipschitz=0.1 is below the steepest slope"),
        (ae.KLUCB(memory=0.2), {}, "memory=0.2 is below the problem's, 0.5"),
        (ae.KLUCB(), {"driver": "realised"}, "follow the intended shares"),
        (ae.KLUCB(), {"drift": 1000}, "responses that stay"),
        (ae.HistoryUCB(memory=0.2), {}, "told a memory of 0.2, the problem's is 0.5"),
        (ae.CurveThompson(memory_bound=0.3), {}, "at most 0.3, the problem's is 0.5"),
    ],
    ids=lambda part: getattr(part, "key", None),
)
def test_what_a_policy_takes_for_granted_wrongly_is_said(policy: ae.Policy, options: dict[str, Any], said: str) -> None:
    problem = ae.problem("patrol", arms=2, memory=0.5, seed=1, **options)
    with pytest.warns(DoubtfulAssumption, match=said):
        ae.simulate(problem, policy, 5, runs=1)


@pytest.mark.parametrize("policy", [ae.KLUCB(), ae.KLUCB(memory=0.9), ae.HistoryUCB(memory=0.5), ae.HistoryUCB()])
def test_where_all_holds_nothing_is_said(policy: ae.Policy) -> None:
    """An upper bound on the memory is all that kl-ucb asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ae.simulate(ae.problem("patrol", arms=2, memory=0.5, seed=1), policy, 5, runs=1)


def test_processes_give_the_same_numbers() -> None:
    problem = ae.problem("patrol", arms=2, memory=0.5, seed=1)
    policies = [OnTheSpot(), ae.DUCB()]
    told: list[tuple[str, int]] = []
    apart = ae.simulate(problem, policies, 30, runs=2, processes=2, progress=lambda key, done: told.append((key, done)))
    together = ae.simulate(problem, policies, 30, runs=2, threads=1)
    for key in together:
        _identical(apart[key], together[key])
    assert sorted(told) == sorted([(p.key, 30) for p in policies] * 2)


def test_what_cannot_travel_to_a_process_is_said_at_once() -> None:
    @dataclass(frozen=True)
    class Nowhere(OnTheSpot):
        pass

    with pytest.raises(ae.AftereffectError, match="other processes can import"):
        ae.simulate(ae.problem("patrol", seed=1), Nowhere(), 5, runs=1, processes=1)


@dataclass(frozen=True)
class OnTheSpot(ae.PlainPolicy):
    """All to the arm of the round's number."""

    name: ClassVar[str] = "on-the-spot"

    def arrays(self, setting: ae.Setting) -> dict[str, Any]:
        return {}

    def ask(self, arrays: Any, t: int, allocation: Any) -> None:
        allocation[:] = 0.0
        allocation[t % len(allocation)] = 1.0

    def tell(self, arrays: Any, t: int, allocation: Any, seen: Any, reward: Any) -> None:
        pass
