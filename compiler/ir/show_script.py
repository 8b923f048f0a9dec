"""The text of statements and queries, on one line or laid out.

>>> from neelc.ir.expr import Name
>>> from neelc.ir.pattern import Event
>>> from neelc.ir.rows import Output
>>> from neelc.ir.script import CreateQuery, PatternQuery, Return, Script
>>> query = PatternQuery(Event("A", "a"), streams=("S",), returns=Return((Output(Name(("a", "x"))),)))
>>> print(query)
PATTERN A a FROM S RETURN a.x
>>> print(format_script(Script((CreateQuery("Q", query),))), end="")
CREATE QUERY Q AS
  PATTERN A a
  FROM S
  RETURN a.x;
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from neelc.ir import script as s
from neelc.ir.expr import Conjunction, Expr
from neelc.ir.layout import Block, Doc, clause, commas, flat, render, wrap
from neelc.ir.names import written
from neelc.ir.show_expr import NOT, show_expr, show_type
from neelc.ir.show_literal import quoted
from neelc.ir.show_pattern import root_doc, show_window
from neelc.ir.show_rows import matcher_doc, show_output, show_sort_item
from neelc.ir.show_statistics import show_statistic


def format_script(script: s.Script) -> str:
    """The script as `neelc fmt` prints it: a clause per line, an empty line between statements."""
    return "\n".join(f"{render(statement_doc(statement))};\n" for statement in script.statements)


def show_script(script: s.Script) -> str:
    return " ".join(f"{flat(statement_doc(statement))};" for statement in script.statements)


def statement_doc(node: s.Statement) -> Doc:
    match node:
        case s.CreateStream(name, columns):
            head: Doc = f"CREATE {'RELATION' if node.is_relation else 'STREAM'} {name}"
            if columns:
                head = Block(f"{head} (", commas([show_column(column) for column in columns]), ")")
            clauses = stream_clauses(node)
            return Block(wrap("", head, " "), clauses, always=True) if clauses else head
        case s.CreateType(name, members):
            return Block(f"CREATE TYPE {name} AS (", commas(members), ")")
        case s.CreateQuery(name, query):
            return wrap(f"CREATE QUERY {name} AS ", query_doc(query))
        case s.RunQuery(query):
            return query_doc(query)
    raise AssertionError(f"{type(node).__name__} has no text")


def show_column(column: s.ColumnDefinition) -> str:
    return f"{column.name} {show_type(column.type)}"


def show_timestamp(time: s.Timestamp) -> str:
    """
    >>> print(s.Timestamp("lo", "hi", "SECOND"))
    TIMESTAMP BETWEEN lo AND hi UNIT SECONDS
    """
    columns = f"BETWEEN {time.start} AND {time.latest}" if time.latest else f"BY {time.start}"
    columns += "" if time.format is None else f" FORMAT {quoted(time.format)}"
    return f"TIMESTAMP {columns}" + (f" UNIT {time.unit}S" if time.unit else "")


def stream_clauses(node: s.CreateStream) -> tuple[Doc, ...]:
    statistics = commas(list(map(show_statistic, node.statistics)))
    options = ", ".join(map(show_property, node.options))
    return (
        *([show_timestamp(node.timestamp)] if node.timestamp else []),
        *([f"END BY {node.end}"] if node.end else []),
        *([f"TYPE BY {node.type_by}"] if node.type_by else []),
        *([f"FROM {quoted(node.path)}"] if node.path is not None else []),
        *([f"FORMAT {node.format}"] if node.format else []),
        *([f"OPTIONS ({options})"] if options else []),
        *([Block("WITH STATS (", statistics, ")")] if statistics else []),
    )


def show_property(node: s.Property) -> str:
    return f"{node.key} {quoted(node.value)}"


def query_doc(node: s.Query) -> Doc:
    """The clauses of a query, one per line."""
    match node:
        case s.PatternQuery():
            return Block("", tuple(_pattern_clauses(node)), always=True)
        case s.Select():
            return Block("", tuple(_select_clauses(node)), always=True)
    raise AssertionError(f"{type(node).__name__} has no text")


def _pattern_clauses(node: s.PatternQuery) -> list[Doc]:
    return [
        wrap("PATTERN ", root_doc(node.pattern)),
        *_list("FROM", node.streams),
        *_condition("WHERE", node.where),
        *_list("PARTITION BY", node.partition_by),
        *([f"WITHIN {show_window(node.within)}"] if node.within else []),
        *([f"USING {node.strategy}"] if node.strategy else []),
        *([show_confidence(node.confidence)] if node.confidence else []),
        *(["WITH PARTIAL MATCHES"] if node.partial else []),
        *([return_doc(node.returns)] if node.returns else []),
    ]


def show_confidence(node: s.Confidence) -> str:
    return f"WITH CONFIDENCE {node.op} {show_expr(node.threshold)}"


def return_doc(node: s.Return) -> Doc:
    keyword = "RETURN" + (" DISTINCT" if node.distinct else "") + (" COLLAPSED" if node.collapsed else "")
    items = list(map(show_output, node.items))
    if items and re.match(r"COLLAPSED\b", items[0], re.IGNORECASE):
        # An attribute of that name must not be read as the keyword.
        alias = node.items[0].alias
        items[0] = f"({show_expr(node.items[0].expression)})" + (f" AS {alias}" if alias else "")
    return clause(keyword, items) if items else keyword


def _select_clauses(node: s.Select) -> list[Doc]:
    return [
        clause("SELECT DISTINCT" if node.distinct else "SELECT", list(map(show_output, node.items))),
        clause("FROM", list(map(from_item_doc, node.sources))),
        *_condition("WHERE", node.where),
        *_list("GROUP BY", list(map(show_expr, node.group_by))),
        *_condition("HAVING", node.having),
        *_list("ORDER BY", list(map(show_sort_item, node.order_by))),
        *([f"LIMIT {node.limit}"] if node.limit is not None else []),
    ]


def from_item_doc(node: s.FromItem) -> Doc:
    match node:
        case s.FromStream(name=name):
            source: Doc = name
        case s.FromQuery(query=s.Query() as query):
            source = wrap("(", query_doc(query), ")")
        case s.FromAgent(name=name, inputs=inputs):
            source = Block(f"{name}(", commas(list(map(from_item_doc, inputs))), ")")
        case s.FromMatchmaker(attributes=attributes):
            source = Block("MATCH(", commas(list(map(show_wanted, attributes))), ")")
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")
    window = f" {show_stream_window(node.window)}" if node.window else ""
    source = wrap("", source, (f" AS {node.alias}" if node.alias else "") + window)
    if node.matcher is None:
        return source
    matcher = wrap("", matcher_doc(node.matcher), f" AS {node.matcher_alias}" if node.matcher_alias else "")
    return wrap(f"{source} ", matcher) if isinstance(source, str) else Block("", (source, matcher))


def show_stream_window(node: s.StreamWindow) -> str:
    """
    >>> from neelc.ir.expr import Literal
    >>> from neelc.ir.pattern import Window
    >>> from neelc.ir.types import INT
    >>> print(s.StreamWindow(Window(Literal(5, INT), "EVENT"), Window(Literal(1, INT), "EVENT"), ("id",)))
    WINDOW(COUNT 5 EVENTS JUMP 1 EVENT PARTITION BY id)
    """
    kind = "COUNT" if node.size.unit == "EVENT" else "TIME"
    jump = f" JUMP {show_window(node.jump)}" if node.jump else ""
    partition = f" PARTITION BY {', '.join(node.partition_by)}" if node.partition_by else ""
    return f"WINDOW({kind} {show_window(node.size)}{jump}{partition})"


def show_wanted(node: s.Wanted) -> str:
    properties = ", ".join(f"({p.key}, {_property_value(p.value)})" for p in node.properties)
    return f"{node.name}:{show_type(node.type)}" + (f" {{{properties}}}" if properties else "")


def _property_value(value: str) -> str:
    plain = re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) or written(value) == value
    return value if plain else quoted(value)


def _list(keyword: str, items: Sequence[str]) -> list[Doc]:
    return [clause(keyword, items)] if items else []


def _condition(keyword: str, condition: Expr | None) -> list[Doc]:
    match condition:
        case None:
            return []
        case Conjunction((first, *others)):
            conjuncts = (show_expr(first, NOT), *(f"AND {show_expr(other, NOT)}" for other in others))
            return [Block(f"{keyword} ", conjuncts)]
    return [f"{keyword} {show_expr(condition)}"]
