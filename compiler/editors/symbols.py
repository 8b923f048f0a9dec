"""The statements of a document, and where names are declared."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.bind.findings import Findings
from neelc.editors.document import Document
from neelc.editors.known import Known, followed, known_by
from neelc.editors.spots import Spot, chain_before
from neelc.ir.names import bare, same
from neelc.ir.script import CreateQuery, CreateStream, CreateType, RunQuery, Statement, Unread
from neelc.source import Span

# A query without a name is called by its beginning.
_LONGEST = 60


@dataclass(frozen=True)
class Symbol:
    """A statement: what it is called, its `kind`, all of it, and its name alone."""

    name: str
    kind: str
    whole: Span
    name_at: Span


def symbols(document: Document) -> tuple[Symbol, ...]:
    """The statements in the order of the text.

    >>> text = "CREATE TYPE T AS (A, B); PATTERN SEQ(T a, B b); PATTERN A a AS Q"
    >>> [(one.kind, one.name) for one in symbols(Document(text))]
    [('type', 'T'), ('query', 'PATTERN SEQ(T a, B b)'), ('query', 'Q')]
    """
    own = [_symbol(s, document) for s in document.script.statements]
    hosts = [
        Symbol(one.name or _beginning(document.text, one.span), "query", one.whole, one.span)
        for one in (document.hosts.statements if document.hosts is not None else ())
    ]
    return tuple(sorted((one for one in (*own, *hosts) if one is not None), key=lambda one: one.whole))


def _symbol(statement: Statement, document: Document) -> Symbol | None:
    span = statement.span
    if span is None:
        return None
    match statement:
        case CreateStream(name=name):
            kind = "relation" if statement.is_relation else "stream"
        case CreateType(name=name):
            kind = "type"
        case CreateQuery(name=name):
            kind = "query"
        case Unread(declares=str(name)) if name:
            kind = "query"
        case RunQuery() | Unread():
            return Symbol(_beginning(document.text, span), "query", span, span)
        case _:
            return None
    # `PATTERN ... AS name` has its name at the end.
    is_last = isinstance(statement, CreateQuery) and not _says(document.text, span, "CREATE")
    at = Findings(document.source).word(name, statement, nth=-1 if is_last else 1)
    return Symbol(bare(name), kind, span, at)


def _says(text: str, span: Span, word: str) -> bool:
    return text[span.start : span.end].upper().startswith(word)


def _beginning(text: str, span: Span) -> str:
    line = " ".join(text[span.start : span.end].rstrip(";").split())
    return line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + " ..."


def definition(document: Document, cursor: int) -> Span | None:
    """Where the name at the cursor is declared: a variable in its pattern, all else in its statement.

    >>> text = "PATTERN SEQ(A a, B b) WHERE a.x = b.x"
    >>> definition(Document(text), text.index("b.x"))
    Span(start=19, end=20)
    """
    lexeme = document.lexeme_at(cursor)
    if lexeme is None or not lexeme.is_name:
        return None
    spot = Spot(document, lexeme.end)
    at = next((i for i, one in enumerate(spot.statement) if one.start == lexeme.start), 0)
    chain = chain_before(spot.statement, at - 1) if at > 0 else []
    found = followed([*chain, lexeme.text], spot.names) if chain else known_by(lexeme.text, spot.names)
    if isinstance(found, Known) and found.declared is not None:
        return found.declared
    declared = [one for one in symbols(document) if one.whole != one.name_at and not chain]
    return next((one.name_at for one in declared if same(lexeme.text, one.name)), None)
