"""The catalog of named problems: recipes that draw a problem from a seed.

A recipe's keyword arguments (behind `random`, `arms`) are its parameters; `family` and `problem` read them from its
signature, so adding a problem is one function with one decorator.
"""

from __future__ import annotations

import csv
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from aftereffect._sources import is_ours, take_sources
from aftereffect.errors import (
    AftereffectError,
    UnknownName,
    require,
    require_numbers,
    require_one_of,
    require_whole,
    shown,
)
from aftereffect.model.delay import Delays
from aftereffect.model.drift import Change, Drift, Season
from aftereffect.model.fairness import DEFAULT_TOLERANCE, Fairness, Observed
from aftereffect.model.feedback import Driver, Feedback, Noise, Shock, resolved_feedback
from aftereffect.model.impacts import (
    Discounted,
    Impact,
    Instant,
    memory_of,
)
from aftereffect.model.problem import Problem
from aftereffect.model.responses import (
    Bump,
    Gaussian,
    LinearDecline,
    Response,
    SaturatingRise,
    Table,
    Tabulated,
    Tent,
)
from aftereffect.plugins import load_installed, summary

Recipe = Callable[..., Sequence[Response]]
Measure = Callable[[Response], Response]
"""From an arm's response, what its fairness measure is."""


@dataclass(frozen=True)
class Entry:
    """A named recipe in the catalog."""

    name: str
    recipe: Recipe
    default_arms: int
    arms: range
    arm_names: tuple[str, ...] | None
    measure: Measure | None = None

    @property
    def summary(self) -> str:
        """First line of the recipe's docstring."""
        return summary(self.recipe)

    @property
    def meaning(self) -> str:
        """What its fairness measure stands for; empty without one."""
        return summary(self.measure) if self.measure else ""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the recipe and their defaults."""
        found = inspect.signature(self.recipe).parameters
        return {n: p.default for n, p in found.items() if n not in ("random", "arms")}


_CATALOG: dict[str, Entry] = {}

# What `family`, `problem` and specs take themselves: a recipe's own parameter of that name would never get its value.
TAKEN = (
    *("name", "family", "seed", "memory", "half_life", "impact", "feedback", "noise", "driver", "floors", "caps"),
    *("tolerance", "observed", "drift", "change", "season", "units", "rate", "shock", "start", "step", "delay"),
)


def register_problem(
    name: str,
    *,
    default_arms: int = 2,
    arms: range = range(1, 10_001),
    arm_names: Sequence[str] | None = None,
    measure: Measure | None = None,
) -> Callable[[Recipe], Recipe]:
    """Put a recipe `(random, arms, **parameters) -> responses` into the catalog under a name.

    `measure` makes each arm's fairness measure from its response; the first line of its docstring says what it stands for.
    """

    def register(recipe: Recipe) -> Recipe:
        held = _CATALOG.get(name)
        if held is not None and is_ours(held.recipe.__module__) and not is_ours(recipe.__module__):
            raise AftereffectError(f"{name!r} is the name of a problem of this library; choose another")
        names = tuple(arm_names) if arm_names else None
        entry = Entry(name, recipe, default_arms, arms, names, measure)
        taken = next((key for key in entry.parameters if key in TAKEN), None)
        if taken is not None:
            raise AftereffectError(f"problem {name!r}: every problem takes {taken!r} already; rename its recipe's own")
        take_sources(recipe.__module__)
        _CATALOG[name] = entry
        return recipe

    return register


def catalog() -> Mapping[str, Entry]:
    """Every named problem, those of installed plugins too."""
    load_installed()
    return dict(_CATALOG)


def entry_of(name: str) -> Entry:
    """What the catalog has under a name."""
    if not isinstance(name, str) or name not in _CATALOG:
        require_one_of("problem", name, catalog())
    return _CATALOG[name]


def repaid_share(repayment: Response) -> Response:
    """The share of a group that holds a loan it repays: the impact (share approved) times the repayment rate."""
    return Tabulated(lambda x: x * repayment(x), kinks=repayment.curve.x[1:-1].tolist(), what="measure")


def crime_prevented(crime: Response) -> Response:
    """The share of a district's crime that patrols prevent: 1 - r(x) / r(0)."""
    unpatrolled = float(crime(0.0))
    return Tabulated(lambda x: 1.0 - crime(x) / unpatrolled, kinks=crime.curve.x[1:-1].tolist(), what="measure")


@register_problem("gaussian")
def _gaussian(random: np.random.Generator, arms: int) -> list[Response]:
    """The paper's own: exp(-(x - tau)^2) with tau ~ U[.45, .55]; for three arms and more the best is (.5, .5, 0, ..)."""
    return [Gaussian(float(tau)) for tau in random.uniform(0.45, 0.55, arms)]


