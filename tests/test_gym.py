"""The environments for Gymnasium, and policies in its other environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.spaces import Box, Discrete, MultiBinary  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

import aftereffect as ae  # noqa: E402
from aftereffect.errors import AftereffectError  # noqa: E402
from aftereffect.gym import Actor, Allocation, play  # noqa: E402

Environment: Any = gymnasium.Env
ID = "aftereffect.gym:aftereffect/Allocation-v0"
PROBLEM = "gaussian:arms=3,memory=0.4"


@pytest.mark.filterwarnings("ignore:.*render_mode.*")
@pytest.mark.parametrize(
    "options", [{}, {"show_impact": True}, {"problem": "loan:arms=2,units=50,floors=0.1,step=0.1"}]
)
def test_gymnasiums_own_checks(options: dict[str, Any]) -> None:
    check_env(gymnasium.make(ID, **{"problem": PROBLEM, "horizon": 30, **options}).unwrapped, skip_render_check=True)


def _episode(env: Any, seed: int, action: Any = (0.5, 0.3, 0.2)) -> tuple[list[float], dict[str, Any]]:
    env.reset(seed=seed)
    paid = []
    while True:
        _, reward, terminated, truncated, info = env.step(np.array(action))
        paid.append(float(reward))
        if terminated or truncated:
            return paid, info


def test_a_seed_settles_problem_and_draws() -> None:
    env = gymnasium.make(ID, problem=PROBLEM, horizon=40)
    first, again, other = _episode(env, 3), _episode(env, 3), _episode(env, 4)
    assert first[0] == again[0] != other[0]
    assert first[1]["regret"] == again[1]["regret"] != other[1]["regret"]
    assert len(first[0]) == 40


def test_regret_is_simulates() -> None:
    env = gymnasium.make(ID, problem="lending:arms=3,memory=0.6,seed=2", horizon=50)
    problem = ae.problem("lending", arms=3, memory=0.6, seed=2)
    wanted = ae.simulate(problem, ae.Fixed([0.5, 0.3, 0.2]), 50, runs=1, threads=1)
    assert _episode(env, 0)[1]["regret"] == pytest.approx(wanted.regret[0, -1], abs=1e-9)
    env.reset(seed=1)
    best = ae.best_fixed(problem, 50).allocation
    assert _episode(env, 0, best)[1]["regret"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("action", "shares"), [((0.4, 0.4, 0.8), (0.25, 0.25, 0.5)), ((0.0, 0.0, 0.0), (1 / 3, 1 / 3, 1 / 3))]
)
def test_shares_are_in_proportion_to_actions(action: Any, shares: Any) -> None:
    env = gymnasium.make(ID, problem=PROBLEM, horizon=5)
    env.reset(seed=0)
    assert np.allclose(env.step(np.array(action))[4]["allocation"], shares)


def test_floors_caps_and_steps_are_kept() -> None:
    env = gymnasium.make(ID, problem="loan:arms=3,floors=0.1,caps=0.6,start=even,step=0.05,seed=1", horizon=30)
    env.reset(seed=0)
    before = np.full(3, 1 / 3)
    for _ in range(30):
        now = env.step(np.array([1.0, 0.0, 0.0]))[4]["allocation"]
        assert np.abs(now - before).max() <= 0.05 + 1e-9
        assert now.min() >= 0.1 - 1e-9
        before = now
    assert before.max() == pytest.approx(0.6)


def test_many_worlds_are_what_single_ones_are() -> None:
    problem = ae.problem("loan", arms=2, memory=0.5, seed=4)
    envs = gymnasium.make_vec(ID, num_envs=6, problem=problem, horizon=20)
    observed, info = envs.reset(seed=9)
    assert envs.observation_space.contains(observed)
    worlds = ae.Worlds(problem, 6, int(np.random.default_rng(np.random.SeedSequence(9)).integers(2**31)))
    rng = np.random.default_rng(1)
    for t in range(20):
        actions = rng.dirichlet([1, 1], 6)
        observed, reward, terminated, truncated, info = envs.step(actions)
        assert np.array_equal(reward, worlds.step(info["allocation"]).realised)
        assert envs.observation_space.contains(observed)
        assert not terminated.any()
        assert truncated.all() == (t == 19)
    assert info["regret"].shape == (6,)
    observed, reward, _, truncated, info = envs.step(actions)  # begins anew
    assert not observed.any()
    assert not reward.any()
    assert not truncated.any()


def test_a_family_gives_many_worlds_several_problems() -> None:
    envs = gymnasium.make_vec(ID, num_envs=6, problem="patrol:arms=2", horizon=5, instances=3)
    _, info = envs.reset(seed=2)
    best = info["best_fixed"]
    assert np.array_equal(best[:3], best[3:])
    assert len({tuple(row) for row in best.tolist()}) == 3


class Slots(Environment):  # type: ignore[misc]
    """A bandit of somebody else's: rewards from -1 to 3, the arm with the highest number is the best."""

    observation_space = Discrete(1)

    def __init__(self, arms: int = 3, shares: bool = False) -> None:
        self.action_space = Box(0, 1, (arms,), np.float32) if shares else Discrete(arms, start=5)
        self.left = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.left = 40
        return 0, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.left -= 1
        good = action[-1] if isinstance(self.action_space, Box) else float(action == 7)
        return 0, 3.0 if self.np_random.random() < 0.2 + 0.7 * good else -1.0, False, self.left == 0, {}


