"""The catalog: every named family draws what it says it draws."""

from __future__ import annotations

import csv
import inspect
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model import catalog as module
from aftereffect.model.catalog import DEFAULT_MEMORY, TAKEN, catalog
from aftereffect.model.family_notation import family_from

NAMES = ["brier", "bump", "gaussian", "lending", "lipschitz", "loan", "patrol", "tent"]
X = np.linspace(0.0, 1.0, 101)


def _curves(problem: ae.Problem) -> np.ndarray:
    return np.stack([c(X) for c in problem.curves])


def test_the_contracts_names_are_there() -> None:
    assert set(NAMES) <= set(catalog())
    assert all(entry.summary for entry in catalog().values())


@pytest.mark.parametrize("name", NAMES)
def test_a_problem_is_its_familys_draw(name: str) -> None:
    problem, drawn = ae.problem(name, seed=7, memory=0.3), ae.family(name, memory=0.3).draw(7)
    assert np.array_equal(_curves(problem), _curves(drawn))
    assert problem.impacts == drawn.impacts
    assert problem.label == name
    assert ae.problem(name).memory == DEFAULT_MEMORY


@pytest.mark.parametrize("name", ["gaussian", "patrol", "loan", "bump", "lipschitz"])
def test_seeds_draw_different_problems(name: str) -> None:
    family = ae.family(name, arms=3)
    assert not np.array_equal(_curves(family.draw(1)), _curves(family.draw(2)))


@pytest.mark.parametrize("seed", range(5))
def test_the_families_ranges(seed: int) -> None:
    for r in ae.problem("gaussian", arms=4, seed=seed).responses:
        assert isinstance(r, ae.Gaussian)
        assert 0.45 <= r.center <= 0.55
        assert r.variance == 0.5
    for r in ae.problem("patrol", arms=4, seed=seed).responses:
        assert isinstance(r, ae.LinearDecline)
        assert 0.5 <= r.high <= 0.95
        assert 0.05 <= r.low / r.high <= 0.6
    for r in ae.problem("loan", arms=4, seed=seed).responses:
        assert isinstance(r, ae.SaturatingRise)
        assert 0.6 <= r.high <= 0.95
        assert 0.3 <= r.low / r.high <= 0.9
        assert 2 <= r.speed <= 8
    bumps = ae.problem("bump", arms=4, seed=seed).responses
    assert sum(r.center for r in bumps if isinstance(r, ae.Bump)) == pytest.approx(1.0)
    for r in ae.problem("lipschitz", arms=4, seed=seed).responses:
        assert isinstance(r, ae.Table)
        assert len(r.x) == 9
        assert r.lipschitz <= 1.0 + 1e-12
        assert 0.2 <= r.y[0] <= 0.8


def test_known_curves() -> None:
    tent = _curves(ae.problem("tent"))
    assert tent[0] == pytest.approx([x / 0.8 if x <= 0.8 else 1.8 - x for x in X])
    assert tent[1] == pytest.approx([0.5 * x / 0.2 if x <= 0.2 else 0.6 - 0.5 * x for x in X])
    assert _curves(ae.problem("brier"))[1] == pytest.approx(1 - (1 - X) ** 2, abs=1e-6)
    assert float(ae.problem("tent", eps=0.1).curves[0](0.9)) == pytest.approx(1.0)


def test_lending_reads_the_real_table() -> None:
    problem = ae.problem("lending", arms=3)
    assert problem.names == ("white", "black", "hispanic")
    text = files("aftereffect.model").joinpath("data/transrisk_repayment.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    for k, group in enumerate(problem.names):
        for row in rows[:: len(rows) // 10]:
            share = float(row["approved_share"])
            assert float(problem.curves[k](share)) == pytest.approx(float(row[group]), abs=1e-12)


def test_every_problem_takes_what_the_contract_says() -> None:
    for name in NAMES:
        problem = ae.problem(name, arms=2, memory=0.2, seed=3, feedback="one")
        assert (problem.arms, problem.memory, problem.feedback) == (2, 0.2, "one")
    assert ae.problem("gaussian", half_life=2.0).memory == pytest.approx(0.5**0.5)
    assert ae.problem("gaussian", memory=0).memory == 0.0
    assert ae.problem("gaussian", impact=ae.Window(3)).impacts[0] == ae.Window(3)
    limited = ae.problem("gaussian", floors=0.1, caps=[0.5, 0.8])
    assert limited.limits.caps.tolist() == [0.5, 0.8]


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("gaussian", ae.Discounted(0.4)),
        ("gaussian:memory=0.2", ae.Discounted(0.2)),
        ("gaussian:memory=0", ae.Instant()),
        ("gaussian:impact=window(length=3)", ae.Window(3)),
        ("gaussian:impact=smoothed(memory=0.5,g=power(exponent=2))", ae.Smoothed(0.5, 0.0, ae.Power(2))),
        ("gaussian:impact=discounted(half_life=3)", ae.Discounted(half_life=3)),
    ],
)
def test_the_short_notation(notation: str, expected: ae.Impact) -> None:
    assert family_from(notation)[0].impact == expected


