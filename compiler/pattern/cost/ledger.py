"""The numbers that an estimate uses, recorded as it reads them: explain shows them as "rests on"."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

from neelc.catalog.statistics.numbers import Fact, Statistics
from neelc.ir import expressions as e
from neelc.ir.expressions import Attribute, EventRef, EveryElement, Expr, InnerVariable, ListElement, Variable
from neelc.ir.names import bare, quote
from neelc.ir.node import Node, children, walk
from neelc.ir.patterns import Event, Repeat
from neelc.ir.program import EventType, Match, Member, Stream
from neelc.runtime.late_dataclass import dataclass


@dataclass
class Ledger:
    """Looks up numbers about the events of `query` in `statistics` and records each one once.

    >>> from pattern_examples import query
    >>> ledger = Ledger(query("SEQ(A a, B b)"), Statistics())
    >>> ledger.rate("A"), ledger.distinct("b", "id"), ledger.rate("A")
    (1.0, 1000.0, 1.0)
    >>> [fact.what for fact in ledger.facts]
    ['events per second of type A in S', 'distinct values of id of type B in S']
    """

    query: Match
    statistics: Statistics
    used: dict[Fact, None] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(self.used)

    @cached_property
    def types(self) -> dict[str, str]:
        """The type of each variable's events; where branches of an OR share one, the first type counts."""
        types: dict[str, str] = {}
        for node in walk(self.query.pattern):
            match node:
                case Event(type, str() as name) | Repeat(Event(type), variable=str() as name):
                    types.setdefault(name, type)
        return types

    def note(self, fact: Fact) -> float:
        """The value of a fact, which is from now on one that the estimate rests on."""
        self.used[fact] = None
        return fact.value

    def assume(self, what: str, value: float) -> float:
        """A number of our own."""
        return self.note(Fact(what, value, "assumed"))

    def events(self, type: str) -> float:
        """Events of the type in the whole input."""
        return self.note(self.statistics.total(self.query, type))

    def rate(self, type: str) -> float:
        """Events of the type in a second of event time."""
        return self.note(self.statistics.rate(self.query, type))

    def distinct(self, variable: str, attribute: str) -> float:
        """Distinct values of an attribute among the events that a variable can be; at least 1."""
        if variable not in self.types:
            return 1.0
        return max(1.0, self.note(self.statistics.distinct(self.query, self.types[variable], attribute)))

    def nulls(self, variable: str, attribute: str) -> float:
        """The share of events without a value; assumed ones are zero and need no mention."""
        if variable not in self.types:
            return 0.0
        fact = self.statistics.nulls(self.query, self.types[variable], attribute)
        return self.note(fact) if fact.value else 0.0

    def most_frequent(self, variable: str, attribute: str) -> float:
        """The share of the commonest value; mentioned only where it is declared or measured."""
        if variable not in self.types:
            return 1.0
        fact = self.statistics.most_frequent(self.query, self.types[variable], attribute)
        return fact.value if fact.origin == "assumed" else self.note(fact)

    def bounds(self, variable: str, attribute: str) -> tuple[float, float] | None:
        """The least and the greatest value of an attribute, where they are known."""
        if variable not in self.types:
            return None
        key = self.types[variable], attribute
        if key not in self._bounds:
            self._bounds[key] = self.statistics.bounds(self.query, *key)
        bounds = self._bounds[key]
        return None if bounds is None else (self.note(bounds[0]), self.note(bounds[1]))

    def declared(self, condition: Expr) -> float | None:
        """The declared selectivity of a condition."""
        fact = self.statistics.declared_selectivity(self.query, condition)
        return None if fact is None else self.note(fact)

    def stream_events(self, stream: Stream) -> float:
        """All events of a stream, whatever their types."""
        return self.note(self.statistics.total(*self._whole(stream)))

    def origin_of_events(self, stream: Stream) -> str:
        """Where the number of all events of a stream comes from."""
        return self.statistics.total(*self._whole(stream)).origin

    def stream_rate(self, stream: Stream) -> float:
        """All events of a stream in a second of event time."""
        return self.note(self.statistics.rate(*self._whole(stream)))

    def _whole(self, stream: Stream) -> tuple[Match, str]:
        if stream.name not in self._streams:
            whole = EventType(quote(stream.name), (Member(stream.name),), stream.columns)
            self._streams[stream.name] = replace(self.query, types=(whole,)), whole.name
        return self._streams[stream.name]

    @cached_property
    def _bounds(self) -> dict[tuple[str, str], tuple[Fact, Fact] | None]:
        return {}

    @cached_property
    def _streams(self) -> dict[str, tuple[Match, str]]:
        return {}


def subject(event: EventRef) -> str:
    """The variable whose event is meant; of an iteration, the inner one.

    >>> subject(InnerVariable(ListElement(Variable("k"), None), "b"))
    'b'
    """
    match event:
        case Variable(name) | InnerVariable(_, name):
            return name
        case ListElement(base) | EveryElement(base):
            return subject(base)
    raise AssertionError(type(event).__name__)


