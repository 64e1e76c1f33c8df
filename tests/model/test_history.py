from __future__ import annotations

import numpy as np
import pytest

from aftereffect.model.history import held_lately
from tests.records.worlds import usual

OLD, NEW, CLOSED = (0.5, 0.3, 0.2), (0.2, 0.4, 0.4), (0.6, 0.4, 0.0)


def rounds(*parts):
    return np.array([split for split, count in parts for _ in range(count)])


@pytest.mark.parametrize(
    ("past", "today"),
    [
        (rounds((OLD, 40), (CLOSED, 4)), CLOSED),
        (rounds((OLD, 36), (NEW, 4)), NEW),
        (rounds((OLD, 36), (NEW, 2)), NEW),
        (rounds((OLD, 40), (NEW, 20)), NEW),
        (rounds((OLD, 40), (NEW, 2), (OLD, 3)), OLD),
        (rounds((OLD, 3), (NEW, 2)), NEW),
        (rounds((OLD, 1)), OLD),
    ],
)
def test_after_a_lasting_change_today_is_what_is_held_since(past, today):
    np.testing.assert_allclose(held_lately(past), today, atol=1e-12)


def test_one_odd_round_is_a_whim():
    for past in (rounds((OLD, 40), (NEW, 1)), rounds((OLD, 40), (NEW, 1), (OLD, 3))):
        np.testing.assert_allclose(held_lately(past), past[-8:].mean(axis=0))


def test_shares_that_wander_by_a_third_give_the_mean_of_eight_rounds():
    kept = 0
    for seed in range(300):
        shares = usual().shares(60, np.random.default_rng(seed))
        kept += np.allclose(held_lately(shares), shares[-8:].mean(axis=0))
    assert kept >= 296


def test_a_change_is_seen_through_whole_units():
    rng = np.random.default_rng(1)
    past = np.array([rng.multinomial(300, split) / 300 for split in rounds((OLD, 40), (NEW, 4))])
    np.testing.assert_allclose(held_lately(past), past[-4:].mean(axis=0))


def test_an_arm_that_paused_longer_than_ever_has_nothing_and_one_that_takes_turns_keeps_its_part():
    rng = np.random.default_rng(2)
    small = np.array([rng.dirichlet([40, 40, 1]) for _ in range(30)])
    small[-2:, 2] = 0.0
    small /= small.sum(axis=1, keepdims=True)
    assert held_lately(small)[2] == 0.0
    turns = np.eye(4)[np.arange(40) % 4]
    np.testing.assert_allclose(held_lately(turns), [0.25] * 4)