def test_the_short_notation_takes_lists_noise_and_seed() -> None:
    family, seed = family_from(
        "patrol:arms=2,noise=beta(concentration=4),impact=[instant,window(length=2)],floors=[0.1,0.2],seed=5"
    )
    assert seed == 5
    assert family.noise == ae.Noise("beta", 4)
    assert list(family.draw(0).impacts) == [ae.Instant(), ae.Window(2)]
    assert family.draw(0).limits.floors.tolist() == [0.1, 0.2]


def test_a_problem_of_ones_own_joins_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CATALOG", dict(module._CATALOG))

    @ae.register_problem("steps", default_arms=3)
    def _steps(random: np.random.Generator, arms: int, drop: float = 0.5) -> list[ae.Response]:
        """Straight declines."""
        return [ae.LinearDecline(0.9, 0.9 - drop) for _ in range(arms)]

    assert ae.problem("steps").arms == 3
    assert float(ae.problem("steps", drop=0.2).curves[0](1.0)) == pytest.approx(0.7)
    assert catalog()["steps"].parameters == {"drop": 0.5}


@pytest.mark.parametrize("own", ["rate", "seed", "step", "start", "units", "name", "half_life"])
def test_a_parameter_that_every_problem_takes_is_refused_where_it_is_registered(own: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def recipe(random, arms, {own}=1.0): pass", scope)
    with pytest.raises(ae.AftereffectError, match=f"^problem 'mine': every problem takes '{own}' already; rename"):
        ae.register_problem("mine")(scope["recipe"])
    assert "mine" not in catalog()


def test_every_common_option_is_taken() -> None:
    taken = set(inspect.signature(ae.family).parameters) | set(inspect.signature(ae.problem).parameters)
    assert set(TAKEN) == (taken - {"arms", "parameters"}) | {"family"}  # a spec calls the name so


def test_numbers_of_numpy_are_numbers() -> None:
    arms: Any = np.int64(3)
    for memory in (np.float32(0.5), np.float64(0.5)):
        found = ae.problem("loan", arms=arms, memory=memory, seed=2)
        assert found.responses == ae.problem("loan", arms=3, memory=0.5, seed=2).responses
        assert found.memory == 0.5
        assert type(found.memory) is float
    assert ae.problem("loan", memory=np.int64(0)).memory == 0.0
    for wrong in (np.bool_(True), np.float64(2.0)):
        with pytest.raises(ae.AftereffectError, match="arms must be 1 to 10000"):
            ae.problem("loan", arms=wrong)


def test_a_recipe_gives_a_response_for_each_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CATALOG", dict(module._CATALOG))

    @ae.register_problem("short")
    def _short(random: np.random.Generator, arms: int) -> list[ae.Response]:
        return [ae.Gaussian(0.5)]

    assert ae.problem("short", arms=1).arms == 1
    with pytest.raises(ae.AftereffectError, match="problem 'short': its recipe must give a list of 3 responses, got "):
        ae.problem("short", arms=3)


def test_the_packaged_table_is_the_shared_one() -> None:
    """Only where the shared data is at hand, as in a checkout of the whole project."""
    shared = Path(__file__).resolve().parents[3] / "shared" / "data" / "transrisk_repayment.csv"
    if not shared.exists():
        pytest.skip("the shared data is not at hand")
    assert files("aftereffect.model").joinpath("data/transrisk_repayment.csv").read_text() == shared.read_text()


def test_the_notation_of_rehearsals() -> None:
    family, _ = family_from("loan:arms=4,memory=0.8,units=300,rate=0.1,shock=0.02,start=[0.4,0.3,0.2,0.1],step=0.05")
    problem = family.draw(1)
    assert (problem.units, problem.rate, problem.feedback, problem.step) == (300, 0.1, "split", 0.05)
    assert problem.shock == ae.Shock(0.02)
    assert problem.start == (0.4, 0.3, 0.2, 0.1)
    other = family_from("patrol:arms=3,shock=each(deviation=0.05),noise=continuous(deviation=0.02),season=52")[0].draw(
        1
    )
    assert other.shock == ae.Shock(0.05, "each")
    assert other.noise == ae.Noise("continuous", deviation=0.02)
    assert other.season is not None
    assert other.season.period == 52
    late = family_from("loan:units=300,delay=geometric(mean=4)")[0]
    assert late.delay == ae.Delay("geometric", mean=4)
    assert late.draw(1).delay == ae.Delay("geometric", mean=4).chances
    assert family_from("patrol:memory=0.3,start=even")[0].draw(1).start == (0.5, 0.5)
    with pytest.raises(ae.AftereffectError, match="units takes no parameters in brackets"):
        family_from("loan:units=each(deviation=1)")


def test_a_memory_beyond_all_floats_is_refused_as_any_other() -> None:
    with pytest.raises(ae.AftereffectError, match="memory"):
        ae.family("gaussian", memory=10**400)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("shock=each(dev=0.1)", r"shock 'each' takes deviation \(needed\), got dev"),
        ("shock=each()", r"shock 'each' takes deviation \(needed\), got nothing"),
        ("delay=geometric()", r"delay 'geometric' takes mean \(needed\), got nothing"),
        ("impact=window()", r"impact 'window' takes \w+ \(needed\)"),
        ("impact=smoothed(mem=0.5)", r"impact 'smoothed' takes memory.*, got mem"),
    ],
)
def test_what_stands_in_brackets_is_said(written: str, said: str) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        family_from(f"loan:arms=3,{written}")
