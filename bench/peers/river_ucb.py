"""Runs in the peers' environment: river's UCB, pull and update, on two Bernoulli arms."""

import json
import random
import sys
import time
from importlib.metadata import version

from river import bandit  # type: ignore[import-not-found]


def seconds(rounds: int) -> float:
    """Processor time of so many pulls and updates; the rewards are drawn before."""
    draw = random.Random(1)
    rewards = [[float(draw.random() < 0.8), float(draw.random() < 0.75)] for _ in range(rounds)]
    policy = bandit.UCB(delta=1, seed=1)
    arms = [0, 1]
    start = time.process_time()
    for reward in rewards:
        arm = policy.pull(arms)
        policy.update(arm, reward[arm])
    return time.process_time() - start


if __name__ == "__main__":
    rounds = int(sys.argv[1])
    for _ in sys.stdin:
        answer = {"version": version("river"), "rounds": rounds, "seconds": seconds(rounds)}
        print(json.dumps(answer), flush=True)
