"""The numbers that an estimate asks for, kept as it asks: what explain shows as "rests on"."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from neelc.cost.facts import Fact
from neelc.cost.statistics import Statistics
from neelc.ir.expr import At, Attribute, Each, EventRef, Expr, Inner, Variable
from neelc.ir.logical import EventType, Match, Member, Stream
from neelc.ir.names import quote
from neelc.ir.node import walk
from neelc.ir.pattern import Event, Repeat


@dataclass
class Ledger:
    """Asks `statistics` about the events of `query` and remembers the answers, each once.

    >>> from neelc.rewrite.examples import query
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
        found: dict[str, str] = {}
        for node in walk(self.query.pattern):
            match node:
                case Event(type, str() as name) | Repeat(Event(type), variable=str() as name):
                    found.setdefault(name, type)
        return found

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
        """The share of the commonest value; mentioned only where somebody says it."""
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
        found = self._bounds[key]
        return None if found is None else (self.note(found[0]), self.note(found[1]))

    def declared(self, condition: Expr) -> float | None:
        """The selectivity that somebody says a condition has."""
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

    >>> subject(Inner(At(Variable("k"), None), "b"))
    'b'
    """
    match event:
        case Variable(name) | Inner(_, name):
            return name
        case At(base) | Each(base):
            return subject(base)
    raise AssertionError(type(event).__name__)


def term_of(attribute: Attribute) -> tuple[str, str]:
    """The variable and the attribute's name."""
    return subject(attribute.event), attribute.name