@pytest.mark.parametrize("shares", [False, True])
def test_policies_learn_in_others_environments(shares: bool) -> None:
    policy = ae.Thompson() if not shares else ae.Fixed([0.0, 0.0, 1.0])
    paid = play(policy, Slots(shares=shares), 400, seed=1, bounds=(-1.0, 3.0))
    assert len(paid) == 400
    assert paid[-200:].mean() > 2.0  # the best arm pays 2.6 on average, the others -0.2
    again = play(policy, Slots(shares=shares), 400, seed=1, bounds=(-1.0, 3.0))
    assert np.array_equal(paid, again)


def test_a_policy_in_our_own_environment_is_told_what_each_arm_gave() -> None:
    env = gymnasium.make(ID, problem="patrol:arms=3,seed=1", horizon=30)
    actor = Actor(ae.RoundRobin(), env, seed=0)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(actor.act())
    actor.learn(reward, info)
    assert actor.agent.rounds == 1


LIMITED = "loan:arms=3,memory=0.8,seed=1,floors=0.15,caps=0.6,start=[0.5,0.3,0.2],step=0.04,units=100"


def _heard_and_deployed(policy: ae.Policy, env: Any, rounds: int) -> Any:
    actor, deployed = Actor(policy, env, horizon=rounds, seed=1), []
    env.reset(seed=1)
    for _ in range(rounds):
        _, reward, _, over, info = env.step(actor.act())
        actor.learn(float(reward), info)
        deployed.append(info["allocation"])
        if over:
            env.reset()
    log = actor.agent.log
    return log["advised"].to_numpy().reshape(rounds, 3), log["share"].to_numpy().reshape(rounds, 3), deployed


def test_a_policy_hears_what_was_deployed_and_knows_the_limits() -> None:
    advised, heard, deployed = _heard_and_deployed(
        ae.CurveThompson(memory=0.8), gymnasium.make(ID, problem=LIMITED, horizon=60), 60
    )
    assert np.array_equal(heard, deployed)
    assert np.allclose(advised, deployed, atol=1e-9)  # it asks for nothing that the environment would change


def test_a_new_episode_begins_at_the_start_and_the_policy_hears_it() -> None:
    env = gymnasium.make(ID, problem=LIMITED, horizon=30)
    advised, heard, deployed = _heard_and_deployed(ae.Fixed([0.15, 0.25, 0.6]), env, 60)
    assert np.array_equal(heard, deployed)
    assert np.abs(heard[30] - [0.5, 0.3, 0.2]).max() <= 0.04 + 1e-9
    assert np.abs(advised[30] - heard[30]).max() > 0.1


def test_other_environments_say_what_they_deployed_too() -> None:
    class Halved(Slots):
        def step(self, action: Any) -> Any:
            shares = 0.5 * action + 0.5 / 3
            return *super().step(action)[:4], {"allocation": shares.astype(np.float64)}

    _, heard, deployed = _heard_and_deployed(ae.Fixed([0.0, 0.0, 1.0]), Halved(shares=True), 20)
    assert np.array_equal(heard, deployed)
    assert heard[0].tolist() == pytest.approx([1 / 6, 1 / 6, 2 / 3])


def test_a_policy_that_cannot_keep_the_limits_is_refused_as_in_simulate() -> None:
    with pytest.raises(AftereffectError) as simulated:
        ae.simulate(ae.problem("loan", arms=3, floors=0.15), ae.UCB1(), 10, runs=1)
    with pytest.raises(AftereffectError) as played:
        Actor(ae.UCB1(), gymnasium.make(ID, problem="loan:arms=3,floors=0.15"))
    assert str(played.value) == str(simulated.value)


def test_actions_that_no_policy_can_take() -> None:
    env = Slots()
    env.action_space = MultiBinary(3)
    with pytest.raises(AftereffectError, match="actions must be Discrete or a Box of shares"):
        Actor(ae.Thompson(), env)
    with pytest.raises(AftereffectError, match="bounds are the least and the largest reward"):
        Actor(ae.Thompson(), Slots(), bounds=(1.0, 1.0))


def test_a_delay_is_refused_and_not_ignored() -> None:
    assert Allocation(problem="loan:arms=3,delay=0").action_space.shape == (3,)
    with pytest.raises(AftereffectError, match="show a round's rewards at once, got delay 8"):
        Allocation(problem="loan:arms=3,units=100,delay=8")


def test_what_is_neither_a_problem_nor_a_policy() -> None:
    with pytest.raises(
        AftereffectError, match="problem must be a problem, a family or the short notation of one, got 3"
    ):
        Allocation(problem=3)  # type: ignore[arg-type]
    with pytest.raises(AftereffectError, match="policy must be a Policy, got 'thompson'"):
        Actor("thompson", Slots())  # type: ignore[arg-type]
