"""An experiment's directory: a manifest, and one Parquet file per shard.

A shard's name is the hash of its work and a digest of that and its content: torn, edited or put in another's place it does
not fit. The manifest has a digest of its own. Files are written at once or not at all, and only those that bear this
experiment's identity are ever removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars

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
from aftereffect.experiments.manifest import describe_difference, is_manifest, manifest_of, read_manifest, sealed
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.searches import Search, chosen, searches
from aftereffect.experiments.shards import SCHEMA, Task
from aftereffect.experiments.spec import parse_spec
from aftereffect.plugins import import_modules

LARGEST_SHARD = 2_000_000_000  # bytes
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
    if foreign and not any(is_manifest(path) for path in manifests):
        raise AftereffectError(f"{str(directory)!r} is not empty and holds no experiment; choose another --out")


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
                self._claim(plan, lambda: sealed(manifest_of(plan, command, figure)), fresh, say)
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
        before, now, same = held["sources"], plan.sources, held["hash"] == plan.digest
        names = before | now if same else before.keys() & now.keys()
        changed = sorted(name for name in names if before.get(name) != now.get(name))
        if held["name"] == plan.spec.name and (held["code"] != plan.code or changed):  # also where a spec has grown
            whose = f" of {', '.join(changed)}" if held["code"] == plan.code else ""
            raise AftereffectError(
                f"{str(self.directory)!r} was begun with another version of the code{whose}, and results of two versions "
                "must not mix; use --fresh to start over"
            )
        if not same:
            difference = describe_difference(held["spec"], plan.spec.model_dump(mode="json"))
            raise AftereffectError(
                f"{str(self.directory)!r} holds another experiment ({difference}); use --fresh to start over"
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
        return read_manifest(self.manifest_path)

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
        finished, plan = self.finished(), self.plan
        tasks = plan.tuning_tasks() if purpose == "tuning" else plan.main_tasks(chosen(plan, self.searches(finished)))
        return scan([finished[task.name] for task in tasks if task.name in finished])

    def searches(self, finished: dict[str, Path] | None = None) -> list[Search]:
        """What tuning found, from its shards; nothing before all of them are there."""
        tasks = self.plan.tuning_tasks()
        found = (self.finished() if finished is None else finished) if tasks else {}
        if not tasks or any(task.name not in found for task in tasks):
            return []
        return searches(self.plan, scan([found[task.name] for task in tasks]))


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
