"""Times of several contestants, taken in turns: on a shared machine only such times can be compared.

What runs on one thread is timed by the processor time it took, which leaves out the moments when somebody else held the
core; on a quiet machine that is the wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Contestant = Callable[[], object]
Clock = Callable[[], float]


def seconds(contestant: Contestant, clock: Clock = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    contestant()
    return clock() - start


def in_turns(
    contestants: Mapping[str, Contestant], repetitions: int, clock: Clock = time.process_time
) -> dict[str, float]:
    """Each contestant's shortest time; they run one after another, over and over. Warm up before."""
    shortest = dict.fromkeys(contestants, float("inf"))
    for _ in range(repetitions):
        for name, contestant in contestants.items():
            shortest[name] = min(shortest[name], seconds(contestant, clock))
    return shortest
