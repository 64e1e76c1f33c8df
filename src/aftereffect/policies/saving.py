"""Agents on disk: one JSON file with a schema version and a checksum, written at once or not at all; `storage` reads it."""

from __future__ import annotations

import hashlib
import json
import math
import os
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from aftereffect._files import remove_leftovers, write_file
from aftereffect.errors import AftereffectError
from aftereffect.policies.course_files import write_course, write_limits
from aftereffect.policies.state_files import write_numbers

if TYPE_CHECKING:
    from aftereffect.policies.agent import Agent

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
        "policy": agent.policy.document,
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
        "stage": None if agent._pending is None else agent._stage,
        **write_course(course),
    }
    body = json.dumps(content, allow_nan=False)
    document = json.dumps({"format": FORMAT, "schema": SCHEMA, "sha256": checksum(body)})
    return f'{document[:-1]}, "agent": {body}}}'  # not written out twice: it is long


@cache
def _clean_up(target: Path) -> None:
    """Remove what a save that was killed left beside the file; once is enough, as this process leaves nothing."""
    remove_leftovers(target.parent, target)


def checksum(body: str) -> str:
    """Of an agent's JSON."""
    return hashlib.sha256(body.encode()).hexdigest()
