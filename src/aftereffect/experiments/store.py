"""An experiment's directory: a manifest, and one Parquet file per shard whose name holds the hash of its content.

Files are written at once or not at all (temporary file, flushed to disk, renamed). A file whose content does not fit its
name was torn or edited; it is said, removed and computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars

from aftereffect._compile import source_hash
from aftereffect._files import PART, write_atomically
from aftereffect.errors import AftereffectError
from aftereffect.experiments.plan import SCHEMA, Plan, Shard
from aftereffect.experiments.spec import Spec, parse_spec

FORMAT, VERSION = "aftereffect-experiment", 1
Say = Callable[[str], None]


class Store:
    """The files of one experiment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def manifest_path(self) -> Path:
        return self.directory / "manifest.json"

    @property
    def shards(self) -> Path:
        return self.directory / "shards"

    def open(self, plan: Plan, command: str, fresh: bool = False) -> None:
        """Make the directory ready for a plan: new, or holding part of the very same one."""
        try:
            if fresh:
                self._clear()
            if self.manifest_path.exists():
                self._check_same(plan)
            elif not fresh and self._is_foreign():
                raise AftereffectError(
                    f"{str(self.directory)!r} is not empty and holds no experiment; choose another --out"
                )
            else:
                self.directory.mkdir(parents=True, exist_ok=True)
                self.write(self.manifest_path, json.dumps(_manifest(plan, command), indent=2).encode())
            self.shards.mkdir(exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.directory, error) from error

    def _check_same(self, plan: Plan) -> None:
        held = self.manifest()
        if held["hash"] != plan.digest:
            difference = describe_difference(held["spec"], plan.spec.model_dump(mode="json"))
            raise AftereffectError(
                f"{str(self.directory)!r} holds another experiment ({difference}); use --fresh to start over"
            )
        if held.get("code") != source_hash():
            raise AftereffectError(
                f"{str(self.directory)!r} was begun by another version of the code, and results of two versions must not "
                "mix; use --fresh to start over"
            )

    def _is_foreign(self) -> bool:
        """Is there anything besides what a start that was cut short leaves behind?"""
        if any(self.shards.glob("*.parquet")):
            return True
        entries = self.directory.iterdir() if self.directory.is_dir() else ()
        return any(path != self.shards and not path.name.startswith(PART) for path in entries)

    def _clear(self) -> None:
        """Remove an earlier experiment's files, and nothing that is not one's; the manifest last, as it names the rest."""
        parts = [*self.shards.glob(f"{PART}*"), *self.directory.glob(f"{PART}*")]
        for path in [*self.shards.glob("*.parquet"), *parts, self.directory / "tuning.json", self.manifest_path]:
            path.unlink(missing_ok=True)

    def manifest(self) -> dict[str, Any]:
        """What this directory holds."""
        try:
            content: dict[str, Any] = json.loads(self.manifest_path.read_text())
        except OSError as error:
            raise AftereffectError(f"{str(self.directory)!r} holds no experiment: {error.strerror}") from error
        except ValueError as error:
            raise AftereffectError(f"{str(self.manifest_path)!r} is damaged: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
            raise AftereffectError(f"{str(self.manifest_path)!r} is not this version's manifest")
        missing = next((key for key in ("hash", "spec", "problems", "policies") if key not in content), None)
        if missing is not None:
            raise AftereffectError(f"{str(self.manifest_path)!r} is damaged: it has no {missing!r}")
        return content

    def spec(self) -> Spec:
        """The spec this directory's results belong to."""
        return parse_spec(self.manifest()["spec"])

    def finished(self, say: Say = lambda _: None, repair: bool = False) -> dict[str, Path]:
        """Shards that are there and whole, by name; others are said and, where they are to be computed again, removed."""
        found: dict[str, Path] = {}
        try:
            for path in sorted(self.shards.glob("*.parquet")):
                name, _, digest = path.stem.rpartition(".")
                if digest == _digest(path.read_bytes()):
                    found[name] = path
                    continue
                say(f"{path.name} was torn or edited; it {'is computed again' if repair else 'does not count'}")
                if repair:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise AftereffectError(f"cannot check the shards in {str(self.shards)!r}: {error.strerror}") from error
        return found

    def write_shard(self, shard: Shard, content: bytes) -> Path:
        """Keep a finished shard."""
        path = self.shards / f"{shard.name}.{_digest(content)}.parquet"
        self.write(path, content)
        return path

    def write(self, path: Path, content: bytes) -> None:
        """Write a file at once or not at all."""
        try:
            write_atomically(path, content)
        except OSError as error:
            raise _cannot_write(path.parent, error) from error

    def frame(self, purpose: str = "main") -> polars.LazyFrame:
        """All rows of the finished shards."""
        paths = [p for name, p in self.finished().items() if name.startswith(purpose)]
        return polars.scan_parquet(paths) if paths else polars.LazyFrame(schema=SCHEMA)


def _cannot_write(directory: Path, error: OSError) -> AftereffectError:
    return AftereffectError(
        f"cannot write into {str(directory)!r}: {error.strerror or error}; finished shards are kept"
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def _manifest(plan: Plan, command: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": plan.spec.name,
        "hash": plan.digest,
        "code": source_hash(),
        "seed": plan.spec.seed,
        "spec": plan.spec.model_dump(mode="json"),
        "problems": plan.problems,
        "policies": plan.labels,
        "shards": plan.shard_count,
        "command": command,
        "versions": {name: _version(name) for name in ("aftereffect", "numpy", "numba", "polars")}
        | {"python": platform.python_version()},
        "commit": commit_of_checkout(),
        "machine": {"system": platform.system(), "architecture": platform.machine(), "cores": os.cpu_count()},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def commit_of_checkout() -> str | None:
    """The commit of the package's own checkout, if it runs from one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


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


def written_command() -> str:
    """The command line as a user would type it."""
    return shlex.join(["aftereffect", *sys.argv[1:]])
