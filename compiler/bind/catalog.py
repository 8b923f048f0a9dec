"""What a script has declared so far: streams, concepts, and queries that serve as streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from neelc.arguments import Agent
from neelc.ir.logical import Clock, Column, Stream
from neelc.ir.names import bare, find
from neelc.ir.types import BIGINT, DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, Simple
from neelc.ir.units import LENGTHS
from neelc.source import Span

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def is_integer(kind: DataType) -> bool:
    return isinstance(kind, Simple) and kind.name in INTEGERS


def clock_of(kind: DataType, unit: str) -> Clock | None:
    """The clock of a timestamp column, None if it cannot be one.

    >>> from neelc.ir.types import INT, STRING
    >>> str(clock_of(INT, "SECOND")), clock_of(STRING, "SECOND")
    ('INT in SECONDS', None)
    """
    if is_integer(kind):
        return Clock(kind, unit)
    return Clock(kind, None) if kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ) else None


def joined(left: Clock, right: Clock) -> Clock:
    """The clock that can write the times of both: integers in the shorter unit, or timestamps.

    >>> from neelc.ir.types import INT
    >>> print(joined(Clock(INT, "SECOND"), Clock(INT, "MILLISECOND")))
    BIGINT in MILLISECONDS
    >>> print(joined(Clock(INT, "SECOND"), Clock(DATE)))
    TIMESTAMP
    """
    if left == right:
        return left
    if left.unit is not None and right.unit is not None:
        return Clock(BIGINT, min(left.unit, right.unit, key=lambda unit: LENGTHS[unit]))
    kinds = {left.type, right.type}
    return Clock(TIMESTAMP_NTZ if kinds == {DATE, TIMESTAMP_NTZ} else TIMESTAMP)


@dataclass(frozen=True)
class Entry:
    """A stream, or a query that serves as one.

    `stream` is None when the declaration is wrong or not supported: that has been reported, and what uses it
    is not judged. `refusal` says why a query cannot serve as a stream: code, sentence, hint. `columns` are
    those of a SELECT, which other SELECTs can read. `typed` streams have a type column, or try to. `relation`
    is one, which only a SELECT can read.
    """

    name: str
    kind: str
    stream: Stream | None = None
    clock: Clock | None = None
    refusal: tuple[str, str, str] | None = None
    columns: tuple[Column, ...] | None = None
    typed: bool = False
    relation: Stream | None = None

    @property
    def hides_types(self) -> bool:
        """Whether any name might be one of its types, because its declaration is wrong."""
        return self.typed and self.stream is None


@dataclass(frozen=True)
class Concept:
    """A type that is the union of its members, which are in source form.

    `places` are where the members stand in the text. `broken` when it contains itself, which was reported.
    """

    name: str
    members: tuple[str, ...]
    places: tuple[Span, ...] = ()
    broken: bool = False

    def place_of(self, member: str) -> Span | None:
        return dict(zip(self.members, self.places, strict=False)).get(member)


@dataclass
class Catalog:
    """Everything that has a name. Streams, queries and concepts share one space of names, as types do."""

    entries: dict[str, Entry] = field(default_factory=dict)
    concepts: dict[str, Concept] = field(default_factory=dict)
    agents: dict[str, tuple[Agent, tuple[Column, ...]]] = field(default_factory=dict)
    """What users have registered, and the columns of what it makes."""
    later: list[str] = field(default_factory=list)
    """Names, in source form, that the rest of the script declares."""
    _index: dict[int, tuple[int, dict[str, list[str]]]] = field(default_factory=dict, repr=False)

    def kind_of(self, name: str) -> str | None:
        """What `name`, whatever its case, already names."""
        key = bare(name).casefold()
        for known, entry in self.entries.items():
            if known.casefold() == key:
                return entry.kind
        return "type" if any(known.casefold() == key for known in self.concepts) else None

    def entry(self, name: str) -> Entry | None:
        found = self._find(name, self.entries)
        return None if found is None else self.entries[found]

    def concept(self, name: str) -> Concept | None:
        found = self._find(name, self.concepts)
        return None if found is None else self.concepts[found]

    def _find(self, name: str, known: Mapping[str, object]) -> str | None:
        """`find` among many names, which are looked through once for each number of them."""
        names, index = self._index.get(id(known), (0, {}))
        if names != len(known):
            index = {}
            for one in known:
                index.setdefault(bare(one).casefold(), []).append(one)
            self._index[id(known)] = len(known), index
        return find(name, index.get(bare(name).casefold(), ()))

    def names(self) -> list[str]:
        """All names a pattern can use as types, apart from values of type columns."""
        return [*self.concepts, *self.entries]

    def cycle_from(self, name: str) -> list[str] | None:
        """The way from a concept back to itself.

        >>> catalog = Catalog(concepts={"A": Concept("A", ("B",)), "B": Concept("B", ("C", "a"))})
        >>> catalog.cycle_from("A"), catalog.cycle_from("C")
        (['A', 'B', 'A'], None)
        """
        first = self.concept(name)
        above: dict[str, str] = {}
        for concept in self._below(name):
            for member in filter(None, map(self.concept, concept.members)):
                above.setdefault(member.name, concept.name)
        if first is None or first.name not in above:
            return None
        way = [first.name, above[first.name]]
        while way[-1] != first.name:
            way.append(above[way[-1]])
        return way[::-1]

    def _below(self, name: str) -> Iterator[Concept]:
        """The concept `name` and those below it, each once, as deep as they are."""
        waiting, seen = [name], set[str]()
        while waiting:
            concept = self.concept(waiting.pop())
            if concept is not None and concept.name not in seen:
                seen.add(concept.name)
                yield concept
                waiting.extend(reversed(concept.members))

    def is_broken(self, name: str) -> bool:
        """Whether a concept, or one below it, is not declared right."""
        return any(concept.broken for concept in self._below(name))

    def place_of(self, name: str, leaf: str) -> Span | None:
        """Where `leaf` was written as a member of the concept `name`, or of one below it."""
        places = (concept.place_of(leaf) for concept in self._below(name))
        return next((place for place in places if place is not None), None)

    def flattened(self, name: str) -> list[str]:
        """The types below a concept that are no concepts; `name` itself if it is none.

        >>> hierarchy = {"Any": Concept("Any", ("Mac", "PC")), "PC": Concept("PC", ("DELL", "Mac"))}
        >>> catalog = Catalog(concepts=hierarchy)
        >>> catalog.flattened("any")
        ['Mac', 'DELL']
        """
        waiting, seen = [name], set[str]()
        found: dict[str, None] = {}
        while waiting:
            one = waiting.pop()
            concept = self.concept(one)
            if concept is None:
                found[one] = None
            elif concept.name not in seen:
                seen.add(concept.name)
                waiting.extend(reversed(concept.members))
        return list(found)