@register_problem("patrol", measure=crime_prevented)
def _patrol(random: np.random.Generator, arms: int) -> list[Response]:
    """Equation (4): a crime rate that patrols push down from hi ~ U[.5, .95] to lo = hi U[.05, .6]."""
    high = random.uniform(0.5, 0.95, arms)
    low = high * random.uniform(0.05, 0.6, arms)
    return [LinearDecline(float(h), float(low)) for h, low in zip(high, low, strict=True)]


@register_problem("loan", measure=repaid_share)
def _loan(random: np.random.Generator, arms: int) -> list[Response]:
    """Repayment that rises with past lending and levels off: lo + (hi - lo)(1 - exp(-a x))."""
    high = random.uniform(0.6, 0.95, arms)
    low = high * random.uniform(0.3, 0.9, arms)
    speed = random.uniform(2.0, 8.0, arms)
    return [SaturatingRise(float(lo), float(hi), float(a)) for lo, hi, a in zip(low, high, speed, strict=True)]


@register_problem("tent", arms=range(2, 3))
def _tent(random: np.random.Generator, arms: int, eps: float = 0.2) -> list[Response]:
    """Example 1: two arms whose best split is (1 - eps, eps); what ignores its own impact loses eps/2 a round."""
    require_numbers("tent", eps=eps)
    require(0 < eps < 0.5, f"tent: eps must lie between 0 and 0.5, got {eps}")
    return [Tent(1 - eps, 1.0, 1.0), Tent(eps, 0.5, 0.5)]


@register_problem("bump")
def _bump(random: np.random.Generator, arms: int, height: float = 0.15) -> list[Response]:
    """A needle in a plateau: .5 + max(0, h - |x - c|) with c ~ Dirichlet(2, .., 2)."""
    return [Bump(float(c), height) for c in random.dirichlet(np.full(arms, 2.0))]


@register_problem("lipschitz")
def _lipschitz(random: np.random.Generator, arms: int, knots: int = 9) -> list[Response]:
    """Random piecewise linear curves on equally spaced knots with slopes U[-1, 1], clipped to [0, 1]."""
    require_whole("lipschitz: knots", knots, 2, 100_000)
    x = np.linspace(0.0, 1.0, knots)
    curves: list[Response] = []
    for _ in range(arms):
        start = random.uniform(0.2, 0.8)
        rises = random.uniform(-1.0, 1.0, knots - 1) / (knots - 1)
        y = np.clip(start + np.concatenate([[0.0], np.cumsum(rises)]), 0.0, 1.0)
        curves.append(Table(x.tolist(), y.tolist()))
    return curves


@register_problem("brier")
def _brier(random: np.random.Generator, arms: int) -> list[Response]:
    """The quadratic score 1 - (1 - x)^2, strictly proper for two arms."""
    return [Tabulated(lambda x: 1.0 - (1.0 - x) ** 2)] * arms


@cache
def lending_table() -> dict[str, tuple[float, ...]]:
    """The repayment table, column by column."""
    text = files("aftereffect.model").joinpath("data/transrisk_repayment.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    return {column: tuple(float(row[column]) for row in rows) for column in rows[0]}


GROUPS = ("white", "black", "hispanic", "asian")


@register_problem("lending", default_arms=4, arms=range(1, 5), arm_names=GROUPS, measure=repaid_share)
def _lending(random: np.random.Generator, arms: int) -> list[Response]:
    """Real repayment by approved share of four groups (TransRisk scores, 2007); the delayed effect is an assumption.

    The source shows repayment at one moment as a lender goes deeper into a group. That a group's *past* approvals move it
    along this curve is assumed here; the source has no data over time.
    """
    table = lending_table()
    return [Table(table["approved_share"], table[group]) for group in GROUPS[:arms]]


_OF_PROBLEM = {f.name for f in dataclasses.fields(Problem)}


@dataclass(frozen=True)
class Family:
    """A recipe with its parameters fixed: draws problems from seeds."""

    name: str
    arms: int
    impact: Impact | Sequence[Impact]
    feedback: Feedback | None = None
    noise: Noise | str = "bernoulli"
    driver: Driver = "intended"
    floors: Sequence[float] | float | None = None
    caps: Sequence[float] | float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float | None = None
    observed: Observed = "all"
    drift: int | None = None
    change: int | None = None
    season: int | None = None
    units: int | None = None
    rate: float = 1.0
    shock: Shock | float | None = None
    start: Sequence[float] | str | None = None
    step: float | None = None
    delay: Delays | None = None

    def draw(self, seed: int | np.random.SeedSequence = 0) -> Problem:
        """The problem that belongs to a seed; with drift, change or season the responses move to those of a second draw."""
        entry, random = entry_of(self.name), np.random.default_rng(seed)
        responses = entry.recipe(random, self.arms, **self.parameters)
        require(
            isinstance(responses, Sequence) and len(responses) == self.arms,
            f"problem {self.name!r}: its recipe must give a list of {self.arms} responses, got {shown(responses)}",
        )
        moves = any(pace is not None for pace in (self.drift, self.change, self.season))
        later = entry.recipe(random, self.arms, **self.parameters) if moves else ()
        same = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name in _OF_PROBLEM}
        made = {
            "feedback": resolved_feedback(self.feedback, self.units),
            "names": entry.arm_names[: self.arms] if entry.arm_names else None,
            "label": self.name,
            "fairness": self._fairness(entry, responses),
            "drift": None if self.drift is None else Drift(later, self.drift),
            "change": None if self.change is None else Change(later, self.change),
            "season": None if self.season is None else Season(later, self.season),
        }
        return Problem(responses, **same | made)

    def _fairness(self, entry: Entry, responses: Sequence[Response]) -> Fairness | None:
        if entry.measure is None:
            if self.tolerance is not None or self.observed != "all":
                having = ", ".join(e.name for e in _CATALOG.values() if e.measure)
                raise AftereffectError(
                    f"problem {self.name!r} has no fairness measure and takes no tolerance or observed (those with one: {having})"
                )
            return None
        tolerance = DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance
        measures = [entry.measure(r) for r in responses]
        return Fairness(measures, tolerance, observed=self.observed, meaning=entry.meaning)


