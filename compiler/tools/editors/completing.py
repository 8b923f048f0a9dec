"""What could be written at a place: words by the grammar, names by what they would mean there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from neelc.algebra.bind.select import query_columns
from neelc.findings import Findings
from neelc.ir.allen import ALLEN
from neelc.ir.expressions import LAMBDAS
from neelc.ir.names import find, written
from neelc.ir.node import walk
from neelc.ir.patterns import Event
from neelc.ir.program import Column
from neelc.ir.script import CombinedSelect, CreateStream, PatternQuery, Select, SelectionStrategy
from neelc.rows.bind.expressions import FORMS
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.syntax.following import Continuations, following
from neelc.syntax.parser import COMMENT, STRAY, STRING, WORD, Lexeme
from neelc.tools.editors.colours import TYPES, UNITS
from neelc.tools.editors.document import Document
from neelc.tools.editors.hovering import keyword_help, of_function, of_type, of_variable, relation_help
from neelc.tools.editors.names import AttributeOwner, DocumentCursor, chain_before, fields, followed

# The names that a rule of the grammar could wait for: types, variables, attributes, functions, units.
#
# `OFFERS` has a function for each rule that may hold a name of something that is there already; rules that
# are not listed wait for a new name.

FORMATS = ("csv", "json", "parquet")


@dataclass(frozen=True)
class CompletionOffer:
    """A text to write; `kind` says what it is, `detail` its type, `documentation` more, in Markdown."""

    label: str
    kind: str
    detail: str = ""
    documentation: str = ""


Offers = Callable[[DocumentCursor, list[Lexeme]], Iterator[CompletionOffer]]


def types(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """Types of events: streams, queries, concepts, and what the script uses as values of type columns."""
    catalog = spot.catalog
    used = [leaf for concept in catalog.concepts.values() for leaf in concept.members]
    used += [node.type for node in walk(spot.document.script) if isinstance(node, Event)]
    for name in dict.fromkeys([*map(written, catalog.names()), *used]):
        kind = catalog.kind_of(name)
        entry = catalog.entry(name)
        described = of_type(name, catalog)
        if described is not None and (entry is None or entry.relation is None):
            yield CompletionOffer(name, "type", kind or "type", described)


def streams(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """What can stand in FROM."""
    for entry in spot.catalog.entries.values():
        name = written(entry.name)
        yield CompletionOffer(name, "stream", entry.kind, of_type(name, spot.catalog) or "")
    yield from (CompletionOffer(name, "function", "agent") for name in spot.document.outside.agents)


def variables(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """Variables, and in a SELECT also columns without the name of their source."""
    for one in spot.names:
        if one.is_visible:
            yield CompletionOffer(one.name, "variable", one.title.replace("`", ""), of_variable(one))
    if not isinstance(spot.query, PatternQuery):
        yield from columns(column for one in spot.names for column in one.columns)


def values(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """What an expression can begin with. A bracket holds attributes, `[id]`, or an index, `b[i]`."""
    if before and before[-1].says("[") and not (len(before) > 1 and before[-2].is_name):
        yield from shared(spot, before)
        return
    if before and before[-1].says("["):
        yield from (CompletionOffer(index, "keyword") for index in ("i", "i-1", "last"))
    yield from variables(spot, before)
    is_pattern = isinstance(spot.query, PatternQuery)
    if is_pattern and any(one.says("RETURN") for one in before):
        yield from (
            CompletionOffer(name, "attribute", "time of the match") for name in ("match_start", "match_end")
        )
    yield from (CompletionOffer(name, "function", "registered") for name in spot.document.outside.aggregates)
    of_rows = () if is_pattern else (*FORMS, *ROW_AGGREGATE_SIGNATURES)
    for name in sorted(
        {*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES, *(LAMBDAS if is_pattern else ()), *of_rows}
    ):
        yield CompletionOffer(name, "function", "", of_function(name) or "")


def attributes(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """What can follow a dot."""
    chain = chain_before(before, len(before) - 1) if before else []
    match followed(chain, spot.names) if chain else None:
        case AttributeOwner() as found:
            yield from (
                CompletionOffer(one.name, "variable", one.title.replace("`", "")) for one in found.inner
            )
            yield from columns(found.columns)
        case Column(type=kind):
            yield from columns(fields(kind))


def columns(several: Iterable[Column]) -> Iterator[CompletionOffer]:
    for column in several:
        yield CompletionOffer(written(column.name), "attribute", str(column.type))


def shared(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """Attributes without a variable."""
    yield from columns(column for one in spot.names for column in one.columns)


def levels(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """`Place.city`: the hierarchies and, behind a dot, the levels of one."""
    hierarchies = spot.catalog.hierarchies
    if before and before[-1].says("."):
        one = spot.catalog.hierarchy(before[-2].text) if len(before) > 1 else None
        yield from (
            CompletionOffer(written(name), "attribute", "level") for name in (one.levels if one else ())
        )
        return
    yield from (CompletionOffer(written(name), "stream", "hierarchy") for name in hierarchies)


def steps(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """What a roll-up leads from and to: types, and levels of hierarchies."""
    if not (before and before[-1].says(".")):
        yield from types(spot, before)
    yield from levels(spot, before)


def in_clause(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """The names in FROM, PARTITION BY, USING and ONE MATCH PER of a pattern query."""
    words = [one.text.upper() for one in before]
    last = next((word for word in reversed(words) if word in ("FROM", "BY", "USING", "PER")), "")
    if last == "FROM":
        yield from streams(spot, before)
    elif last == "PER":
        yield from variables(spot, before)
    elif last == "BY":
        yield from shared(spot, before)
    elif last == "USING":
        entered = words[len(words) - words[::-1].index("USING") :]
        for strategy in SelectionStrategy:
            rest = strategy.split()
            if rest[: len(entered)] == entered and rest[len(entered) :]:
                yield CompletionOffer(" ".join(rest[len(entered) :]), "keyword", "selection strategy")


def in_stream(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """The names in the clauses of CREATE STREAM."""
    if before and before[-1].says("UNIT"):
        yield from units(spot, before)
    elif before and before[-1].says("FORMAT"):
        yield from (CompletionOffer(name, "keyword", "format") for name in FORMATS)
    else:
        yield from own_columns(spot, before)


def own_columns(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """The columns of the statement that is being written."""
    for statement in spot.document.script.statements:
        if isinstance(statement, CreateStream) and statement.span and statement.span.start == spot.start:
            yield from columns(Column(column.name, column.type) for column in statement.columns)
            return
    if isinstance(spot.query, Select | CombinedSelect):  # CREATE QUERY ... TIMESTAMP BY
        silent = Findings(spot.document.source)
        yield from columns(query_columns(spot.query, spot.catalog, silent) or ())
        return
    inside = before[: next((at for at, one in enumerate(before) if one.says(")")), 0)]
    for name, kind in pairwise(inside):
        if name.is_name and kind.text.upper() in TYPES:
            yield CompletionOffer(name.text, "attribute", kind.text.upper())


def units(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    yield from (CompletionOffer(unit, "keyword", "unit") for unit in UNITS if unit.endswith("S"))
    if before and not any(one.says(word) for one in before[-2:] for word in ("UNIT", "WATERMARK")):
        yield CompletionOffer("EVENTS", "keyword", "unit")


def relations(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """Relations of two events, behind a variable or an element of a list in a PATTERN."""
    is_event = before and (before[-1].says("]") or find(before[-1].text, [one.name for one in spot.names]))
    if is_event and any(one.says("PATTERN") for one in before):
        yield from (CompletionOffer(name, "keyword", "relation", relation_help(name)) for name in ALLEN)


def data_types(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    yield from (CompletionOffer(name, "type", "type") for name in TYPES)


def parameters(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    """Those that have a value, and those that stand elsewhere in the text."""
    pairs = pairwise(spot.document.lexemes)
    used = [two.text for one, two in pairs if one.says(":") and two.is_name and one.end == two.start]
    names = dict.fromkeys([*spot.document.outside.arguments, *used])
    yield from (CompletionOffer(name, "variable", "parameter") for name in names)


OFFERS: dict[str, Offers] = {
    "patternAtom": types,
    "createType": types,
    "primary": values,
    "step": attributes,
    "patternClause": in_clause,
    "sharedAttribute": shared,
    "levelName": levels,
    "createHierarchy": streams,
    "rolledQuery": streams,
    "rollStep": steps,
    "patternPart": variables,
    "timeClause": in_stream,
    "streamClause": in_stream,
    "measure": own_columns,
    "statistic": own_columns,
    "fromSource": streams,
    "streamWindow": shared,
    "rowPrimary": variables,
    "definition": variables,
    "subset": variables,
    "skipTo": variables,
    "skipEvent": variables,
    "window": units,
    "intervalPart": units,
    "dataType": data_types,
    "predicateTail": relations,
}

# Clauses that can be understood without what stands before them.
_CLAUSES = {
    "PATTERN": tuple("FROM WHERE PARTITION WITHIN USING ONE AFTER SUPPRESS WITH RETURN".split()),
    "SELECT": ("MATCH_RECOGNIZE", "WHERE", "GROUP", "HAVING", "ORDER", "UNION", "EXCEPT"),
}
_BEGINNINGS = {"PATTERN": "PATTERN x ", "SELECT": "SELECT x FROM x "}


def complete(document: Document, cursor: int) -> tuple[CompletionOffer, ...]:
    """All that could stand at the cursor, in place of the word that ends there; names before words.

    >>> [offer.label for offer in complete(Document("CREATE "), 7)]
    ['FUNCTION', 'HIERARCHY', 'QUERY', 'RELATION', 'STREAM', 'TYPE']
    >>> [offer.label for offer in complete(Document("PATTERN A a USING ST"), 20)][:2]
    ['SKIP TILL ANY MATCH', 'SKIP TILL NEXT MATCH']
    >>> [offer.label for offer in complete(Document("PATTERN AND(A a, B b) WHERE a "), 30)][:3]
    ['MEETS', 'OVERLAPS', 'STARTS']
    """
    if _is_text(document, cursor):
        return ()
    spot = DocumentCursor(document, cursor)
    before = _before(spot.statement, cursor)
    start = before[-1].end if before else spot.start
    waiting = _waiting(document.text, spot.start, start, before)
    if before and before[-1].says(":") and not waiting.words and "primary" in waiting.names:
        return tuple(parameters(spot, before))
    offers = [offer for rule in sorted(waiting.names) for offer in OFFERS.get(rule, _nothing)(spot, before)]
    offers += [CompletionOffer(word, "keyword", "", keyword_help(word) or "") for word in waiting.words]
    return tuple({offer.label: offer for offer in reversed(offers)}.values())[::-1]


def _nothing(spot: DocumentCursor, before: list[Lexeme]) -> Iterator[CompletionOffer]:
    yield from ()


def _is_text(document: Document, cursor: int) -> bool:
    """Whether the cursor is inside of a comment or a string, or at the end of one that is not closed."""
    for one in document.lexemes:
        is_open = one.kind == STRAY or (one.kind == COMMENT and one.text.startswith("--"))
        if one.kind in (COMMENT, STRING, STRAY) and one.start < cursor < one.end + is_open:
            return True
    return False


def _before(statement: tuple[Lexeme, ...], cursor: int) -> list[Lexeme]:
    """The tokens before the cursor, without the word that it ends or stands in."""
    found = [one for one in statement if one.start < cursor]
    if found and found[-1].end >= cursor and (found[-1].is_name or found[-1].kind == WORD):
        found.pop()
    return found


def _waiting(text: str, start: int, end: int, before: list[Lexeme]) -> Continuations:
    """What the grammar waits for; if it understands nothing, what it would in the last clause alone."""
    waiting = following(text[start:end])
    if waiting != Continuations() or not before:
        return waiting
    kind = "SELECT" if any(one.says("SELECT") for one in before) else "PATTERN"
    for lexeme in reversed(before):
        if lexeme.says(*_CLAUSES[kind]):
            waiting = following(_BEGINNINGS[kind] + text[lexeme.start : end])
            if waiting != Continuations():
                return waiting
    return waiting
