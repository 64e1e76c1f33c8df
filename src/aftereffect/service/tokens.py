"""Who may do what: tokens with a role, for one program or all, and the sessions that a dashboard login opens.

A token is shown once and kept as a hash: 256 random bits need no slow one. Its first part names the row, so that the secret
part is compared in constant time and never searched for.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql

from aftereffect.errors import AftereffectError, UnknownName, require_one_of
from aftereffect.programs.database import Database
from aftereffect.programs.errors import StoreError
from aftereffect.programs.schema import tables

ROLES = ("viewer", "operator", "admin")  # each may do what those before it may
DAYS = 365.0  # that a token lasts if nobody says
SESSION_SECONDS = 12 * 3600.0
TRUSTED_FOR = 1.0  # seconds for which a token that was looked up is not looked up again: a revoked one may act so long
LAST_USE_EVERY = 60.0  # seconds: a write for every request would halve the speed
DAY = 86400.0

tokens = sql.Table(
    "aftereffect_tokens",
    tables,
    sql.Column("id", sql.String(16), primary_key=True),
    sql.Column("hash", sql.String(64), nullable=False),
    sql.Column("label", sql.String(200), nullable=False),
    sql.Column("role", sql.String(16), nullable=False),
    sql.Column("program", sql.String(100)),  # none: all of them
    sql.Column("created", sql.Double, nullable=False),
    sql.Column("expires", sql.Double, nullable=False),
    sql.Column("revoked", sql.Double),
    sql.Column("last_used", sql.Double),
)
sessions = sql.Table(
    "aftereffect_sessions",
    tables,
    sql.Column("hash", sql.String(64), primary_key=True),
    sql.Column("token", sql.String(16), nullable=False),
    sql.Column("csrf", sql.String(64), nullable=False),
    sql.Column("expires", sql.Double, nullable=False),
)


@dataclass(frozen=True)
class Caller:
    """Whose request it is."""

    token: str
    label: str
    role: str
    program: str | None
    csrf: str | None = None  # of a session; none for a token in the header, which no other site can send

    def may(self, role: str, program: str | None) -> bool:
        """Whether it has a role for a program; none: for all of them."""
        return ROLES.index(self.role) >= ROLES.index(role) and (self.program is None or self.program == program)


class Tokens:
    """The tokens and sessions of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[float, Caller]] = {}
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def create(self, role: str, program: str | None = None, label: str = "", days: float = DAYS) -> str:
        """A new token, to be shown once."""
        require_one_of("role", role, ROLES)
        if not 0 < days <= 36_500:
            raise AftereffectError(f"a token lasts above 0 and at most 36,500 days, got {days:g}")
        if len(label) > 200:
            raise AftereffectError(f"a label has at most 200 letters, got {len(label)}")
        identity, secret, now = secrets.token_hex(6), secrets.token_urlsafe(32), time.time()
        row = {
            "id": identity,
            "hash": _hash(secret),
            "label": label or f"{role} {identity}",
            "role": role,
            "program": program,
            "created": now,
            "expires": now + days * DAY,
        }
        with self._database.writing() as connection:
            connection.execute(tokens.insert().values(**row))
        return f"ae_{identity}_{secret}"

    def list(self) -> list[dict[str, Any]]:
        """All of them, without what is secret."""
        shown = [c for c in tokens.c if c.name != "hash"]
        with self._database.reading() as connection:
            return [dict(row) for row in connection.execute(sql.select(*shown).order_by(tokens.c.created)).mappings()]

    def revoke(self, identity: str) -> None:
        """End a token and its sessions."""
        with self._database.writing() as connection:
            ended = connection.execute(
                tokens.update().where(tokens.c.id == identity).values(revoked=time.time())
            ).rowcount
            connection.execute(sessions.delete().where(sessions.c.token == identity))
        if not ended:
            raise UnknownName("token", identity, [row["id"] for row in self.list()])
        with self._lock:
            self._known.clear()

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; None if nobody's, or no longer."""
        return self._remembered(token, self._look_up)

    def recent(self, token: str) -> Caller | None:
        """Whose token it is, if that was looked up a moment ago and the store need not be asked."""
        return self._recent(_hash(token))

    def log_in(self, token: str) -> tuple[str, Caller] | None:
        """A session for a token, and the secret of its cookie."""
        caller = self.caller(token)
        if caller is None:
            return None
        secret, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), time.time()
        with self._database.writing() as connection:
            connection.execute(sessions.delete().where(sessions.c.expires < now))
            connection.execute(
                sessions.insert().values(
                    hash=_hash(secret), token=caller.token, csrf=csrf, expires=now + SESSION_SECONDS
                )
            )
        return secret, replace(caller, csrf=csrf)

    def session(self, secret: str) -> Caller | None:
        """Whose session it is; None if it has ended."""
        return self._remembered(f"session {secret}", lambda _: self._look_up_session(secret))

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self._database.writing() as connection:
            connection.execute(sessions.delete().where(sessions.c.hash == _hash(secret)))
        with self._lock:
            self._known.clear()

    def _remembered(self, secret: str, look_up: Any) -> Caller | None:
        name = _hash(secret)
        known = self._recent(name)
        if known is not None:
            return known
        found: Caller | None = look_up(secret)
        now = time.monotonic()
        with self._lock:
            self._known = {n: (t, c) for n, (t, c) in self._known.items() if t > now}
            if found is not None:
                self._known[name] = (now + TRUSTED_FOR, found)
        return found

    def _recent(self, name: str) -> Caller | None:
        with self._lock:
            until, known = self._known.get(name, (0.0, None))
        return known if time.monotonic() < until else None

    def _look_up(self, token: str) -> Caller | None:
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != "ae" or len(token) > 200:
            return None
        with self._database.reading() as connection:
            row = connection.execute(sql.select(tokens).where(tokens.c.id == parts[1])).mappings().first()
        expected = row["hash"] if row is not None else _hash("")
        if not hmac.compare_digest(_hash(parts[2]), expected) or row is None:
            return None
        return self._valid(dict(row))

    def _look_up_session(self, secret: str) -> Caller | None:
        joined = sql.select(tokens, sessions.c.csrf).join(sessions, sessions.c.token == tokens.c.id)
        with self._database.reading() as connection:
            row = (
                connection.execute(joined.where(sessions.c.hash == _hash(secret), sessions.c.expires > time.time()))
                .mappings()
                .first()
            )
        caller = None if row is None else self._valid(dict(row))
        return None if caller is None or row is None else replace(caller, csrf=row["csrf"])

    def _valid(self, row: dict[str, Any]) -> Caller | None:
        now = time.time()
        if row["revoked"] is not None or row["expires"] < now:
            return None
        if now - self._noted.get(row["id"], 0.0) > LAST_USE_EVERY:
            self._noted[row["id"]] = now
            with (
                suppress(StoreError),
                self._database.writing() as connection,
            ):  # who only reads needs no disk to write on
                connection.execute(tokens.update().where(tokens.c.id == row["id"]).values(last_used=now))
        return Caller(row["id"], row["label"], row["role"], row["program"])


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def day(at: float) -> str:
    """A moment's date."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()