DEFAULT_MEMORY = 0.4  # what we take where the paper leaves it open


def family(
    name: str,
    /,
    arms: int | None = None,
    memory: float | None = None,
    *,
    half_life: float | None = None,
    impact: Impact | Sequence[Impact] | None = None,
    feedback: Feedback | None = None,
    noise: Noise | str = "bernoulli",
    driver: Driver = "intended",
    floors: Sequence[float] | float | None = None,
    caps: Sequence[float] | float | None = None,
    tolerance: float | None = None,
    observed: Observed = "all",
    drift: int | None = None,
    change: int | None = None,
    season: int | None = None,
    units: int | None = None,
    rate: float = 1.0,
    shock: Shock | float | None = None,
    start: Sequence[float] | str | None = None,
    step: float | None = None,
    delay: Delays | None = None,
    **parameters: Any,
) -> Family:
    """A family of problems by name; `memory`, `half_life` or a whole `impact` says how the past weighs (default .4).

    Where the problem has a fairness measure, `tolerance` says how far apart the arms may be (default .1) and `observed`
    whose measure is seen. With `drift` the responses move, over so many rounds, to those of a second draw; `change` puts
    those in place at a round, `season` goes there and back in so many. `units` says how many whole units a round splits,
    `rate` multiplies the responses, `shock` is a deviation a round beside the noise, `start` the split held before the first
    round, `step` the largest change of a share a round, `delay` the rounds until rewards are seen (or chances of 0, 1, 2, ...,
    or `Delay("geometric", mean=4)`).

    >>> family("gaussian", arms=3, memory=0.2).draw(seed=1).arms
    3
    """
    entry = entry_of(name)
    common = [n for n, p in inspect.signature(family).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for key in parameters:
        if key not in entry.parameters:
            raise UnknownName(
                f"parameter of problem {name!r}:", key, [*entry.parameters, "arms", "memory", *common, "seed"]
            )
    count = entry.default_arms if arms is None else _plain(arms)
    if not isinstance(count, int) or isinstance(count, bool) or count not in entry.arms:
        allowed = f"{entry.arms.start} to {entry.arms.stop - 1}" if len(entry.arms) > 1 else str(entry.arms.start)
        raise AftereffectError(f"problem {name!r}: arms must be {allowed}, got {shown(count)}")
    if sum(x is not None for x in (memory, half_life, impact)) > 1:
        raise AftereffectError(f"problem {name!r}: give one of memory, half_life and impact")
    if impact is None:
        weight = memory_of(half_life) if half_life is not None else DEFAULT_MEMORY if memory is None else _plain(memory)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise AftereffectError(f"problem {name!r}: memory must be a number in [0, 1), got {shown(weight)}")
        impact = Discounted(weight) if weight else Instant()
    result = Family(
        name,
        count,
        impact=impact,
        feedback=feedback,
        noise=noise,
        driver=driver,
        floors=floors,
        caps=caps,
        parameters=parameters,
        tolerance=tolerance,
        observed=observed,
        drift=drift,
        change=change,
        season=season,
        units=units,
        rate=rate,
        shock=shock,
        start=start,
        step=step,
        delay=delay,
    )
    try:
        result.draw(0)  # a wrong parameter is refused where it is written and not in the middle of a simulation
    except TypeError as error:
        raise AftereffectError(f"problem {name!r}: {error}") from error
    return result


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def problem(name: str, seed: int = 0, **parameters: Any) -> Problem:
    """A named problem, drawn with a seed; see `family` for the parameters."""
    return family(name, **parameters).draw(require_whole("seed", seed, 0))
