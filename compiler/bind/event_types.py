"""What a type in a pattern stands for: which events of which streams, and the attributes they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neelc.bind.catalog import INTEGERS, Catalog, Entry, is_integer
from neelc.bind.findings import Findings
from neelc.bind.suggest import did_you_mean, listing
from neelc.ir.logical import Clock, Column, EventType, Member, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.types import DOUBLE, FLOAT, SIMPLE_TYPES, DataType, Simple, Struct, StructField
from neelc.source import Span


@dataclass(frozen=True)
class KnownType:
    """A type of a pattern, with the entries its events come from."""

    type: EventType
    entries: tuple[Entry, ...]

    def attribute(self, name: str) -> Column | None:
        found = find(name, [column.name for column in self.type.columns])
        return next((column for column in self.type.columns if column.name == found), None)

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
        return all(entry.kind == "query" for entry in self.entries)

    @property
    def struct(self) -> Struct:
        return Struct(tuple(StructField(written(column.name), column.type) for column in self.type.columns))


def resolve_type(
    name: str, catalog: Catalog, candidates: Sequence[Entry], chosen: bool, span: Span, findings: Findings
) -> KnownType | None:
    """The type `name` among the candidate streams; `chosen` if a FROM names them.

    None after a report, or when a declaration it depends on is wrong.
    """
    if catalog.is_broken(name):
        return None
    if name not in catalog.names() and find(name, catalog.later) and catalog.kind_of(name) is None:
        message = f"`{name}` is declared only after this query"
        findings.report("NEEL2005", message, span, "declare it before: statements use what stands above them")
        return None
    members: list[tuple[Entry, Member]] = []
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


def report_refusal(entry: Entry, span: Span, findings: Findings) -> None:
    """Say why a query cannot serve as a stream, unless its declaration has been reported."""
    if entry.refusal is not None:
        code, why, hint = entry.refusal
        message = f"{entry.kind} `{entry.name}` cannot serve as a stream: {why}"
        findings.report(code, message, span, hint)


def _has_type_columns(entries: Iterable[Entry]) -> bool:
    return any(entry.stream is not None and entry.stream.type_column is not None for entry in entries)


def _report_member(name: str, leaf: str, catalog: Catalog, span: Span, findings: Findings) -> None:
    message = (
        f"`{leaf}`, a member of type `{name}`, is no stream and no type, and no stream has a type column"
    )
    hint = did_you_mean(leaf, catalog.names(), "types") or "declare the stream it is a type of"
    findings.report("NEEL2210", message, catalog.place_of(name, leaf) or span, hint)


def _report_unknown(
    name: str,
    catalog: Catalog,
    candidates: Sequence[Entry],
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
    message = f"unknown type `{name}`: it is no stream and no CREATE TYPE, and {where} no type column"
    if not known:
        message = f"unknown type `{name}`: no stream is declared"
    hint = (
        did_you_mean(name, known, "types")
        or "declare one: CREATE STREAM trades (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts"
    )
    findings.report("NEEL2005", message, span, hint)


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
    return tuple(Column(found[key].name, kind) for key, kind in wider.items() if kind is not None)


def _wider(kinds: Sequence[DataType]) -> DataType | None:
    """The type that holds every value of the types without changing it: the widest integer, or DOUBLE."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(is_integer(kind) for kind in kinds):
        widest = max(INTEGERS.index(kind.name) for kind in kinds if isinstance(kind, Simple))
        return SIMPLE_TYPES[INTEGERS[widest]]
    return DOUBLE if all(kind in (FLOAT, DOUBLE) for kind in kinds) else None


def why_no_attribute(known: KnownType, name: str, owner: str) -> tuple[str, str, str | None]:
    """Code, sentence and hint for an attribute that the type `known`, called `owner`, does not have."""
    having: dict[str, DataType] = {}
    for entry in known.entries:
        assert entry.stream is not None
        column = next((c for c in entry.stream.columns if find(name, [c.name])), None)
        if column is not None:
            having[entry.name] = column.type
    columns = [column.name for column in known.type.columns]
    if not having:
        hint = did_you_mean(name, columns, f"attributes of {owner}")
        return "NEEL2003", f"`{owner}` has no attribute `{bare(name)}`", hint
    differing = ", ".join(f"{kind} in {stream}" for stream, kind in having.items())
    hint = f"choose one of the streams, for example FROM {written(next(iter(having)))}"
    return "NEEL2011", f"attribute `{bare(name)}` of `{owner}` is {differing}", hint
