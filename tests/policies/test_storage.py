"""Agents on disk: they resume bit by bit, and a damaged file is refused with a clear error."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import uniform
from aftereffect.policies import base, saving
from aftereffect.policies.state_files import arrays_of
from tests.simulation.cases import FEEDBACKS, IDS, POLICIES

NAN = float("nan")
any_: Any = ae  # the same package, for arguments that its annotations do not name


def _rewards(allocation: np.ndarray, feedback: str, random: np.random.Generator) -> np.ndarray:
    arms = len(allocation)
    marks, draws = random.random(arms), random.random(arms)
    seen = allocation > 0
    if feedback == "independent":
        seen = marks < allocation
    elif feedback == "one":
        seen = np.arange(arms) == min(int(np.searchsorted(np.cumsum(allocation), marks[0])), arms - 1)
        seen &= allocation > 0
    return np.where(seen, draws.round(1), NAN)


def _through_disk(agent: ae.Agent, path: Path) -> ae.Agent:
    agent.save(path)
    loaded = ae.load_agent(path)
    again = path.with_name("again.json")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    return loaded


def _resumes(policy: ae.Policy, feedback: Any, arms: int, path: Path, rounds: int) -> None:
    """One agent lives on, another goes through the disk before and after every ask."""
    steady, moved = (policy.start(arms, 200, seed=5, feedback=feedback) for _ in range(2))
    random, again = np.random.default_rng(1), np.random.default_rng(1)
    for t in range(rounds):
        moved = _through_disk(moved, path)
        allocation = steady.ask()
        assert moved.ask().tolist() == allocation.tolist(), f"round {t + 1}"
        moved = _through_disk(moved, path)
        assert moved.ask().tolist() == allocation.tolist()
        if t % 7 == 3:
            steady.tell(None)
            moved.tell(None)
        else:
            steady.tell(_rewards(allocation, feedback, random))
            moved.tell(_rewards(allocation, feedback, again))
    assert moved.rounds == steady.rounds == rounds


@pytest.fixture
def unsynced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to save to often: without waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return tmp_path / "agent.json"


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_save_and_load_at_every_step_resumes_bit_by_bit(policy: ae.Policy, unsynced: Path) -> None:
    _resumes(policy, FEEDBACKS[POLICIES.index(policy) % 3], 3, unsynced, rounds=18)


@pytest.mark.soak
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("arms", [1, 2, 5])
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_save_and_load_at_every_step_resumes_everywhere(policy: ae.Policy, arms: int, feedback, unsynced: Path) -> None:
    _resumes(policy, feedback, arms, unsynced, rounds=60)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small agent with a bit of everything: phases, names, limits, a pending question, infinities."""
    agent = ae.Phased(ae.CUCB(levels=6), 0.4).start(3, 100, seed=1, names=["a", "b", "ü"], floors=0.1)
    random = np.random.default_rng(2)
    for _ in range(25):
        agent.tell(_rewards(agent.ask(), "independent", random))
    agent.ask()
    agent.save(tmp_path / "agent.json")
    return tmp_path / "agent.json"


def _refused(path: Path) -> None:
    with pytest.raises(ae.AftereffectError, match=path.name):
        ae.load_agent(path)


def test_what_was_saved_is_there(saved: Path) -> None:
    agent = ae.load_agent(saved)
    assert agent.rounds == 25
    assert agent.names == ("a", "b", "ü")
    assert agent.setting.horizon == 100
    assert agent.setting.limits.floors.tolist() == [0.1] * 3
    assert agent.policy == ae.Phased(ae.CUCB(levels=6), 0.4)
    assert json.loads(saved.read_text())["schema"] == saving.SCHEMA


def test_truncated_anywhere_it_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), 11):
        saved.write_bytes(whole[:length])
        _refused(saved)
    saved.write_bytes(whole)
    assert ae.load_agent(saved).rounds == 25


def _edits(text: str, step: int) -> list[str]:
    """One character changed, dropped or doubled, at many positions."""
    found = []
    for i in range(0, len(text), step):
        other = "1" if text[i] == "0" else "0" if text[i].isdigit() else "x"
        found += [text[:i] + other + text[i + 1 :], text[:i] + text[i + 1 :], text[:i] + text[i] + text[i:]]
    return found


def _same_meaning(edited: str, text: str) -> bool:
    """An edit may mean nothing, such as a space doubled between two values."""
    try:
        return bool(json.loads(edited) == json.loads(text))
    except ValueError:
        return False


