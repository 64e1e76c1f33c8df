"""The rounds that agents keep, however they are kept: those told at once as advised are rows of a table."""

from __future__ import annotations

import numpy as np

import aftereffect as ae


def _played(rounds: int, keep: int) -> tuple[ae.Agent, list[tuple[list[float], list[float]]]]:
    """An agent that is told at once, now and then of another split or with a reason; what it deployed and was told."""
    agent = ae.CurveThompson(memory=0.5, levels=10).start(arms=3, seed=1, feedback="split", floors=0.1, keep=keep)
    rng, happened = np.random.default_rng(1), []
    for t in range(rounds):
        shares, rewards = agent.ask(), rng.random(3)
        if t % 7 == 3:
            shares = np.array([0.21, 0.29, 0.5])  # between levels: never what was advised
            agent.tell(rewards, allocation=shares, reason="chosen by hand")
        else:
            agent.tell(rewards)
        happened.append((shares.tolist(), rewards.tolist()))
    return agent, happened


def test_rounds_are_kept_as_they_were_however_many_have_been_forgotten() -> None:
    agent, happened = _played(rounds=75, keep=20)
    log = agent._course.log
    first = agent._course.first
    assert 20 <= len(log) < 60
    assert [(r.deployed.tolist(), r.reward.tolist()) for r in log] == happened[first:]
    assert all((r.seen == 1).all() and r.known and r.closed for r in log)
    by_hand = [i for i, r in enumerate(log, first) if r.reason]
    assert by_hand == [t for t in range(first, 75) if t % 7 == 3]
    assert all(r.asked_at <= r.deployed_at == r.told_at for r in log)
    assert all(r.advised is not None and np.array_equal(r.advised, r.deployed) != bool(r.reason) for r in log)


def test_a_round_that_was_read_stays_as_it_was_when_others_are_forgotten() -> None:
    agent, happened = _played(rounds=30, keep=20)
    before = agent._course.at(25)
    for _ in range(40):
        agent.ask()
        agent.tell([0.0, 0.0, 0.0])
    assert (before.deployed.tolist(), before.reward.tolist()) == happened[24]


def test_rounds_from_before_an_arm_opened_keep_their_arms() -> None:
    agent = ae.CurveThompson(memory=0.5, levels=10).start(
        arms=2, seed=1, feedback="split", floors=0.1, names=["a", "b"]
    )
    for reward in (0.1, 0.2):
        agent.ask()
        agent.tell([reward, reward])
    agent.open_arm("c", share=0.2)
    agent.set_limits(floors={"c": 0.1})
    agent.ask()
    agent.tell([0.3, 0.3, 0.3])
    assert agent.log["reward"].to_list() == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3]


def test_a_refused_tell_leaves_no_round() -> None:
    agent, happened = _played(rounds=5, keep=20)
    agent.ask()
    for wrong in ([0.5, 0.5, 2.0], [0.5, 0.5]):
        try:
            agent.tell(wrong)
        except ae.AftereffectError:
            continue
        raise AssertionError(wrong)
    agent.tell([0.5, 0.25, 0.125])
    assert agent.rounds == len(agent._course.log) == 6
    assert agent._course.log[-1].reward.tolist() == [0.5, 0.25, 0.125]
    assert agent._course.log[-2].reward.tolist() == happened[-1][1]
