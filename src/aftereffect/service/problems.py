"""What went wrong, as a document of RFC 9457 (problem details): every answer that is an error has this shape."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

TITLES = {
    400: "Bad request",
    401: "Who are you?",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    409: "Conflict",
    413: "Too large",
    415: "Not JSON",
    422: "Wrong request",
    428: "A key is needed",
    429: "Too many requests",
    500: "Our fault",
    503: "Try again",
}


class Refusal(Exception):
    """A request that is answered with an error: status, one line that says what was wrong, headers."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, headers, more


def problem_document(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The document itself; `retryable` says whether the same request may succeed later."""
    return {
        "type": "about:blank",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "retryable": status in (429, 503),
        **more,
    }


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """The same as an answer."""
    return JSONResponse(
        problem_document(status, detail, **more),
        status_code=status,
        headers=headers,
        media_type="application/problem+json",
    )
