"""Bad inputs for the Python API: each raises `AftereffectError`, a `ValueError`, with the offending value or name in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments.weekly import run_weekly
from aftereffect.model.family_notation import family_from
from aftereffect.model.impacts import memory_of
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.policies.base import policy_from
from aftereffect.testing import check_policy

NAN, INF = float("nan"), float("inf")
any_: Any = ae  # the same package, for arguments of the wrong type


def tent() -> ae.Problem:
    return ae.problem("tent")


def flat(x: float) -> float:
    return 0.5


Row = tuple[str, Callable[[], Any], str]

RESPONSES: list[Row] = [
    ("gaussian center", lambda: ae.Gaussian(NAN), "nan"),
    ("gaussian center infinite", lambda: ae.Gaussian(INF), "inf"),
    ("gaussian variance", lambda: ae.Gaussian(0.5, 0.0), "0.0"),
    ("gaussian variance nan", lambda: ae.Gaussian(0.5, NAN), "nan"),
    ("gaussian text", lambda: any_.Gaussian("half"), "half"),
    ("decline upside down", lambda: ae.LinearDecline(0.2, 0.8), "0.8"),
    ("decline above one", lambda: ae.LinearDecline(1.2, 0.8), "1.2"),
    ("decline text", lambda: any_.LinearDecline("high", 0.1), "high"),
    ("rise below zero", lambda: ae.SaturatingRise(-0.1, 0.8, 2.0), "-0.1"),
    ("rise speed", lambda: ae.SaturatingRise(0.1, 0.8, 0.0), "0.0"),
    ("rise speed infinite", lambda: ae.SaturatingRise(0.1, 0.8, INF), "inf"),
    ("tent peak", lambda: ae.Tent(1.0), "1.0"),
    ("tent height", lambda: ae.Tent(0.5, 1.5), "1.5"),
    ("tent end", lambda: ae.Tent(0.2, 0.5, 1.0), "-0.3"),
    ("bump center", lambda: ae.Bump(1.2), "1.2"),
    ("bump height", lambda: ae.Bump(0.5, -0.1), "-0.1"),
    ("bump base", lambda: ae.Bump(0.5, 0.2, 0.9), "0.9"),
    ("table lengths", lambda: ae.Table([0, 1], [0.5]), "1"),
    ("table of one point", lambda: ae.Table([0.5], [0.5]), "1"),
    ("table order", lambda: ae.Table([0.5, 0.2], [0.1, 0.2]), "0.2"),
    ("table x outside", lambda: ae.Table([0, 1.5], [0.1, 0.2]), "1.5"),
    ("table y outside", lambda: ae.Table([0, 1], [0.1, 1.7]), "1.7"),
    ("table y nan", lambda: ae.Table([0, 1], [0.1, NAN]), "nan"),
    ("table text", lambda: any_.Table([0, 1], ["low", "high"]), "low"),
    ("function outside", lambda: ae.Tabulated(lambda x: 3.0 + 0 * x), "3"),
    ("function nan", lambda: ae.Tabulated(lambda x: NAN * x), "nan"),
    ("function gives text", lambda: any_.Tabulated(lambda _: "high"), "high"),
    ("not a function", lambda: any_.Tabulated(0.5), "0.5"),
]

IMPACTS: list[Row] = [
    ("memory one", lambda: ae.Discounted(1.0), "1.0"),
    ("memory negative", lambda: ae.Discounted(-0.1), "-0.1"),
    ("memory nan", lambda: ae.Discounted(NAN), "nan"),
    ("memory text", lambda: any_.Discounted("long"), "long"),
    ("memory and half-life", lambda: ae.Discounted(0.5, half_life=2.0), "half_life"),
    ("neither", lambda: ae.Discounted(), "memory"),
    ("half-life", lambda: ae.Discounted(half_life=0.0), "0.0"),
    ("half-life alone", lambda: memory_of(-1.0), "-1.0"),
    ("half-life infinite", lambda: ae.Discounted(half_life=INF), "inf"),
    ("smoothed start", lambda: ae.Smoothed(0.5, 1.5), "1.5"),
    ("smoothed memory", lambda: ae.Smoothed(1.5), "1.5"),
    ("window length", lambda: ae.Window(0), "0"),
    ("window fraction", lambda: any_.Window(2.5), "2.5"),
    ("window true", lambda: ae.Window(True), "True"),
    ("power", lambda: ae.Power(0.0), "0.0"),
    ("power infinite", lambda: ae.Power(INF), "inf"),
    ("logistic steepness", lambda: ae.Logistic(-1.0), "-1.0"),
    ("logistic midpoint", lambda: ae.Logistic(5.0, 2.0), "2.0"),
    ("g not monotone", lambda: ae.MonotoneTable([0, 0.5, 1], [0, 1, 0.5]), "0.5"),
    ("g outside", lambda: ae.MonotoneTable([0, 1], [0, 2]), "2"),
    ("g of the wrong kind", lambda: any_.Discounted(0.5, "power"), "power"),
    ("own impact", lambda: any_.OwnImpact("step"), "step"),
    ("own rate", lambda: ae.OwnImpact(lambda s, p: (s, p), rate=1.5), "1.5"),
]

PROBLEMS: list[Row] = [
    ("no responses", lambda: ae.Problem([]), "response"),
    ("responses a number", lambda: any_.Problem(5), "5"),
    ("a response a number", lambda: any_.Problem([0.5]), "0.5"),
    ("impact text", lambda: any_.Problem([flat], "discounted"), "discounted"),
    ("impact a number", lambda: any_.Problem([flat], 0.5), "0.5"),
    ("impacts too few", lambda: ae.Problem([flat, flat], [ae.Instant()]), "2"),
    ("feedback", lambda: any_.Problem([flat], feedback="indepedent"), "did you mean 'independent'"),
    ("noise", lambda: ae.Problem([flat], noise="gaussian"), "gaussian"),
    ("noise a number", lambda: any_.Problem([flat], noise=3), "3"),
    ("concentration", lambda: ae.Noise("beta", 0.0), "0.0"),
    ("driver", lambda: any_.Problem([flat], driver="realized"), "did you mean 'realised'"),
    ("names a number", lambda: any_.Problem([flat, flat], names=5), "5"),
    ("noise a list", lambda: any_.Problem([flat], noise=["beta"]), "beta"),
    ("kinks a number", lambda: any_.Tabulated(flat, kinks=0.5), "0.5"),
    ("scaled a number", lambda: any_.Scaled(0.5, 0.5), "0.5"),
    ("names too few", lambda: ae.Problem([flat, flat], names=["a"]), "2"),
    ("names twice", lambda: ae.Problem([flat, flat], names=["a", "a"]), "a"),
    ("floors too large", lambda: ae.Problem([flat, flat], floors=0.6), "1.2"),
    ("floors negative", lambda: ae.Problem([flat, flat], floors=-0.1), "-0.1"),
    ("floors nan", lambda: ae.Problem([flat, flat], floors=[NAN, 0.1]), "nan"),
    ("floors text", lambda: any_.Problem([flat, flat], floors="low"), "low"),
    ("floors too many", lambda: ae.Problem([flat, flat], floors=[0.1] * 3), "2"),
    ("caps too small", lambda: ae.Problem([flat, flat], caps=0.3), "0.6"),
    ("caps above one", lambda: ae.Problem([flat, flat], caps=1.5), "1.5"),
    ("floor above cap", lambda: ae.Problem([flat, flat], floors=[0.5, 0], caps=[0.4, 1]), "0.4"),
    ("utility of too few", lambda: tent().utility([1.0]), "1"),
    ("utility of no shares", lambda: tent().utility([2, -1]), r"shares in \[0, 1\] that sum to 1, got \[2.0, -1.0\]"),
    ("utility of too little", lambda: tent().utility([0.5, 0.2]), r"sum to 1, got \[0.5, 0.2\]"),
    ("utility of nan", lambda: tent().utility([NAN, 1]), "nan"),
    ("utility of words", lambda: any_.Problem([flat]).utility(["all"]), "all"),
]

FAMILIES: list[Row] = [
    ("name", lambda: ae.problem("gausian"), "did you mean 'gaussian'"),
    ("name a number", lambda: any_.problem(3), "3"),
    ("parameter", lambda: ae.problem("gaussian", widht=3), "widht"),
    ("arms zero", lambda: ae.family("gaussian", arms=0), "0"),
    ("arms fraction", lambda: any_.family("gaussian", arms=2.5), "2.5"),
    ("arms true", lambda: ae.family("gaussian", arms=True), "True"),
    ("tent's arms", lambda: ae.family("tent", arms=3), "3"),
    ("lending's arms", lambda: ae.family("lending", arms=5), "5"),
    ("memory", lambda: ae.family("gaussian", memory=1.2), "1.2"),
    ("memory text", lambda: any_.family("gaussian", memory="long"), "long"),
    ("memory and impact", lambda: ae.family("gaussian", memory=0.3, impact=ae.Instant()), "memory"),
    ("half-life", lambda: ae.family("gaussian", half_life=-2), "-2"),
    ("feedback", lambda: any_.family("gaussian", feedback="all"), "all"),
    ("eps", lambda: ae.family("tent", eps=0.7), "0.7"),
    ("height", lambda: ae.family("bump", height=0.9), "height"),
    ("height text", lambda: ae.family("bump", height="tall"), "tall"),
    ("knots", lambda: ae.family("lipschitz", knots=1), "1"),
    ("seed negative", lambda: ae.problem("gaussian", seed=-1), "-1"),
    ("seed text", lambda: any_.problem("gaussian", seed="one"), "one"),
    ("seed fraction", lambda: any_.problem("gaussian", seed=1.5), "1.5"),
    ("notation empty", lambda: family_from(""), "''"),
    ("notation impact", lambda: family_from("gaussian:impact=smooth(memory=0.5)"), "did you mean 'smoothed'"),
    ("notation bracket", lambda: family_from("gaussian:impact=window(length=3"), "bracket"),
    ("notation seed", lambda: family_from("gaussian:seed=x"), "x"),
    ("notation parameter of an impact", lambda: family_from("gaussian:impact=window(width=3)"), "width"),
]

POLICIES: list[Row] = [
    ("name", lambda: ae.policy("d-ucp"), "did you mean 'd-ucb'"),
    ("name a number", lambda: any_.policy(7), "7"),
    ("parameter", lambda: ae.policy("d-ucb", discout=0.9), "did you mean 'discount'"),
    ("inner missing", lambda: ae.policy("phased"), "inner"),
    ("discount one", lambda: ae.DUCB(discount=1.0), "1.0"),
    ("discount text", lambda: any_.DUCB(discount="slow"), "slow"),
    ("xi", lambda: ae.DUCB(xi=-1.0), "-1.0"),
    ("xi infinite", lambda: ae.DUCB(xi=INF), "inf"),
    ("window", lambda: ae.SWUCB(window=0), "0"),
    ("window fraction", lambda: any_.SWUCB(window=10.5), "10.5"),
    ("scale", lambda: ae.ActionUCB(scale=0.0), "0.0"),
    ("scale nan", lambda: ae.ActionUCB(scale=NAN), "nan"),
    ("zero", lambda: any_.ActionUCB(zero="yes"), "yes"),
    ("levels", lambda: ae.ActionUCB(levels=0), "0"),
    ("too many levels", lambda: ae.ActionUCB(levels=10_000_000).start(3), "10,000,000"),
    ("log", lambda: ae.ActionUCB(log="clokc"), "did you mean 'clock'"),
    ("log zero", lambda: ae.ActionUCB(log=0.0), "0.0"),
    ("history log", lambda: ae.HistoryUCB(log="lemmas"), "did you mean 'lemma'"),
    ("memory", lambda: ae.HistoryUCB(memory=1.0), "1.0"),
    ("estimation", lambda: ae.HistoryUCB(estimation=1.0), "1.0"),
    ("lipschitz", lambda: ae.HistoryUCB(lipschitz=-1.0), "-1.0"),
    ("inner text", lambda: any_.Phased("ucb1"), "ucb1"),
    ("approach", lambda: ae.Phased(ae.UCB1(), approach=-1), "-1"),
    ("rate", lambda: ae.Exp3(rate=1.5), "1.5"),
    ("form", lambda: ae.Exp3(form="lost"), "did you mean 'loss'"),
    ("deploy", lambda: ae.Exp3(deploy="arms"), "did you mean 'arm'"),
    ("grid_for", lambda: ae.CUCB(grid_for="own"), "own"),
    ("clip", lambda: any_.CUCB(clip=1), "1"),
    ("shares", lambda: ae.Fixed([0.5, 0.6]), "0.6"),
    ("shares text", lambda: any_.Fixed("half"), "half"),
    ("shares of texts", lambda: any_.Fixed(["half", "half"]), "half"),
    ("shares negative", lambda: ae.Fixed([1.5, -0.5]), "-0.5"),
    ("shares for the arms", lambda: ae.Fixed([0.5, 0.5]).start(3), "3"),
    ("shares and caps", lambda: ae.Fixed([0.9, 0.1]).start(2, caps=0.8), "0.9"),
    ("too many allocations", lambda: ae.LipschitzUCB(levels=200).start(5, 1000), "70,058,751"),
    ("limits of single arms", lambda: ae.UCB1().start(2, floors=0.1), "ucb1"),
    ("limits and grid", lambda: ae.ActionUCB(levels=4).start(2, floors=[0.3, 0.3], caps=[0.45, 0.7]), "0.45"),
    ("recommended", lambda: ae.recommended(0, 100), "arms"),
    ("notation", lambda: policy_from("phased:inner=cucb(zero=true"), "bracket"),
    ("notation twice", lambda: policy_from("d-ucb:xi=1,xi=2"), "xi"),
    ("notation value", lambda: policy_from("d-ucb:xi="), "xi="),
    ("notation inner", lambda: policy_from("phased:inner=cuc(zero=true)"), "did you mean 'cucb'"),
    ("nameless", lambda: ae.register(type("Nameless", (ae.Policy,), {})), "Nameless"),
]

SIMULATIONS: list[Row] = [
    ("problem text", lambda: any_.simulate("gaussian", ae.UCB1(), 10), "gaussian"),
    ("policy text", lambda: any_.simulate(tent(), "ucb1", 10), "ucb1"),
    ("policy number", lambda: any_.simulate(tent(), 5, 10), "5"),
    ("no policy", lambda: ae.simulate(tent(), [], 10), r"\[\]"),
    ("a text among policies", lambda: any_.simulate(tent(), [ae.UCB1(), "d-ucb"], 10), "d-ucb"),
    ("twice", lambda: ae.simulate(tent(), [ae.UCB1(), ae.UCB1()], 10), "ucb1"),
    ("horizon", lambda: ae.simulate(tent(), ae.UCB1(), 0), "0"),
    ("horizon fraction", lambda: any_.simulate(tent(), ae.UCB1(), 10.5), "10.5"),
    ("horizon text", lambda: any_.simulate(tent(), ae.UCB1(), "long"), "long"),
    ("runs", lambda: ae.simulate(tent(), ae.UCB1(), 10, runs=0), "0"),
    ("runs true", lambda: ae.simulate(tent(), ae.UCB1(), 10, runs=True), "True"),
    ("seed", lambda: ae.simulate(tent(), ae.UCB1(), 10, seed=-3), "-3"),
    ("threads", lambda: ae.simulate(tent(), ae.UCB1(), 10, threads=0), "0"),
    ("instances of a problem", lambda: ae.simulate(tent(), ae.UCB1(), 10, instances=4), "4"),
    ("instances", lambda: ae.simulate(ae.family("tent"), ae.UCB1(), 10, instances=0), "0"),
    ("checkpoints", lambda: ae.simulate(tent(), ae.UCB1(), 10, checkpoints=0), "0"),
    ("checkpoints beyond", lambda: ae.simulate(tent(), ae.UCB1(), 10, checkpoints=[5, 20]), "20"),
    ("checkpoints at zero", lambda: ae.simulate(tent(), ae.UCB1(), 10, checkpoints=[0, 5]), "0"),
    ("checkpoints none", lambda: ae.simulate(tent(), ae.UCB1(), 10, checkpoints=[]), r"\[\]"),
    ("checkpoints text", lambda: any_.simulate(tent(), ae.UCB1(), 10, checkpoints="some"), "some"),
    ("checkpoints fractions", lambda: any_.simulate(tent(), ae.UCB1(), 10, checkpoints=[1.5]), "1.5"),
    ("quantile", lambda: ae.simulate(tent(), ae.Fixed(), 10, runs=1).quantiles(1.5), "1.5"),
    ("level", lambda: ae.simulate(tent(), ae.Fixed(), 10, runs=1).interval(95), "95"),
    ("best fixed of a name", lambda: best_fixed(any_.policy), "policy"),
    ("horizon of the best", lambda: best_fixed(ae.problem("patrol", impact=ae.Smoothed(0.5)), 0), "0"),
]

ORACLE: list[Row] = [
    ("shape", lambda: ae.best_levels([1.0, 2.0]), r"\(2,\)"),
    ("text", lambda: any_.best_levels("values"), "values"),
    ("ragged", lambda: ae.best_levels([[0.0, 1.0], [0.0]]), "value"),
    ("nan", lambda: ae.best_levels([[0.0, NAN]]), "NaN"),
    ("bonus shape", lambda: ae.best_levels([[0.0, 1.0]], [[0.0]]), r"\(1, 1\)"),
    ("too few levels", lambda: ae.best_levels(np.zeros((3, 3))), "3 arms on 2 levels"),
    ("low too many", lambda: ae.best_levels(np.zeros((2, 3)), low=[0, 0, 0]), "0, 0, 0"),
    ("low fraction", lambda: any_.best_levels(np.zeros((2, 3)), low=[0.5, 1]), "0.5"),
    ("high too small", lambda: ae.best_levels(np.zeros((2, 5)), high=[1, 2]), r"\[1, 2\]"),
    ("seed", lambda: ae.best_levels(np.zeros((2, 5)), seed=-1), "-1"),
]

AGENTS: list[Row] = [
    ("arms", lambda: ae.UCB1().start(0), "0"),
    ("arms text", lambda: any_.UCB1().start("two"), "two"),
    ("arms fraction", lambda: any_.UCB1().start(2.5), "2.5"),
    ("horizon", lambda: ae.UCB1().start(2, -5), "-5"),
    ("horizon fraction", lambda: any_.UCB1().start(2, 10.5), "10.5"),
    ("seed", lambda: ae.UCB1().start(2, seed=-1), "-1"),
    ("seed text", lambda: any_.UCB1().start(2, seed="x"), "x"),
    ("feedback", lambda: any_.UCB1().start(2, feedback="splitt"), "did you mean 'split'"),
    ("floors", lambda: ae.ActionUCB().start(2, 100, floors=[0.6, 0.6]), "1.2"),
    ("caps", lambda: ae.ActionUCB().start(2, 100, caps=[0.2, 0.3]), "0.5"),
    ("names", lambda: ae.UCB1().start(2, names=["a", "b", "c"]), "3"),
    ("history", lambda: ae.UCB1().start(2, history=[[0.2, 0.2]]), "0.2"),
    ("history a number", lambda: any_.UCB1().start(2, history=5), "5"),
    ("load", lambda: ae.load_agent("no/such/agent.json"), "no/such/agent.json"),
]

HUGE = 10**400  # a number, and more than a float can be
UNWRITABLE = 10**5000  # Python refuses to write so many digits

HUGE_NUMBERS: list[Row] = [
    ("response", lambda: ae.Gaussian(HUGE), "1000"),
    ("response below", lambda: ae.Tent(-HUGE), "-1000"),
    ("table", lambda: ae.Table([0, 1], [0, HUGE]), "1000"),
    ("impact", lambda: ae.Discounted(HUGE), "1000"),
    ("half-life", lambda: ae.Discounted(half_life=HUGE), "1000"),
    ("window", lambda: ae.Window(HUGE), "1000"),
    ("floors", lambda: ae.Problem([flat, flat], floors=HUGE), "1000"),
    ("caps", lambda: ae.Problem([flat, flat], caps=[HUGE, 1]), "1000"),
    ("arms", lambda: ae.family("gaussian", arms=HUGE), "1000"),
    ("scale", lambda: ae.ActionUCB(scale=HUGE), "1000"),
    ("resolution", lambda: ae.CUCB(resolution=HUGE), "1000"),
    ("levels", lambda: ae.ActionUCB(levels=HUGE), "1000"),
    ("log", lambda: ae.ActionUCB(log=HUGE), "1000"),
    ("rate", lambda: ae.Exp3(rate=HUGE), "1000"),
    ("discount", lambda: ae.DUCB(discount=-HUGE), "-1000"),
    ("shares", lambda: ae.Fixed([HUGE, 0]), "1000"),
    ("horizon", lambda: ae.simulate(tent(), ae.UCB1(), HUGE), "1000"),
    ("runs", lambda: ae.simulate(tent(), ae.UCB1(), 10, runs=HUGE), "1000"),
    ("seed", lambda: ae.simulate(tent(), ae.UCB1(), 10, seed=HUGE), "1000"),
    ("agent's horizon", lambda: ae.UCB1().start(2, HUGE), "1000"),
    ("agent's horizon beyond counting", lambda: ae.UCB1().start(2, 10**19), "10000000000000000000"),
    ("agent's arms", lambda: ae.UCB1().start(HUGE), "1000"),
    ("agent's history", lambda: ae.UCB1().start(2, history=[[HUGE, 0]]), "1000"),
    ("oracle", lambda: ae.best_levels([[0.0, HUGE]]), "1000"),
    ("more digits than are written", lambda: ae.Window(UNWRITABLE), "more than 4300 digits"),
    (
        "such a number of checkpoints",
        lambda: ae.simulate(tent(), ae.UCB1(), 10, checkpoints=-UNWRITABLE),
        "4300 digits",
    ),
    ("such a number of instances", lambda: ae.simulate(tent(), ae.UCB1(), 10, instances=UNWRITABLE), "4300 digits"),
    ("such a name", lambda: any_.problem(UNWRITABLE), "4300 digits"),
    ("such a policy", lambda: any_.policy(UNWRITABLE), "4300 digits"),
    ("such a path", lambda: any_.load_agent(UNWRITABLE), "4300 digits"),
]


def own(step: Any) -> Any:
    return ae.Problem([flat, flat], impact=ae.OwnImpact(step, limit_at=float))


def result() -> ae.Result:
    return ae.simulate(tent(), ae.Fixed(), 10, runs=2, threads=1)


FURTHER: list[Row] = [
    (
        "worlds of a family",
        lambda: any_.Worlds(ae.family("loan"), 2),
        r"'loan' is a family .* give family.draw\(seed\)",
    ),
    ("worlds of a number", lambda: any_.Worlds(3), "3"),
    ("worlds of a list of numbers", lambda: any_.Worlds([3]), "3"),
    ("worlds' seed", lambda: ae.Worlds(tent(), 2, seed=-1), "seed must be a whole number from 0, got -1"),
    ("worlds' next seed", lambda: any_.Worlds(tent()).reset(1.5), "1.5"),
    (
        "checkpoints that are lists",
        lambda: any_.simulate(tent(), ae.UCB1(), 10, checkpoints=[[1], [2, 3]]),
        r"\[2, 3\]",
    ),
    ("no scenarios", lambda: run_weekly(["fixed"], scenarios=[]), r"at least one name .*, got \[\]"),
    ("scenarios a number", lambda: any_weekly(["fixed"], scenarios=3), "scenarios must be .*, got 3"),
    ("weekly policies a number", lambda: any_weekly(3), "policies must be a list .*, got 3"),
    ("weekly policies numbers", lambda: any_weekly([3]), r"policies must be a list .*, got \[3\]"),
    ("checked policy a name", lambda: any_check("fixed"), "check_policy takes a policy, got 'fixed'"),
    ("checked policy a class", lambda: any_check(ae.KLUCB), "got the class KLUCB, not one of its kind"),
    ("own impact no pair", lambda: ae.simulate(own(lambda _, x: x), ae.Fixed(), 10, runs=1), r"a pair, .* got \d"),
    ("own impact of words", lambda: ae.simulate(own(lambda *_: (0, "much")), ae.Fixed(), 10, runs=1), "'much'"),
    ("own impact of three", lambda: ae.OwnImpact(lambda s, x: (s, x, x)).limit(0.5), "0.0, 0.0"),  # type: ignore[arg-type, return-value]
    ("interval's level", lambda: any_result().interval("x"), "level must be a finite number, got 'x'"),
    ("interval's level nothing", lambda: any_result().interval(None), "None"),
    ("interval's level too large", lambda: result().interval(1.5), "between 0 and 1, got 1.5"),
    ("quantiles", lambda: any_result().quantiles("a"), "'a'"),
]
any_weekly: Any = run_weekly
any_check: Any = check_policy
any_result: Any = result

TABLES = {
    "further": FURTHER,
    "huge": HUGE_NUMBERS,
    "responses": RESPONSES,
    "impacts": IMPACTS,
    "problems": PROBLEMS,
    "families": FAMILIES,
    "policies": POLICIES,
    "simulations": SIMULATIONS,
    "oracle": ORACLE,
    "agents": AGENTS,
}
ROWS = [pytest.param(call, shown, id=f"{table}-{name}") for table, rows in TABLES.items() for name, call, shown in rows]


@pytest.mark.parametrize(("call", "shown"), ROWS)
def test_a_bad_input_is_refused_with_what_was_wrong(call: Callable[[], Any], shown: str) -> None:
    with pytest.raises(ae.AftereffectError, match=shown) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


PUBLIC: list[Any] = [getattr(ae, name) for name in ae.__all__]
KINDS = (ae.Policy, ae.Response, ae.Impact, ae.Problem, ae.Noise, ae.Shock, ae.Delay)
DESCRIPTIONS = [
    c for c in PUBLIC if isinstance(c, type) and issubclass(c, KINDS) and hasattr(c, "__dataclass_fields__")
]
NEEDED: dict[str, Any] = {"inner": ae.UCB1(), "responses": [flat, flat], "x": [0, 1], "y": [0, 1], "function": flat}


@pytest.mark.parametrize("described", DESCRIPTIONS, ids=lambda c: c.__name__)
def test_no_field_gives_a_traceback_for_a_number_that_python_cannot_write(described: Any) -> None:
    """What is not taken is refused by an error of ours: Python's own, about digits, would be a ValueError too."""
    fields = [f.name for f in dataclasses.fields(described) if f.init]
    needed = {name: value for name, value in NEEDED.items() if name in fields}
    for name in fields:
        for odd in (UNWRITABLE, [UNWRITABLE, 0.5], {"a": UNWRITABLE}):
            with suppress(ae.AftereffectError):
                described(**(dict.fromkeys(_required(described), 0.5) | needed | {name: odd}))


def _required(described: Any) -> list[str]:
    missing = dataclasses.MISSING
    return [f.name for f in dataclasses.fields(described) if f.default is missing and f.default_factory is missing]
