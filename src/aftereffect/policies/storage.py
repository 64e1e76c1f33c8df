"""Agents read back from their files; `saving` writes them."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import read_regular
from aftereffect._random import generator
from aftereffect.errors import AftereffectError, CorruptFile, require, shown
from aftereffect.model.limits import as_start
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import policy_of
from aftereffect.policies.course_files import read_course, read_limits
from aftereffect.policies.saving import FORMAT, LARGEST, READABLE, checksum
from aftereffect.policies.sense import check_shares
from aftereffect.policies.setting import Setting
from aftereffect.policies.state_files import read_numbers


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
    if not isinstance(content, dict) or document.get("sha256") != checksum(json.dumps(content)):
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
        start=None if start is None else as_start(start, limits),
        step=content.get("step"),
        caution=content.get("caution"),
    )
    chosen = policy_of(content["policy"])
    course = read_course(content, chosen, setting)
    agent = Agent.of(course, content["names"])
    if "deployed" in content:
        agent._previous[:] = read_numbers("deployed", content["deployed"], agent._previous)
    if content.get("asked_at") is not None:
        agent._asked_at = float(content["asked_at"])
    if content["asked"] is not None:
        agent._pending = read_numbers("asked", content["asked"], np.zeros(agent.setting.arms))
        check_shares("asked", agent._pending)
        agent._stage = str(content.get("stage", agent._stage))
        agent._drawn = None if content.get("drawn") is None else tuple(content["drawn"])
    return agent
