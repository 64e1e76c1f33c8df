"""Runs in the peers' environment: pymab's own experiment loop with its discounted UCB on two Bernoulli arms."""

import json
import sys
import time

import numpy as np
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig, __version__  # type: ignore[import-not-found]
from pymab.policies import DiscountedUCBPolicy  # type: ignore[import-not-found]


def seconds(horizon: int) -> float:
    """Processor time of one run with the backend that pymab takes of itself, which is its compiled one."""
    experiment = Experiment(
        environment=BanditEnvironment(means=np.array([0.8, 0.75]), reward_model=BernoulliReward()),
        policies={"d-ucb": DiscountedUCBPolicy(n_arms=2, discount_factor=0.8, c=4.0)},
        config=ExperimentConfig(horizon=horizon, n_replicates=1, seed=1),
    )
    start = time.process_time()
    experiment.run()
    return time.process_time() - start


if __name__ == "__main__":
    horizon = int(sys.argv[1])
    for _ in sys.stdin:
        answer = {"version": __version__, "rounds": horizon, "seconds": seconds(horizon)}
        print(json.dumps(answer), flush=True)
