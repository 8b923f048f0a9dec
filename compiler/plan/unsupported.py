"""What cannot be planned, and why."""

from __future__ import annotations

from neelc.source import Span


class Unsupported(Exception):
    """A query, or a way to execute it, that is not supported; `what` completes "not supported: ...".

    `code` and `hint` are those of the diagnostic that tells it; without a hint, whoever tells it may know
    one."""

    code = "NEEL4001"
    hint: str | None = None

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


class TooManyRows(Unsupported):
    """A result that is larger than what is allowed, by the estimate."""

    code = "NEEL4002"
    hint = (
        "a shorter window or more conditions would help; most_rows (--most-rows) allows more, if it is meant"
    )
