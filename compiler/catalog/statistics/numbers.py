"""What estimates rest on: numbers about the events of a type, each with its origin.

Each number comes from the best of several sources: WITH STATS, then the file of statistics, then the metadata
of Parquet files, then what was counted in small ones, then `defaults.py`.

>>> from pattern_examples import query
>>> Statistics().total(query("SEQ(A a, B b)"), "A")
Fact(what='events of type A in S', value=100000.0, origin='assumed')

What is known about streams: single numbers, each with its origin, and looking them up.

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

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from neelc.catalog.catalog import is_integer
from neelc.errors import NeelError
from neelc.ir.expressions import (
    Attribute,
    Binary,
    Cast,
    EventTime,
    Expr,
    Index,
    ListElement,
    Name,
    Variable,
    conjuncts,
    names_in,
)
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Event, Pattern, Repeat, all_parts
from neelc.ir.program import Column, LevelColumn, Match, Stream
from neelc.ir.script import Statistic
from neelc.ir.types import DATE, LENGTHS, DataType, SimpleType
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax import expression

# What is known about streams: single numbers, each with its origin, and looking them up.
#
# Conditions by their text: a declared selectivity belongs to the conditions that read the same.
#
# Casts that the binder adds, the case of words, the spelling of numbers and the direction of a comparison
# make no difference.

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


def condition_to_state(condition: Expr) -> tuple[str, str] | None:
    """For a bound condition on one event: its variable, and the text that a file of statistics has for it.
    None if that would be read as another condition.

    >>> from pattern_examples import query
    >>> condition_to_state(query("SEQ(A a, B+ b[]) WHERE b[i].x > 1").pattern.where)
    ('b', 'x > 1')
    """
    plain = plain_text_of(condition)
    if plain is None:
        return None
    text = str(transform(transform(condition, _without_variable), _without_casts))
    try:
        is_read = text_of(expression(text)) == plain[1]
    except NeelError:
        return None
    return (plain[0], text) if is_read else None


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


def _without_casts(node: Node) -> Node | None:
    return node.operand if isinstance(node, Cast) and node.implicit else None


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


# How many events a stream has, or a type in it, and how many in a second.

ASSUMED = "assumed"

# What says how many events of a type there are.
_AMOUNTS = ("EVENTS", "RATE", "SHARE")


@dataclass(frozen=True)
class Amounts:
    """Events of `stream`, only those of the type `value` if it is not None.

    `named` is how many types of the stream the query names.
    """

    stream: Stream
    value: str | None
    knowledge: StatisticIndex
    named: int = 1

    def stated(self, measure: str, subject: str = "") -> SourcedNumber | None:
        """What is known about the stream as a whole."""
        return self.knowledge.number(self.stream, measure, None, subject)

    @cached_property
    def stream_events(self) -> SourcedNumber:
        """Events of the stream: as somebody says, or from their rate and the time they take."""
        rate, span = self.stated("RATE"), self.stated("SPAN")
        made = SourcedNumber(rate.value * span.value, weakest(rate, span)) if rate and span else None
        assumed = max(events(self.stream), self._of_types("EVENTS"))
        return best((self.stated("EVENTS"), made)) or SourcedNumber(assumed, ASSUMED)

    @cached_property
    def stream_rate(self) -> SourcedNumber:
        """Events of the stream per second: as somebody says, or from their number and the time they take."""
        events, span = self.stream_events, self.stated("SPAN")
        if events.value == 0:
            return events
        made = (
            SourcedNumber(events.value / span.value, weakest(events, span))
            if span and span.value > 0
            else None
        )
        assumed = max(rate(self.stream), self._of_types("RATE"))
        return best((self.stated("RATE"), made)) or SourcedNumber(assumed, ASSUMED)

    @cached_property
    def _seconds(self) -> SourcedNumber:
        events, rate = self.stream_events, self.stream_rate
        return SourcedNumber(events.value / rate.value if rate.value > 0 else 0.0, weakest(events, rate))

    def _of_types(self, measure: str) -> float:
        """What is stated of single types, together: the stream has at least that."""
        types = self.knowledge.types(self.stream, (measure,))
        numbers = [self.knowledge.number(self.stream, measure, type) for type in types]
        return sum(number.value for number in numbers if number is not None)

    @cached_property
    def events(self) -> SourcedNumber:
        """Events of the type."""
        return self._amount(self.stream_events, per_second=False)

    @cached_property
    def rate(self) -> SourcedNumber:
        """Events of the type per second."""
        return self._amount(self.stream_rate, per_second=True)

    def _amount(self, whole: SourcedNumber, per_second: bool) -> SourcedNumber:
        """The share of the type in what the whole stream has, or what is stated about the type itself."""
        if self.value is None:
            return whole
        stated = self._stated_amount(self.value)
        if stated is None:
            return SourcedNumber(self._rest * whole.value, ASSUMED)
        measure, number = stated
        seconds = self._seconds
        match measure, per_second:
            case ("SHARE", _):
                return SourcedNumber(number.value * whole.value, weakest(number, whole))
            case ("EVENTS", True):
                rate = number.value / seconds.value if seconds.value > 0 else 0.0
                return SourcedNumber(rate, weakest(number, seconds))
            case ("RATE", False):
                return SourcedNumber(number.value * seconds.value, weakest(number, seconds))
        return number

    def _stated_amount(self, type: str) -> tuple[str, SourcedNumber] | None:
        """The best of what is stated about the number of events of a type, and which measure that is."""
        found = [(m, n) for m in _AMOUNTS if (n := self.knowledge.number(self.stream, m, type))]
        return min(found, key=lambda pair: rank(pair[1].origin), default=None)

    @cached_property
    def _rest(self) -> float:
        """The share of a type that nothing is stated about: an equal part of what the others leave."""
        others = self.knowledge.types(self.stream, _AMOUNTS)
        taken = sum(self._share(other) for other in others)
        stated = self.stated("DISTINCT", self.stream.type_column or "")
        types = stated.value if stated else max(TYPES, self.named)
        return max(0.0, 1.0 - taken) / max(1.0, types - len(others))

    def _share(self, type: str) -> float:
        stated = self._stated_amount(type)
        assert stated is not None
        measure, number = stated
        whole = {"SHARE": 1.0, "EVENTS": self.stream_events.value, "RATE": self.stream_rate.value}[measure]
        return number.value / whole if whole > 0 else 0.0


# What a column holds: in the events of a stream, or of one type in it.


@dataclass(frozen=True)
class MemberNumbers(Amounts):
    """All numbers of one member of a type."""

    def column(self, attribute: str) -> Column | None:
        """The column of that name; None where the stream has none, and the attribute is always NULL."""
        found = find(attribute, [column.name for column in self.stream.columns])
        return next((column for column in self.stream.columns if column.name == found), None)

    def is_constant(self, column: Column) -> bool:
        """Whether it is the type column, which holds the same value in all events of the type."""
        return self.value is not None and column.name == self.stream.type_column

    def of_type(self, measure: str, subject: str) -> SourcedNumber | None:
        """What is stated about the events of the type only."""
        if self.value is None:
            return None
        return self.knowledge.number(self.stream, measure, self.value, subject)

    def about(self, measure: str, subject: str) -> SourcedNumber | None:
        """What is stated about the events of the type, or else about all events of the stream."""
        return self.of_type(measure, subject) or self.stated(measure, subject)

    def distinct(self, column: Column, among: SourcedNumber) -> SourcedNumber:
        """Distinct values: at least 1, and not more than there are events.

        `among` is the number of events of all members in this stream: what is stated about the whole stream,
        or assumed, holds for all of them together.
        """
        if self.is_constant(column):
            return SourcedNumber(1.0, "declared")
        found, events = self.of_type("DISTINCT", column.name), self.events
        if found is None:
            events = among
            found = self.stated("DISTINCT", column.name)
        found = found or self._of_level(column)
        found = found or SourcedNumber(self._assumed_distinct(column, events.value), ASSUMED)
        if found.value > events.value:
            found = SourcedNumber(events.value, weakest(found, events))
        return SourcedNumber(max(1.0, found.value), found.origin)

    def _of_level(self, column: Column) -> SourcedNumber | None:
        """What is stated about the values of a level, in the relation of its hierarchy."""
        for one in self.stream.derived:
            if isinstance(one, LevelColumn) and one.name == column.name:
                return self.knowledge.number(one.relation, "DISTINCT", None, one.level)
        return None

    def _assumed_distinct(self, column: Column, events: float) -> float:
        if column.name in (self.stream.start, self.stream.end, self.stream.latest):
            return events
        if column.name == self.stream.type_column:
            return float(max(TYPES, self.named))
        for finer in self.stream.own_columns if column.of else ():
            if same(finer.name, column.of or ""):
                # As many values of a level as each of them has finer ones.
                return math.sqrt(self.distinct(finer, SourcedNumber(events, ASSUMED)).value)
        assumed = distinct(column.type, events)
        least, greatest = self.about("LEAST", column.name), self.about("GREATEST", column.name)
        if least and greatest and is_integer(column.type):
            return min(assumed, greatest.value - least.value + 1)
        return assumed

    def nulls(self, column: Column) -> SourcedNumber:
        """The share of events without a value."""
        if self.is_constant(column) or column.name == self.stream.start:
            # A row without a time is no event, and one without a type is of no type.
            return SourcedNumber(0.0, "declared")
        return self.about("NULLS", column.name) or SourcedNumber(NULLS, ASSUMED)

    def most_frequent(self, column: Column) -> SourcedNumber:
        """The share of the commonest value; if nothing is stated, all values are equally common."""
        if self.is_constant(column):
            return SourcedNumber(1.0, "declared")
        values = self.distinct(column, self.events)
        even = SourcedNumber((1.0 - self.nulls(column).value) / values.value, ASSUMED)
        return self.about("MOST FREQUENT", column.name) or even


# The members of a type together.
#
# Amounts are added, shares are averaged by the number of events, and of distinct values the most are taken:
# what two streams call alike mostly takes its values from one domain. What is put together is as certain as
# its weakest part.


@dataclass(frozen=True)
class TypeMembers:
    """The members of a type; every event is in one of them only."""

    parts: tuple[MemberNumbers, ...]

    @property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(part.stream.name for part in self.parts))

    def events(self) -> SourcedNumber:
        return added(part.events for part in self.parts)

    def rate(self) -> SourcedNumber:
        return added(part.rate for part in self.parts)

    def distinct(self, attribute: str) -> SourcedNumber:
        found = self._with_column(attribute)
        if not found:
            return SourcedNumber(1.0, ASSUMED)
        numbers = [part.distinct(column, self._among(part)) for part, column in found]
        if all(part.is_constant(column) for part, column in found):
            return added(numbers)  # each type has a value of its own in the type column
        return SourcedNumber(max(number.value for number in numbers), weakest(*numbers))

    def nulls(self, attribute: str) -> SourcedNumber:
        # A stream without the column has NULL there: docs/decisions/0021.
        return self._mean(attribute, MemberNumbers.nulls, missing=1.0)

    def most_frequent(self, attribute: str) -> SourcedNumber:
        found = self._with_column(attribute)
        if len(found) > 1 and all(part.is_constant(column) for part, column in found):
            events = [part.events for part, _ in found]
            total = added(events)
            share = max(number.value for number in events) / total.value if total.value > 0 else 1.0
            return SourcedNumber(share, total.origin)
        return self._mean(attribute, MemberNumbers.most_frequent, missing=0.0)

    def bounds(self, attribute: str) -> tuple[SourcedNumber, SourcedNumber] | None:
        found = self._with_column(attribute)
        least = [part.about("LEAST", column.name) for part, column in found]
        greatest = [part.about("GREATEST", column.name) for part, column in found]
        low, high = [n for n in least if n], [n for n in greatest if n]
        if not found or len(low) < len(found) or len(high) < len(found):
            return None
        return (
            SourcedNumber(min(number.value for number in low), weakest(*low)),
            SourcedNumber(max(number.value for number in high), weakest(*high)),
        )

    def selectivity(self, text: str) -> SourcedNumber | None:
        """The share of events that meet a condition on one event, if it is stated for all members."""
        stated = [(part, part.about("SELECTIVITY", text)) for part in self.parts]
        known = [(part, share) for part, share in stated if share is not None]
        return mean(known) if known and len(known) == len(stated) else None

    def _with_column(self, attribute: str) -> list[tuple[MemberNumbers, Column]]:
        return [(part, column) for part in self.parts if (column := part.column(attribute))]

    def _among(self, part: MemberNumbers) -> SourcedNumber:
        """The events of all members in the stream of one of them."""
        return added(other.events for other in self.parts if other.stream.name == part.stream.name)

    def _mean(
        self, attribute: str, share: Callable[[MemberNumbers, Column], SourcedNumber], missing: float
    ) -> SourcedNumber:
        columns = ((part, part.column(attribute)) for part in self.parts)
        return mean(
            [(part, share(part, c) if c else SourcedNumber(missing, "declared")) for part, c in columns]
        )


def members_of(query: Match, types: Iterable[str], knowledge: StatisticIndex) -> TypeMembers:
    """The members of some types of a query; a stream as a whole holds all of its types."""
    names = set(types)
    members = [member for known in query.types if known.name in names for member in known.members]
    whole = {member.stream for member in members if member.value is None}
    found: list[tuple[str, str | None]] = []
    alike: dict[tuple[str, str | None], list[str | None]] = {}
    for member in members:
        value = None if member.stream in whole else member.value
        others = alike.setdefault((member.stream, value and bare(value).casefold()), [])
        if not any(_is_same(value, other) for other in others):
            others.append(value)
            found.append((member.stream, value))
    streams = {stream.name: stream for stream in query.streams}
    named = {name: _types_named(query, name) for name in dict.fromkeys(name for name, _ in found)}
    return TypeMembers(tuple(MemberNumbers(streams[s], v, knowledge, named[s]) for s, v in found))


def _is_same(left: str | None, right: str | None) -> bool:
    return left is right or (left is not None and right is not None and same(left, right))


def _types_named(query: Match, stream: str) -> int:
    members = (member for known in query.types for member in known.members)
    return len({member.value for member in members if member.stream == stream and member.value is not None})


def added(numbers: Iterable[SourcedNumber]) -> SourcedNumber:
    several = list(numbers)
    return SourcedNumber(sum(number.value for number in several), weakest(*several))


def mean(shares: list[tuple[MemberNumbers, SourcedNumber]]) -> SourcedNumber:
    """The mean of shares, weighted by the events of the members they are shares of."""
    if len(shares) == 1:
        return shares[0][1]
    weights = [part.events for part, _ in shares]
    origin = weakest(*weights, *(share for _, share in shares))
    total = sum(weight.value for weight in weights)
    if total == 0:
        return SourcedNumber(sum(share.value for _, share in shares) / len(shares), origin)
    weighted = (w.value * share.value for w, (_, share) in zip(weights, shares, strict=True))
    return SourcedNumber(sum(weighted) / total, origin)


@dataclass(frozen=True)
class Statistics:
    """All that is known about the streams of a program. `Statistics()`: what WITH STATS says, and no more.

    `notes` are what a reader of the numbers should know: what could not be read, and what is not used.
    """

    known: tuple[KnownStatistic, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def knowledge(self) -> StatisticIndex:
        """The same, ready to be looked up."""
        return StatisticIndex(self.known)

    def total(self, query: Match, type: str) -> Fact:
        """Events of the type in the whole input."""
        return self._fact(query, type, "events of", TypeMembers.events)

    def rate(self, query: Match, type: str) -> Fact:
        """Events of the type per second of event time."""
        return self._fact(query, type, "events per second of", TypeMembers.rate)

    def distinct(self, query: Match, type: str, attribute: str) -> Fact:
        """Distinct values of an attribute: at least 1."""
        what = f"distinct values of {bare(attribute)} of"
        return self._fact(query, type, what, lambda members: members.distinct(attribute))

    def nulls(self, query: Match, type: str, attribute: str) -> Fact:
        """The share of events without a value of the attribute."""
        what = f"share of NULLs in {bare(attribute)} of"
        return self._fact(query, type, what, lambda members: members.nulls(attribute))

    def most_frequent(self, query: Match, type: str, attribute: str) -> Fact:
        """The share of the commonest value of the attribute."""
        what = f"share of the most frequent {bare(attribute)} of"
        return self._fact(query, type, what, lambda members: members.most_frequent(attribute))

    def bounds(self, query: Match, type: str, attribute: str) -> tuple[Fact, Fact] | None:
        """The least and the greatest value of a numeric attribute, where they are known."""
        members = members_of(query, (type,), self.knowledge)
        found = members.bounds(attribute)
        if found is None:
            return None
        name = f"{bare(attribute)} of {_named(type, members)}"
        return Fact(f"least {name}", *found[0]), Fact(f"greatest {name}", *found[1])

    def declared_selectivity(self, query: Match, condition: Expr) -> Fact | None:
        """The share of events, or of choices of events, that meet a condition, if somebody says so.

        `a.price > b.price` is stated about the variables of that name, `price > 10` about every condition of
        that form on one event, of the stream or the type it is stated about.
        """
        stated = [one for stream in query.streams for one in self.knowledge.about(stream, "SELECTIVITY")]
        if not stated:
            return None
        text = text_of(condition)
        found = best(SourcedNumber(one.value, one.origin) for one in stated if one.subject == text)
        plain = plain_text_of(condition) if found is None else None
        if plain is not None:
            variable, text = plain
            found = members_of(query, types_of_variable(query, variable), self.knowledge).selectivity(text)
        return None if found is None else Fact(f"selectivity of {condition}", *found)

    def supposing(self, stream: str, events: float) -> Statistics:
        """With an estimate of the events of a named query: assumed, too, but not blindly."""
        return replace(self, known=(KnownStatistic(stream, "EVENTS", events, "assumed"), *self.known))

    def holding(self, stream: str, events: float) -> Statistics:
        """With an estimate of how many events of a named SELECT are valid at an instant."""
        return replace(self, known=(KnownStatistic(stream, "VALID", events, "assumed"), *self.known))

    def _fact(
        self, query: Match, type: str, what: str, answer: Callable[[TypeMembers], SourcedNumber]
    ) -> Fact:
        # Estimates ask the same again and again. By identity: rewrites mostly leave streams and types as they
        # are, and to hash them costs more than the answer. The entry keeps them: no other has their id.
        key = id(query.streams), id(query.types), type, what
        if key not in self._facts:
            members = members_of(query, (type,), self.knowledge)
            fact = Fact(f"{what} {_named(type, members)}", *answer(members))
            self._facts[key] = fact, query.streams, query.types
        return self._facts[key][0]

    @cached_property
    def _facts(self) -> dict[tuple[int, int, str, str], tuple[Fact, object, object]]:
        return {}


def types_of_variable(query: Match, variable: str) -> Iterator[str]:
    """The types of a variable; several only if branches of an OR share it."""
    for node in walk(query.pattern):
        match node:
            case Event(type, name) | Repeat(Event(type), variable=name) if name == variable:
                yield type


def _named(type: str, members: TypeMembers) -> str:
    streams = " and ".join(members.streams)
    return streams if streams == bare(type) else f"type {bare(type)} in {streams}"
