"""What went wrong, as a document of RFC 9457 (problem details): every answer that is an error has this shape."""

from __future__ import annotations

from starlette.responses import JSONResponse

TITLES = {
    400: "Bad request",
    401: "Who are you?",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    409: "Conflict",
    413: "Too large",
    422: "Wrong request",
    429: "Too many requests",
    500: "Our fault",
    503: "Try again",
}


class Refusal(Exception):
    """A request that is answered with an error: status, one line that says what was wrong, headers."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An answer with the document; `retryable` says whether the same request may succeed later."""
    document = {
        "type": "about:blank",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "retryable": status in (429, 503),
    }
    return JSONResponse(document, status_code=status, headers=headers, media_type="application/problem+json")
