"""Figures: what a reader must be able to see in them."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import aftereffect as ae
from aftereffect.report.style import looks


@pytest.fixture(scope="module")
def comparison():
    policies = [ae.RoundRobin(), ae.Fixed(), ae.Fixed(allocation=(0.9, 0.1))]
    return ae.simulate(ae.family("patrol"), policies, horizon=400, instances=3, runs=3, seed=1)


def test_every_policy_has_a_labelled_line_with_its_mean(comparison):
    axes = ae.plot(comparison).axes[0]
    assert sorted(t.get_text() for t in axes.texts) == sorted(comparison)
    for line, key in zip(axes.lines, comparison, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), comparison[key].rounds)
        np.testing.assert_array_equal(line.get_ydata(), comparison[key].mean)
    assert axes.get_xlabel()
    assert axes.get_ylabel()


@pytest.mark.parametrize(("band", "says"), [("sd", "2 standard deviations"), ("ci", "confidence"), ("none", None)])
def test_the_title_says_what_the_band_is(comparison, band, says):
    axes = ae.plot(comparison, band=band).axes[0]
    assert len(axes.collections) == (0 if says is None else len(comparison))
    assert says is None or says in axes.get_title(loc="left")


def test_labels_at_the_line_ends_do_not_overlap(comparison):
    figure = ae.plot(comparison)
    boxes = sorted((t.get_window_extent() for t in figure.axes[0].texts), key=lambda b: b.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_one_result_can_be_plotted_on_given_axes(comparison):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert ae.plot(comparison["round-robin"], ax=axes, log=True) is figure
    assert axes.get_xscale() == "log"


def test_wrong_arguments_are_said(comparison):
    with pytest.raises(ae.AftereffectError, match="band"):
        ae.plot(comparison, band="std")
    with pytest.raises(ae.AftereffectError, match="Result"):
        ae.plot("regret")  # type: ignore[arg-type]


def test_policies_keep_their_colour_and_variants_differ_in_their_line():
    alone, together = looks(["d-ucb"]), looks(["exp3", "d-ucb", "d-ucb:discount=0.9"])
    assert alone["d-ucb"] == together["d-ucb"]
    assert together["d-ucb"].colour == together["d-ucb:discount=0.9"].colour
    assert together["d-ucb"].line != together["d-ucb:discount=0.9"].line
    assert len({look.colour for look in looks(["mine", "yours", "d-ucb"]).values()}) == 3
