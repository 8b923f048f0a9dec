"""What lints say about queries that are written as text: for examples in docstrings and for tests."""

from __future__ import annotations

from collections.abc import Mapping

from pattern_examples import STREAM

from neelc.ir.algebra import Algebra
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script
from neelc.tools.lints.lint import Lint, LintedQuery


def linted(text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None) -> LintedQuery:
    """The query `PATTERN text` over the stream S of `head`."""
    source = Source(f"{head}PATTERN {text};")
    return LintedQuery(bind(script(source), source, arguments=arguments).queries[-1].match, source)


def shown(lint: Lint, text: str, head: str = STREAM) -> str | None:
    """What a lint says about a query, each warning after the words it points at; None when it is silent."""
    query = linted(text, head)
    found = [
        f"{query.source.text[warning.span.start : warning.span.end]}: {warning.message}"
        for warning in lint(query)
    ]
    return "\n".join(found) or None


def warning_of_select(text: str) -> str | None:
    """The first warning about a SELECT over the stream S."""
    from neelc.tools.lints.nothing_lasts import nothing_lasts

    head = "CREATE STREAM S (ts BIGINT, x INT) TIMESTAMP BY ts; "
    source = Source(head + text)
    query = bind(script(source), source).queries[-1].query
    assert isinstance(query, Algebra)
    return next((warning.message for warning in nothing_lasts(query)), None)
