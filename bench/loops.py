"""Simulation loops: against hand-written C, against pymab, and the two grid policies against one another."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

import aftereffect as ae
from bench import native
from bench.peers import Peer
from bench.rows import Missing, Row, at_least, at_most
from bench.timing import in_turns

LEVELS = 21


def gaussian(arms: int, memory: float) -> ae.Problem:
    return ae.problem("gaussian", arms=arms, memory=memory, seed=7)


def simulation(problem: ae.Problem, policy: ae.Policy, horizon: int) -> Callable[[], ae.Result]:
    return lambda: ae.simulate(problem, policy, horizon=horizon, runs=1, seed=1, threads=1)


def check_same(result: ae.Result, sums: np.ndarray) -> str:
    """Refuse to compare the times of two loops that did not do the same."""
    realised = result.utility + result.regret - result.realised_regret
    for mine, theirs in ((result.utility[0], sums[:, 0]), (realised[0], sums[:, 1])):
        if not np.allclose(mine, theirs, rtol=1e-9, atol=0.0):
            raise AssertionError(f"the C loop earned {theirs[-1]}, ours {mine[-1]}: they do not do the same work")
    return "same utility at every checkpoint"


def against_c(
    what: str, ours: Callable[[], ae.Result], theirs: Callable[[], np.ndarray], horizon: int, limit: float | None
) -> list[Row]:
    """One row; without a limit it is for information."""
    same = check_same(ours(), theirs())
    times = in_turns({"ours": ours, "c": theirs}, 20)
    nanoseconds = {name: 1e9 * t / horizon for name, t in times.items()}
    note = f"{nanoseconds['ours']:.0f} and {nanoseconds['c']:.0f} ns a round; {same}"
    ratio = times["ours"] / times["c"]
    return [Row(what, f"{ratio:.2f}", note=note) if limit is None else at_most(what, ratio, limit, note)]


def d_ucb_against_c() -> list[Row]:
    problem, policy, horizon = gaussian(2, 0.4), ae.DUCB(), 2_000_000
    ours, theirs = simulation(problem, policy, horizon), native.d_ucb(problem, policy, horizon, 1)
    for_two = native.d_ucb(problem, policy, horizon, 1, "run_d_ucb_two")
    return [
        *against_c("d-ucb, K 2: time over C's", ours, theirs, horizon, 1.35),
        *against_c("d-ucb, K 2: time over that of C for two arms only", ours, for_two, horizon, None),
    ]


def action_ucb_against_c(arms: int, limit: float) -> list[Row]:
    problem, policy = gaussian(arms, 0.0), ae.ActionUCB(levels=LEVELS)
    horizon = {2: 1_000_000, 5: 200_000}[arms]
    ours, theirs = simulation(problem, policy, horizon), native.action_ucb(problem, policy, horizon, 1)
    return against_c(f"action-ucb, K {arms}, N {LEVELS}: time over C's", ours, theirs, horizon, limit)


def d_ucb_against_pymab(python: Path) -> list[Row]:
    horizon, rounds = 2_000_000, 100_000
    ours = simulation(gaussian(2, 0.4), ae.DUCB(), horizon)
    ours()
    peer_rates, own_rates = [], []
    with Peer(python, "pymab_loop.py", rounds) as peer:
        for _ in range(6):
            answer = peer.run()
            peer_rates.append(answer["rounds"] / answer["seconds"])
            own_rates.append(horizon / in_turns({"ours": ours}, 1)["ours"])
    mine, theirs = max(own_rates), max(peer_rates)
    note = f"{mine / 1e6:.1f} and {theirs / 1e6:.2f} million rounds/s; pymab {answer['version']}, its compiled backend"
    return [at_least("d-ucb, K 2: rounds/s over pymab's", mine / theirs, 50, note, digits=0)]


def history_against_action(arms: int) -> list[Row]:
    problem, horizon = gaussian(arms, 0.4), {2: 500_000, 5: 100_000}[arms]
    history = simulation(problem, ae.HistoryUCB(levels=LEVELS), horizon)
    action = simulation(problem, ae.ActionUCB(levels=LEVELS), horizon)
    history(), action()
    times = in_turns({"history": history, "action": action}, 8)
    note = f"{1e9 * times['history'] / horizon:.0f} and {1e9 * times['action'] / horizon:.0f} ns a round"
    ratio = times["history"] / times["action"]
    return [at_most(f"history-ucb, K {arms}, N {LEVELS}: time over action-ucb's", ratio, 1.0, note)]


def threaded_c(loop: Callable[[], np.ndarray]) -> dict[str, Callable[[], object]]:
    """As many runs of the C loop: what two threads can gain on this machine at this moment."""

    def runs(threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: loop(), range(40)))

    return {"C, one": lambda: runs(1), "C, two": lambda: runs(2)}


def threads() -> list[Row]:
    """Many runs on two threads and on one."""
    problem, policy = gaussian(2, 0.0), ae.ActionUCB(levels=LEVELS)

    def runs(threads: int) -> Callable[[], ae.Result]:
        return lambda: ae.simulate(problem, policy, horizon=100_000, runs=40, seed=1, threads=threads)

    one, two = runs(1), runs(2)
    assert np.array_equal(one().regret, two().regret)
    contestants: dict[str, Callable[[], object]] = {"one": one, "two": two}
    with suppress(Missing):
        contestants |= threaded_c(native.action_ucb(problem, policy, 100_000, 1))
    times = in_turns(contestants, 8, time.perf_counter)
    note = f"{times['one']:.2f} and {times['two']:.2f} s for 40 runs of 100,000 rounds; bit-identical"
    if "C, one" in times:
        note += f"; the C loop, by the same means: {times['C, one'] / times['C, two']:.2f}"
    return [at_least("two threads: speed over one's", times["one"] / times["two"], 1.7, note)]
