"""The text of a query around MATCH_RECOGNIZE as Spark is given it, and whether it is a query at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir.expressions import QUERY
from neelc.ir.names import bare
from neelc.ir.program import OutputColumn
from neelc.ir.script import HostClause, HostSelect, WithClause
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.expressions import sql
from neelc.scalar.spark.trees import QUERY as QUERY_KIND
from neelc.scalar.spark.trees import alias, identifier, read_statement
from neelc.source import Span
from neelc.syntax.host_tokens import OPENING, Token, end_of_group, tokens

# The text that Spark is given: with the names of relations in place of clauses and of streams.


@dataclass(frozen=True)
class SparkQuery:
    """A query of Spark's own SQL. `{name}` in its text stands for the relation of that name, if `names` has
    any; braces of its own are doubled then. `arguments` are the values of its parameters, in SQL. `places`:
    which parts of the text stand in the script, and where."""

    text: str
    names: tuple[str, ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    places: tuple[CopiedText, ...] = field(default=(), compare=False, repr=False)

    def span(self, start: int, end: int) -> Span | None:
        """Where a part of the text stands in the script, with the parentheses that it has opened."""
        known = [one for one in self.places if one.start <= start and end <= one.start + one.length]
        if not known:
            return None
        (copied, *_) = known
        rest = self.text[end : copied.start + copied.length]
        open = self.text[start:end].count("(") - self.text[start:end].count(")")
        while open > 0 and rest[:1] == ")":
            end, rest, open = end + 1, rest[1:], open - 1
        at = copied.source - copied.start
        return Span(start + at, end + at)


@dataclass(frozen=True)
class CopiedText:
    """Text from `start` on, which is that of the script from `source` on."""

    start: int
    length: int
    source: int


@dataclass
class SparkTextWriter:
    """Writes parts of a text for Spark. `relations` has the names of relations: for clauses by their places,
    for `streams` and earlier queries by their names. Those that were written are in `used`."""

    text: str
    clauses: Sequence[HostClause]
    relations: Mapping[Span | str, str]
    streams: tuple[str, ...]
    used: list[str] = field(default_factory=list)

    def query(self, span: Span, arguments: Mapping[str, str]) -> SparkQuery:
        """A whole query."""
        pieces = list(self._pieces(span))
        part = "".join(text for text, _ in pieces)
        found = self._finished(part, arguments)
        places, at = [], found.text.rfind(part)
        for text, source in pieces:
            if source is not None and text == _unescaped(text):
                places.append(CopiedText(at, len(text), source))
            at += len(text)
        # Braces are shorter in what runs: what follows them would be elsewhere.
        is_same = part == _unescaped(part) and part in found.text
        return replace(found, places=tuple(places) if is_same else ())

    def source(self, clause: HostClause, arguments: Mapping[str, str]) -> SparkQuery:
        """What a clause reads, as a query: with the definitions of WITH that it sees."""
        assert clause.source is not None
        return self._visible(f"SELECT * FROM {self._part(clause.source)}", clause, arguments)

    def nested(self, place: Span, clause: HostClause, arguments: Mapping[str, str]) -> SparkQuery:
        """A query inside a clause, as one of its own."""
        return self._visible(self._part(place), clause, arguments)

    def extended(
        self, reads: str, columns: Sequence[OutputColumn], clause: HostClause, arguments: Mapping[str, str]
    ) -> SparkQuery:
        """The rows that a clause reads, with the columns that the queries inside of it give each."""
        self.used.append(reads)
        items = [f"{self._value(one.expression)} AS {alias(one.name)}" for one in columns]
        listed = ",\n".join(("*", *items))
        return self._visible(f"SELECT {listed}\nFROM {{{reads}}}", clause, arguments)

    def _value(self, expression: e.Expr) -> str:
        match expression:
            case e.NestedQuery(exists=exists, place=place) if place is not None:
                return f"{'EXISTS ' if exists else ''}({self._part(place)})"
            case e.InQuery(operand, query, item=item) if query.place is not None and item is not None:
                return self._among(_escaped(sql(operand, _column)), self._part(query.place), item)
        raise AssertionError(f"{expression} is no query")

    def _among(self, operand: str, query: str, item: e.Expr) -> str:
        """Whether a value is among those of a query. Spark's own IN gives FALSE for UNKNOWN where it is
        computed and no condition of WHERE."""
        value = _escaped(sql(item, _column))
        source = f"FROM ({query}) AS {QUERY}"
        is_unknown = f"(SELECT count(*) > count({value}) {source})"
        return (
            f"CASE WHEN {operand} IN (SELECT {value} {source} WHERE {value} IS NOT NULL) THEN TRUE\n"
            f"  WHEN {is_unknown} OR ({operand} IS NULL AND EXISTS (SELECT 1 {source})) THEN NULL\n"
            f"  ELSE FALSE END"
        )

    def _visible(self, found: str, clause: HostClause, arguments: Mapping[str, str]) -> SparkQuery:
        """A query with the definitions of WITH that a clause sees."""
        for group in reversed(clause.visible):
            inner = f"(\n{found}\n)" if found.startswith("WITH") else found
            found = f"{self._with(group)}\n{inner}"
        return self._finished(found, arguments)

    def _with(self, group: WithClause) -> str:
        parts = ",\n".join(self._part(one.span) for one in group.definitions)
        return f"WITH {'RECURSIVE ' if group.recursive else ''}{parts}"

    def _part(self, span: Span) -> str:
        """The text at a place. Braces are doubled, as those of names are not."""
        return "".join(text for text, _ in self._pieces(span))

    def _pieces(self, span: Span) -> Iterator[tuple[str, int | None]]:
        """The parts of that text, and where those stand that are copied."""
        at = span.start
        for clause in self._outermost(span):
            before = self.text[at : clause.whole.start]
            yield _escaped(before), at
            at = clause.span.end
            yield _apart(before[-1:], self._named(clause), self.text[at : at + 1]), None
        yield _escaped(self.text[at : span.end]), at

    def _outermost(self, span: Span) -> list[HostClause]:
        inside = [c for c in self.clauses if span.start <= c.whole.start and c.span.end <= span.end]
        return [
            one
            for one in inside
            if not any(o.whole.start <= one.whole.start and one.span.end < o.span.end for o in inside)
        ]

    def _named(self, clause: HostClause) -> str:
        """Without a name of its own, the result is called like what the clause reads."""
        self.used.append(self.relations[clause.span])
        name = "{" + self.relations[clause.span] + "}"
        return (
            name
            if clause.result is not None or clause.name is None
            else f"{name} AS {_escaped(alias(clause.name))}"
        )

    def _finished(self, text: str, arguments: Mapping[str, str]) -> SparkQuery:
        found = list(tokens(text))
        # What begins with a parenthesis is a query for Spark too, whatever it was taken for here: Spark runs
        # other statements as it reads them.
        text = f"(\n{text}\n)"
        names = {bare(token.text).casefold() for token in found if token.is_name}
        streams = {name: self.relations[name] for name in self.streams if name.casefold() in names}
        if streams:
            defined = ",\n".join(
                f"{_escaped(alias(name))} AS (SELECT * FROM {{{relation}}})"
                for name, relation in streams.items()
            )
            text = f"WITH {defined}\n{text}"
        used = tuple(dict.fromkeys((*self.used, *streams.values())))
        values = tuple((value, name) for name, value in arguments.items() if _is_parameter(name, found))
        return SparkQuery(text if used else text.replace("{{", "{").replace("}}", "}"), used, values)


def _unescaped(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


STAND_IN = "neelc_stand_in_"


def stand_in_text(text: str, found: Sequence[HostClause], span: Span) -> str:
    """A part of a text as Spark's SQL alone: with names of tables where clauses, and what they read, stand.

    >>> from neelc.syntax.host_tokens import clauses
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) WHERE x = '{'"
    >>> stand_in_text(text, clauses(list(tokens(text))), Span(0, len(text)))
    "SELECT * FROM neelc_stand_in_0 AS t WHERE x = '{'"
    """
    names: dict[Span | str, str] = {one.span: f"{STAND_IN}{place}" for place, one in enumerate(found)}
    written = SparkTextWriter(text, found, names, ())._part(span)
    for name in names.values():
        written = written.replace("{" + name + "}", name)
    return written.replace("{{", "{").replace("}}", "}")


def _column(node: e.Expr) -> str | None:
    """A column of the row, or of a query inside the clause."""
    match node:
        case e.Attribute(e.Variable(name), column):
            return identifier(bare(column), QUERY if name == QUERY else "")
    return None


def _apart(before: str, name: str, after: str) -> str:
    """A name with blanks where it would run into what stands beside it. A parenthesis of a clause, or of what
    the clause reads, needs none: `FROM(SELECT ...)MATCH_RECOGNIZE(...)AS m`.

    >>> _apart("M", "{t}", "A"), _apart("(", "{t}", ")"), _apart(" ", "{t}", "")
    (' {t} ', '{t}', '{t}')
    """
    left, right = (" " if one.isalnum() or one in ("_", "`", '"') else "" for one in (before, after))
    return f"{left}{name}{right}"


def _escaped(text: str) -> str:
    """
    >>> _escaped("map('{a}')")
    "map('{{a}}')"
    """
    return text.replace("{", "{{").replace("}", "}}")


def _is_parameter(name: str, found: Sequence[Token]) -> bool:
    """Whether the tokens contain `:name`. A field of a semi-structured value looks the same: passing a value
    that is not used does no harm."""
    return any(mark.says(":") and word.text == name for mark, word in pairwise(found))


# Whether a text is a query and only that.

ONE_STATEMENT = "MATCH_RECOGNIZE can only be used in a query, which is one statement"
MAX_NESTING = 100
"""Levels of parentheses. Spark's parser has no stack for more than 100 to 200 subqueries."""
NAME = "MATCH_RECOGNIZE can only be used in a query; if this is a name, put backticks around it"


