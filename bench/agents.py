"""The agent's ask and tell against river's pull and update."""

from __future__ import annotations

import random
import time
from pathlib import Path

import aftereffect as ae
from bench.peers import Peer
from bench.rows import Row, at_least

ROUNDS = 50_000
NAN = float("nan")


def agent_seconds() -> float:
    """Processor time of so many asks and tells; the rewards are drawn before, as for the peer."""
    draw = random.Random(1)
    rewards = [([float(draw.random() < 0.8), NAN], [NAN, float(draw.random() < 0.75)]) for _ in range(ROUNDS)]
    agent = ae.policy("d-ucb").start(arms=2, seed=1)
    start = time.process_time()
    for reward in rewards:
        allocation = agent.ask()
        agent.tell(reward[0] if allocation[0] == 1.0 else reward[1])
    return time.process_time() - start


def against_river(python: Path) -> list[Row]:
    agent_seconds()
    own_rates, peer_rates = [], []
    with Peer(python, "river_ucb.py", ROUNDS) as peer:
        for _ in range(10):
            answer = peer.run()
            peer_rates.append(answer["rounds"] / answer["seconds"])
            own_rates.append(ROUNDS / agent_seconds())
    mine, theirs = max(own_rates), max(peer_rates)
    note = f"{mine / 1e3:.0f} and {theirs / 1e3:.0f} thousand rounds/s; river {answer['version']}"
    return [at_least("agent ask + tell, d-ucb, K 2: speed over river's UCB", mine / theirs, 0.5, note)]
