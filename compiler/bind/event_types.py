"""What a type in a pattern stands for: which events of which streams, and the attributes they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neelc.bind.catalog import INTEGERS, Catalog, Clock, Entry, is_integer
from neelc.bind.findings import Findings
from neelc.bind.suggest import did_you_mean, listing
from neelc.ir.logical import Column, EventType, Member, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.types import DOUBLE, FLOAT, SIMPLE_TYPES, DataType, Simple, Struct, StructField
from neelc.source import Span


@dataclass(frozen=True)
class KnownType:
    """A type of a pattern, with the entries its events come from and the clock they share."""

    type: EventType
    entries: tuple[Entry, ...]

    def attribute(self, name: str) -> Column | None:
        found = find(name, [column.name for column in self.type.columns])
        return next((column for column in self.type.columns if column.name == found), None)

    @property
    def clock(self) -> Clock | None:
        return self.entries[0].clock if self.entries else None

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
    return KnownType(EventType(name, tuple(m for _, m in unique), shared_columns(streams)), entries)


def report_refusal(entry: Entry, span: Span, findings: Findings) -> None:
    """Say why a query cannot serve as a stream, unless its declaration has been reported."""
    if entry.refusal is not None:
        code, why, hint = entry.refusal
        findings.report(code, f"query `{entry.name}` cannot serve as a stream: {why}", span, hint)


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
        findings.report("NEEL2012", message, span, listing("its members", map(bare, catalog.flattened(name))))
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


def shared_columns(streams: Sequence[Stream]) -> tuple[Column, ...]:
    """The attributes that all the streams have, with a type that fits all of them.

    >>> one = Stream("s", (Column("id", SIMPLE_TYPES["INT"]), Column("x", DOUBLE)), "id")
    >>> two = Stream("t", (Column("id", SIMPLE_TYPES["BIGINT"]), Column("y", DOUBLE)), "id")
    >>> [(column.name, column.type.name) for column in shared_columns([one, two])]
    [('id', 'BIGINT')]
    """
    first, *others = streams
    found = []
    for column in first.columns:
        kinds: list[DataType | None] = [column.type]
        kinds += [
            next((c.type for c in s.columns if c.name.casefold() == column.name.casefold()), None)
            for s in others
        ]
        kind = _wider(kinds)
        if kind is not None:
            found.append(Column(column.name, kind))
    return tuple(found)


def _wider(kinds: Sequence[DataType | None]) -> DataType | None:
    """The type that holds every value of the types without changing it: the widest integer, or DOUBLE."""
    if None in kinds:
        return None
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(kind is not None and is_integer(kind) for kind in kinds):
        widest = max(INTEGERS.index(kind.name) for kind in kinds if isinstance(kind, Simple))
        return SIMPLE_TYPES[INTEGERS[widest]]
    return DOUBLE if all(kind in (FLOAT, DOUBLE) for kind in kinds) else None


def why_no_attribute(known: KnownType, name: str, owner: str) -> tuple[str, str, str | None]:
    """Code, sentence and hint for an attribute that the type `known`, called `owner`, does not have."""
    having: dict[str, DataType] = {}
    lacking: list[str] = []
    for entry in known.entries:
        assert entry.stream is not None
        column = next((c for c in entry.stream.columns if find(name, [c.name])), None)
        if column is None:
            lacking.append(entry.name)
        else:
            having[entry.name] = column.type
    columns = [column.name for column in known.type.columns]
    hint = did_you_mean(name, columns, f"attributes of {owner}")
    if not having:
        return "NEEL2003", f"`{owner}` has no attribute `{bare(name)}`", hint
    hint = f"choose the streams, for example FROM {written(next(iter(having)))}; " + (
        listing("attributes they all have", columns) or "they share no attribute"
    )
    if lacking:
        message = f"`{owner}` may come from {', '.join(lacking)}, which has no attribute `{bare(name)}`"
        return "NEEL2003", message, hint
    differing = ", ".join(f"{kind} in {stream}" for stream, kind in having.items())
    return "NEEL2011", f"attribute `{bare(name)}` of `{owner}` is {differing}", hint
