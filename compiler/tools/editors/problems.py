"""Everything that is wrong with a text, and how bad that is while it is being written."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from neelc.errors import Diagnostic, Fix, NeelError
from neelc.files import CallError
from neelc.findings import Findings
from neelc.ir.names import bare, same
from neelc.ir.script import (
    CreateFunction,
    CreateHierarchy,
    CreateQuery,
    CreateStream,
    CreateType,
    RunQuery,
    Statement,
    UnreadStatement,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span
from neelc.tools.editors.document import Document
from neelc.tools.editors.names import AttributeOwner, DocumentCursor, chain_before, followed, known_by
from neelc.tools.lints import lints

ERROR, WARNING, INFORMATION = "error", "warning", "information"

# A script may be given its streams and the values of its parameters only when it runs: then what it says of
# them cannot be checked here, which is no mistake of its own.
_WITHOUT_STREAMS = ("NEEL2004", "NEEL2005", "NEEL2220")
_WITHOUT_VALUES = ("NEEL2006",)


@dataclass(frozen=True)
class EditorProblem:
    """A diagnostic, as severe as the editor shows it."""

    diagnostic: Diagnostic
    severity: str


def problems(document: Document) -> tuple[EditorProblem, ...]:
    """All problems, in the order of the text.

    >>> [(one.severity, one.diagnostic.message) for one in problems(Document("PATTERN SEQ(A a"))]
    [('error', 'the statement ends where `WHERE`, `)`, `,` or `;` is expected')]
    >>> [one.severity for one in problems(Document("PATTERN A a WITHIN 5 SECONDS"))]
    ['information']
    """
    try:
        found = dict.fromkeys(_found(document))
    except Exception as error:  # an editor goes on after a bug of ours
        logging.getLogger("neelc").exception("a bug in neelc")
        found = {Diagnostic("NEEL9001", f"a bug in neelc: {type(error).__name__}: {error}", Span(0, 1)): None}
    in_order = sorted(found, key=lambda one: (one.span, one.code, one.message))
    return tuple(EditorProblem(one, _severity(one, document)) for one in in_order)


def _severity(diagnostic: Diagnostic, document: Document) -> str:
    declares = any(isinstance(s, CreateStream | UnreadStatement) for s in document.script.statements)
    if diagnostic.code in _WITHOUT_STREAMS and not declares and not document.outside.given:
        return INFORMATION
    if diagnostic.code in _WITHOUT_VALUES and not document.outside.arguments:
        return INFORMATION
    return diagnostic.severity


def _found(document: Document) -> Iterator[Diagnostic]:
    """The problems of all statements; warnings, if there is no other problem."""
    script = document.script
    try:
        bound = document.outside.bound(script, document.source, document.directory)
    except NeelError as error:
        yield from error.diagnostics
        yield from (
            problem for s in script.statements if isinstance(s, UnreadStatement) for problem in s.problems
        )
        return
    except CallError as error:
        yield Diagnostic("NEEL5001", str(error), Span(0, 1))
        return
    yield from bound.diagnostics
    if bound.program is not None:
        yield from lints(bound.program, document.source)


# Quick fixes. A fix is a guess: it is offered only if the text has fewer errors with it.


def fixes(document: Document, selected: Span) -> tuple[tuple[Fix, EditorProblem], ...]:
    """The changes for the problems in a part of the text.

    >>> text = "CREATE STREAM s (ts BIGINT, price INT) TIMESTAMP BY ts; PATTERN s a WHERE a.prise = 1"
    >>> [(fix.title, fix.span.start) for fix, _ in fixes(Document(text), Span(76, 76))]
    [('write price', 76)]
    """
    found = problems(document)
    errors = _errors(found)
    return tuple(
        (fix, problem)
        for problem in found
        if problem.diagnostic.span.start <= selected.end and selected.start <= problem.diagnostic.span.end
        for fix in problem.diagnostic.fixes
        if _errors(problems(_changed(document, fix))) < errors
    )


def _errors(found: tuple[EditorProblem, ...]) -> int:
    return sum(problem.severity == ERROR for problem in found)


def _changed(document: Document, fix: Fix) -> Document:
    text = document.text[: fix.span.start] + fix.text + document.text[fix.span.end :]
    return replace(document, text=text)


# The statements of a document, and where names are declared.

# A query without a name is called by its beginning.
_LONGEST = 60


@dataclass(frozen=True)
class StatementSymbol:
    """A statement: what it is called, its `kind`, all of it, and its name alone."""

    name: str
    kind: str
    whole: Span
    name_at: Span


def symbols(document: Document) -> tuple[StatementSymbol, ...]:
    """The statements in the order of the text.

    >>> text = "CREATE TYPE T AS (A, B); PATTERN SEQ(T a, B b); PATTERN A a AS Q"
    >>> [(one.kind, one.name) for one in symbols(Document(text))]
    [('type', 'T'), ('query', 'PATTERN SEQ(T a, B b)'), ('query', 'Q')]
    """
    found = (_symbol(statement, document) for statement in document.script.statements)
    return tuple(one for one in found if one is not None)


def _symbol(statement: Statement, document: Document) -> StatementSymbol | None:
    span = statement.span
    if span is None:
        return None
    match statement:
        case CreateStream(name=name):
            kind = "relation" if statement.is_relation else "stream"
        case CreateType(name=name):
            kind = "type"
        case CreateHierarchy(name=name):
            kind = "hierarchy"
        case CreateFunction(name=name):
            kind = "function"
        case CreateQuery(name=name):
            kind = "query"
        case UnreadStatement(declares=str(name)) if name:
            kind = "query"
        case RunQuery() | UnreadStatement():
            return StatementSymbol(_beginning(document.text, span), "query", span, span)
        case _:
            return None
    return StatementSymbol(bare(name), kind, span, Findings(document.source).at(name, span))


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
    spot = DocumentCursor(document, lexeme.end)
    at = next((i for i, one in enumerate(spot.statement) if one.start == lexeme.start), 0)
    chain = chain_before(spot.statement, at - 1) if at > 0 else []
    found = followed([*chain, lexeme.text], spot.names) if chain else known_by(lexeme.text, spot.names)
    if isinstance(found, AttributeOwner) and found.declared is not None:
        return found.declared
    declared = [one for one in symbols(document) if one.whole != one.name_at and not chain]
    return next((one.name_at for one in declared if same(lexeme.text, one.name)), None)
