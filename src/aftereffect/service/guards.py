"""What every request passes before any route sees it: its size and rate, and what every answer carries.

Plain ASGI, for it runs at each request: no body is read twice, and none beyond its limit is read at all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException

from aftereffect.service.problems import problem_response

LARGEST_BODY = 2_000_000  # bytes: a year of records is a few hundred thousand
RATE, BURST = 2000.0, 4000.0  # requests a second for one token or address, and how many at once
MOST_CALLERS = 10_000  # callers remembered; the longest silent is forgotten
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
SECURITY_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
log = logging.getLogger("aftereffect.service")


class Buckets:
    """A bucket of requests for each caller that fills at a constant rate."""

    def __init__(self, rate: float = RATE, burst: float = BURST, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str) -> float:
        """Take one; gives 0, or the seconds until there is one."""
        now = self._clock()
        with self._lock:
            left, before = self._left.get(caller, (self.burst, now))
            left = min(self.burst, left + (now - before) * self.rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / self.rate
            self._left[caller] = (left - 1.0 if wait == 0.0 else left, now)
            self._left.move_to_end(caller)
            if len(self._left) > MOST_CALLERS:
                self._left.popitem(last=False)
        return wait


class Metrics:
    """Counts for Prometheus, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "aftereffect_requests", "Requests answered", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "aftereffect_request_seconds", "Seconds to an answer", ["method", "route"], registry=self.registry
        )


class Guards:
    """Middleware: limits before, headers, metrics and a line of log after."""

    def __init__(self, app: Any, buckets: Buckets, metrics: Metrics) -> None:
        self.app, self.buckets, self.metrics = app, buckets, metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or pass it on with its limits kept."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *SECURITY_HEADERS]}
            await send(message)

        headers = dict(scope["headers"])
        try:
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await refusal(scope, receive, answer)
            else:
                await self.app(scope, self._counted(receive), answer)
        finally:
            self._count(scope, status, time.perf_counter() - began)

    def _refusal(self, scope: Any, headers: dict[bytes, bytes]) -> Any:
        wait = self.buckets.take(_caller(scope, headers))
        if wait > 0.0:
            return problem_response(429, "too many requests", {"Retry-After": str(max(1, round(wait)))})
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            return problem_response(400, f"Content-Length must be a number of bytes, got {length.decode('latin-1')!r}")
        if int(length) > LARGEST_BODY:
            return problem_response(413, f"a request may have {LARGEST_BODY:,} bytes, this one has {int(length):,}")
        return None

    def _counted(self, receive: Any) -> Any:
        """The body as it comes, cut off where it is longer than it said."""
        taken = 0

        async def counted() -> Any:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:
                raise HTTPException(413, f"a request may have {LARGEST_BODY:,} bytes")
            return message

        return counted

    def _count(self, scope: Any, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in METHODS else "other"  # callers must not invent series
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(method, route).observe(seconds)
        if log.isEnabledFor(logging.INFO):
            log.info(
                json.dumps(
                    {
                        "method": scope["method"],
                        "path": scope["path"],
                        "status": status,
                        "milliseconds": round(1000 * seconds, 1),
                        "by": getattr(scope.get("state", {}).get("caller"), "label", None),
                    }
                )
            )


def _caller(scope: Any, headers: dict[bytes, bytes]) -> str:
    """Whose bucket it is: the token's, else the address's. Secrets are not kept, not even here."""
    secret = headers.get(b"authorization") or headers.get(b"cookie")
    if secret:
        return hashlib.sha256(secret).hexdigest()
    return str((scope.get("client") or ("", 0))[0])
