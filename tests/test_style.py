"""What all source files keep to, and neither ruff nor import-linter looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def _module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def _imported(tree: ast.AST) -> Iterator[str]:
    """Our modules that one imports when it runs, at once or later."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in submodules)
        else:
            yield from _imported(node)


def test_no_imports_go_round_in_a_circle() -> None:
    graph = {name: set(_imported(tree)) - {name, "aftereffect"} for name, tree in MODULES.items()}
    assert graph["aftereffect.policies.base"] >= {"aftereffect.policies.agent", "aftereffect.errors"}
    list(TopologicalSorter(graph).static_order())  # CycleError says which


MOST_BY_PLACE = 6
ANY_NUMBER = {"Table", "create_table", "ranking", "select"}  # a table has as many columns as it has
BARE = {"_take"}  # machine code that an agent's course holds: it takes no keywords


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def test_no_call_passes_more_than_six_arguments_by_place() -> None:
    long = [
        f"{name}:{node.lineno} {_called(node)}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) > MOST_BY_PLACE and _called(node) not in ANY_NUMBER | BARE
    ]
    assert not long