def _edited_files_are_refused(path: Path, step: int) -> None:
    text = path.read_text()
    refused = 0
    for edited in _edits(text, step):
        if not _same_meaning(edited, text):
            path.write_text(edited)
            _refused(path)
            refused += 1
    assert refused > len(text) / step


def test_edited_anywhere_it_is_refused(saved: Path) -> None:
    _edited_files_are_refused(saved, step=25)


@pytest.mark.soak
def test_edited_at_every_character_it_is_refused(saved: Path) -> None:
    _edited_files_are_refused(saved, step=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_garbled_bytes_are_refused(saved: Path, seed: int) -> None:
    random, whole = np.random.default_rng(seed), saved.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole)
        for at in random.integers(0, len(whole), random.integers(1, 6)):
            damaged[at] = random.integers(0, 256)
        try:
            same = json.loads(damaged.decode()) == json.loads(whole)
        except ValueError:
            same = False
        if not same:
            saved.write_bytes(bytes(damaged))
            _refused(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b'{"format": "aftereffect-agent"}',
        b'{"format": "aftereffect-agent", "schema": 2}',
        b'{"format": "aftereffect-agent", "schema": 2, "sha256": "00", "agent": {}}',
        b'{"format": "aftereffect-agent", "schema": 2, "sha256": "00", "agent": []}',
        b'{"format": "something-else", "schema": 2}',
        b"[" * 200_000,
        b"1" * 5_000,
    ],
    ids=lambda c: repr(c[:60]),
)
def test_what_is_no_agent_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_bytes(content)
    _refused(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    _refused(tmp_path / "nowhere.json")
    (tmp_path / "folder.json").mkdir()
    _refused(tmp_path / "folder.json")


@pytest.mark.parametrize("version", [0, 1, 99, None, "2"])
def test_another_schema_version_is_refused(saved: Path, version: Any) -> None:
    document = json.loads(saved.read_text())
    document["schema"] = version
    saved.write_text(json.dumps(document))
    with pytest.raises(ae.CorruptFile, match=f"schema {version!r}"):
        ae.load_agent(saved)


def _rewritten(path: Path, change) -> None:
    """The content changed and the checksum made to fit, as a careless hand might."""
    document = json.loads(path.read_text())
    change(document["agent"])
    document["sha256"] = hashlib.sha256(json.dumps(document["agent"]).encode()).hexdigest()
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("state"),
        lambda a: a.pop("policy"),
        lambda a: a.pop("rounds"),
        lambda a: a["state"].pop("now"),
        lambda a: a["state"].update(now=[1, 2]),
        lambda a: a["state"]["now"].update(run=["x"]),
        lambda a: a["state"]["now"].update(run=[1, 1]),
        lambda a: a["state"]["now"].pop("run"),
        lambda a: a["state"]["now"].update(more=[1]),
        lambda a: a["state"]["now"].update(open=[2]),
        lambda a: a["state"]["now"].update(position=[100]),
        lambda a: a["state"]["settings"].update(length=[100]),
        lambda a: a["policy"].update(name="no-such-policy"),
        lambda a: a["policy"]["parameters"].update(width=3),
        lambda a: a.update(arms=4),
        lambda a: a.update(arms="three"),
        lambda a: a.update(feedback="all"),
        lambda a: a.update(names=["a"]),
        lambda a: a.update(policy=None),
        lambda a: a.update(rounds="many"),
        lambda a: a.update(rounds=-1),
        lambda a: a.update(asked=[1.0]),
        lambda a: a.update(asked=["nan"] * 3),
        lambda a: a.update(asked=[0.5, 0.5, 0.5]),
        lambda a: a.update(asked=[1.5, -0.5, 0.0]),
        lambda a: a.update(asked=["inf", 0.0, 0.0]),
        lambda a: a.update(asked=[1, 0, True]),
        lambda a: a.update(asked={"a": 1}),
        lambda a: a.update(asked=[10**400, 0, 0]),
        lambda a: a.update(rounds=True),
        lambda a: a.update(rounds=1.5),
        lambda a: a.update(rounds=10**30),
        lambda a: a.update(horizon=10**400),
        lambda a: a.update(horizon=-1),
        lambda a: a.update(arms=10**400),
        lambda a: a.update(floors=["nan"] * 3),
        lambda a: a.update(caps=[10**400] * 3),
        lambda a: a.update(names=["a", "a", "b"]),
        lambda a: a.update(state=[]),
        lambda a: a["state"]["now"].update(run=[0.5]),
        lambda a: a["state"]["now"].update(run=[True]),
        lambda a: a["state"]["now"].update(run=[-1]),
        lambda a: a["state"]["now"].update(run=[10**30]),
        lambda a: a["state"].update(now=None),
        lambda a: a["state"].update({"inner.rng": [0] * 4}),
        lambda a: a["state"].update({"inner.rng": [-1] * 4}),
        lambda a: a["state"].update({"inner.levels": [-1] * 3}),
        lambda a: a["state"].update({"inner.levels": [10**6] * 3}),
        lambda a: a["state"].update({"inner.high": [0] * 3}),
        lambda a: a["state"].update(held=["nan"] * 3),
        lambda a: a["state"].update(held=[0.9] * 3),
        lambda a: a["state"].update(held=["1_0"] * 3),
        lambda a: a["state"].update(deployed=[None] * 3),
        lambda a: a["state"].update(deployed=[0.9] * 3),
    ],
    ids=range(54),
)
def test_a_file_made_up_with_a_fitting_checksum_is_refused(saved: Path, change) -> None:
    _rewritten(saved, change)
    with pytest.raises(ae.AftereffectError):
        ae.load_agent(saved)


