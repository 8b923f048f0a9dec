"""What a script has declared so far: streams, concepts, and queries that serve as streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from neelc.arguments import UserAgent
from neelc.errors import Hint, NeelError
from neelc.files import CallError
from neelc.findings import Findings, did_you_mean, listing
from neelc.ir.algebra import END, START
from neelc.ir.names import RESERVED, bare, find, written
from neelc.ir.program import Clock, Column, EventType, Member, Stream
from neelc.ir.script import CreateStream
from neelc.ir.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    LENGTHS,
    SIMPLE_TYPES,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    SimpleType,
    Struct,
    StructField,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax import script

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def is_integer(kind: DataType) -> bool:
    return isinstance(kind, SimpleType) and kind.name in INTEGERS


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
class CatalogEntry:
    """A stream, or a query that serves as one.

    `stream` is None when the declaration is wrong or not supported: that has been reported, and what uses it
    is not checked. `refusal` says why a query cannot be used as a stream: code, sentence, hint. `columns` are
    those of a SELECT, which other SELECTs can read. `typed` streams have a type column, or try to. `relation`
    is one, which only a SELECT can read. `rows` is the result of a query, or a stream without times, as
    Spark's own SQL reads it, and `others` are its columns of types that neelc does not know.
    """

    name: str
    kind: str
    stream: Stream | None = None
    clock: Clock | None = None
    refusal: tuple[str, str, str] | None = None
    columns: tuple[Column, ...] | None = None
    typed: bool = False
    relation: Stream | None = None
    rows: Stream | None = None
    others: tuple[tuple[str, str], ...] = ()

    @property
    def table(self) -> Stream | None:
        """What a query of Spark's own SQL reads by the name; None if its declaration is wrong."""
        return self.rows or self.stream or self.relation

    @property
    def hides_types(self) -> bool:
        """Whether any name might be one of its types, because its declaration is wrong."""
        return self.typed and self.stream is None


@dataclass(frozen=True)
class Concept:
    """A type that is the union of its members, which are in source form. `broken` when it contains itself,
    which was reported."""

    name: str
    members: tuple[str, ...]
    broken: bool = False


@dataclass(frozen=True)
class Hierarchy:
    """Columns of a relation as levels, from the finest to the coarsest. `relation` is None when the
    declaration is wrong, which was reported."""

    name: str
    relation: Stream | None
    levels: tuple[str, ...]

    def level(self, name: str) -> str | None:
        """The level, as the relation calls it."""
        return find(name, self.levels)

    def is_coarser(self, level: str, than: str) -> bool:
        """
        >>> Hierarchy("Place", None, ("street", "city")).is_coarser("city", "street")
        True
        """
        return self.levels.index(level) > self.levels.index(than)


@dataclass
class Catalog:
    """Everything that has a name. Streams, queries, concepts and hierarchies share one space of names."""

    entries: dict[str, CatalogEntry] = field(default_factory=dict)
    concepts: dict[str, Concept] = field(default_factory=dict)
    hierarchies: dict[str, Hierarchy] = field(default_factory=dict)
    agents: dict[str, tuple[UserAgent, tuple[Column, ...]]] = field(default_factory=dict)
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
        if any(known.casefold() == key for known in self.hierarchies):
            return "hierarchy"
        return "type" if any(known.casefold() == key for known in self.concepts) else None

    def entry(self, name: str) -> CatalogEntry | None:
        found = self._find(name, self.entries)
        return None if found is None else self.entries[found]

    def concept(self, name: str) -> Concept | None:
        found = self._find(name, self.concepts)
        return None if found is None else self.concepts[found]

    def hierarchy(self, name: str) -> Hierarchy | None:
        found = self._find(name, self.hierarchies)
        return None if found is None else self.hierarchies[found]

    def is_below(self, name: str, concept: str) -> bool:
        """Whether a type, in source form, is a member of a concept, or of one below it.

        >>> hierarchy = {"Any": Concept("Any", ("Mac", "PC")), "PC": Concept("PC", ("DELL",))}
        >>> catalog = Catalog(concepts=hierarchy)
        >>> catalog.is_below("dell", "any"), catalog.is_below("PC", "Any"), catalog.is_below("Any", "Any")
        (True, True, False)
        """
        return any(find(name, one.members) is not None for one in self._below(concept))

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


# Agents that users register: their names, and the columns of what they make.


