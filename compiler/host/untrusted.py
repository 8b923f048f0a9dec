"""Texts that are not trusted: they may read what they were given, and nothing else.

Our own statements are safe but for what they name: files and agents. A query around MATCH_RECOGNIZE is
Spark's, which can read every file and table, start programs and call Java. It is judged twice, and both
must agree: by its tokens, where every name before a parenthesis is a call and every name behind FROM a
table, and by the tree that sqlglot reads. Comments never reach Spark, so that nothing can hide in what
one of the three takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from neelc.bind.findings import Findings
from neelc.bind.suggest import closest
from neelc.data.location import written_span
from neelc.emit.spark_sql import read_statement, same_name
from neelc.errors import Diagnostic, NeelError
from neelc.host.allowed import ALLOWED, BEFORE_PARENTHESIS, SESSION
from neelc.host.clauses import Clause, end_of_group
from neelc.host.scan import CLAUSE, MARK, QUOTED, STRING, WORD, Token
from neelc.host.script import HostStatement
from neelc.host.tables import Tables
from neelc.host.texts import STAND_IN, stand_in_text
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.script import CreateStream, FromAgent, Script
from neelc.source import Source, Span

MARKS = frozenset("()[]{}<>=!+-*/%&|^~,.:;?@")
EXPRESSIONS_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY")
ENDS_OF_FROM = (
    *("WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW"),
    *("UNION", "EXCEPT", "MINUS", "INTERSECT", "SELECT", "QUALIFY"),
)
NO_RELATIONS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")
UNTRUSTED = "which untrusted text may not do"


def refuse_files_and_agents(script: Script, source: Source) -> None:
    """Raises `NeelError` if a text names a file to read, or an agent."""
    found: list[Diagnostic] = []
    for statement in script.statements:
        if isinstance(statement, CreateStream) and statement.path is not None:
            message = f"stream `{statement.name}` names a file; untrusted text may only read what it is given"
            hint = "leave FROM out, and give the data from outside"
            found.append(
                Diagnostic("NEEL4061", message, written_span(statement, source, statement.path), hint)
            )
    for node in walk(script):
        if isinstance(node, FromAgent):
            message = f"`{node.name}` is an agent, which untrusted text may not call"
            found.append(Diagnostic("NEEL4064", message, node.span or Span(0, 1)))
    if found:
        raise NeelError(found, source)


def without_comments(source: Source, statements: Iterable[HostStatement]) -> Source:
    """The text with blanks where queries of Spark's have comments, hints and unusual spaces.

    >>> from neelc.host.script import host_script
    >>> text = "SELECT /*+ x */ 1 --a\\nFROM t MATCH_RECOGNIZE (PATTERN (A /* our own */))"
    >>> script = host_script(Source(text))
    >>> without_comments(script.source, script.statements).text
    'SELECT          1    \\nFROM t MATCH_RECOGNIZE (PATTERN (A /* our own */))'
    """
    text = source.text
    for statement in statements:
        for left, right in zip(statement.tokens, statement.tokens[1:], strict=False):
            gap = re.sub(r"[^\r\n]", " ", text[left.end : right.start])
            text = text[: left.end] + gap + text[right.start :]
    return Source(text, source.name)


@dataclass(frozen=True)
class Judging:
    """Judges a query. `text` is what Spark is given, `tables` are those that it may read, and the `queries`
    before it."""

    text: str
    statement: HostStatement
    clauses: Sequence[Clause]
    tables: Tables
    queries: Sequence[str]
    findings: Findings

    @property
    def tokens(self) -> tuple[Token, ...]:
        return self.statement.tokens

    def is_harmless(self) -> bool:
        """Whether the query reads what was given and does nothing else; reports if not."""
        before = len(self.findings.diagnostics)
        self._marks()
        self._calls()
        self._relations()
        if len(self.findings.diagnostics) == before:
            self._trees()
        return len(self.findings.diagnostics) == before

    def _marks(self) -> None:
        depth = 0
        for token, after in zip(self.tokens, (*self.tokens[1:], None), strict=True):
            depth += token.says("(") - token.says(")")
            is_open = token.kind in (STRING, QUOTED) and (len(token.text) < 2 or token.text[-1] not in "'\"`")
            if (token.kind == MARK and token.text not in MARKS) or is_open or depth < 0:
                self._refuse(token, f"`{token.text}` here is not understood, {REQUIRED}")
            elif token.kind != CLAUSE and "${" in token.text:
                self._refuse(token, f"`${{...}}` reads a setting or the environment, {UNTRUSTED}")
            elif token.says("USING") and not (after is not None and after.says("(")):
                self._refuse(token, f"TRANSFORM ... USING starts a program, {UNTRUSTED}")

    def _calls(self) -> None:
        columns = {column.name.casefold() for table in self.tables.values() for column in table.columns}
        for place, token in enumerate(self.tokens):
            before = self.tokens[place - 1] if place else None
            is_part = before is not None and before.says(".")
            if place + 1 < len(self.tokens) and self.tokens[place + 1].says("("):
                if not self._may_stand_before_parenthesis(place, is_part):
                    self._call(token)
            elif token.is_name and not is_part:
                name = bare(token.text).casefold()
                if name in SESSION and name not in columns and not (before and before.says("AS")):
                    self._call(token)

    def _call(self, token: Token) -> None:
        name = bare(token.text)
        close = closest(name.lower(), sorted(ALLOWED))
        message = f"`{name}` is not among the functions that untrusted text may call"
        self.findings.report("NEEL4063", message, token.span, close and f"did you mean `{close}`?")

    def _may_stand_before_parenthesis(self, place: int, is_part: bool) -> bool:
        token = self.tokens[place]
        if token.kind == STRING:
            return False  # a name, where double quotes are for names
        if token.kind == WORD and token.text.upper() in BEFORE_PARENTHESIS:
            return True
        if not token.is_name:
            return True
        name = bare(token.text)
        return (not is_part and name.isascii() and name.lower() in ALLOWED) or self._is_alias(place)

    def _is_alias(self, place: int) -> bool:
        """Whether names of columns follow, as in `(...) AS t(x, y)` and `WITH t(x, y) AS (...)`."""
        end = end_of_group(self.tokens, place + 2)
        inside = self.tokens[place + 2 : end]
        before = self.tokens[place - 1] if place else None
        if before is None or not all(one.is_name or one.says(",") for one in inside):
            return False
        if before.says(")", "AS") or before.kind == CLAUSE:
            return True
        after = self.tokens[end + 1 : end + 3]
        defines = len(after) == 2 and after[0].says("AS") and after[1].says("(")
        return defines and before.says("WITH", "RECURSIVE", ",")

    def _relations(self) -> None:
        known = [*self._given, *_defined(self.tokens)]
        for place in _relation_places(self.tokens):
            token = self.tokens[place]
            after = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
            if token.is_name and after is not None and after.says("("):
                continue  # a function of tables: it has been judged
            parts = _name_parts(self.tokens, place)
            is_known = len(parts) == 1 and any(same_name(bare(token.text), name) for name in known)
            if not token.is_name or not is_known:
                self._table(parts)

    def _table(self, parts: Sequence[Token]) -> None:
        name = ".".join(bare(one.text) for one in parts)
        given = ", ".join(self._given) or "none"
        message = f"`{name}` is not among the tables that were given"
        self.findings.report("NEEL4062", message, parts[0].span | parts[-1].span, f"given: {given}")

    def _trees(self) -> None:
        """What sqlglot makes of the query, and of what its clauses read."""
        self._tree(
            stand_in_text(self.text, self.clauses, self.statement.span), self._given, self.statement.span
        )
        for clause in self.clauses:
            if clause.source is not None:
                source = f"SELECT * FROM {stand_in_text(self.text, self.clauses, clause.source)}"
                self._tree(source, [*self._given, *clause.defined], clause.source)

    def _tree(self, text: str, known: Sequence[str], span: Span) -> None:
        read = read_statement(text)
        if read is None or not read.is_query or read.does_more:
            self.findings.report("NEEL4064", f"this query is not understood, {REQUIRED}", span, None)
            return
        for table in read.tables:
            is_known = len(table) == 1 and any(same_name(table[0], name) for name in known)
            if not is_known and not (len(table) == 1 and table[0].startswith(STAND_IN)):
                place = self.findings.word(table[-1], span)
                message = f"`{'.'.join(table)}` is not among the tables that were given"
                self.findings.report("NEEL4062", message, place, f"given: {', '.join(self._given) or 'none'}")

    @property
    def _given(self) -> list[str]:
        return [*self.tables, *self.queries]

    def _refuse(self, token: Token, message: str) -> None:
        self.findings.report("NEEL4064", message, token.span, None)


REQUIRED = "as untrusted text must be"


@dataclass
class _Level:
    """Between two parentheses: whether FROM has begun, and whether rows of VALUES follow."""

    function: str = ""
    in_from: bool = False
    in_values: bool = False


def _relation_places(tokens: Sequence[Token]) -> Iterator[int]:
    """The places where relations are named: behind FROM, JOIN and TABLE, and behind commas of FROM.

    >>> from neelc.host.scan import tokens
    >>> text = "WITH c AS (TABLE t) SELECT extract(day FROM d), x FROM c, (a JOIN b ON p), LATERAL (SELECT 1)"
    >>> found = list(tokens(text))
    >>> [found[place].text for place in _relation_places(found)]
    ['t', 'c', 'a', 'b']
    """
    levels = [_Level()]
    expecting = False
    for place, token in enumerate(tokens):
        before, after = tokens[max(place - 1, 0)], tokens[min(place + 1, len(tokens) - 1)]
        if token.says("("):
            levels.append(_Level(before.text.upper()))
            continue  # a relation may be expected inside, too
        if expecting and not token.says("LATERAL"):
            expecting = False
            if (
                token.kind not in (MARK, CLAUSE)
                and not token.says(*NO_RELATIONS)
                and not token.text[0].isdigit()
            ):
                yield place
        level = levels[-1]
        if token.says(")"):
            levels = levels[:-1] or [_Level()]
        elif token.says("FROM"):
            expecting = level.in_from = not _is_in_expression(tokens, place, level)
        elif token.says("JOIN", "TABLE"):
            expecting = True
            level.in_from = level.in_from or token.says("JOIN")
        elif token.says("VALUES"):
            level.in_values = True
        elif token.says(",") and level.in_from:
            expecting = not (level.in_values and after.says("("))
        elif token.says(*ENDS_OF_FROM) or (token.says("LATERAL") and after.says("VIEW")):
            level.in_from = level.in_values = False


def _is_in_expression(tokens: Sequence[Token], place: int, level: _Level) -> bool:
    """Whether FROM stands in `extract(day FROM x)` or in `x IS DISTINCT FROM y`."""
    before = tokens[max(place - 2, 0) : place]
    is_compared = len(before) == 2 and before[1].says("DISTINCT") and before[0].says("IS", "NOT")
    return is_compared or level.function in EXPRESSIONS_WITH_FROM


def _name_parts(tokens: Sequence[Token], place: int) -> list[Token]:
    found = [tokens[place]]
    while place + 2 < len(tokens) and tokens[place + 1].says(".") and tokens[place + 2].kind != MARK:
        place += 2
        found.append(tokens[place])
    return found


def _defined(tokens: Sequence[Token]) -> Iterator[str]:
    """Names that a WITH may define. Which of them a table sees, the tree tells."""
    for place, token in enumerate(tokens[1:], 1):
        if token.is_name and tokens[place - 1].says("WITH", "RECURSIVE", ","):
            after = tokens[place + 1 : place + 2]
            end = end_of_group(tokens, place + 2) if after and after[0].says("(") else place
            following = tokens[end + 1 : end + 3]
            if len(following) == 2 and following[0].says("AS") and following[1].says("("):
                yield bare(token.text)
