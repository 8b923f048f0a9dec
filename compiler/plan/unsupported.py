"""What cannot be planned, and why."""

from __future__ import annotations

from neelc.source import Span


class Unsupported(Exception):
    """A query, or a way to execute it, that is not supported; `what` completes "... is not supported"."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span