def registered_agents(agents: Mapping[str, UserAgent]) -> dict[str, tuple[UserAgent, tuple[Column, ...]]]:
    """The agents with their columns; `CallError` if one cannot be used.

    >>> [column.name for column in registered_agents({"u": UserAgent(len, "id INT, `a b` STRING")})["u"][1]]
    ['id', 'a b']
    >>> registered_agents({"u": UserAgent(len, "id INT, ts BIGINT")})
    Traceback (most recent call last):
    neelc.files.CallError: agent u: ts is added as the valid time; leave it out of columns
    """
    found: dict[str, tuple[UserAgent, tuple[Column, ...]]] = {}
    for name, agent in agents.items():
        if not isinstance(agent, UserAgent):
            raise CallError(f"agent {name}: not made by neelc.agent(function, columns=...)")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.upper() in (*RESERVED, "MATCH"):
            raise CallError(f"agent {name}: not a name that a query can call")
        if any(name.lower() == other.lower() for other in found):
            raise CallError(f"agent {name}: given twice; case does not matter")
        found[name] = (agent, _columns(name, agent.columns))
    return found


def _columns(name: str, text: str) -> tuple[Column, ...]:
    try:
        (statement,) = script(Source(f"CREATE RELATION r ({text})")).statements
    except (NeelError, ValueError):
        statement = None
    if not isinstance(statement, CreateStream) or not statement.columns:
        raise CallError(f"agent {name}: columns are not a list such as id BIGINT, n INT: {text!r}")
    columns = tuple(Column(bare(one.name), one.type) for one in statement.columns)
    for column in columns:
        if column.name.lower() in (START, END):
            raise CallError(
                f"agent {name}: {column.name} is added as the valid time; leave it out of columns"
            )
    if len({column.name.lower() for column in columns}) < len(columns):
        raise CallError(f"agent {name}: two columns have one name: {text!r}")
    return columns


# What a type in a pattern stands for: which events of which streams, and the attributes they have.


@dataclass(frozen=True)
class KnownType:
    """A type of a pattern, with the entries its events come from."""

    type: EventType
    entries: tuple[CatalogEntry, ...]

    def attribute(self, name: str) -> Column | None:
        found = find(name, [column.name for column in self.type.columns])
        column = next((column for column in self.type.columns if column.name == found), None)
        if column is not None and column.of and self.attribute(written(column.of)) is None:
            return None  # a level of an attribute that the type does not have
        return column

    def is_everywhere(self, name: str) -> bool:
        """Whether all streams have a column of that name."""
        streams = [entry.stream for entry in self.entries if entry.stream is not None]
        return all(find(name, [column.name for column in stream.columns]) for stream in streams)

    @property
    def clock(self) -> Clock | None:
        """How its events write their times; None when they do it in different ways."""
        clocks = {entry.clock for entry in self.entries}
        return clocks.pop() if len(clocks) == 1 else None

    @property
    def is_query(self) -> bool:
        """Whether its events are matches of named queries: then they have a `match_start`."""
        return all(entry.stream is not None and entry.stream.query is not None for entry in self.entries)

    @property
    def struct(self) -> Struct:
        columns = (column for column in self.type.columns if column.of is None)
        return Struct(tuple(StructField(written(column.name), column.type) for column in columns))


def resolve_type(
    name: str,
    catalog: Catalog,
    candidates: Sequence[CatalogEntry],
    chosen: bool,
    span: Span,
    findings: Findings,
) -> KnownType | None:
    """The type `name` among the candidate streams; `chosen` if a FROM names them.

    None after a report, or when a declaration it depends on is wrong.
    """
    if catalog.is_broken(name):
        return None
    if name not in catalog.names() and find(name, catalog.later) and catalog.kind_of(name) is None:
        message = f"`{name}` is declared only after this query"
        findings.report(
            "NEEL2005", message, span, "declare it earlier: a statement can use only statements above it"
        )
        return None
    members: list[tuple[CatalogEntry, Member]] = []
    refused: list[str] = []
    for leaf in catalog.flattened(name):
        entry = catalog.entry(leaf)
        if entry is not None:
            if entry.stream is None:
                report_refusal(entry, span, findings)
                return None
            if entry in candidates:
                members.append((entry, Member(entry.name)))
            else:
                refused.append(entry.name)
        elif any(candidate.hides_types for candidate in candidates):
            return None  # the stream whose declaration is wrong might have had a type column
        elif catalog.concept(name) is not None and not _has_type_columns(catalog.entries.values()):
            _report_member(name, leaf, catalog, span, findings)
            return None
        else:
            members += [(c, Member(c.name, leaf)) for c in candidates if _has_type_columns((c,))]
    if not members:
        _report_unknown(name, catalog, candidates, chosen, refused, span, findings)
        return None
    unique = list(dict.fromkeys(members))
    entries = tuple(dict.fromkeys(entry for entry, _ in unique))
    streams = [entry.stream for entry in entries if entry.stream is not None]
    return KnownType(EventType(name, tuple(m for _, m in unique), all_columns(streams)), entries)


def report_refusal(entry: CatalogEntry, span: Span, findings: Findings) -> None:
    """Say why a query cannot be used as a stream, unless its declaration has been reported."""
    if entry.refusal is not None:
        code, why, hint = entry.refusal
        cannot = "" if entry.kind == "stream" else " cannot be used as a stream:"
        message = f"{entry.kind} `{entry.name}`{cannot} {why}"
        findings.report(code, message, span, hint)


