"""What can go wrong with a store: one line each, and whether trying again can help."""

from __future__ import annotations

from typing import ClassVar

from aftereffect.errors import AftereffectError, UnknownName


class StoreError(AftereffectError):
    """Base of what a store of programs refuses or cannot do; nothing was written."""

    retryable: ClassVar[bool] = False


class NotFound(UnknownName, StoreError):
    """No program of that name."""


class Conflict(StoreError):
    """What is there already does not go with what was asked for."""


class AlreadyExists(Conflict):
    """A program of that name exists."""


class Archived(Conflict):
    """The program was archived: it can be read, and nothing more is written."""


class KeyReused(Conflict):
    """An idempotency key that was used before, for something else."""


class Busy(StoreError):
    """Others write and did not finish in time; nothing was written, try again."""

    retryable = True


class Unavailable(StoreError):
    """The store cannot be reached now; what was under way may or may not be written: try again with the same key."""

    retryable = True


class CannotWrite(StoreError):
    """The disk is full or the store is read-only."""


class NewerStore(StoreError):
    """A newer version of this package wrote the store."""


class Damaged(StoreError):
    """What is in the store does not fit together."""
