"""What is said when Spark knows more than is known here, or does not understand a query."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.bind.findings import Findings
from neelc.emit.spark_sql import QUERY, read_statement
from neelc.host.clauses import Clause, end_of_group
from neelc.host.scan import Token
from neelc.host.script import HostStatement
from neelc.host.tables import Refused
from neelc.host.texts import stand_in_text
from neelc.ir.expr import NestedQuery
from neelc.source import Span

OPENING = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
"""What a query of Spark's can begin with."""

ONE_STATEMENT = "MATCH_RECOGNIZE can only be used in a query, which is one statement"
MAX_NESTING = 100
"""Levels of parentheses. Spark's parser has no stack for more than 100 to 200 subqueries."""
NAME = "MATCH_RECOGNIZE can only be used in a query; if this is a name, put backticks around it"


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


def is_query(statement: HostStatement, found: Sequence[Clause], findings: Findings) -> bool:
    """Whether a statement asks for rows and does nothing else; a report if not. Spark executes others as it
    reads them: a DataFrame of an INSERT is one that has been executed."""
    deep = _too_deep(statement.tokens)
    if deep is not None:
        message = f"nested too deeply: more than {MAX_NESTING} levels"
        findings.report("NEEL1003", message, deep.span, "name inner parts with WITH, and use those names")
        return False
    refused = _not_a_query(statement, stand_in_text(findings.source.text, found, statement.span))
    if refused is None:
        return True
    token, message, hint = refused
    findings.report("NEEL4060", message, token.span, hint)
    return False


def _too_deep(tokens: Sequence[Token]) -> Token | None:
    """The token that opens one level too many."""
    depth = types = 0
    for place, token in enumerate(tokens):
        if token.says("<") and place > 0 and tokens[place - 1].says("ARRAY", "MAP", "STRUCT"):
            types += 1
        types = max(0, types - token.says(">"))
        depth = max(0, depth + token.says("(", "[", "CASE") - token.says(")", "]", "END"))
        if depth + types > MAX_NESTING:
            return token
    return None


def _not_a_query(statement: HostStatement, text: str) -> tuple[Token, str, str] | None:
    """The token that a refusal is about, and what is said."""
    first = statement.tokens[0]
    semicolon = next((token for token in statement.tokens if token.says(";")), None)
    if semicolon is not None:
        return semicolon, "a semicolon inside a query", ONE_STATEMENT
    if not first.says(*OPENING):
        return _other(first, first.text.upper())
    read = read_statement(text)
    if read is None:
        doubted = _doubted(statement.tokens)
        return None if doubted is None else (doubted, f"{doubted.text} might not be part of a query", NAME)
    kind = read.does_more if read.is_query and read.does_more == "INTO" else read.kind
    if kind == QUERY:
        return None
    return _other(next((token for token in statement.tokens if token.says(kind)), first), kind)


def _other(token: Token, kind: str) -> tuple[Token, str, str]:
    message = f"MATCH_RECOGNIZE can only be used in a query, not in {kind}"
    if kind == "EXPLAIN":
        return token, message, "`neelc explain` and Session.explain tell how a query is executed"
    return token, message, "ask for the rows with SELECT, and write the DataFrame: neelc.sql(...).write"


def _doubted(tokens: Sequence[Token]) -> Token | None:
    """The token that makes a statement doubtful, of one that sqlglot does not understand; None if Spark can
    take the statement for nothing but a query: that is decided by how it begins.

    >>> from neelc.host.scan import tokens
    >>> _doubted(list(tokens("SELECT insert FROM t"))), _doubted(list(tokens("FROM t INSERT INTO u"))).text
    (None, 'INSERT')
    """
    first = _after_definitions(tokens) if tokens[0].says("WITH") else 0
    if first >= len(tokens) or not tokens[first].says(*OPENING) or tokens[first].says("WITH"):
        return tokens[min(first, len(tokens) - 1)]
    if not tokens[first].says("FROM"):
        return None
    depth = 0
    for token in tokens[first:]:
        depth += token.says("(") - token.says(")")
        if depth == 0 and token.says("INSERT"):
            return token
    return None


def _after_definitions(tokens: Sequence[Token]) -> int:
    """The place behind `WITH name AS (...), ...`."""
    place = 1
    while place < len(tokens):
        while place < len(tokens) and not tokens[place].says("("):
            place += 1
        place = end_of_group(tokens, place + 1) + 1
        if place < len(tokens) and tokens[place].says("AS"):
            continue  # these were the names of columns: the query is behind AS
        if place >= len(tokens) or not tokens[place].says(","):
            return place
    return place


def unknown_query(query: NestedQuery, findings: Findings) -> None:
    """Report that the columns of a query inside a clause are not known without Spark."""
    message = "the columns of this subquery are known to Spark only"
    hint = "`neelc run` and neelc.sql ask Spark; here, it may choose from a declared stream"
    findings.report("NEEL2220", message, query.span, hint)


def refused_at(refusal: Refused, span: Span, findings: Findings, unresolved: str | None = None) -> None:
    """Report what Spark says, at the part of the text that it points at; with a hint for names that it does
    not know."""
    is_missing = "TABLE_OR_VIEW_NOT_FOUND" in refusal.message
    hint = (
        "declare it with CREATE STREAM, or give it: name=DataFrame, --stream name=path"
        if is_missing
        else unresolved
        if "cannot be resolved" in refusal.message
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
