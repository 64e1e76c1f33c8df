"""What a reproduction is said to mean follows from its verdicts and runs."""

from __future__ import annotations

import numpy as np

from aftereffect.experiments.claims import CLAIMS
from aftereffect.experiments.outlook import REMARKS, remarks
from tests.experiments.fakes import Fake, one

SQUARE = "gaussian:impact=discounted(memory=0.4,g=power(exponent=2))"
ALL = [{"id": claim.id, "verdict": "holds"} for claim in CLAIMS]


def test_remarks_rest_on_claims_that_exist() -> None:
    assert {claim for remark in REMARKS for claim in remark.needs} <= {claim.id for claim in CLAIMS}


def test_a_remark_is_made_where_its_verdicts_are_so() -> None:
    (said,) = remarks(ALL, {})
    assert "come out as the paper says" in said


def test_one_other_verdict_silences_it() -> None:
    assert not list(remarks([{**v, "verdict": "undecided"} if v["id"] == "2c-lemma" else v for v in ALL], {}))


def test_a_number_is_that_of_the_runs() -> None:
    negative = one("general", Fake({(SQUARE, "d-ucb"): np.array([-1000.0, -1468.0])}))
    (said,) = remarks([], negative)
    assert "negative, -1,234:" in said
    assert not list(remarks([], one("general", Fake({(SQUARE, "d-ucb"): np.array([10.0, 20.0])}))))
