"""Whatever is wrong with a spec, `run --check` says so in one line that names the place."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from aftereffect.cli.experiments import check_spec
from aftereffect.errors import AftereffectError, AftereffectWarning
from aftereffect.experiments.spec import Spec
from tests.experiments.mutations import TEXTS, mutants
from tests.experiments.specs import write_spec

FIELDS = "|".join(Spec.model_fields)
NAMES_THE_PLACE = re.compile(
    rf"(unknown|missing) key ['\"].+['\"]"  # a key
    rf"|[^ ]+: (numbers must be finite|whole numbers go up to|lists and tables)"  # any key at all
    rf"|({FIELDS})(\[\d+\])?[^ :]*: "  # the path of a key, or an entry
    rf"|'.+' on '.+': "  # a policy on a problem
    rf"|[\w.-]+: .* problems x .* policies x "  # too much of everything
    rf"|'.*spec\.toml' is not valid TOML: .+"  # with line and column
)


def _check(directory: Path, text: str) -> str | None:
    """The complaint, if there is one."""
    path = write_spec(directory, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AftereffectWarning)
            check_spec(str(path), 2)
    except AftereffectError as error:
        return str(error)
    return None


def _check_all(directory: Path, seed: int, count: int) -> tuple[int, int]:
    accepted = refused = 0
    for i, text in enumerate(mutants(seed, count)):
        complaint = _check(directory, text)
        if complaint is None:
            accepted += 1
            continue
        refused += 1
        assert len(complaint.splitlines()) == 1, (seed, i, complaint)
        assert NAMES_THE_PLACE.match(complaint), (seed, i, complaint)
    return accepted, refused


@pytest.mark.parametrize("text", TEXTS, ids=["small", "tuned", "nested"])
def test_the_texts_are_valid_before_they_are_broken(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _check(tmp_path, text) is None
    said = capsys.readouterr().out
    assert "shards" in said
    assert "about" in said


@pytest.mark.parametrize("seed", [1, 2])
def test_250_mutated_specs(seed: int, tmp_path: Path) -> None:
    accepted, refused = _check_all(tmp_path, seed, 250)
    assert accepted > 10  # some mutations do no harm
    assert refused > 100


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_500_more_mutated_specs(seed: int, tmp_path: Path) -> None:
    _check_all(tmp_path, seed, 500)
