"""An experiment's directory: a manifest, and one Parquet file per shard.

A shard's name is the hash of its work and a digest of that and its content: torn, edited or put in another's place it does
not fit. The manifest has a digest of its own. Files are written at once or not at all, and only those that bear this
experiment's identity are ever removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import polars
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aftereffect._files import (
    PART,
    InUse,
    claim_file,
    make_folder,
    read_regular,
    refuse_symlink,
    remove_leftovers,
    shared_directory,
    write_inside,
)
from aftereffect.errors import AftereffectError
from aftereffect.experiments.plan import Chosen, Plan
from aftereffect.experiments.searches import Search, chosen, searches
from aftereffect.experiments.shards import SCHEMA, Task
from aftereffect.experiments.spec import parse_spec
from aftereffect.plugins import import_modules

FORMAT, VERSION = "aftereffect-experiment", 3  # 1 knew shards by their place in the spec, 2 no user's own code
LARGEST_MANIFEST, LARGEST_SHARD = 50_000_000, 2_000_000_000  # bytes
TUNING = "tuning.json"
Say = Callable[[str], None]


def require_ours(directory: Path) -> None:
    """Refuse a directory for several experiments that holds things but none of ours, in it or one level below."""
    try:
        entries = [p for p in directory.iterdir() if not p.name.startswith(PART)] if directory.exists() else []
        foreign = any(not p.is_dir() or any(p.iterdir()) for p in entries)
    except OSError as error:
        raise _cannot_write(directory, error) from error
    manifests = (directory / "manifest.json", *directory.glob("*/manifest.json"))
    if foreign and not any(_is_manifest(path) for path in manifests):
        raise AftereffectError(f"{str(directory)!r} is not empty and holds no experiment; choose another --out")


def _is_manifest(path: Path) -> bool:
    try:
        content = json.loads(read_regular(path, LARGEST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


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


class Store:
    """The files of one experiment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._plan: Plan | None = None

    @property
    def manifest_path(self) -> Path:
        return self.directory / "manifest.json"

    @property
    def shards(self) -> Path:
        return self.directory / "shards"

    @contextmanager
    def opened(
        self,
        plan: Plan,
        command: str,
        fresh: bool = False,
        figure: str | None = None,
        say: Say = lambda _: None,
    ) -> Iterator[None]:
        """Hold the directory for a plan: new, or with part of the very same one, which others may be computing too.

        A plan that has grown takes over what was computed of the smaller one.
        """
        with ExitStack() as held:
            with self._writing():
                refuse_symlink(self.shards)
                self.directory.mkdir(parents=True, exist_ok=True)
                share = held.enter_context(self._held(plan, fresh))
                self._claim(plan, lambda: _sealed(_manifest(plan, command, figure)), fresh, say)
                make_folder(self.shards)
                for folder in (self.directory, self.shards):
                    remove_leftovers(folder)
                share()
            self._plan = plan
            yield
            self._check_same(plan)  # where there are no locks another experiment may have started over

    @contextmanager
    def _held(self, plan: Plan, fresh: bool) -> Iterator[Callable[[], None]]:
        """The directory's lock: alone where the manifest is to be replaced."""
        with ExitStack() as held:
            try:
                lock = shared_directory(self.directory, alone_at_first=fresh or self._outgrown(plan))
                share = held.enter_context(lock)
            except InUse as error:
                if fresh:
                    raise
                if self._outgrown(plan):  # else another process of the same plan was quicker
                    reason = f"{error.strerror}; a spec that has grown must wait for it"
                    raise AftereffectError(f"{str(self.directory)!r}: {reason}") from error
                share = held.enter_context(shared_directory(self.directory))
            yield share

    def _outgrown(self, plan: Plan) -> bool:
        """Does this directory hold a smaller version of the plan?"""
        if not self.manifest_path.exists() or self.manifest()["hash"] == plan.digest:
            return False
        self._plan = None
        try:
            return plan.grows_from(self.plan)
        finally:
            self._plan = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say in one line that the directory cannot be had."""
        try:
            yield
        except InUse as error:
            reason = f"{error.strerror}, and --fresh would remove what it computes"
            raise AftereffectError(f"{str(self.directory)!r}: {reason}") from error
        except OSError as error:
            raise _cannot_write(self.directory, error) from error

    def _claim(self, plan: Plan, content: Callable[[], bytes], fresh: bool, say: Say) -> None:
        """Take the directory: of several that start at once the first wins, and the others must want the same."""
        if self.manifest_path.exists():
            if fresh:
                self._remove_shards()
                self.write(self.manifest_path, content())
            elif self._outgrown(plan):
                plan.grow_from(self.manifest()["extents"])
                self._remove_superseded(plan, say)
                self.write(self.manifest_path, content())
            else:
                self._check_same(plan)
                plan.grow_from(self.manifest()["extents"])
        elif self._is_foreign() and not self.manifest_path.exists():
            raise AftereffectError(
                f"{str(self.directory)!r} is not empty and holds no experiment; choose another --out"
            )
        elif not claim_file(self.manifest_path, content()):
            self._check_same(plan)
            plan.grow_from(self.manifest()["extents"])

    def _check_same(self, plan: Plan) -> None:
        held = self.manifest()
        if held["hash"] != plan.digest:
            difference = describe_difference(held["spec"], plan.spec.model_dump(mode="json"))
            raise AftereffectError(
                f"{str(self.directory)!r} holds another experiment ({difference}); use --fresh to start over"
            )
        if held["code"] != plan.code:
            raise AftereffectError(
                f"{str(self.directory)!r} was begun by another version of the code, and results of two versions must not "
                "mix; use --fresh to start over"
            )
        if held["sources"] != plan.sources:
            names = {*held["sources"], *plan.sources}
            changed = sorted(n for n in names if held["sources"].get(n) != plan.sources.get(n))
            raise AftereffectError(
                f"{str(self.directory)!r} was begun with another version of the code of {', '.join(changed)}, and results of "
                "two versions must not mix; use --fresh to start over"
            )

    def _is_foreign(self) -> bool:
        """Is there anything besides what a start that was cut short leaves behind?"""
        entries = [path for path in self.directory.iterdir() if path != self.shards or not path.is_dir()]
        entries += self.shards.iterdir() if self.shards.is_dir() else ()
        return any(not path.name.startswith(PART) for path in entries)

    def _remove_shards(self) -> None:
        """Remove the shards of the experiment that is held, and what was written of its tuning: nothing that is not its own."""
        self._plan = None
        names, found, tuning = self.plan.names, self.searches(), self.directory / TUNING
        if found and tuning.is_file() and tuning.read_bytes() == written_searches(found):
            tuning.unlink()
        for path in self._shard_files():
            if path.name.partition(".")[0] in names:
                path.unlink()

    def _remove_superseded(self, plan: Plan, say: Say) -> None:
        """Remove the shards that lack checkpoints which a grown plan has: a run cannot be resumed from inside."""
        self._plan = None
        old = self.plan.names - plan.names
        found = [path for path in self._shard_files() if path.name.partition(".")[0] in old]
        if found:
            say(f"checkpoints were added: {len(found)} shards are computed again (a run cannot be resumed from inside)")
        for path in found:
            path.unlink()

    def _shard_files(self) -> list[Path]:
        return sorted(self.shards.glob("*.parquet"))

    def manifest(self) -> dict[str, Any]:
        """What this directory holds; refused if it was edited."""
        path = str(self.manifest_path)
        try:
            content = json.loads(read_regular(self.manifest_path, LARGEST_MANIFEST))
        except OSError as error:
            raise AftereffectError(f"{str(self.directory)!r} holds no experiment: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise AftereffectError(f"{path!r} is damaged: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise AftereffectError(f"{path!r} is not an experiment's manifest; the directory is left alone")
        if content.get("version") != VERSION:
            raise AftereffectError(
                f"{path!r} is not this version's manifest (it is of version {content.get('version')!r}, read is {VERSION}); "
                "run the experiment again into another directory"
            )
        try:
            Manifest.model_validate(content)
        except ValidationError as error:
            raise AftereffectError(f"{path!r} is damaged: {_first_fault(error)}") from error
        if content["digest"] != _digest_of(content):
            raise AftereffectError(
                f"{path!r} was edited or damaged: its digest does not fit; choose another directory, or remove this one"
            )
        return content

    @property
    def plan(self) -> Plan:
        """The plan of the experiment that this directory holds."""
        if self._plan is None:
            held = self.manifest()
            import_modules(held["imports"])
            spec = parse_spec(held["spec"])
            self._plan = Plan(spec, held["code"], check=False, sources=held["sources"], extents=held["extents"])
        return self._plan

    def finished(self, say: Say = lambda _: None, repair: bool = False) -> dict[str, Path]:
        """This experiment's shards that are there and whole, by name.

        Others are said and left out; a damaged one of ours is removed where it is to be computed again.
        """
        found: dict[str, Path] = {}
        try:
            for path in self._shard_files():
                name, _, digest = path.stem.partition(".")
                if name not in self.plan.names:
                    say(f"{path.name} is no shard of this experiment; it is left out")
                elif digest == _digest(name, read_regular(path, LARGEST_SHARD)):
                    found[name] = path
                else:
                    say(f"{path.name} was torn or edited; it {'is computed again' if repair else 'does not count'}")
                    if repair:
                        path.unlink(missing_ok=True)
        except OSError as error:
            raise AftereffectError(
                f"cannot check the shards in {str(self.shards)!r}: {error.strerror or error}"
            ) from error
        return found

    def write_shard(self, task: Task, content: bytes) -> Path:
        """Keep a finished shard."""
        path = self.shards / f"{task.name}.{_digest(task.name, content)}.parquet"
        self.write(path, content)
        return path

    def write(self, path: Path, content: bytes) -> None:
        """Write a file of ours at once or not at all."""
        try:
            write_inside(path, content)
        except OSError as error:
            raise _cannot_write(path.parent, error) from error

    def frame(self, purpose: str = "main") -> polars.LazyFrame:
        """All rows of the finished shards."""
        if not self.manifest_path.exists():
            return polars.LazyFrame(schema=SCHEMA)
        finished = self.finished()
        tasks = self.plan.tuning_tasks() if purpose == "tuning" else self.plan.main_tasks(self.chosen(finished))
        return scan([finished[task.name] for task in tasks if task.name in finished])

    def searches(self, finished: dict[str, Path] | None = None) -> list[Search]:
        """What tuning found, from its shards; nothing before all of them are there."""
        tasks = self.plan.tuning_tasks()
        found = (self.finished() if finished is None else finished) if tasks else {}
        if not tasks or any(task.name not in found for task in tasks):
            return []
        return searches(self.plan, scan([found[task.name] for task in tasks]))

    def chosen(self, finished: dict[str, Path] | None = None) -> Chosen:
        """What tuning chose."""
        return chosen(self.plan, self.searches(finished))


def scan(paths: list[Path]) -> polars.LazyFrame:
    """All rows of some shards."""
    return polars.scan_parquet(paths, glob=False) if paths else polars.LazyFrame(schema=SCHEMA)


def written_searches(found: list[Search]) -> bytes:
    """What stands in tuning.json."""
    return json.dumps(found, indent=2).encode()


def _cannot_write(directory: Path, error: OSError) -> AftereffectError:
    return AftereffectError(
        f"cannot write into {str(directory)!r}: {error.strerror or error}; finished shards are kept"
    )


def _digest(name: str, content: bytes) -> str:
    """Of a shard's content and of the name that says whose it is."""
    return hashlib.sha256(name.encode() + b"\0" + content).hexdigest()[:24]


def _digest_of(manifest: dict[str, Any]) -> str:
    body = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _sealed(manifest: dict[str, Any]) -> bytes:
    return json.dumps({**manifest, "digest": _digest_of(manifest)}, indent=2).encode()


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    return f"it has no {key!r}" if first["type"] == "missing" else f"{key!r}: {first['msg'].lower()}"


def _manifest(plan: Plan, command: str, figure: str | None) -> dict[str, Any]:
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
