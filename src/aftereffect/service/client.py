"""`Client`: the methods of a local program, over HTTP.

Every write carries an idempotency key, so that sending it again after a lost answer counts it once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any, Literal, overload
from urllib.parse import quote

import httpx2
import numpy as np

from aftereffect.errors import AftereffectError, require
from aftereffect.model.curves import Floats
from aftereffect.programs.errors import Busy, Conflict, StoreError

TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds; twice as long after each further try


class Client:
    """A service: `Client("http://127.0.0.1:8337", token="...").program("loans").ask()`."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, tries: int = TRIES, verify: Any = True) -> None:
        require(
            url.startswith(("http://", "https://")), f"a service's address begins with http:// or https://, got {url!r}"
        )
        self._tries = tries
        try:
            self._http = httpx2.Client(
                base_url=url.rstrip("/"),
                timeout=timeout,
                verify=verify,
                headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise AftereffectError(f"cannot reach {url!r}: {error}") from error

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def programs(self) -> list[dict[str, Any]]:
        """The programs that the token may see."""
        found: list[dict[str, Any]] = self.send("GET", "/api/programs")
        return found

    def create(self, name: str, arms: list[str], *, key: str | None = None, **options: Any) -> RemoteProgram:
        """Create a program: `policy`, `floors`, `caps`, `units`, `start`, `step`, `seed` .. by name, as for a local one."""
        self.send("POST", "/api/programs", {"name": name, "arms": list(arms), **options}, key)
        return RemoteProgram(self, name)

    def program(self, name: str) -> RemoteProgram:
        """A program by name."""
        return RemoteProgram(self, name)

    def send(self, method: str, path: str, body: Any = None, key: str | None = None, **query: Any) -> Any:
        """One request, sent again where that is safe; refusals are raised as the errors a local program raises."""
        headers = {} if method == "GET" else {"Idempotency-Key": key or secrets.token_hex(16)}
        query = {k: v for k, v in query.items() if v is not None}
        for attempt in range(self._tries):
            last = attempt == self._tries - 1
            try:
                answer = self._http.request(method, path, json=body, headers=headers, params=query)
            except httpx2.HTTPError as error:
                if last:
                    raise Busy(f"no answer from {self._http.base_url}: {error or type(error).__name__}") from error
            else:
                if answer.is_success:
                    return answer.json()
                if last or answer.status_code not in (429, 503):
                    raise _refusal(answer)
            time.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(attempt, 10)))
        raise AssertionError("the last try raises")


def _refusal(answer: httpx2.Response) -> AftereffectError:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.text[:200]
    kinds: dict[int, type[AftereffectError]] = {404: StoreError, 409: Conflict, 429: Busy, 503: Busy}
    return kinds.get(answer.status_code, AftereffectError)(detail)


class RemoteProgram:
    """A program on a service."""

    def __init__(self, client: Client, name: str) -> None:
        self.name, self._client, self._path = name, client, f"/api/programs/{quote(name, safe='')}"

    def show(self) -> dict[str, Any]:
        """The program as it stands."""
        shown: dict[str, Any] = self._client.send("GET", self._path)
        return shown

    @property
    def rounds(self) -> int:
        """Rounds told or deployed so far."""
        return int(self.show()["rounds"])

    @property
    def open_rounds(self) -> list[int]:
        """Rounds that still wait for rewards."""
        return list(self.show()["open_rounds"])

    def ask(self, *, key: str | None = None) -> Floats:
        """The next allocation, in the order of the arms."""
        answer = self._client.send("POST", f"{self._path}/ask", None, key)
        return np.array(list(answer["allocation"].values()), dtype=np.float64)

    def deploy(self, allocation: Any = None, *, key: str | None = None) -> int:
        """The round has happened, as advised or with another allocation; gives its number."""
        body = {"allocation": self._by_name(allocation)}
        return int(self._client.send("POST", f"{self._path}/deploy", body, key)["round"])

    def tell(
        self,
        rewards: Any,
        *,
        trials: Any = None,
        measures: Any = None,
        round: int | None = None,
        replace: bool = False,
        key: str | None = None,
    ) -> None:
        """What came back; late, in parts, in any order."""
        body = {
            "rewards": self._by_name(rewards),
            "trials": self._by_name(trials),
            "measures": self._by_name(measures),
            "round": round,
            "replace": replace,
        }
        self._client.send("POST", f"{self._path}/tell", body, key)

    @overload
    def explain(self, words: Literal[False] = False) -> dict[str, Any]: ...
    @overload
    def explain(self, words: Literal[True]) -> str: ...
    def explain(self, words: bool = False) -> dict[str, Any] | str:
        """Why this allocation, in plain data; with `words=True` as text for people."""
        if words:
            return str(self._client.send("GET", f"{self._path}/explain", words=True)["words"])
        reasons: dict[str, Any] = self._client.send("GET", f"{self._path}/explain")
        return reasons

    def events(self, after: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """A part of the log, oldest first."""
        return list(self._client.send("GET", f"{self._path}/events", after=after, limit=limit)["items"])

    def set_limits(self, floors: Any = None, caps: Any = None, *, key: str | None = None) -> None:
        """Change floors and caps."""
        self._client.send("PUT", f"{self._path}/limits", {"floors": floors, "caps": caps}, key)

    def open_arm(self, arm: str, share: float | None = None, *, key: str | None = None) -> None:
        """Take in a new arm, or one that was closed; `share`: what it gets to begin with."""
        self._client.send("POST", f"{self._path}/arms", {"arm": arm, "share": share}, key)

    def close_arm(self, arm: str, *, key: str | None = None) -> None:
        """Close an arm."""
        self._client.send("POST", f"{self._path}/arms/close", {"arm": arm}, key)

    def audit(self, head: str | None = None) -> dict[str, Any]:
        """Check the chain and recompute every decision."""
        found: dict[str, Any] = self._client.send("GET", f"{self._path}/audit", head=head)
        return found

    def archive(self, *, key: str | None = None) -> None:
        """End the program; its log stays."""
        self._client.send("POST", f"{self._path}/archive", None, key)

    def _by_name(self, values: Any) -> Any:
        """Numbers by arm: mappings as they are, sequences in the order of the arms, NaN left out."""
        if values is None:
            return None
        if isinstance(values, Mapping):
            pairs = list(values.items())
        else:
            arms, given = self.show()["arms"], list(values)
            require(len(given) == len(arms), f"one number for each of {', '.join(arms)} is needed, got {len(given)}")
            pairs = list(zip(arms, given, strict=True))
        return {str(name): float(value) for name, value in pairs if value is not None and value == value}