def term_of(attribute: Attribute) -> tuple[str, str]:
    """The variable and the attribute's bare name."""
    return subject(attribute.event), bare(attribute.name)


# A line of a breakdown.


@dataclass(frozen=True)
class CostItem:
    """One line of a breakdown: `work` is in units of one row scanned."""

    what: str
    work: float


# What it costs to evaluate an expression once, in comparisons of two numbers.

COSTS: dict[type[Node], float] = {
    e.Binary: 1.0,
    e.Unary: 1.0,
    e.Between: 2.0,
    e.IsNull: 0.5,
    e.IsTruth: 0.5,
    e.IsDistinct: 1.5,
    e.Case: 1.0,
    e.Cast: 0.5,
    e.Field: 0.5,
    e.ElementAccess: 2.0,
    e.Extract: 5.0,
    e.Call: 5.0,
    e.Aggregate: 10.0,
}
"""By kind of node, its operands apart. An aggregate runs over the elements of a list, say ten. Comparisons
inside AND, OR and NOT cost themselves; columns and constants are there already."""

LIKES = {"LIKE": 10.0, "ILIKE": 15.0, "RLIKE": 70.0}
"""Measured with Spark 4.3 on strings of eight characters, against `x < 0`."""

TEXT = 3.0
"""Strings are compared character by character, and are longer than a number."""
READ_TEXT = 5.0
"""A number or a time read from a string."""
IN_LIST = 0.5
"""For each item: Spark looks long lists up in a hash table."""


def evaluation_cost(expression: Node) -> float:
    """
    >>> from pattern_examples import query
    >>> def cost(text): return evaluation_cost(query(f"SEQ(A a, B b) WHERE {text}").pattern.where)
    >>> cost("a.x > b.x"), cost("a.x > b.x + 1.0D"), cost("a.user = b.user"), cost("a.user RLIKE 'u+'")
    (1.0, 2.0, 3.0, 70.0)
    """
    below = sum(map(evaluation_cost, children(expression)))
    match expression:
        case e.Like(kind=kind):
            return below + LIKES[kind]
        case e.InList(items=items):
            return below + 1.0 + IN_LIST * len(items)
        case e.SameAttributes(attributes):
            return float(len(attributes))
        case e.Cast(implicit=True, operand=e.Literal()):
            return 0.0  # Spark folds it
        case e.Cast(operand) if _is_text(operand):
            return below + READ_TEXT
        case e.Binary(op, left) if op in e.COMPARISONS and _is_text(left):
            return below + TEXT
    return below + COSTS.get(type(expression), 0.0)


def _is_text(expression: e.Expr) -> bool:
    return str(getattr(expression, "type", "")) == "STRING"


# What the parts of a Spark plan cost, in units of one row scanned.
#
# Measured once, on one busy core, with Spark 4.3 and 3 million rows, where a row of three columns took
# about 170 ns to scan; loops as a compiled kernel would run them, with Numba. Only relations matter, and of
# these only the orders of magnitude: runs differed by a factor of two.

SCAN_ROW = 1.0
"""Reading a row of a few columns of Parquet, types and conditions on single events checked on the way."""
SHUFFLE_ROW = 1.0
SHUFFLE_BYTE = 0.03
"""Writing a row to a shuffle file and reading it again: 24 bytes took 1.8 units, 88 bytes 3.8."""
SORT_COMPARISON = 0.25
"""Sorting by key and time: 1,200 ns for a row among 375,000, so for about 18 comparisons."""
HAND_OVER_ROW = 3.0
"""From Spark to the kernel as Arrow batches: 500 ns."""
COMPARISON = 0.02
"""One comparison of two numbers: 3 ns, be it by generated Java or by a compiled loop."""
TRY = 0.01
"""Looking at one more event for a partial match: 2 ns."""
HOLD = 0.03
"""Writing down a partial match, 5 ns."""
LOOK_UP = 0.1
"""Finding the first event after a time in a sorted array: a binary search, about 20 ns."""
WINDOW_ROW = 6.0
"""A window function for a row of a sorted partition: with one of them a query took 1.45 times as long as with
the kernel, which costs HAND_OVER_ROW instead."""
JOIN_PAIR = 0.1
"""A pair of rows that a join produces and checks: 20 ns."""
PRODUCE_ROW = 1.0
PRODUCE_BYTE = 0.03
"""A row of the result, from the kernel back to Spark: 160 ns for 24 bytes."""
CACHE_ROW = 2.0
"""A shortcut's cache of values: an inner event is shuffled to find distinct values, which are broadcast."""
PROBE = 0.3
"""A shortcut's check of an outer event: one probe of a hash table."""


def comparisons_work(comparisons: float) -> float:
    """Conditions, whose cost is given in comparisons."""
    return comparisons * COMPARISON
