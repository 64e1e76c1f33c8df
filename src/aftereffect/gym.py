"""Gymnasium environments: allocate in a problem of this library, and let its policies act in other environments.

gymnasium.make("aftereffect.gym:aftereffect/Allocation-v0", problem="gaussian:arms=3,memory=0.4", horizon=1000)
gymnasium.make_vec("aftereffect.gym:aftereffect/Allocation-v0", num_envs=1000, problem="gaussian:arms=3,memory=0.4")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import gymnasium
except ImportError:
    raise ImportError("aftereffect.gym needs Gymnasium: pip install 'aftereffect[gym]'") from None
from gymnasium.spaces import Box, Discrete

import aftereffect.policies  # noqa: F401 (makes every policy known)
from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.catalog import Family
from aftereffect.model.curves import Floats
from aftereffect.model.delay import check_delay
from aftereffect.model.family_notation import family_from
from aftereffect.model.feedback import Feedback
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy
from aftereffect.policies.base_arms import project
from aftereffect.policies.pace import before_the_first, keep_pace
from aftereffect.simulation.runs import Instance
from aftereffect.simulation.steps import Stepped, Worlds

ID = "aftereffect/Allocation-v0"
LARGEST_SEED = 2**31


class _Episodes:
    """What the environment and its vectorised form share: problems, spaces, what an action means, regret."""

    def __init__(self, problem: str | Problem | Family, horizon: int, show_impact: bool) -> None:
        self.source = _problem_of(problem)
        if check_delay(self.source.delay) not in (None, (1.0,)):
            raise AftereffectError(
                f"problem: environments show a round's rewards at once, got delay {self.source.delay!r}; leave it out"
            )
        self.horizon = require_whole("horizon", horizon)
        self.show_impact = show_impact
        self.arms = self.source.arms
        shown = (4 if show_impact else 3) * self.arms + 1
        self.action_space = Box(0.0, 1.0, (self.arms,), np.float64)
        self.observation_space = Box(0.0, 1.0, (shown,), np.float64)
        self._instances: list[Instance] = []

    def begin(self, random: np.random.Generator, count: int, problems: int) -> None:
        """Draw the problems, where they are drawn, and their worlds."""
        if isinstance(self.source, Family) or not self._instances:
            source, rounds = self.source, np.arange(1, self.horizon + 1)
            drawn = (
                [source.draw(int(random.integers(LARGEST_SEED))) for _ in range(problems)]
                if isinstance(source, Family)
                else [source]
            )
            self._instances = [Instance.of(p, rounds) for p in drawn]
        given = [instance.problem for instance in self._instances]
        self.worlds = Worlds(given, count, int(random.integers(LARGEST_SEED)))
        self.which = np.arange(count) % len(given)
        self.earned = np.zeros(count)
        self.allocations = np.stack([before_the_first(self.arms, given[j].start) for j in self.which])

    def deployed(self, actions: Floats) -> Floats:
        """Allocations from actions: shares in proportion to them, within floors, caps and the largest step."""
        wanted = np.clip(np.nan_to_num(np.asarray(actions, dtype=np.float64)), 0.0, None)
        totals = wanted.sum(axis=1, keepdims=True)
        shares = np.where(totals > 0, wanted / np.where(totals > 0, totals, 1.0), 1 / self.arms)
        problem = self._instances[0].problem
        if not problem.limits.trivial:
            for row in shares:
                project(row, problem.limits.floors, problem.limits.caps)
            shares /= shares.sum(axis=1, keepdims=True)
        if problem.step is not None:
            for row, before in zip(shares, self.allocations, strict=True):
                keep_pace(before, row, float(problem.step))
        return np.asarray(shares)

    def step(self, actions: Floats) -> Stepped:
        """Let a round pass."""
        self.allocations = self.deployed(actions)
        done = self.worlds.step(self.allocations)
        self.earned += done.expected
        return done

    @property
    def over(self) -> bool:
        """Has the horizon been reached?"""
        return self.worlds.rounds >= self.horizon

    @property
    def regret(self) -> Floats:
        """What the best fixed allocations would have earned more so far, world by world."""
        if self.worlds.rounds == 0:
            return np.zeros(len(self.earned))
        benchmarks = np.array([instance.benchmark[self.worlds.rounds - 1] for instance in self._instances])
        return np.asarray(benchmarks[self.which] - self.earned)

    def observed(self, done: Stepped | None) -> Floats:
        """Shares deployed, what part of the round each arm's observations were, mean rewards, time; all zero at first."""
        count = len(self.which)
        if done is None:
            return np.zeros((count, int(self.observation_space.shape[0])))
        units = self._instances[0].problem.units or 1
        time = np.full((count, 1), self.worlds.rounds / self.horizon)
        parts = [self.allocations, done.seen / units, np.nan_to_num(done.reward)]
        parts += [done.impact] if self.show_impact else []
        return np.asarray(np.clip(np.concatenate([*parts, time], axis=1), 0.0, 1.0))

    def told(self, done: Stepped) -> dict[str, Any]:
        """What `info` holds, world by world."""
        return {
            "allocation": self.allocations,
            "rewards": np.nan_to_num(done.reward),  # Gymnasium's checks want no NaN: `seen` says which are rewards
            "seen": done.seen,
            "expected": done.expected,
            "regret": self.regret,
            "impact": done.impact,
        }

    def best(self) -> Floats:
        """Each world's best fixed allocation."""
        return np.stack([instance.best.allocation for instance in self._instances])[self.which]


