"""Text to syntax trees.

>>> print(pattern("seq(A a, !B b, C c where a.id = c.id)"))
SEQ(A a, !B b, C c WHERE a.id = c.id)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from neelc.errors import Diagnostic, NeelError
from neelc.ir.expressions import Expr
from neelc.ir.names import bare, written
from neelc.ir.patterns import Pattern, Window
from neelc.ir.script import CreateQuery, Matcher, RowTimes, RunQuery, Script, Statement, UnreadStatement
from neelc.ir.types import DataType, Struct, StructField
from neelc.source import Source, Span
from neelc.syntax import expressions, patterns, statements
from neelc.syntax import patterns as rows
from neelc.syntax.host import HostStatement, host_statements, without_statements
from neelc.syntax.mistakes import SyntaxProblem
from neelc.syntax.parser import (
    declared_name,
    has_type_clause,
    limit_problem,
    parse_tree,
    statements_of,
    stray_tokens,
    tokens_of,
)

T = TypeVar("T")


def script(source: Source | str) -> Script:
    """All statements of a script, by our own grammar alone; raises `NeelError` with the errors of all
    statements that have one."""
    source = Source(source) if isinstance(source, str) else source
    found = _own_statements(source)
    problems = [p for s in found if isinstance(s, UnreadStatement) for p in s.problems]
    if problems:
        raise NeelError(problems, source)
    return Script(tuple(found), span=Span(0, len(source.text)))


def read(source: Source) -> Script:
    """All statements of a script. What is Spark's own SQL, around MATCH_RECOGNIZE, is a `HostSelect`; what
    cannot be read is an `UnreadStatement`: the others can still be checked.

    >>> text = "PATTERN A a; CREATE QUERY v AS SELECT x FROM t MATCH_RECOGNIZE (PATTERN (A)); PATTERN B b"
    >>> [type(statement.query).__name__ for statement in read(Source(text)).statements]
    ['PatternQuery', 'HostSelect', 'PatternQuery']
    """
    hosts = host_statements(source.text)
    own = _own_statements(without_statements(source, hosts) if hosts else source)
    found = [*own, *(_host_statement(one, source) for one in hosts)]
    found.sort(key=lambda statement: statement.span or Span(0, 0))
    return Script(tuple(found), span=Span(0, len(source.text)))


def _own_statements(source: Source) -> list[Statement]:
    found: list[Statement] = []
    for tokens in statements_of(tokens_of(source.text)):
        problems = stray_tokens(tokens)
        try:
            if not problems:
                found.append(
                    _built(tokens, "singleStatement", lambda tree: statements.statement(tree.statement()))
                )
        except SyntaxProblem as problem:
            problems = [problem.diagnostic]
        if problems:
            span = Span(tokens[0].start, tokens[-1].stop + 1)
            found.append(
                UnreadStatement(tuple(problems), declared_name(tokens), has_type_clause(tokens), span=span)
            )
    return found


def _host_statement(host: HostStatement, source: Source) -> Statement:
    if host.name is None:
        return RunQuery(host.select(source), span=host.span)
    try:
        times = _times(host, source)
    except NeelError as error:
        return UnreadStatement(error.diagnostics, host.name, typed=True, span=host.span)
    return CreateQuery(host.name, host.select(source), times, span=host.span)


def _times(host: HostStatement, source: Source) -> RowTimes | None:
    """The clauses between the name of a query and AS; raises `NeelError`."""
    if not host.has_times:
        return None
    start, end = host.header[0].start, host.header[-1].end
    # A pattern stands in for the query: the clauses are read by the grammar, at their places.
    found = script(Source(f"{' ' * start}{source.text[start:end]} AS PATTERN A", source.name)).statements[0]
    assert isinstance(found, CreateQuery)
    return found.times


def pattern(text: str) -> Pattern:
    """One pattern, with its own window if it has one."""
    return _single(text, "singlePattern", lambda tree: patterns.pattern_item(tree.patternItem()))


def expression(text: str) -> Expr:
    """One expression."""
    return _single(text, "singleExpression", lambda tree: expressions.expression(tree.expression()))


def schema(text: str) -> DataType:
    """A type, or the columns of a struct, as from_json takes them.

    >>> print(schema("a INT, b ARRAY<STRING>"), schema("MAP<STRING, INT>"))
    STRUCT<a: INT, b: ARRAY<STRING>> MAP<STRING, INT>
    >>> schema("`a` INT, `b c` INT") == schema("STRUCT<a: INT, `b c`: INT>")
    True
    """
    try:
        return _single(text, "dataType", partial(_whole, expressions.data_type, len(text)))
    except NeelError:
        if " " not in text.strip():
            raise
        stream = f"STREAM s ({text})"
        found = _single(stream, "createStream", partial(_whole, statements.new_stream, len(stream)))
        return Struct(tuple(StructField(written(bare(one.name)), one.type) for one in found.columns))


def _whole(build: Callable[[Any], T], length: int, tree: Any) -> T:
    """What is built of a tree that ends where the text does."""
    if tree.stop.stop + 1 < length:
        raise SyntaxProblem(Diagnostic("NEEL1001", "something follows", Span(tree.stop.stop + 1, length)))
    return build(tree)


def window(text: str) -> Window:
    """What may stand after WITHIN.

    >>> window("10 seconds").unit
    'SECOND'
    """
    return _single(text, "singleWindow", lambda tree: patterns.window(tree.window()))


def row_match(source: Source, span: Span) -> Matcher:
    """The MATCH_RECOGNIZE clause at `span` of a text that is not ours."""
    # Blanks before it keep the places of its tokens.
    tokens = tokens_of(" " * span.start + source.text[span.start : span.end])
    problems = stray_tokens(tokens)
    if problems:
        raise NeelError(problems, source)
    try:
        return _built([t for t in tokens if t.channel == 0], "matcher", rows.matcher)
    except SyntaxProblem as problem:
        raise NeelError([problem.diagnostic], source) from None


def _single(text: str, rule: str, build: Callable[[Any], T]) -> T:
    source = Source(text)
    tokens = tokens_of(text)
    problems = stray_tokens(tokens)
    if problems:
        raise NeelError(problems, source)
    try:
        return _built([t for t in tokens if t.channel == 0], rule, build)
    except SyntaxProblem as problem:
        raise NeelError([problem.diagnostic], source) from None


def _built(tokens: list[Any], rule: str, build: Callable[[Any], T]) -> T:
    too_much = limit_problem(tokens)
    if too_much is not None:
        raise SyntaxProblem(too_much)
    if not tokens:
        raise SyntaxProblem(Diagnostic("NEEL1001", "there is nothing here", Span(0, 1)))
    return build(parse_tree(tokens, rule, tokens[-1].stop + 1))
