"""An experiment's manifest: what it is, where it comes from, and a digest that shows when somebody edited it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError
from aftereffect.experiments.plan import Plan
from aftereffect.simulation.provenance import commit_of_checkout, surroundings

FORMAT, VERSION = "aftereffect-experiment", 3  # 1 knew shards by their place in the spec, 2 no user's own code
LARGEST = 50_000_000  # bytes


class Machine(BaseModel):
    """What an experiment ran on."""

    model_config = ConfigDict(strict=True)

    system: str
    architecture: str
    cores: int | None


class Manifest(BaseModel):
    """What a manifest must hold, so that nobody who reads it meets a surprise."""

    model_config = ConfigDict(strict=True)

    name: str
    hash: str
    code: str
    sources: dict[str, str]
    imports: list[str]
    seed: int
    spec: dict[str, Any]
    problems: list[str]
    policies: list[str]
    shards: int
    extents: list[list[int]]
    figure: Annotated[str, Field(pattern=r"^[a-z0-9]+$")] | None  # names files
    command: str
    versions: dict[str, str | None]
    commit: str | None
    machine: Machine
    digest: str


def manifest_of(plan: Plan, command: str, figure: str | None) -> dict[str, Any]:
    """What a manifest says of a plan."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": plan.spec.name,
        "hash": plan.digest,
        "code": plan.code,
        "sources": plan.sources,
        "imports": plan.imports,
        "seed": plan.spec.seed,
        "spec": plan.spec.model_dump(mode="json"),
        "problems": plan.problems,
        "policies": plan.labels,
        "shards": plan.shard_count,
        "extents": [list(extent) for extent in plan.extents],
        "figure": figure,
        "command": command,
        "commit": commit_of_checkout(),
        **surroundings("polars"),
    }


def is_manifest(path: Path) -> bool:
    """Is a file an experiment's manifest, whatever its version?"""
    try:
        content = json.loads(read_regular(path, LARGEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest; refused if it was edited."""
    name = str(path)
    try:
        content = json.loads(read_regular(path, LARGEST))
    except OSError as error:
        raise AftereffectError(f"{str(path.parent)!r} holds no experiment: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise AftereffectError(f"{name!r} is damaged: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise AftereffectError(f"{name!r} is not an experiment's manifest; the directory is left alone")
    if content.get("version") != VERSION:
        raise AftereffectError(
            f"{name!r} is not this version's manifest (it is of version {content.get('version')!r}, read is {VERSION}); "
            "run the experiment again into another directory"
        )
    try:
        Manifest.model_validate(content)
    except ValidationError as error:
        raise AftereffectError(f"{name!r} is damaged: {_first_fault(error)}") from error
    if content["digest"] != _digest_of(content):
        raise AftereffectError(
            f"{name!r} was edited or damaged: its digest does not fit; choose another directory, or remove this one"
        )
    return content


def _digest_of(manifest: dict[str, Any]) -> str:
    body = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def sealed(manifest: dict[str, Any]) -> bytes:
    """A manifest with its digest, as it is written."""
    return json.dumps({**manifest, "digest": _digest_of(manifest)}, indent=2).encode()


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    return f"it has no {key!r}" if first["type"] == "missing" else f"{key!r}: {first['msg'].lower()}"


def describe_difference(held: Any, wanted: Any, path: str = "") -> str:
    """The first place in which two specs differ."""
    if isinstance(held, dict) and isinstance(wanted, dict):
        for key in [*held, *(k for k in wanted if k not in held)]:
            if key in ("title", "caption", "scales"):
                continue
            if held.get(key) != wanted.get(key):
                return describe_difference(held.get(key), wanted.get(key), f"{path}.{key}" if path else key)
    if isinstance(held, list) and isinstance(wanted, list):
        for i, (a, b) in enumerate(zip(held, wanted, strict=False)):
            if a != b:
                return describe_difference(a, b, f"{path}[{i}]")
        return f"{path} has {len(held)} entries there, {len(wanted)} here"
    return f"{path} is {held!r} there, {wanted!r} here"
