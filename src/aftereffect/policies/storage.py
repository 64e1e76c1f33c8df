"""Agents on disk: one JSON file with a schema version and a checksum, written at once or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_atomically
from aftereffect.errors import AftereffectError, CorruptFile
from aftereffect.model.limits import Limits, as_split
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import Policy, Setting, policy
from aftereffect.policies.rules import PlainState, scratch_of

FORMAT = "aftereffect-agent"
SCHEMA = 5  # 1 had no fairness in the state of Algorithms 1 and 3, 2 no forgetting in that of curve-thompson
READABLE = (3, 4, SCHEMA)  # 3 knew no start, step or caution: there were none; 4 had another state of curve-thompson


def save_agent(agent: Agent, path: str | PathLike[str]) -> None:
    """Write an agent: to a temporary file beside the target, flushed to disk, then renamed over it."""
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
    try:
        write_atomically(Path(path), json.dumps(document, allow_nan=False).encode())
    except OSError as error:
        raise AftereffectError(f"cannot save the agent to {str(path)!r}: {error.strerror or error}") from error


def load_agent(path: str | PathLike[str]) -> Agent:
    """Read an agent back; it goes on exactly where it was saved.

    A policy of your own must have been registered (`ae.register`) before.
    """
    name = str(path)
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise AftereffectError(f"cannot read the agent {name!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{name!r} is not a saved agent: it is not text") from error
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
    except AftereffectError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
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
    for name, array in _arrays(agent.state):
        if name not in content["state"]:
            raise CorruptFile(
                f"the state of {agent.policy.name} in it has no {name!r}: an earlier version saved it; "
                "start again with the past rounds as history="
            )
        _fill(array, content["state"][name])
    if not isinstance(content["rounds"], int) or content["rounds"] < 0:
        raise CorruptFile(f"rounds must be a whole number from 0, got {content['rounds']!r}")
    agent.rounds = content["rounds"]
    if "deployed" in content:
        agent._previous[:] = np.array(_parsed(content["deployed"]), dtype=np.float64)
    agent._pending = None if content["asked"] is None else np.array(content["asked"], dtype=np.float64)
    if agent._pending is not None and agent._pending.shape != (setting.arms,):
        raise CorruptFile(f"asked must hold {setting.arms} shares, got {content['asked']!r}")
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


def _fill(array: np.ndarray[Any, Any], saved: Any) -> None:
    """Put saved numbers back into an array of the same shape."""
    if array.dtype.names is None:
        array[...] = np.array(_parsed(saved), dtype=array.dtype).reshape(array.shape)
        return
    for name in array.dtype.names:
        array[name] = np.array(_parsed(saved[name]), dtype=array.dtype[name]).reshape(array.shape)


def _parsed(flat: list[Any]) -> list[Any]:
    return [float(v) if isinstance(v, str) else v for v in flat]


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
