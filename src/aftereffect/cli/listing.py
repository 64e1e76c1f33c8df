"""`problems` and `policies`: names, parameters with their defaults, one line on each."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import show

REQUIRED = object()  # stands where a parameter has no default


@dataclasses.dataclass(frozen=True)
class Listed:
    """A named thing: what it is, and its parameters with their defaults."""

    name: str
    summary: str
    parameters: dict[str, Any]
    note: str = ""
    measure: str = ""  # of a problem: what its fairness measure stands for

    def document(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """As JSON shows it; a parameter that must be given has no default and is named under `required`."""
        parameters = {**self.parameters, **common}
        return {
            "name": self.name,
            "summary": self.summary,
            "parameters": {k: None if v is REQUIRED else v for k, v in parameters.items()},
            "required": [k for k, v in parameters.items() if v is REQUIRED],
            **({"measure": self.measure} if self.measure else {}),
        }


def list_problems(as_json: bool) -> None:
    """Print the catalog."""
    from aftereffect.model.catalog import catalog

    found = []
    for name, entry in sorted(catalog().items()):
        parameters = {"arms": entry.default_arms, **{key: _default(value) for key, value in entry.parameters.items()}}
        found.append(Listed(name, entry.summary, parameters, _arms_allowed(entry.arms), entry.meaning))
    common = _common_parameters()
    if as_json:
        _print_documents(found, common)
    else:
        show(_entries(found), Text("\nEvery problem also takes " + _written_out(common)), Text(_choices()))


def list_policies(as_json: bool) -> None:
    """Print the policies."""
    import aftereffect.policies  # noqa: F401 (makes every policy known)
    from aftereffect.plugins import summary
    from aftereffect.policies.base import registry

    found = [Listed(name, summary(cls), _fields(cls)) for name, cls in sorted(registry().items())]
    if as_json:
        _print_documents(found)
    else:
        show(_entries(found))


def _common_parameters() -> dict[str, Any]:
    """What every problem takes besides its arms, with defaults."""
    from aftereffect.model.catalog import DEFAULT_MEMORY, family

    found = inspect.signature(family).parameters.values()
    common = {p.name: p.default for p in found if p.kind is not p.VAR_KEYWORD and p.name not in ("name", "arms")}
    return {**common, "memory": DEFAULT_MEMORY, "feedback": "independent", "seed": None}


def _choices() -> str:
    from aftereffect.model.feedback import Driver, Feedback

    return (
        f"feedback: {', '.join(get_args(Feedback))} (with units always split); driver: {', '.join(get_args(Driver))}; "
        "half_life (in rounds) or impact, such as impact=smoothed(memory=0.5,start=1), instead of memory"
    )


def _arms_allowed(arms: range) -> str:
    """The limits worth a word: none for problems that take any practical number."""
    if len(arms) == 1:
        return f"(always {arms.start} arms)"
    return f"(at most {arms.stop - 1} arms)" if len(arms) < 1000 else ""


def _fields(cls: type[Any]) -> dict[str, Any]:
    return {
        f.name: f.default_factory() if f.default_factory is not dataclasses.MISSING else _default(f.default)
        for f in dataclasses.fields(cls)
    }


def _default(value: Any) -> Any:
    return REQUIRED if value is dataclasses.MISSING or value is inspect.Parameter.empty else value


def _print_documents(found: Sequence[Listed], common: Mapping[str, Any] = MappingProxyType({})) -> None:
    print(json.dumps([listed.document(common) for listed in found], indent=2, default=_written))


def _entries(found: Sequence[Listed]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for listed in found:
        table.add_row(Text(listed.name, "bold"), Text(listed.summary))
        details = f"{_written_out(listed.parameters)} {listed.note}".strip()
        if details:
            table.add_row("", Text(details, "cyan"))
        if listed.measure:
            table.add_row("", Text(f"fairness measure: {listed.measure}"))
    return table


def _written_out(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_written(value)}" for name, value in parameters.items())


def _written(value: Any) -> str:
    """A default as the command line would read it."""
    from aftereffect.policies.base import written

    if value is REQUIRED:
        return ".. (required)"
    return "none" if value is None else written(value)