def _problem_of(given: str | Problem | Family) -> Problem | Family:
    if isinstance(given, (Problem, Family)):
        return given
    if not isinstance(given, str):
        raise AftereffectError(f"problem must be a problem, a family or the short notation of one, got {shown(given)}")
    family, seed = family_from(given)
    return family if seed is None else family.draw(seed)


class Allocation(gymnasium.Env):
    """One world: every step deploys an allocation and pays the round's realised utility.

    A problem with `seed=` is that one; without it each reset draws an instance. Actions are numbers from 0 to 1, one per
    arm; shares are in proportion to them. An episode is truncated at the horizon. `info["regret"]` is pseudo-regret so far.
    """

    def __init__(
        self, problem: str | Problem | Family = "gaussian", horizon: int = 1000, show_impact: bool = False
    ) -> None:
        self._episodes = _Episodes(problem, horizon, show_impact)
        self.action_space, self.observation_space = self._episodes.action_space, self._episodes.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        self._episodes.begin(self.np_random, 1, 1)
        return self._episodes.observed(None)[0], {"regret": 0.0, "best_fixed": self._episodes.best()[0]}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        done = self._episodes.step(np.asarray(action)[None])
        info = {name: values[0] for name, values in self._episodes.told(done).items()}
        return self._episodes.observed(done)[0], float(done.realised[0]), False, self._episodes.over, info


