"""Agents on disk: one JSON file with a schema version and a checksum, written at once or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import read_regular, remove_leftovers, write_file
from aftereffect.errors import AftereffectError, CorruptFile, require_whole, shown
from aftereffect.model.limits import Limits, as_split
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import MOST_ROUNDS, Policy, Setting, policy
from aftereffect.policies.rules import PlainState, is_foreign, is_plain, scratch_of
from aftereffect.policies.sense import check_arrays, check_shares

FORMAT = "aftereffect-agent"
SCHEMA = 5  # 1 had no fairness in the state of Algorithms 1 and 3, 2 no forgetting in that of curve-thompson
READABLE = (3, 4, SCHEMA)  # 3 knew no start, step or caution: there were none; 4 had another state of curve-thompson
LARGEST = 2_000_000_000  # bytes; states of millions of cells have hundreds of millions


def save_agent(agent: Agent, path: str | PathLike[str]) -> None:
    """Write an agent: to a temporary file beside the target, flushed to disk, then renamed over it."""
    content = agent_text(agent).encode()
    target = Path(path)
    try:
        _clean_up(Path(os.path.realpath(target)))
        write_file(target, content)
    except OSError as error:
        raise AftereffectError(f"cannot save the agent to {str(path)!r}: {error.strerror or error}") from error


def agent_text(agent: Agent) -> str:
    """An agent as the text of its file."""
    setting = agent.setting
    content = {
        "policy": _write_policy(agent.policy),
        "arms": setting.arms,
        "horizon": setting.horizon,
        "feedback": setting.feedback,
        "observed": setting.observed,
        "floors": setting.limits.floors.tolist(),
        "caps": setting.limits.caps.tolist(),
        "start": None if setting.start is None else setting.start.tolist(),
        "step": setting.step,
        "caution": setting.caution,
        "deployed": _numbers(agent._previous),
        "names": agent.names,
        "rounds": agent.rounds,
        "asked": None if agent._pending is None else agent._pending.tolist(),
        "state": {name: _numbers(array) for name, array in _arrays(agent.state)},
    }
    body = json.dumps(content, allow_nan=False)
    document = {"format": FORMAT, "schema": SCHEMA, "sha256": _checksum(body), "agent": content}
    return json.dumps(document, allow_nan=False)


_cleaned: set[Path] = set()


def _clean_up(target: Path) -> None:
    """Remove what a save that was killed left beside the file; once is enough, as this process leaves nothing."""
    if target not in _cleaned:
        remove_leftovers(target.parent, target)
        _cleaned.add(target)


def load_agent(path: str | PathLike[str]) -> Agent:
    """Read an agent back; it goes on exactly where it was saved.

    A policy of your own must have been registered (`ae.register`) before.
    """
    name = str(path)
    try:
        text = read_regular(Path(path), LARGEST).decode()
    except OSError as error:
        raise AftereffectError(f"cannot read the agent {name!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{name!r} is not a saved agent: it is not text") from error
    return read_agent(text, name)


def read_agent(text: str, name: str) -> Agent:
    """An agent from the text of its file; `name` is what messages call it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFile(f"{name!r} is truncated or not a saved agent: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CorruptFile(f"{name!r} is not a saved agent")
    if document.get("schema") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise CorruptFile(f"{name!r} has schema {document.get('schema')!r}; this version reads schema {known}")
    content = document.get("agent")
    if not isinstance(content, dict) or document.get("sha256") != _checksum(json.dumps(content)):
        raise CorruptFile(f"{name!r} was changed after it was saved: its checksum does not fit")
    try:
        return _restore(content)
    except CorruptFile as error:
        raise CorruptFile(f"{name!r} does not hold an agent's state: {error}") from error
    except AftereffectError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CorruptFile(f"{name!r} does not hold an agent's state: {error}") from error


def _restore(content: dict[str, Any]) -> Agent:
    limits = Limits.of(content["arms"], content["floors"], content["caps"])
    start = content.get("start")
    setting = Setting(
        content["arms"],
        content["horizon"],
        content["feedback"],
        limits,
        observed=content.get("observed", "all"),
        start=None if start is None else as_split("start", start, limits),
        step=content.get("step"),
        caution=content.get("caution"),
    )
    agent = Agent(_read_policy(content["policy"]), setting, content["names"])
    arrays = dict(_arrays(agent.state))
    missing = next((name for name in arrays if name not in content["state"]), None)
    if missing is not None:
        raise CorruptFile(
            f"the state of {agent.policy.name} in it has no {missing!r}: an earlier version saved it; "
            "start again with the past rounds as history="
        )
    values = {name: _read_array(name, content["state"][name], array) for name, array in arrays.items()}
    if not is_plain(agent.state) and not is_foreign(agent.state):  # what others' states may hold is theirs to know
        check_arrays(values, arrays)
    fresh = agent.policy.state(setting)
    for name, array in arrays.items():  # only now: arrays that are settled at the start may be shared between agents
        array[...] = values[name]
    agent.policy.check_state(agent.state, fresh)
    agent.rounds = require_whole("rounds", content["rounds"], 0, MOST_ROUNDS)
    if "deployed" in content:
        agent._previous[:] = _read_array("deployed", content["deployed"], agent._previous)
    if content["asked"] is not None:
        agent._pending = _read_array("asked", content["asked"], np.zeros(setting.arms))
        check_shares("asked", agent._pending)
    return agent


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Every array of a state by its path, scratch left out."""
    parts = state.arrays.items() if isinstance(state, PlainState) else state._asdict().items()
    scratch = scratch_of(state)
    for name, part in parts:
        if isinstance(part, np.ndarray):
            if name not in scratch:
                yield prefix + name, part
        else:
            yield from _arrays(part, f"{prefix}{name}.")


def _numbers(array: np.ndarray[Any, Any]) -> Any:
    """Numbers in JSON: floats print so that they read back exactly; those without a JSON form become words.

    Records become a list of numbers for each of their names.
    """
    if array.dtype.names is not None:
        return {name: _numbers(np.ascontiguousarray(array[name])) for name in array.dtype.names}
    flat: list[Any] = array.ravel().tolist()
    if array.dtype == np.float64 and not np.isfinite(array).all():
        return [v if math.isfinite(v) else str(v) for v in flat]
    return flat


_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _read_array(name: str, flat: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers back as an array; those that would have to be rounded or guessed at are refused."""
    if like.dtype.names is not None:
        return _read_records(name, flat, like)
    if not isinstance(flat, list) or len(flat) != like.size:
        raise CorruptFile(f"{name} must hold {like.size} numbers")
    kinds = {"f": (int, float), "b": (bool,)}.get(like.dtype.kind, (int,))
    values = [_WORDS.get(v, v) if isinstance(v, str) and like.dtype.kind == "f" else v for v in flat]
    wrong = next((v for v in values if not isinstance(v, kinds) or (isinstance(v, bool) and bool not in kinds)), None)
    if wrong is not None or None in values:
        raise CorruptFile(f"{name} must hold numbers, got {shown(wrong)}")
    return np.array(values, dtype=like.dtype).reshape(like.shape)


def _read_records(name: str, saved: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Records back from a list of numbers for each of their names."""
    names = like.dtype.names or ()
    if not isinstance(saved, dict) or set(saved) != set(names):
        raise CorruptFile(f"{name} must hold {', '.join(names)}")
    records = np.zeros(like.shape, dtype=like.dtype)
    for part in names:
        records[part] = _read_array(f"{name}.{part}", saved[part], like[part])
    return records


def _write_policy(value: Policy) -> dict[str, Any]:
    parameters = {
        name: _write_policy(v) if isinstance(v, Policy) else v for name, v in _plain(value.parameters).items()
    }
    return {"name": value.name, "parameters": parameters}


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters without tuples and numpy's numbers, which JSON does not know."""
    return {
        name: list(v) if isinstance(v, tuple) else v.item() if isinstance(v, np.generic) else v
        for name, v in parameters.items()
    }


def _read_policy(content: dict[str, Any]) -> Policy:
    parameters = {name: _read_policy(v) if isinstance(v, dict) else v for name, v in content["parameters"].items()}
    return policy(content["name"], **parameters)
