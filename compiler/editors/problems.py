"""Everything that is wrong with a text, and how bad that is while it is being written."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from neelc.editors.document import Document
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.script import CreateStream, Unread
from neelc.lints import lints
from neelc.source import Span

ERROR, WARNING, INFORMATION = "error", "warning", "information"

# A script may be given its streams and the values of its parameters only when it runs: then what it says of
# them cannot be judged here, which is no mistake of its own.
_WITHOUT_STREAMS = ("NEEL2004", "NEEL2005", "NEEL2220")
_WITHOUT_VALUES = ("NEEL2006",)


@dataclass(frozen=True)
class Problem:
    """A diagnostic, as severe as the editor shows it."""

    diagnostic: Diagnostic
    severity: str


def problems(document: Document) -> tuple[Problem, ...]:
    """All problems, in the order of the text.

    >>> [(one.severity, one.diagnostic.message) for one in problems(Document("PATTERN SEQ(A a"))]
    [('error', 'the statement ends where `WHERE`, `)`, `,` or `;` is expected')]
    >>> [one.severity for one in problems(Document("PATTERN A a WITHIN 5 SECONDS"))]
    ['information']
    """
    try:
        found = dict.fromkeys([*_of_hosts(document), *_of_own(document)])
    except Exception as error:  # an editor goes on after a bug of ours
        logging.getLogger("neelc").exception("a bug in neelc")
        found = {Diagnostic("NEEL9001", f"a bug in neelc: {type(error).__name__}: {error}", Span(0, 1)): None}
    in_order = sorted(found, key=lambda one: (one.span, one.code, one.message))
    return tuple(Problem(one, _severity(one, document)) for one in in_order)


def _severity(diagnostic: Diagnostic, document: Document) -> str:
    declares = any(isinstance(s, CreateStream | Unread) for s in document.script.statements)
    if diagnostic.code in _WITHOUT_STREAMS and not declares and not document.outside.given:
        return INFORMATION
    if diagnostic.code in _WITHOUT_VALUES and not document.outside.arguments:
        return INFORMATION
    return diagnostic.severity


def _of_own(document: Document) -> Iterator[Diagnostic]:
    """The problems of all that is not Spark's; warnings, if there is no other problem."""
    script = document.script
    if document.hosts is not None and all(isinstance(s, CreateStream) for s in script.statements):
        return  # what the queries for Spark need of them has been judged
    try:
        bound = document.outside.bound(script, document.own, document.directory)
    except NeelError as error:
        yield from error.diagnostics
        yield from (problem for s in script.statements if isinstance(s, Unread) for problem in s.problems)
        return
    except CallError as error:
        yield Diagnostic("NEEL5001", str(error), Span(0, 1))
        return
    yield from bound.diagnostics
    if bound.program is not None:
        yield from lints(bound.program, document.source)


def _of_hosts(document: Document) -> Iterator[Diagnostic]:
    """The problems of queries that are Spark's, around MATCH_RECOGNIZE."""
    if document.hosts is None:
        return
    # Half of the compiler: a server that meets no such query starts without it.
    from neelc.host.inputs import host_inputs

    outside = document.outside
    try:
        inputs = host_inputs(
            document.hosts, outside.given, document.directory, outside.arguments, outside.untrusted
        )
    except NeelError as error:
        yield from error.diagnostics
        return
    for place in range(len(document.hosts.statements)):
        try:
            inputs.compiled(place)
        except NeelError as error:
            yield from error.diagnostics