def _has_type_columns(entries: Iterable[CatalogEntry]) -> bool:
    return any(entry.stream is not None and entry.stream.type_column is not None for entry in entries)


def _report_member(name: str, leaf: str, catalog: Catalog, span: Span, findings: Findings) -> None:
    message = f"`{leaf}`, a member of type `{name}`, is neither a stream nor a type"
    message += ", and no stream has a type column"
    hint = did_you_mean(leaf, catalog.names(), "types") or "declare the stream it is a type of"
    findings.report("NEEL2210", message, findings.at(leaf, span), hint)


def _report_unknown(
    name: str,
    catalog: Catalog,
    candidates: Sequence[CatalogEntry],
    chosen: bool,
    refused: list[str],
    span: Span,
    findings: Findings,
) -> None:
    if refused:
        message = f"no stream in FROM can have events of type `{name}`"
        hint = f"add {', '.join(written(r) for r in refused)} to FROM"
        findings.report("NEEL2012", message, span, hint)
        return
    if catalog.concept(name) is not None:
        message = f"no stream in FROM can have events of type `{name}`"
        elsewhere = [entry.name for entry in catalog.entries.values() if _has_type_columns((entry,))]
        findings.report("NEEL2012", message, span, listing("streams with a type column", elsewhere))
        return
    where = "the streams in FROM have" if chosen else "the declared streams have"
    known = catalog.names()
    message = f"unknown type `{name}`: it is neither a stream nor a CREATE TYPE, and {where} no type column"
    if not known:
        message = f"unknown type `{name}`: no stream is declared"
    findings.report("NEEL2005", message, span, _where_types_come_from(name, known))


def _where_types_come_from(name: str, known: Sequence[str]) -> Hint | str:
    meant = did_you_mean(name, known, "types")
    if meant is None:
        return (
            "declare one: CREATE STREAM Trades (ts TIMESTAMP, kind STRING) TIMESTAMP BY ts TYPE BY kind; or "
            "give one: --stream Trades=PATH,type=kind, in Python Trades=neelc.stream(data, type='kind')"
        )
    if meant.replacements:
        return meant
    return f"{meant}; if a column has the type of each event, name it: TYPE BY column, or type=column"


def all_columns(streams: Sequence[Stream]) -> tuple[Column, ...]:
    """The attributes of the streams, with types that fit all that have them; elsewhere they are NULL.

    >>> one = Stream("s", (Column("id", SIMPLE_TYPES["INT"]), Column("x", DOUBLE)), "id")
    >>> two = Stream("t", (Column("id", SIMPLE_TYPES["BIGINT"]), Column("x", SIMPLE_TYPES["DATE"])), "id")
    >>> [(column.name, column.type.name) for column in all_columns([one, two])]
    [('id', 'BIGINT')]
    """
    found: dict[str, Column] = {}
    kinds: dict[str, list[DataType]] = {}
    for column in (column for stream in streams for column in stream.columns):
        found.setdefault(column.name.casefold(), column)
        kinds.setdefault(column.name.casefold(), []).append(column.type)
    wider = {key: _wider(each) for key, each in kinds.items()}
    return tuple(
        Column(found[key].name, kind, found[key].of) for key, kind in wider.items() if kind is not None
    )


def _wider(kinds: Sequence[DataType]) -> DataType | None:
    """The type that holds every value of the types without changing it: the widest integer, or DOUBLE."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(is_integer(kind) for kind in kinds):
        widest = max(INTEGERS.index(kind.name) for kind in kinds if isinstance(kind, SimpleType))
        return SIMPLE_TYPES[INTEGERS[widest]]
    return DOUBLE if all(kind in (FLOAT, DOUBLE) for kind in kinds) else None


def why_no_attribute(known: KnownType, name: str, owner: str) -> tuple[str, str, Hint | str | None]:
    """Code, sentence and hint for an attribute that the type `known`, called `owner`, does not have."""
    having: dict[str, DataType] = {}
    level = next((column for column in known.type.columns if column.of and find(name, [column.name])), None)
    name = name if level is None or not level.of else written(level.of)
    for entry in known.entries:
        assert entry.stream is not None
        column = next((c for c in entry.stream.columns if find(name, [c.name])), None)
        if column is not None:
            having[entry.name] = column.type
    columns = [column.name for column in known.type.columns if column.of is None]
    if not having:
        there = did_you_mean(name, columns, f"attributes of {owner}")
        return "NEEL2003", f"`{owner}` has no attribute `{bare(name)}`", there
    differing = ", ".join(f"{kind} in {stream}" for stream, kind in having.items())
    hint = f"choose one of the streams, for example FROM {written(next(iter(having)))}"
    return "NEEL2011", f"attribute `{bare(name)}` of `{owner}` is {differing}", hint