def test_thompsons_successes_of_nans_are_refused_and_not_asked_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = ae.Thompson().start(2, seed=1)
    agent.save(path)
    for value in ("nan", "inf", -3.0):
        _rewritten(path, lambda a, value=value: a["state"]["arms"].update(successes=[value, 0]))
        with pytest.raises(
            ae.CorruptFile, match=r"agent.json' does not hold an agent's state: arms.successes cannot be"
        ):
            ae.load_agent(path)


@pytest.mark.parametrize("policy", [ae.ActionUCB(levels=8), ae.CUCB(levels=8)], ids=lambda p: p.name)
def test_a_cell_deployed_less_than_never_is_refused(policy: ae.Policy, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    policy.start(2, 100, seed=1).save(path)
    _rewritten(
        path, lambda a: a["state"]["cells"]["count"].__setitem__(3, -1.0)
    )  # the next round there would divide by zero
    with pytest.raises(ae.CorruptFile, match=r"cells\.count cannot be"):
        ae.load_agent(path)


def test_a_file_keeps_its_mode_and_a_symlink_stays_one(saved: Path) -> None:
    link = saved.with_name("link.json")
    link.symlink_to(saved)
    saved.chmod(0o640)
    agent = ae.load_agent(link)
    agent.tell(None)
    agent.save(link)
    assert link.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o640
    assert ae.load_agent(saved).rounds == 26


KILLED = """
import os, signal, sys
import aftereffect as ae
agent = ae.RoundRobin().start(2)
agent.save(sys.argv[1])
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
agent.save(sys.argv[1])
"""


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    ae.load_agent(path).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["agent.json"]


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_what_is_no_file_or_too_large_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(ae.AftereffectError, match=r"agent.json': it (is no regular file|has more than)"):
        ae.load_agent(path)


# States made up with a fitting checksum.

ODD_FLOATS = ("nan", "inf", "-inf", -1.0, 0.0, 1e308, -1e308, 5e-324)
ODD_INTS = (-1, 0, 1, 7, 10**6, 2**62, -(2**63))


def _made_up(path: Path, chance: random.Random) -> bool:
    """Put something odd into a few places of a saved state; True if it is loaded all the same and then behaves."""
    document = json.loads(path.read_text())
    state = document["agent"]["state"]
    for _ in range(chance.randint(1, 3)):
        name = chance.choice([n for n in state if state[n]])
        numbers = state[name] if isinstance(state[name], list) else state[name][chance.choice(list(state[name]))]
        odd = ODD_FLOATS if any(isinstance(v, float | str) for v in numbers) else ODD_INTS
        held = (
            [i for i, v in enumerate(numbers) if v] if chance.random() < 0.5 else []
        )  # most places of a grid are empty
        numbers[chance.choice(held or range(len(numbers)))] = chance.choice(odd)
    document["sha256"] = hashlib.sha256(json.dumps(document["agent"]).encode()).hexdigest()
    other = path.with_name("made-up.json")
    other.write_text(json.dumps(document))
    try:
        agent = ae.load_agent(other)
    except ae.AftereffectError:
        return False
    for _ in range(3):
        shares = agent.ask()
        assert np.all((shares >= 0) & (shares <= 1)), name
        assert abs(shares.sum() - 1) < 1e-6
        agent.tell(np.where(shares > 0, 0.5, NAN) if agent.setting.feedback != "one" else None)
    assert not any(a.dtype.kind == "f" and np.isnan(a).any() for a in arrays_of(agent.state).values()), name
    return True


def _make_up(policy: ae.Policy, path: Path, times: int) -> None:
    agent = policy.start(3, 200, seed=5, feedback="split")
    random_ = np.random.default_rng(1)
    for _ in range(40):
        agent.tell(_rewards(agent.ask(), "split", random_))
    agent.save(path)
    chance = random.Random(policy.key)
    outcomes = [_made_up(path, chance) for _ in range(times)]
    assert not all(outcomes)


PLAIN = [p for p in POLICIES if p.name not in ("fixed", "round-robin")]


@pytest.mark.parametrize("policy", PLAIN, ids=lambda p: p.key)
def test_a_made_up_state_is_refused_or_harmless(policy: ae.Policy, unsynced: Path) -> None:
    _make_up(policy, unsynced, 20)


@pytest.mark.soak
@pytest.mark.parametrize("policy", PLAIN, ids=lambda p: p.key)
def test_many_made_up_states_are_refused_or_harmless(policy: ae.Policy, unsynced: Path) -> None:
    _make_up(policy, unsynced, 1000)


def test_a_failed_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, agent = saved.read_bytes(), ae.load_agent(saved)
    agent.tell(None)

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    for owner, name in ((os, "replace"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(ae.AftereffectError, match="No space left"):
                agent.save(saved)
        assert saved.read_bytes() == before
        assert [p.name for p in saved.parent.iterdir()] == ["agent.json"]
    agent.save(saved)
    assert ae.load_agent(saved).rounds == 26


def test_an_interrupted_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, agent = saved.read_bytes(), ae.load_agent(saved)

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["agent.json"]


def test_saving_where_one_cannot_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ae.AftereffectError, match="nowhere"):
        ae.UCB1().start(2).save(tmp_path / "nowhere" / "agent.json")


@pytest.mark.parametrize(
    "policy",
    [
        any_.ActionUCB(levels=np.int64(8)),
        any_.ActionUCB(scale=np.float32(0.5), levels=8),
        any_.CUCB(zero=np.bool_(True), levels=8),
        any_.SWUCB(window=np.int32(9)),
        any_.Fixed(np.array([0.5, 0.5])),
    ],
    ids=lambda p: p.key,
)
def test_parameters_may_be_numpys_numbers(policy: ae.Policy, tmp_path: Path) -> None:
    agent = _through_disk(policy.start(2, 100), tmp_path / "agent.json")
    assert agent.policy == policy


# A user's own policy.


@dataclass(frozen=True)
class Wanderer(ae.PlainPolicy):
    name: ClassVar[str] = "wanderer"
    step: float = 0.1

    def arrays(self, setting: ae.Setting) -> dict[str, np.ndarray]:
        return {
            "at": np.array([1 / setting.arms] * setting.arms),
            "count": np.zeros((2, 2), dtype=np.int64),
            "odd": np.array([False]),
            "extremes": np.array([np.inf, -np.inf, np.nan]),
        }

    def ask(self, arrays: Any, t: int, allocation) -> None:
        arrays["odd"][0] = not arrays["odd"][0]
        weights = arrays["at"] + self.step * np.array([uniform(arrays["rng"]) for _ in allocation])
        allocation[:] = weights / weights.sum()

    def tell(self, arrays: Any, t: int, allocation, seen, reward) -> None:
        arrays["count"][t % 2, 0] += int(seen.sum())
        arrays["at"][:] = allocation


def test_an_own_policy_is_saved_once_it_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    agent = Wanderer(0.2).start(3, seed=1)
    agent.save(tmp_path / "agent.json")
    with pytest.raises(ae.UnknownName, match="wanderer"):
        ae.load_agent(tmp_path / "agent.json")
    ae.register(Wanderer)
    for policy in (Wanderer(0.2), ae.Phased(Wanderer(0.2), approach=1)):
        agent, twin = (policy.start(3, seed=1) for _ in range(2))
        for _ in range(20):
            agent = _through_disk(agent, tmp_path / "agent.json")
            assert agent.ask().tolist() == twin.ask().tolist()
            agent.tell([1.0, 0.0, NAN])
            twin.tell([1.0, 0.0, NAN])


def test_files_of_two_agents_of_the_same_course_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("agent", "course", "late"):  # a file says when its rounds were
        monkeypatch.setattr(f"aftereffect.policies.{module}.time", lambda: 1.75e9)
    for name in ("one", "two"):
        agent = ae.Thompson().start(2, seed=3)
        agent.ask()
        agent.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