class Allocations(gymnasium.vector.VectorEnv):
    """Many worlds stepped together by one compiled call; of a family, `instances` problems are drawn and shared out.

    All episodes end together. The step after that begins new ones and ignores its actions (Gymnasium's "next step").
    """

    metadata: dict[str, Any] = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        problem: str | Problem | Family = "gaussian",
        horizon: int = 1000,
        show_impact: bool = False,
        instances: int = 1,
    ) -> None:
        self._episodes = _Episodes(problem, horizon, show_impact)
        self.num_envs, self.instances = require_whole("num_envs", num_envs), require_whole("instances", instances)
        self.single_action_space = self._episodes.action_space
        self.single_observation_space = self._episodes.observation_space
        batched = gymnasium.vector.utils.batch_space
        self.action_space = batched(self.single_action_space, num_envs)
        self.observation_space = batched(self.single_observation_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        return self._begin()

    def _begin(self) -> tuple[Floats, dict[str, Any]]:
        self._episodes.begin(self.np_random, self.num_envs, self.instances)
        return self._episodes.observed(None), {"regret": np.zeros(self.num_envs), "best_fixed": self._episodes.best()}

    def step(self, actions: Any) -> tuple[Floats, Floats, Any, Any, dict[str, Any]]:
        none = np.zeros(self.num_envs, dtype=np.bool_)
        if self._episodes.over:
            observed, info = self._begin()
            return observed, np.zeros(self.num_envs), none, none.copy(), info
        done = self._episodes.step(np.asarray(actions))
        over = np.full(self.num_envs, self._episodes.over)
        return self._episodes.observed(done), done.realised, none, over, self._episodes.told(done)


gymnasium.register(id=ID, entry_point="aftereffect.gym:Allocation", vector_entry_point="aftereffect.gym:Allocations")


class Actor:
    """A policy that acts in a Gymnasium environment whose actions are arms (Discrete) or shares (a Box of [0, 1]).

    `bounds` are the least and the largest reward, which policies want in [0, 1]. Where the environment says in
    `info["rewards"]` what each arm gave, and in `info["seen"]` how often each was observed, the policy is told that;
    otherwise the one reward is told as that of the arm that was drawn, or of every arm with a share. Shares that were deployed,
    where `info["allocation"]` says them, are told instead of those asked for; in this library's environments the
    policy knows the floors, caps, start and step from the beginning, as in `simulate`.
    """

    def __init__(
        self,
        policy: Policy,
        env: Any,
        *,
        horizon: int | None = None,
        seed: int = 0,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        if not isinstance(policy, Policy):
            raise AftereffectError(f"policy must be a Policy, got {shown(policy)}")
        space = env.action_space
        self.discrete = isinstance(space, Discrete)
        shares = (
            isinstance(space, Box)
            and len(space.shape) == 1
            and bool(np.all(space.low <= 0) and np.all(space.high >= 1))
        )
        if not (self.discrete or shares):
            raise AftereffectError(f"actions must be Discrete or a Box of shares from 0 to 1, got {space}")
        if not bounds[0] < bounds[1]:
            raise AftereffectError(f"bounds are the least and the largest reward, got {bounds}")
        self.first = int(space.start) if self.discrete else 0
        arms = int(space.n) if self.discrete else int(space.shape[0])
        feedback: Feedback = "one" if self.discrete else "split"
        self.agent = policy.start(arms, horizon, seed, feedback=feedback, **_known_before(env, arms))
        self.bounds = bounds
        self._dtype = space.dtype
        self._random = np.random.default_rng([seed, 1])
        self._arm = 0

    def act(self) -> Any:
        """The next action."""
        shares = self.agent.ask()
        if not self.discrete:
            return shares.astype(self._dtype)
        self._arm = int(self._random.choice(len(shares), p=shares / shares.sum()))
        return self.first + self._arm

    def learn(self, reward: float, info: dict[str, Any] | None = None) -> None:
        """Take what the action paid."""
        low, high = self.bounds
        if info is not None and {"rewards", "seen"} <= info.keys():
            trials = np.asarray(info["seen"], dtype=np.float64)
            rewards = np.asarray(info["rewards"], dtype=np.float64)
        else:
            shares = self.agent.ask()
            trials = np.asarray(np.arange(len(shares)) == self._arm if self.discrete else shares > 0, dtype=np.float64)
            rewards = np.full(len(shares), reward)
        scaled = np.clip((rewards - low) / (high - low), 0.0, 1.0)
        deployed = None if self.discrete or info is None else info.get("allocation")
        self.agent.tell(np.where(trials > 0, scaled, np.nan), trials=trials, allocation=deployed)


def _known_before(env: Any, arms: int) -> dict[str, Any]:
    """What our own environment keeps to, as a policy's start takes it; nothing of others."""
    inner = env.unwrapped
    if not isinstance(inner, Allocation) or inner._episodes.arms != arms:
        return {}
    source = inner._episodes.source
    problem = source.draw(0) if isinstance(source, Family) else source
    limits = problem.limits
    return {"floors": limits.floors, "caps": limits.caps, "start": problem.start, "step": problem.step}


def play(policy: Policy, env: Any, rounds: int, *, seed: int = 0, bounds: tuple[float, float] = (0.0, 1.0)) -> Floats:
    """Rewards of a policy in an environment; an episode that ends is followed by the next, and the policy remembers."""
    actor = Actor(policy, env, horizon=require_whole("rounds", rounds), seed=seed, bounds=bounds)
    env.reset(seed=seed)
    paid: list[float] = []
    for _ in range(rounds):
        _, reward, terminated, truncated, info = env.step(actor.act())
        actor.learn(float(reward), info)
        paid.append(float(reward))
        if terminated or truncated:
            env.reset()
    return np.array(paid)


__all__: Sequence[str] = ["ID", "Actor", "Allocation", "Allocations", "play"]
