"""The rounds that an agent keeps: in full or, told at once as advised, as most are, as a row of one table of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from aftereffect.model.curves import Floats


class Round:
    """One round as it happened: what was advised, deployed and told, and when (seconds since 1970)."""

    advised: Floats | None = None  # None: nobody asked
    deployed: Floats
    seen: Floats  # observations of each arm; 0: not seen, NaN: not told yet
    reward: Floats
    measure: Floats | None = None  # NaN: not seen or not told yet
    asked = True  # does the policy's rule ask before it is told? Not in records of the past
    known = False  # is anything told of the rewards?
    closed = False  # is nothing more to come?
    drawn: Any = None  # what the policy drew the advice with, where its rule needs that again
    asked_at = math.nan
    deployed_at = math.nan
    told_at = math.nan
    stage = ""  # of the policy when it was asked
    reason = ""  # that people gave


def open_round(deployed: Floats) -> Round:
    """A round that has happened, and of which nothing is told yet."""
    happened = Round()
    happened.deployed = deployed
    happened.seen, happened.reward = np.full(len(deployed), np.nan), np.zeros(len(deployed))
    return happened


class RoundLog:
    """Rounds in order. Of those in the table `entries` has the policy's stage alone, so that keeping them costs no objects.

    A row of the table has each arm's share, its observations and its rewards, then the moments of asking and telling.
    """

    def __init__(self, arms: int) -> None:
        self.entries: list[Round | str] = []
        self._begin(arms)

    def _begin(self, arms: int) -> None:
        self.arms = arms
        self.table = np.empty((16, 3 * arms + 2))

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> Round:
        kept = self.entries[place]
        return kept if isinstance(kept, Round) else self._from_row(place, kept)

    def __setitem__(self, place: int, happened: Round) -> None:
        self.entries[place] = happened

    def __iter__(self) -> Iterator[Round]:
        return (self[place] for place in range(len(self.entries)))

    def append(self, happened: Round) -> None:
        self.entries.append(happened)

    def make_room(self) -> None:
        """Rows for more rounds than there are."""
        wider = np.empty((2 * len(self.entries), self.table.shape[1]))
        wider[: len(self.table)] = self.table
        self.table = wider

    def forget(self, count: int) -> None:
        """Drop so many of the oldest."""
        rows = self.table[count : len(self.entries)]  # the latest may have none
        self.table[: len(rows)] = rows
        del self.entries[:count]

    def open_from(self, place: int) -> list[int]:
        """The places, from one on, of rounds of which something is still to be told."""
        beyond = enumerate(self.entries[place:], place)
        return [i for i, kept in beyond if isinstance(kept, Round) and not kept.closed]

    def take_arms(self, arms: int) -> None:
        """Rounds to come have so many arms."""
        if arms != self.arms:
            self.entries = list(self)
            self._begin(arms)

    def _from_row(self, place: int, stage: str) -> Round:
        happened, row = Round(), self.table[place].copy()  # the table moves
        happened.deployed, happened.seen, happened.reward = row[:-2].reshape(3, self.arms)
        happened.advised = happened.deployed
        happened.asked_at, happened.told_at = row[-2:].tolist()
        happened.deployed_at = happened.told_at
        happened.known = happened.closed = True
        happened.stage = stage
        return happened
