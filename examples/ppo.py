"""Stable-Baselines3's PPO against curve-thompson, on fresh instances of one family.

In an environment of its own: pip install 'aftereffect[gym]' stable-baselines3, then python examples/ppo.py --seed 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import aftereffect as ae
from aftereffect.gym import Actor

ENVIRONMENT = "aftereffect.gym:aftereffect/Allocation-v0"
PROBLEM = "loan:arms=3,memory=0.8,units=100"
HORIZON = 100


def regret_of(begin: Callable[[Any, int], Any], seeds: range) -> np.ndarray:
    """Regret at the horizon, one episode for each seed: the same instances and draws for everybody."""
    env = gymnasium.make(ENVIRONMENT, problem=PROBLEM, horizon=HORIZON)
    ends = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        player = begin(env, seed)
        over = False
        while not over:
            observation, reward, _, over, info = env.step(player.act(observation))
            player.learn(reward, info)
        ends.append(info["regret"])
    return np.array(ends)


class Trained:
    """What PPO has learned from the episodes before; it sees the last round only."""

    def __init__(self, model: PPO) -> None:
        self.model = model

    def act(self, observation: Any) -> Any:
        """The mean action."""
        return self.model.predict(observation, deterministic=True)[0]

    def learn(self, reward: float, info: Any) -> None:
        """Nothing any more."""


class Agent(Actor):
    """A policy of this library, which begins every episode knowing nothing of the instance."""

    def act(self, observation: Any = None) -> Any:
        """It looks at the rewards it was told, not at observations."""
        return super().act()


def main() -> None:
    """Train, then compare."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--steps", type=int, default=300_000)
    arguments.add_argument("--instances", type=int, default=40)
    given = arguments.parse_args()
    envs = make_vec_env(ENVIRONMENT, 8, seed=given.seed, env_kwargs={"problem": PROBLEM, "horizon": HORIZON})
    began = time.perf_counter()
    model = PPO("MlpPolicy", envs, seed=given.seed, device="cpu").learn(given.steps)
    print(f"PPO, seed {given.seed}: {given.steps:,} steps in {time.perf_counter() - began:.0f} s")
    fresh = range(1_000_000, 1_000_000 + given.instances)  # no training episode begins with these seeds
    memory = 0.8
    even = ae.Fixed([1 / 3] * 3)
    players: dict[str, Callable[[Any, int], Any]] = {
        "PPO": lambda _env, _seed: Trained(model),
        "curve-thompson": lambda env, seed: Agent(ae.CurveThompson(memory=memory), env, horizon=HORIZON, seed=seed),
        "curve-thompson, memory unknown": lambda env, seed: Agent(
            ae.CurveThompson(memory_bound=0.95), env, horizon=HORIZON, seed=seed
        ),
        "even split": lambda env, seed: Agent(even, env, horizon=HORIZON, seed=seed),
    }
    ends = {name: regret_of(begin, fresh) for name, begin in players.items()}
    for name, regret in ends.items():
        half = 2.02 * regret.std(ddof=1) / np.sqrt(len(regret))
        paired = regret - ends["PPO"]
        spread = 2.02 * paired.std(ddof=1) / np.sqrt(len(paired))
        print(f"{name}: regret {regret.mean():.2f} +- {half:.2f}; minus PPO's {paired.mean():+.2f} +- {spread:.2f}")


if __name__ == "__main__":
    main()
