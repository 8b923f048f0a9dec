"""What lints say about queries that are written as text: for examples in docstrings and for tests."""

from __future__ import annotations

from collections.abc import Mapping

from pattern_examples import STREAM

from neelc.errors import Diagnostic
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import read, script
from neelc.tools.lints.lint import Lint, LintedClause, LintedQuery, RowLint


def linted(text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None) -> LintedQuery:
    """The query `PATTERN text` over the stream S of `head`."""
    source = Source(f"{head}PATTERN {text};")
    return LintedQuery(bind(script(source), source, arguments=arguments).queries[-1].match, source)


def shown(lint: Lint, text: str, head: str = STREAM) -> str | None:
    """What a lint says about a query, each warning after the words it points at; None when it is silent."""
    query = linted(text, head)
    return "\n".join(f"{_words(query.source, warning)}: {warning.message}" for warning in lint(query)) or None


def linted_clause(
    text: str, order: str = "ts", arguments: Mapping[str, object] | None = None
) -> LintedClause:
    """MATCH_RECOGNIZE over the rows of the stream S, from what follows ORDER BY."""
    source = Source(f"{STREAM}SELECT * FROM S MATCH_RECOGNIZE (ORDER BY {order} {_with_measures(text)});")
    query = bind(read(source), source, arguments=arguments).queries[-1].query
    assert isinstance(query, HostQuery)
    return LintedClause(query.clauses[-1].recognize, source)


def _with_measures(text: str) -> str:
    return text if text.startswith("MEASURES") else f"MEASURES count(*) AS k {text}"


def shown_of_rows(lint: RowLint, text: str, order: str = "ts") -> str | None:
    """What a lint says about MATCH_RECOGNIZE, each warning after the words it points at; None when it is
    silent."""
    clause = linted_clause(text, order)
    return (
        "\n".join(f"{_words(clause.source, warning)}: {warning.message}" for warning in lint(clause)) or None
    )


def _words(source: Source, warning: Diagnostic) -> str:
    return source.text[warning.span.start : warning.span.end]


def warning_of_select(text: str) -> str | None:
    """The first warning about a SELECT over the stream S."""
    from neelc.tools.lints.nothing_lasts import nothing_lasts

    head = "CREATE STREAM S (ts BIGINT, x INT) TIMESTAMP BY ts; "
    source = Source(head + text)
    query = bind(script(source), source).queries[-1].query
    assert isinstance(query, Algebra)
    return next((warning.message for warning in nothing_lasts(query)), None)
