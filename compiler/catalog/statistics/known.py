"""What is known about streams: single numbers, each with its origin, and looking them up.

Conditions by their text: a declared selectivity belongs to the conditions that read the same.

Casts that the binder adds, the case of words, the spelling of numbers and the direction of a comparison
make no difference.

>>> from neelc.syntax import expression
>>> text_of(expression("A.Price > 10")) == text_of(expression("10.0 < a.`price`"))
True
>>> text_of(expression("a.kind = 'x'")) == text_of(expression("a.kind = 'X'"))
False
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from neelc.ir.conditions import conjuncts, names_in
from neelc.ir.expressions import Attribute, Binary, Cast, EventTime, Expr, Index, ListElement, Name, Variable
from neelc.ir.names import bare, same, written
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Pattern, all_parts
from neelc.ir.program import Stream
from neelc.ir.script import Statistic
from neelc.ir.types import DATE, LENGTHS, DataType, SimpleType
from neelc.syntax import expression

# Conditions by their text: a declared selectivity belongs to the conditions that read the same.
#
# Casts that the binder adds, the case of words, the spelling of numbers and the direction of a comparison
# make no difference.

_MIRRORED = {"=": "=", "<>": "<>", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TOKEN = re.compile(
    r"""
    (?P<string>'(?:[^']|'')*')
    | (?P<name>`(?:[^`]|``)+`|[^\W\d]\w*)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?)(?:L|S|Y|D|F|BD)?\b
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def text_of(condition: Expr) -> str:
    """The text that conditions of the same form share."""
    return _folded(transform(condition, _canonical))


@lru_cache(maxsize=4096)
def plain_text_of(condition: Expr) -> tuple[str, str] | None:
    """For a bound condition on one event: its variable, and its text with the attributes alone.

    >>> from pattern_examples import query
    >>> plain_text_of(query("SEQ(A a, B b) WHERE a.x > 1").pattern.where)
    ('a', '1 < x')
    >>> plain_text_of(query("SEQ(A a, B b) WHERE a.x > b.x").pattern.where) is None
    True
    """
    names = names_in(condition)
    if len(names) != 1:
        return None
    plain = transform(condition, _without_variable)
    assert isinstance(plain, Expr)
    return None if names_in(plain) else (next(iter(names)), text_of(plain))


def _folded(node: Node) -> str:
    """The text without backticks and capitals, except in strings, and with one spelling of each number."""
    return _TOKEN.sub(_folded_token, str(node))


def _folded_token(found: re.Match[str]) -> str:
    if found["number"]:
        return format(Decimal(found["number"]).normalize(), "f")
    return found["string"] or bare(found["name"]).casefold()


def _canonical(node: Node) -> Node | None:
    match node:
        case Cast(operand, implicit=True):
            return operand
        case Binary(op, left, right) if op in _MIRRORED and _folded(left) > _folded(right):
            return Binary(_MIRRORED[op], right, left)
    return None


def _without_variable(node: Node) -> Node | None:
    match node:
        case Attribute(Variable() | ListElement(Variable(), Index("CURRENT", 0)), name):
            return Name((written(bare(name)),))
        case EventTime(Variable() | ListElement(Variable(), Index("CURRENT", 0)), name):
            return Name((name,))
    return None


def texts_of(pattern: Pattern) -> frozenset[str]:
    """The texts of all conditions in a pattern, with their variables and without."""
    found = [conjunct for part in all_parts(pattern) for conjunct in conjuncts(part.where)]
    plain = (plain_text_of(conjunct) for conjunct in found)
    return frozenset((*map(text_of, found), *(pair[1] for pair in plain if pair is not None)))


# A number that an estimate rests on, and where it comes from.

ORIGINS = ("declared", "file", "metadata", "counted", "assumed")
"""WITH STATS in the script, a JSON file, the metadata of Parquet files, what was counted in small files, or a
default of ours."""


@dataclass(frozen=True)
class Fact:
    """`what` is `value`, for instance `events per second of type A in Trades`; `origin` is in ORIGINS."""

    what: str
    value: float
    origin: str


class SourcedNumber(NamedTuple):
    """A number and where it comes from."""

    value: float
    origin: str


@dataclass(frozen=True)
class KnownStatistic:
    """`measure` of a stream, or of the events of a type in it, is `value`.

    `measure` is one of `MEASURES`, with LEAST and GREATEST for RANGE. A RATE is per second, a SPAN in
    seconds. `stream` is bare, `type` in source form. `subject` is a bare column or the text of a condition.
    """

    stream: str
    measure: str
    value: float
    origin: str
    type: str | None = None
    subject: str = ""


def known(stream: str, stated: Iterable[Statistic], origin: str) -> tuple[KnownStatistic, ...]:
    """What the statistics say about a stream.

    >>> from decimal import Decimal
    >>> [one] = known("S", [Statistic("RATE", (Decimal(90),), unit="MINUTE")], "declared")
    >>> one.measure, one.value
    ('RATE', 1.5)
    """
    return tuple(found for statistic in stated for found in _known(stream, statistic, origin))


def _known(stream: str, statistic: Statistic, origin: str) -> Iterator[KnownStatistic]:
    values = [float(number) for number in statistic.numbers]
    seconds = LENGTHS[statistic.unit or "SECOND"] / LENGTHS["SECOND"]
    subject = statistic.column or ""
    if statistic.condition is not None:
        subject = text_of(expression(str(statistic.condition)))
    measures: tuple[str, ...] = (statistic.measure,)
    match statistic.measure:
        case "RATE":
            values = [value / seconds for value in values]
        case "SPAN":
            values = [value * seconds for value in values]
        case "RANGE":
            measures = ("LEAST", "GREATEST")
    for measure, value in zip(measures, values, strict=True):
        yield KnownStatistic(stream, measure, value, origin, statistic.type, subject)


def rank(origin: str) -> int:
    """How far an origin can be trusted; the least is the best."""
    return ORIGINS.index(origin)


def weakest(*numbers: SourcedNumber | str) -> str:
    """The origin of what is made of several numbers: that of the least certain one.

    >>> weakest(SourcedNumber(1, "declared"), SourcedNumber(2, "assumed"), "file")
    'assumed'
    """
    return max((one if isinstance(one, str) else one.origin for one in numbers), key=rank)


def best(numbers: Iterable[SourcedNumber | None]) -> SourcedNumber | None:
    """The most certain of some numbers, the first of those that are equally certain."""
    found = [number for number in numbers if number is not None]
    return min(found, key=lambda number: rank(number.origin), default=None)


@dataclass(frozen=True)
class StatisticIndex:
    """All that is known from outside the script. What WITH STATS says is in the streams themselves."""

    known: tuple[KnownStatistic, ...] = ()

    def number(
        self, stream: Stream, measure: str, type: str | None = None, subject: str = ""
    ) -> SourcedNumber | None:
        """What the best source says, about exactly this type; `type=None` is the stream as a whole."""
        several = self._index(stream).get((measure, subject), ())
        return best(SourcedNumber(one.value, one.origin) for one in several if _is_about(one, type))

    def about(self, stream: Stream, measure: str) -> list[KnownStatistic]:
        """All numbers of a measure, whatever type or subject they are about."""
        return [one for (m, _), several in self._index(stream).items() if m == measure for one in several]

    def types(self, stream: Stream, measures: Sequence[str]) -> list[str]:
        """The types that one of the measures is known for, each once, in source form."""
        found: list[str] = []
        for one in (one for measure in measures for one in self.about(stream, measure)):
            if one.type is not None and not any(same(one.type, other) for other in found):
                found.append(one.type)
        return found

    @cached_property
    def _indexes(self) -> dict[int, tuple[Stream, _Index]]:
        return {}

    def _index(self, stream: Stream) -> _Index:
        """What is known about a stream, by measure and subject."""
        # By identity: to hash a stream with all it declares costs more than the answer.
        if id(stream) not in self._indexes:
            index: _Index = {}
            outside = (one for one in self.known if one.stream == stream.name)
            for one in (*known(stream.name, stream.statistics, "declared"), *outside):
                index.setdefault((one.measure, one.subject), []).append(one)
            self._indexes[id(stream)] = stream, index
        return self._indexes[id(stream)][1]


_Index = dict[tuple[str, str], list[KnownStatistic]]


def _is_about(one: KnownStatistic, type: str | None) -> bool:
    return one.type is None if type is None else one.type is not None and same(one.type, type)


# What is assumed where nothing is known. Every number has its reason, and explain shows which were used.
#
# The numbers need not be right; they must rank plans sensibly. So they err towards much data: a plan that
# was chosen for few events and meets many is worse than one that was chosen for many and meets few.

EVENTS = 1_000_000.0
"""Enough that the plans of a query differ, and what one machine still holds."""

EVENTS_PER_TICK = 10.0
"""With ticks of a second, a window of 10 seconds holds 100 events and one of an hour 36,000: neither is
empty, and neither is the whole input, which is a bit more than a day long."""

SHORTEST_TICK = LENGTHS["SECOND"]
"""Clocks that count milliseconds or finer do so to be exact, not because an event happens at every tick.
Clocks that count days do it because windows are days long."""

QUERY_SHARE = 0.01
"""A named query finds what is rare: one match for a hundred events."""

TYPES = 10
"""Types in a type column, or as many as the query names if these are more: a pattern speaks of some of the
types, seldom of all."""

DISTINCT = 1_000.0
"""Identifiers, names, symbols, places: a million events are then 1,000 of each."""

MEASURED_SHARE = 0.1
"""Distinct values of a measured quantity, a price or a temperature, by event: some repeat."""

DAYS = 365.0
"""Distinct dates: a year."""

BOOLEANS = 2.0

TINY = 100.0
"""Distinct values of a TINYINT: a code, out of 256 at most."""

NULLS = 0.0
"""Events are mostly complete; and a plan that counts on NULLs to drop out would be the daring one."""

_BY_NAME = {"BOOLEAN": BOOLEANS, "TINYINT": TINY, "DATE": DAYS}
_MEASURED = ("FLOAT", "DOUBLE")
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")


def rate(stream: Stream) -> float:
    """Events per second of a stream.

    >>> from neelc.ir.program import Column
    >>> from neelc.ir.types import BIGINT
    >>> rate(Stream("S", (Column("ts", BIGINT),), "ts", unit="MILLISECOND"))
    10.0
    >>> day = rate(Stream("S", (Column("day", DATE),), "day")) * 86_400
    >>> round(day, 6)
    10.0
    """
    share = 1.0 if stream.producer is None else QUERY_SHARE
    return share * EVENTS_PER_TICK * LENGTHS["SECOND"] / _tick(stream)


def events(stream: Stream) -> float:
    """Events of a stream."""
    return EVENTS if stream.producer is None else EVENTS * QUERY_SHARE


def distinct(kind: DataType, total: float) -> float:
    """Distinct values of a column, by its type, among `total` events.

    >>> from neelc.ir.types import BOOLEAN, DOUBLE, STRING
    >>> distinct(STRING, 1e6), distinct(BOOLEAN, 1e6), distinct(DOUBLE, 1e6)
    (1000.0, 2.0, 100000.0)
    """
    name = kind.name if isinstance(kind, SimpleType) else ""
    if name in _TIMES:
        return total
    return total * MEASURED_SHARE if name in _MEASURED else _BY_NAME.get(name, DISTINCT)


def _tick(stream: Stream) -> int:
    """Nanoseconds from one tick of the stream's clock to the next, but not less than `SHORTEST_TICK`."""
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    if kind == DATE:
        return LENGTHS["DAY"]
    # A TIMESTAMP has no unit that counts; `unit` then is the default of CREATE STREAM, milliseconds.
    return max(LENGTHS[stream.unit], SHORTEST_TICK)
