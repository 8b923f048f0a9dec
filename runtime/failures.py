"""What a kernel says when it cannot go on: one line for programs, one sentence for people.

A failure crosses from a Python worker through the JVM to the driver as text. So it carries what it knows as
JSON behind a mark, and `parse_failure` finds it again in whatever text Spark wraps around it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

MARK = "neelc-kernel-failure "

MAX_MATCHES = "MAX_MATCHES"
MAX_LISTS = "MAX_LISTS"
NULL_TIME = "NULL_TIME"
UNSORTED = "UNSORTED"
COLUMN = "COLUMN"
MEMORY = "MEMORY"
AGGREGATE = "AGGREGATE"
COUNT_OVERFLOW = "COUNT_OVERFLOW"
SUM_OVERFLOW = "SUM_OVERFLOW"
BACKTRACKING = "BACKTRACKING"
SKIP = "SKIP"
INTERNAL = "INTERNAL"


@dataclass(frozen=True)
class Facts:
    """What is known of a failure.

    `kind` is one of the words above. `part` is the pattern's own text, `key` the key's columns and values as
    text, `limit` and `number` what was allowed and what was reached, `window` the reach of the program and
    `start` when the first event in that window starts, both in the unit that the program counts in.
    """

    kind: str
    message: str
    part: str | None = None
    key: Mapping[str, str | None] = field(default_factory=dict)
    limit: int | None = None
    number: int | None = None
    window: int | None = None
    start: int | None = None


class KernelFailure(RuntimeError):
    """A kernel gave up.

    >>> failure = KernelFailure(Facts(MAX_MATCHES, "too many", key={"room": "Ω"}, limit=10, number=11))
    >>> parse_failure(f"PythonException: Traceback ...\\nKernelFailure: {failure}")["key"]
    {'room': 'Ω'}
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.facts = facts

    def __str__(self) -> str:
        # What is not known is left out: the line is read by people as well, in Spark's logs.
        known = {name: value for name, value in asdict(self.facts).items() if value not in (None, {})}
        return f"{MARK}{json.dumps(known)}\n{sentence(self.facts)}"

    def about(self, **more: object) -> KernelFailure:
        """The same failure, with facts that were not known where it was raised."""
        new = {name: value for name, value in more.items() if getattr(self.facts, name) in (None, {})}
        return KernelFailure(replace(self.facts, **new))  # type: ignore[arg-type]


def sentence(facts: Facts) -> str:
    """
    >>> sentence(Facts(UNSORTED, "rows are not sorted by time", key={"room": "4", "ward": None}))
    'rows are not sorted by time (key room = 4, ward = NULL)'
    >>> sentence(Facts(MAX_LISTS, "too many lists", key={"room": "4"}, window=60, start=100))
    'too many lists (key room = 4; window of 60 from 100 on)'
    """
    places = [f"part {facts.part}"] if facts.part else []
    if facts.key:
        pairs = (f"{name} = {'NULL' if text is None else text}" for name, text in facts.key.items())
        places.append(f"key {', '.join(pairs)}")
    if window := window_text(facts.window, facts.start):
        places.append(f"window {window}")
    return f"{facts.message} ({'; '.join(places)})" if places else facts.message


def window_text(window: int | None, start: int | None) -> str | None:
    """Which window it was; None if that is not known.

    >>> window_text(60, 100), window_text(None, 100), window_text(60, None)
    ('of 60 from 100 on', 'from 100 on', None)
    """
    if start is None:
        return None
    return f"from {start} on" if window is None else f"of {window} from {start} on"


def parse_failure(text: str) -> dict[str, object] | None:
    """The facts of the first failure that `text` tells of: a dictionary with `kind`, `message` and what else
    is known of `part`, `key`, `limit`, `number`, `window` and `start`.

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


def too_many_matches(number: int, limit: int) -> KernelFailure:
    """
    >>> too_many_matches(12, 10).facts.message
    'more than 10 matches in one task (12 so far): most_matches (--most-matches) allows more'
    """
    message = (
        f"more than {limit} matches in one task ({number} so far): most_matches (--most-matches) allows more"
    )
    return KernelFailure(Facts(MAX_MATCHES, message, limit=limit, number=number))


def too_many_to_count() -> str:
    """What Spark says if the parts of a count together are too large.

    >>> print(too_many_to_count())
    neelc-kernel-failure {"kind": "COUNT_OVERFLOW", "message": "more matches than a BIGINT can count"}
    more matches than a BIGINT can count
    """
    return str(KernelFailure(Facts(COUNT_OVERFLOW, "more matches than a BIGINT can count")))
