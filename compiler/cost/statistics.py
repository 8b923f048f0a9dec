"""What estimates rest on: numbers about the events of a type, each with its origin.

Of several sources the best one tells each number: WITH STATS, then the file of statistics, then the metadata
of Parquet files, then what was counted in small ones, then `defaults.py`.

>>> from neelc.rewrite.examples import query
>>> Statistics().total(query("SEQ(A a, B b)"), "A")
Fact(what='events of type A in S', value=100000.0, origin='assumed')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from neelc.cost.facts import Fact
from neelc.cost.statistics_conditions import plain_text_of, text_of
from neelc.cost.statistics_known import Knowledge, Known, Number, best
from neelc.cost.statistics_members import Members, members_of
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.pattern import Event, Repeat


@dataclass(frozen=True)
class Statistics:
    """All that is known about the streams of a program. `Statistics()`: what WITH STATS says, and no more.

    `notes` are what a reader of the numbers should know: what could not be read, and what is not used.
    """

    known: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def knowledge(self) -> Knowledge:
        """The same, ready to be looked up."""
        return Knowledge(self.known)

    def total(self, query: Match, type: str) -> Fact:
        """Events of the type in the whole input."""
        return self._fact(query, type, "events of", Members.events)

    def rate(self, query: Match, type: str) -> Fact:
        """Events of the type per second of event time."""
        return self._fact(query, type, "events per second of", Members.rate)

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

        `a.price > b.price` is said about the variables of that name, `price > 10` about every condition of
        that form on one event, of the stream or the type it is said about.
        """
        said = [one for stream in query.streams for one in self.knowledge.about(stream, "SELECTIVITY")]
        if not said:
            return None
        text = text_of(condition)
        found = best(Number(one.value, one.origin) for one in said if one.subject == text)
        plain = plain_text_of(condition) if found is None else None
        if plain is not None:
            variable, text = plain
            found = members_of(query, _types_of(query, variable), self.knowledge).selectivity(text)
        return None if found is None else Fact(f"selectivity of {condition}", *found)

    def supposing(self, stream: str, events: float) -> Statistics:
        """With an estimate of the events of a named query: assumed, too, but not blindly."""
        return replace(self, known=(Known(stream, "EVENTS", events, "assumed"), *self.known))

    def holding(self, stream: str, events: float) -> Statistics:
        """With an estimate of how many events of a named SELECT are valid at an instant."""
        return replace(self, known=(Known(stream, "VALID", events, "assumed"), *self.known))

    def _fact(self, query: Match, type: str, what: str, answer: Callable[[Members], Number]) -> Fact:
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


def _types_of(query: Match, variable: str) -> Iterator[str]:
    """The types of a variable; several only if branches of an OR share it."""
    for node in walk(query.pattern):
        match node:
            case Event(type, name) | Repeat(Event(type), variable=name) if name == variable:
                yield type


def _named(type: str, members: Members) -> str:
    streams = " and ".join(members.streams)
    return streams if streams == bare(type) else f"type {bare(type)} in {streams}"
