"""A store against a plain model of it in memory, through whatever sequence of writes, repeats, reopenings and lost snapshots."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import aftereffect as ae
from aftereffect.programs import following
from aftereffect.programs.errors import KeyReused
from aftereffect.programs.schema import snapshots

ARMS = ["north", "south"]
REWARD = st.integers(0, 4).map(lambda n: n / 4)


class Programs(RuleBasedStateMachine):
    """The model: an agent in memory, the rounds it was told, and what each key was used for."""

    @initialize()
    def create(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'store.db'}"
        self.store = ae.open_store(self.url)
        self.program = self.store.create("loans", ARMS, policy="thompson-split", floors=0.1, seed=1)
        self.agent = ae.policy("thompson-split").start(arms=2, names=ARMS, floors=0.1, seed=1, feedback="split")
        self.told: dict[int, dict[str, float]] = {}
        self.keys: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.asked = False

    @rule()
    def ask(self) -> None:
        assert list(self.program.advise()["allocation"].values()) == self.agent.ask().tolist()
        self.asked = True

    @precondition(lambda self: self.asked)
    @rule(north=REWARD, south=REWARD, keyed=st.booleans())
    def tell(self, north: float, south: float, keyed: bool) -> None:
        rewards = {"north": north, "south": south}
        key = f"key-{len(self.keys)}" if keyed else None
        answer = self.program.tell(rewards, key=key)
        self.agent.tell(rewards)
        self.told[self.agent.rounds] = rewards
        self.asked = False
        if key is not None:
            self.keys[key] = ({"rewards": rewards}, answer)

    @rule(share=st.sampled_from([None, 0.25, 0.5]))
    def deploy(self, share: float | None) -> None:
        shares = None if share is None else [share, 1 - share]
        self.agent.ask() if shares is None else None
        assert self.program.deploy(shares) == self.agent.deploy(shares)
        self.told[self.agent.rounds] = {}
        self.asked = False

    @precondition(lambda self: self.agent.open_rounds)
    @rule(data=st.data(), arm=st.sampled_from(ARMS), reward=REWARD)
    def tell_late(self, data: st.DataObject, arm: str, reward: float) -> None:
        number = data.draw(st.sampled_from(self.agent.open_rounds))
        replace = arm in self.told[number]
        for one in (self.program, self.agent):
            one.tell({arm: reward}, round=number, replace=replace)
        self.told[number] = {**self.told[number], arm: reward}

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), same=st.booleans())
    def repeat(self, data: st.DataObject, same: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.keys)))
        request, answer = self.keys[key]
        if same:
            assert self.program.tell(**request, key=key) == answer
        else:
            with pytest.raises(KeyReused):
                self.program.tell({"north": 0.123}, key=key)

    @rule(wrong=st.sampled_from([{"north": 2.0}, {"east": 0.5}, [0.5]]))
    def refuse(self, wrong: Any) -> None:
        with pytest.raises(ae.AftereffectError):
            self.program.tell(wrong)

    @rule(forget=st.booleans())
    def reopen(self, forget: bool) -> None:
        if forget:
            with self.store.database.writing() as connection:
                connection.execute(sa.delete(snapshots))
        self.store.close()
        self.store = ae.open_store(self.url)
        self.program = self.store.program("loans")

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "program"):
            return
        assert self.program.rounds == self.agent.rounds == len(self.told)
        assert self.program.open_rounds == self.agent.open_rounds
        assert {entry["round"]: entry["rewards"] for entry in self.program.log} == self.told

    def teardown(self) -> None:
        if hasattr(self, "program"):
            found = self.program.audit()
            assert found.fits, found.reason
            self.store.close()
            self.folder.cleanup()


TestPrograms = pytest.mark.usefixtures("often")(Programs.TestCase)
TestPrograms.settings = settings(
    max_examples=12, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots after every few events."""
    monkeypatch.setattr(following, "SNAPSHOT_EVERY", 4)
