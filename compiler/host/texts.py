"""The text that Spark is given: with the names of relations in place of clauses and of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from neelc.bind.row_queries import QUERY
from neelc.emit.expressions import sql
from neelc.emit.literals import alias, identifier
from neelc.emit.relations import SparkQuery
from neelc.host.clauses import Clause, With
from neelc.host.scan import Token, tokens
from neelc.ir import expr as e
from neelc.ir.logical import OutputColumn
from neelc.ir.names import bare
from neelc.source import Span


@dataclass
class Texts:
    """Writes parts of a text for Spark. `relations` has the names of relations: for clauses by their places,
    for `streams` and earlier queries by their names. Those that were written are in `used`."""

    text: str
    clauses: Sequence[Clause]
    relations: Mapping[Span | str, str]
    streams: tuple[str, ...]
    used: list[str] = field(default_factory=list)

    def query(self, span: Span, arguments: Mapping[str, str]) -> SparkQuery:
        """A whole query."""
        return self._finished(self._part(span), arguments)

    def source(self, clause: Clause, arguments: Mapping[str, str]) -> SparkQuery:
        """What a clause reads, as a query: with the definitions of WITH that it sees."""
        assert clause.source is not None
        return self._visible(f"SELECT * FROM {self._part(clause.source)}", clause, arguments)

    def nested(self, place: Span, clause: Clause, arguments: Mapping[str, str]) -> SparkQuery:
        """A query inside a clause, as one of its own."""
        return self._visible(self._part(place), clause, arguments)

    def extended(
        self, reads: str, columns: Sequence[OutputColumn], clause: Clause, arguments: Mapping[str, str]
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

    def _visible(self, found: str, clause: Clause, arguments: Mapping[str, str]) -> SparkQuery:
        """A query with the definitions of WITH that a clause sees."""
        for group in reversed(clause.visible):
            inner = f"(\n{found}\n)" if found.startswith("WITH") else found
            found = f"{self._with(group)}\n{inner}"
        return self._finished(found, arguments)

    def _with(self, group: With) -> str:
        parts = ",\n".join(self._part(one.span) for one in group.definitions)
        return f"WITH {'RECURSIVE ' if group.recursive else ''}{parts}"

    def _part(self, span: Span) -> str:
        """The text at a place. Braces are doubled, as those of names are not."""
        found, at = "", span.start
        for clause in self._outermost(span):
            before = self.text[at : clause.whole.start]
            at = clause.span.end
            found += _escaped(before) + _apart(before[-1:], self._named(clause), self.text[at : at + 1])
        return found + _escaped(self.text[at : span.end])

    def _outermost(self, span: Span) -> list[Clause]:
        inside = [c for c in self.clauses if span.start <= c.whole.start and c.span.end <= span.end]
        return [
            one
            for one in inside
            if not any(o.whole.start <= one.whole.start and one.span.end < o.span.end for o in inside)
        ]

    def _named(self, clause: Clause) -> str:
        """Without a name of its own, the result is called like what the clause reads."""
        self.used.append(self.relations[clause.span])
        name = "{" + self.relations[clause.span] + "}"
        return name if clause.is_named or clause.name is None else f"{name} AS {_escaped(alias(clause.name))}"

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


STAND_IN = "neelc_stand_in_"


def stand_in_text(text: str, found: Sequence[Clause], span: Span) -> str:
    """A part of a text as Spark's SQL alone: with names of tables where clauses, and what they read, stand.

    >>> from neelc.host.clauses import clauses
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) WHERE x = '{'"
    >>> stand_in_text(text, clauses(list(tokens(text))), Span(0, len(text)))
    "SELECT * FROM neelc_stand_in_0 AS t WHERE x = '{'"
    """
    names: dict[Span | str, str] = {one.span: f"{STAND_IN}{place}" for place, one in enumerate(found)}
    written = Texts(text, found, names, ())._part(span)
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
    """Whether `:name` stands there. A field of a semi-structured value looks the same: one more value that
    nothing asks for does no harm."""
    return any(mark.says(":") and word.text == name for mark, word in pairwise(found))
