"""What a kernel refuses, by name: who started it turns this into a message."""

from __future__ import annotations


class KernelError(Exception):
    """A limit was passed. `segment` is the number of the key where, if it was in one, and `start` the time
    of the first event there; `number` is what was reached, and `limit` what is allowed.

    >>> error = KernelError("MAX_MATCHES", "more than 5 matches", 2)
    >>> error.name, str(error), error.segment
    ('MAX_MATCHES', 'more than 5 matches', 2)
    """

    def __init__(
        self,
        name: str,
        message: str,
        segment: int | None = None,
        start: int | None = None,
        number: int | None = None,
        limit: int | None = None,
    ) -> None:
        # All of them are arguments of the exception: it is pickled on its way from a worker.
        super().__init__(name, message, segment, start, number, limit)
        self.name = name
        self.message = message
        self.segment = segment
        self.start = start
        self.number = number
        self.limit = limit

    def __str__(self) -> str:
        return self.message
