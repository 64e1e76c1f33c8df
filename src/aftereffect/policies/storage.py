"""Agents on disk: one JSON file with a schema version and a checksum, written at once or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import read_regular, remove_leftovers, write_file
from aftereffect._random import generator
from aftereffect.errors import AftereffectError, CorruptFile, require, shown
from aftereffect.model.limits import as_split
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import Policy, Setting, policy
from aftereffect.policies.course_files import read_course, read_limits, write_course, write_limits
from aftereffect.policies.sense import check_shares
from aftereffect.policies.state_files import read_numbers, write_numbers

FORMAT = "aftereffect-agent"
SCHEMA = 6  # 1 had no fairness in the state of Algorithms 1 and 3, 2 no forgetting in that of curve-thompson
# 3 knew no start, step or caution: there were none; 4 had another state of curve-thompson; up to 5 all states had version 1
READABLE = (3, 4, 5, SCHEMA)
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
    course, setting = agent._course, agent._course.started
    content = {
        "policy": _write_policy(agent.policy),
        "horizon": setting.horizon,
        "feedback": setting.feedback,
        "observed": setting.observed,
        **write_limits(setting),
        "start": None if setting.start is None else setting.start.tolist(),
        "step": setting.step,
        "caution": setting.caution,
        "rng": setting.rng.tolist(),
        "deployed": write_numbers(agent._previous),
        "names": agent.names,
        "asked": None if agent._pending is None else agent._pending.tolist(),
        "asked_at": None if math.isnan(agent._asked_at) else agent._asked_at,
        "drawn": None if agent._pending is None else agent._drawn,
        **write_course(course),
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
    require(isinstance(path, (str, PathLike)), f"the path of an agent must be text or a Path, got {shown(path)}")
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
    limits = read_limits(content)
    start = content.get("start")
    setting = Setting(
        content["arms"],
        content["horizon"],
        content["feedback"],
        limits,
        rng=read_numbers("rng", content["rng"], generator(0)) if "rng" in content else generator(0),
        observed=content.get("observed", "all"),
        start=None if start is None else as_split("start", start, limits),
        step=content.get("step"),
        caution=content.get("caution"),
    )
    chosen = _read_policy(content["policy"])
    course = read_course(content, chosen, setting)
    agent = Agent.of(course, content["names"])
    if "deployed" in content:
        agent._previous[:] = read_numbers("deployed", content["deployed"], agent._previous)
    if content.get("asked_at") is not None:
        agent._asked_at = float(content["asked_at"])
    if content["asked"] is not None:
        agent._pending = read_numbers("asked", content["asked"], np.zeros(agent.setting.arms))
        check_shares("asked", agent._pending)
        agent._drawn = None if content.get("drawn") is None else tuple(content["drawn"])
    return agent


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


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
