"""What is said when Spark knows more than is known here, or does not understand a query."""

from __future__ import annotations

from neelc.bind.findings import Findings
from neelc.host.clauses import Clause
from neelc.host.script import HostStatement
from neelc.host.tables import Refused
from neelc.source import Span


def unknown_columns(clause: Clause, text: str, findings: Findings) -> None:
    """Report that the columns of a source are not known without Spark."""
    assert clause.source is not None
    if len(clause.table) == 1 and clause.table[0] not in clause.defined:
        name = clause.table[0]
        message = f"the columns of `{name}` are not known here"
        hint = f"declare it with CREATE STREAM {name} (...), or give its data with --stream {name}=path"
    else:
        short = " ".join(text.split())
        message = (
            f"the columns of `{short if len(short) < 40 else short[:37] + '...'}` are known to Spark only"
        )
        hint = "`neelc run` and neelc.sql ask Spark; here, MATCH_RECOGNIZE must read a declared stream"
    findings.report("NEEL2220", message, clause.source, hint)


def is_query(statement: HostStatement) -> bool:
    """Whether a statement asks for rows. Others run at once: Spark executes an INSERT as it reads it."""
    return statement.tokens[0].says("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def not_a_query(statement: HostStatement, findings: Findings) -> None:
    first = statement.tokens[0]
    hint = "ask for the rows with SELECT, and write the DataFrame: neelc.sql(...).write"
    message = f"not supported: MATCH_RECOGNIZE in {first.text.upper()}, which is no query"
    findings.report("NEEL4001", message, first.span, hint)


def refused_at(refusal: Refused, span: Span, findings: Findings) -> None:
    """Report what Spark says, at the part of the text that it points at."""
    is_missing = "TABLE_OR_VIEW_NOT_FOUND" in refusal.message
    hint = (
        "declare it with CREATE STREAM, or give it: name=DataFrame, --stream name=path"
        if is_missing
        else None
    )
    place = place_of(refusal.fragment, span, findings)
    findings.report("NEEL2221", f"Spark refuses it: {refusal.message}", place, hint)


def place_of(fragment: str, span: Span, findings: Findings) -> Span:
    """Where a fragment stands in a part of the text, if it stands there once; else the whole part."""
    text = findings.source.text[span.start : span.end]
    if fragment and text.count(fragment) == 1:
        at = span.start + text.index(fragment)
        return Span(at, at + len(fragment))
    return span