def is_query(query: HostSelect, findings: Findings) -> bool:
    """Whether a statement only returns rows; a report if not. Spark executes other statements as it reads
    them: by the time there is a DataFrame of an INSERT, the INSERT has been executed."""
    found = tokens_of(query, findings.source.text)
    deep = _too_deep(found)
    if deep is not None:
        message = f"nested too deeply: more than {MAX_NESTING} levels"
        findings.report("NEEL1003", message, deep.span, "name inner parts with WITH, and use those names")
        return False
    place = findings.at(query)
    refused = _not_a_query(found, stand_in_text(findings.source.text, query.clauses, place))
    if refused is None:
        return True
    token, message, hint = refused
    findings.report("NEEL4060", message, token.span, hint)
    return False


def tokens_of(query: HostSelect, text: str) -> tuple[Token, ...]:
    """The tokens of a query, with their places in the script."""
    assert query.span is not None
    return tuple(tokens(text[: query.span.end], query.span.start))


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


def _not_a_query(found: Sequence[Token], text: str) -> tuple[Token, str, str] | None:
    """The token that is refused, the message and the hint."""
    first = found[0]
    semicolon = next((token for token in found if token.says(";")), None)
    if semicolon is not None:
        return semicolon, "a semicolon inside a query", ONE_STATEMENT
    if not first.says(*OPENING):
        return _other(first, first.text.upper())
    read = read_statement(text)
    if read is None:
        doubted = _doubted(found)
        return None if doubted is None else (doubted, f"{doubted.text} might not be part of a query", NAME)
    kind = read.does_more if read.is_query and read.does_more == "INTO" else read.kind
    if kind == QUERY_KIND:
        return None
    return _other(next((token for token in found if token.says(kind)), first), kind)


def _other(token: Token, kind: str) -> tuple[Token, str, str]:
    message = f"MATCH_RECOGNIZE can only be used in a query, not in {kind}"
    if kind == "EXPLAIN":
        return token, message, "`neelc explain` and Session.explain show how a query is executed"
    return token, message, "select the rows with SELECT, and write the DataFrame: neelc.sql(...).write"


def _doubted(tokens: Sequence[Token]) -> Token | None:
    """The token that makes a statement doubtful, of one that sqlglot does not understand; None if Spark can
    take the statement for nothing but a query: that is decided by how it begins.

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
