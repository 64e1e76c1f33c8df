"""Runs in processes of their own, for policies and impacts in plain Python, which threads cannot speed up."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any

from aftereffect.errors import AftereffectError
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.policies.base import Policy
from aftereffect.simulation.runs import Batch, Finished, Run, run_once


def run_in_processes(batch: Batch, processes: int) -> Finished:
    """Every run of a batch."""
    work, rounds = batch.work, batch.rounds
    problems = [instance.problem for instance in batch.prepared]
    _check_that_it_travels(problems, batch.policies)
    horizon = int(rounds[-1])
    # Started afresh: a fork would inherit threads and locks half way.
    with ProcessPoolExecutor(min(processes, len(work)), multiprocessing.get_context("spawn")) as pool:
        futures = {
            pool.submit(_run, problems[i], p, rounds, (batch.seed, i, r), batch.trace): (p.key, i, r)
            for p, i, r in work
        }
        finished = {}
        try:
            for future in as_completed(futures):
                finished[futures[future]] = future.result()
                if batch.progress is not None:
                    batch.progress(futures[future][0], horizon)
        except BrokenProcessPool:
            raise AftereffectError(
                "a process could not start or was killed; a script that uses processes= calls simulate under "
                'if __name__ == "__main__":'
            ) from None
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return finished


def _run(problem: Problem, policy: Policy, rounds: Ints, key: tuple[int, int, int], trace: bool) -> Run:
    return replace(run_once(problem, policy, rounds, *key, trace=trace), state=None)  # that need not travel


def _check_that_it_travels(problems: list[Problem], policies: list[Policy]) -> None:
    things: list[Any] = [*problems, *policies]
    for thing in things:
        try:
            pickle.dumps(thing)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise AftereffectError(
                f"processes= needs functions and classes that other processes can import, from a module of their own: {error}"
            ) from None
