"""The message of a kernel that cannot go on: one line for programs, one sentence for people.

A failure crosses from a Python worker through the JVM to the driver as text. So it carries what it knows as
JSON behind a mark, and `parse_failure` finds it again in whatever text Spark wraps around it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from datetime import datetime, timedelta

from neelc.runtime.late_dataclass import dataclass

MARK = "neelc-kernel-failure "

MAX_MATCHES = "MAX_MATCHES"
MAX_LISTS = "MAX_LISTS"
MAX_PARTIAL = "MAX_PARTIAL"
NULL_TIME = "NULL_TIME"
UNSORTED = "UNSORTED"
COLUMN = "COLUMN"
MEMORY = "MEMORY"
AGGREGATE = "AGGREGATE"
COUNT_OVERFLOW = "COUNT_OVERFLOW"
SUM_OVERFLOW = "SUM_OVERFLOW"
BACKTRACKING = "BACKTRACKING"
SKIP = "SKIP"
STATE = "STATE"
PACKAGE = "PACKAGE"
INTERNAL = "INTERNAL"


@dataclass(frozen=True)
class FailureDetails:
    """The facts about a failure.

    `kind` is one of the words above. `part` is the pattern's own text, `key` the key's columns and values as
    text, `limit` and `number` what was allowed and what was reached, `window` the reach of the program and
    `start` when the first event in that window starts, both in the units of the program's `clock`.
    """

    kind: str
    message: str
    part: str | None = None
    key: Mapping[str, str | None] = field(default_factory=dict)
    limit: int | None = None
    number: int | None = None
    window: int | None = None
    start: int | None = None
    clock: str | None = None


@dataclass(frozen=True)
class FailureContext:
    """The facts common to every failure of a program: its text, its window and clock, and what its
    kernel holds in memory."""

    part: str | None = None
    window: int | None = None
    clock: str | None = None
    held: str = "the rows of a window"


class KernelFailure(RuntimeError):
    """A kernel gave up.

    >>> details = FailureDetails(MAX_MATCHES, "too many", key={"room": "Ω"}, limit=10, number=11)
    >>> failure = KernelFailure(details)
    >>> parse_failure(f"PythonException: Traceback ...\\nKernelFailure: {failure}")["key"]
    {'room': 'Ω'}
    """

    def __init__(self, facts: FailureDetails) -> None:
        super().__init__(facts)
        self.facts = facts

    def __str__(self) -> str:
        # What is not known is left out: the line is read by people as well, in Spark's logs.
        facts = {name: value for name, value in asdict(self.facts).items() if value not in (None, {})}
        return f"{MARK}{json.dumps(facts)}\n{sentence(self.facts)}"

    def about(self, **more: object) -> KernelFailure:
        """The same failure, with facts that were not known where it was raised."""
        new = {name: value for name, value in more.items() if getattr(self.facts, name) in (None, {})}
        return KernelFailure(replace(self.facts, **new))  # type: ignore[arg-type]


def sentence(facts: FailureDetails) -> str:
    """
    >>> sentence(FailureDetails(UNSORTED, "rows are not sorted by time", key={"room": "4", "ward": None}))
    'rows are not sorted by time (key room = 4, ward = NULL)'
    >>> sentence(FailureDetails(MAX_LISTS, "too many lists", key={"room": "4"}, window=60, start=100))
    'too many lists (key room = 4; window of 60 milliseconds from 100 on)'
    """
    places = [f"part {facts.part}"] if facts.part else []
    if facts.key:
        pairs = (f"{name} = {'NULL' if text is None else text}" for name, text in facts.key.items())
        places.append(f"key {', '.join(pairs)}")
    if window := window_text(facts.window, facts.start, facts.clock):
        places.append(f"window {window}")
    return f"{facts.message} ({'; '.join(places)})" if places else facts.message


MICROSECONDS = {"NANOSECOND": 0.001, "MICROSECOND": 1, "MILLISECOND": 10**3, "SECOND": 10**6}
MICROSECONDS |= {"MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": 86400 * 10**6, "WEEK": 7 * 86400 * 10**6}
UNITS = {"TIMESTAMP": "MICROSECOND", "TIMESTAMP_NTZ": "MICROSECOND", "DATE": "DAY"}
"""The units of clocks that are no integers."""


def window_text(window: int | None, start: int | None, clock: str | None = None) -> str | None:
    """Which window it was, in people's units and times; None if that is unknown.

    >>> window_text(60, 100), window_text(None, 100, "SECOND"), window_text(60, None)
    ('of 60 milliseconds from 100 on', 'from 100 on', None)
    >>> window_text(7_200_000_000, 1_735_689_620_114_237, "TIMESTAMP")
    'of 2 hours from 2025-01-01 00:00:20.114237 UTC on'
    >>> window_text(7, 20089, "DATE"), window_text(90, 5, "MINUTE")
    ('of 7 days from 2025-01-01 on', 'of 90 minutes from 5 on')
    """
    if start is None:
        return None
    unit = clock or "MILLISECOND"
    since = f"from {_time_text(start, unit)} on"
    return since if window is None else f"of {_length_text(window, UNITS.get(unit, unit))} {since}"


def _time_text(time: int, clock: str) -> str:
    """An instant; an integer stays one. Times that no calendar has are numbers, too."""
    day = datetime(1970, 1, 1)
    try:
        if clock == "DATE":
            return f"{(day + timedelta(days=time)).date()}"
        if clock in UNITS:
            return f"{day + timedelta(microseconds=time)}{' UTC' if clock == 'TIMESTAMP' else ''}"
    except OverflowError:
        pass
    return str(time)


def _length_text(length: int, unit: str) -> str:
    """In the largest unit that gives a whole number, but days and not weeks.

    >>> _length_text(86_400_000, "MILLISECOND"), _length_text(1, "HOUR"), _length_text(1500, "MILLISECOND")
    ('1 day', '1 hour', '1500 milliseconds')
    """
    if unit not in MICROSECONDS:
        return str(length)
    whole = length * MICROSECONDS[unit]
    for larger in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        if MICROSECONDS[larger] > MICROSECONDS[unit] and whole and whole % MICROSECONDS[larger] == 0:
            length, unit = int(whole // MICROSECONDS[larger]), larger
            break
    return f"{length} {unit.lower()}{'' if length == 1 else 's'}"


def parse_failure(text: str) -> dict[str, object] | None:
    """The facts of the first failure in `text`: a dictionary with `kind`, `message` and those that are
    known of `part`, `key`, `limit`, `number`, `window`, `start` and `clock`.

    >>> parse_failure("java.io.IOException: no space left") is None
    True
    """
    decoder = json.JSONDecoder()
    for after_mark in text.split(MARK)[1:]:
        try:
            facts, _ = decoder.raw_decode(after_mark)
        except json.JSONDecodeError:  # a line of source text in a traceback, say
            continue
        if isinstance(facts, dict) and "kind" in facts:
            return facts
    return None


def too_many_matches(number: int, limit: int, foreseen: bool = False) -> KernelFailure:
    """The failure of a task that has found too many matches, or would find them if it went on.

    >>> too_many_matches(12, 10).facts.message
    'more than 10 matches in one task (12 so far): most_matches (--most-matches) allows more'
    >>> too_many_matches(12, 10, foreseen=True).facts.message
    'more than 10 matches in one task (at least 12): most_matches (--most-matches) allows more'
    """
    how_many = f"at least {number}" if foreseen else f"{number} so far"
    message = f"more than {limit} matches in one task ({how_many}): most_matches (--most-matches) allows more"
    return KernelFailure(FailureDetails(MAX_MATCHES, message, limit=limit, number=number))


def too_many_to_count(wide: bool = False) -> str:
    """The message if the parts of a count together are too large.

    >>> print(too_many_to_count())
    neelc-kernel-failure {"kind": "COUNT_OVERFLOW", "message": "more matches than a BIGINT can count"}
    more matches than a BIGINT can count
    """
    number = "DECIMAL(38, 0)" if wide else "BIGINT"
    return str(KernelFailure(FailureDetails(COUNT_OVERFLOW, f"more matches than a {number} can count")))


def too_large_to_sum() -> str:
    """The message if the parts of a sum together are too large."""
    return str(
        KernelFailure(
            FailureDetails(SUM_OVERFLOW, "a sum over all matches is more than a DECIMAL(38, 0) holds")
        )
    )


# What a kernel refuses, by name: who started it turns this into a message.


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
