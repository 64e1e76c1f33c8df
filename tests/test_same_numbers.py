"""Every policy gives, bit by bit, the numbers that are on record: a change of form must not change a decision.

Where a change is meant to change them, write them anew and say so: `python -m tests.test_same_numbers POLICY ..` (or `all`).
The last bits of `exp` and `log` differ between kinds of machines, so the record holds for one kind.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import aftereffect as ae
from aftereffect.experiments.run import run_spec
from tests.experiments.specs import SMALL, rows, spec
from tests.simulation.cases import FEEDBACKS, POLICIES

RECORD = Path(__file__).with_name("same_numbers.json")
MACHINE = f"{platform.system()} {platform.machine()}"
CHANGING = ("curve-thompson", "fair-thompson")  # are made to decide better: what they decide is on no record
CASES = {p.key: p for p in POLICIES if p.name not in CHANGING}
SWEEP = "a sweep"
EVERYWHERE_ALIKE = SMALL.replace(
    "gaussian", "lipschitz"
)  # numpy's `exp` has other last bits where processors have AVX-512


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _numbers(policy: ae.Policy) -> dict[str, str]:
    """A hash for each feedback: 300 rounds on two problems with several kinds of noise and impact."""
    found: dict[str, str] = {}
    for feedback in FEEDBACKS:
        problems = (
            ae.problem("lipschitz", arms=2, memory=0.6, seed=3, feedback=feedback, noise="beta"),
            ae.problem("patrol", arms=3, impact=ae.Smoothed(0.3), seed=4, feedback=feedback),
        )
        results = [ae.simulate(p, policy, 300, runs=2, seed=5, checkpoints=30, threads=1) for p in problems]
        parts = [array.tobytes() for r in results for array in (r.regret, r.realised_regret, r.allocation, r.impact)]
        found[feedback] = _digest(*parts)
    return found


def _sweep() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as out:
        frame = rows(run_spec(spec(EVERYWHERE_ALIKE), Path(out)))
    return {"rows": _digest(json.dumps(frame.rows(), default=str).encode())}


@pytest.fixture(scope="module")
def record() -> dict[str, dict[str, str]]:
    held: dict[str, Any] = json.loads(RECORD.read_text())
    if held["machine"] != MACHINE:
        pytest.skip(f"the numbers on record are of {held['machine']}")
    numbers: dict[str, dict[str, str]] = held["numbers"]
    return numbers


@pytest.mark.parametrize("key", CASES)
def test_a_policy_gives_the_numbers_on_record(key: str, record: dict[str, dict[str, str]]) -> None:
    if key not in record:
        pytest.fail(f"a new policy: python -m tests.test_same_numbers '{key}'")
    assert _numbers(CASES[key]) == record[key]


def test_a_sweep_gives_the_numbers_on_record(record: dict[str, dict[str, str]]) -> None:
    assert _sweep() == record[SWEEP]


def _write(wanted: list[str]) -> None:
    held: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {"numbers": {}}
    everything = "all" in wanted
    fresh = {k: _numbers(p) for k, p in CASES.items() if everything or p.name in wanted or k in wanted}
    if everything or SWEEP in wanted:
        fresh[SWEEP] = _sweep()
    numbers = {k: v for k, v in {**held["numbers"], **fresh}.items() if k in CASES or k == SWEEP}
    RECORD.write_text(json.dumps({"machine": MACHINE, "numbers": dict(sorted(numbers.items()))}, indent=1) + "\n")


if __name__ == "__main__":
    _write(sys.argv[1:])
