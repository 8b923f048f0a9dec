"""The text of statements and queries, on one line or laid out.

>>> from neelc.ir.expressions import Name
>>> from neelc.ir.patterns import Event
>>> from neelc.ir.row_patterns import Output
>>> from neelc.ir.script import CreateQuery, PatternQuery, Return, Script
>>> query = PatternQuery(Event("A", "a"), streams=("S",), returns=Return((Output(Name(("a", "x"))),)))
>>> print(query)
PATTERN A a FROM S RETURN a.x
>>> print(format_script(Script((CreateQuery("Q", query),))), end="")
CREATE QUERY Q AS
  PATTERN A a
  FROM S
  RETURN a.x;

The text of statistics, as they stand in WITH STATS.

>>> from neelc.ir.script import Statistic
>>> print(Statistic("RATE", (Decimal("1E+3"),), type="DELL", unit="SECOND"))
TYPE DELL RATE 1000 PER SECOND
>>> print(Statistic("RANGE", (Decimal(-1), Decimal("0.5")), column="price"))
RANGE price -1 TO 0.5

A network of the event algebra as an indented text: an operator, and below it what it reads.

>>> from neelc.ir.expressions import Binary, Literal
>>> from neelc.ir.program import Clock, Column, Stream
>>> from neelc.ir.types import BIGINT, INT
>>> stream = Stream("S", (Column("ts", BIGINT), Column("x", INT)), "ts")
>>> clock = Clock(BIGINT, "SECOND")
>>> window = Window(Literal(3, INT), "SECOND")
>>> source = a.TimeWindow(a.StreamSource("s", stream, clock=clock), window, clock=clock)
>>> large = a.Filter(source, Binary(">", source.payload[1], Literal(40, INT)))
>>> print(a.Algebra(large, clock))
SELECT WITH TIMES BIGINT in SECONDS
  FILTER s.x > 40
    WINDOW TIME 3 SECONDS
      STREAM S AS s
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from neelc.ir import algebra as a
from neelc.ir import script as s
from neelc.ir.bound_rows import Sequential, SymbolDefinition, Temporal
from neelc.ir.expressions import Attribute, Conjunction, Expr
from neelc.ir.names import written
from neelc.ir.patterns import Window
from neelc.ir.program import Column, OutputColumn
from neelc.ir.row_patterns import SymbolDuration
from neelc.ir.script import Statistic
from neelc.syntax.print_patterns import (
    NOT,
    Doc,
    TextBlock,
    clause,
    commas,
    flat,
    matcher_doc,
    quoted,
    render,
    root_doc,
    show_duration,
    show_expr,
    show_output,
    show_skip,
    show_sort_item,
    show_type,
    show_window,
    wrap,
)

# The text of statistics, as they stand in WITH STATS.

# Numbers with more digits before or after the point are written with an exponent.
_DIGITS = 20


def show_statistic(node: Statistic) -> str:
    return f"{show_subject(node)} {_numbers(node)}"


def show_subject(node: Statistic) -> str:
    """What the number is a number of.

    >>> show_subject(Statistic("DISTINCT", (Decimal(3),), "DELL", "price"))
    'TYPE DELL DISTINCT price'
    """
    condition = show_expr(node.condition) if isinstance(node.condition, Expr) else node.condition
    about = f"({condition})" if condition is not None else node.column
    return " ".join(filter(None, (f"TYPE {node.type}" if node.type else None, node.measure, about)))


def show_number(number: Decimal) -> str:
    """
    >>> show_number(Decimal("2E+6")), show_number(Decimal("0.050")), show_number(Decimal("1E-30"))
    ('2000000', '0.050', '1E-30')
    """
    return format(number, "f") if abs(number.adjusted()) <= _DIGITS else str(number)


def _numbers(node: Statistic) -> str:
    text = " TO ".join(map(show_number, node.numbers))
    match node.measure:
        case "RATE":
            return f"{text} PER {node.unit}"
        case "SPAN":
            return f"{text} {node.unit}{'' if node.numbers[0] == 1 else 'S'}"
    return text


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
                head = TextBlock(f"{head} (", commas([show_column(column) for column in columns]), ")")
            clauses = stream_clauses(node)
            return TextBlock(wrap("", head, " "), clauses, always=True) if clauses else head
        case s.CreateType(name, members):
            return TextBlock(f"CREATE TYPE {name} AS (", commas(members), ")")
        case s.CreateHierarchy(name, levels, relation):
            return TextBlock(f"CREATE HIERARCHY {name} (", commas(levels), f") FROM {relation}")
        case s.CreateFunction(name, takes, returns):
            types = tuple(map(str, takes))
            return TextBlock(f"CREATE FUNCTION {name}(", commas(types), f") RETURNS {returns}")
        case s.CreateQuery(name, query, times):
            declared = "" if times is None else " ".join(("", *time_clauses(times)))
            if isinstance(query, s.HostSelect):  # Spark's own SQL stands as it is written
                return f"CREATE QUERY {name}{declared} AS\n{query.text}"
            return wrap(f"CREATE QUERY {name}{declared} AS ", query_doc(query))
        case s.RunQuery(query):
            return query_doc(query)
    raise AssertionError(f"{type(node).__name__} has no text")


def show_column(column: s.ColumnDefinition) -> str:
    return f"{column.name} {show_type(column.type)}"


def show_timestamp(time: s.Timestamp) -> str:
    """
    >>> print(s.Timestamp("lo", "hi", "SECOND"))
    TIMESTAMP BETWEEN lo AND hi UNIT SECONDS
    >>> print(s.Timestamp("lo", "hi", distribution="TRIANGULAR"))
    TIMESTAMP BETWEEN lo AND hi DISTRIBUTION TRIANGULAR
    >>> print(s.Timestamp("ts", then_by=("part", "seqno")))
    TIMESTAMP BY ts THEN BY part, seqno
    """
    columns = f"BETWEEN {time.start} AND {time.latest}" if time.latest else f"BY {time.start}"
    columns += "" if time.format is None else f" FORMAT {quoted(time.format)}"
    columns += f" THEN BY {', '.join(time.then_by)}" if time.then_by else ""
    columns += "" if time.weight is None else f" WEIGHT {time.weight}"
    columns += "" if time.distribution is None else f" DISTRIBUTION {time.distribution}"
    return f"TIMESTAMP {columns}" + (f" UNIT {time.unit}S" if time.unit else "")


def stream_clauses(node: s.CreateStream) -> tuple[Doc, ...]:
    statistics = commas(list(map(show_statistic, node.statistics)))
    options = ", ".join(map(show_property, node.options))
    return (
        *time_clauses(node),
        *([f"WATERMARK {show_window(node.watermark)}"] if node.watermark else []),
        *([f"FROM {quoted(node.path)}"] if node.path is not None else []),
        *([f"FORMAT {node.format}"] if node.format else []),
        *([f"OPTIONS ({options})"] if options else []),
        *([TextBlock("WITH STATS (", statistics, ")")] if statistics else []),
    )


def time_clauses(node: s.CreateStream | s.RowTimes) -> tuple[str, ...]:
    return (
        *([show_timestamp(node.timestamp)] if node.timestamp else []),
        *([f"END BY {node.end}"] if node.end else []),
        *([f"TYPE BY {node.type_by}"] if node.type_by else []),
    )


def show_property(node: s.Property) -> str:
    return f"{node.key} {quoted(node.value)}"


def query_doc(node: s.ScriptQuery) -> Doc:
    """The clauses of a query, one per line."""
    match node:
        case s.PatternQuery():
            return TextBlock("", tuple(_pattern_clauses(node)), always=True)
        case s.Select():
            return TextBlock("", tuple(_select_clauses(node)), always=True)
        case s.CombinedSelect(left, operator, right):
            second = (
                wrap("(", query_doc(right), ")") if isinstance(right, s.CombinedSelect) else query_doc(right)
            )
            return TextBlock("", (query_doc(left), operator, second), always=True)
        case s.RolledQuery(name, steps, is_up):
            head = f"{'ROLL UP' if is_up else 'DRILL DOWN'} {name} ("
            return TextBlock(head, commas(list(map(show_roll_step, steps))), ")")
        case s.HostSelect(text):
            return text
    raise AssertionError(f"{type(node).__name__} has no text")


def show_roll_step(node: s.RollStep) -> str:
    """
    >>> print(s.RollStep("street", "city", "Place"))
    street TO Place.city
    """
    return f"{node.source} TO " + (f"{node.hierarchy}." if node.hierarchy else "") + node.target


def _pattern_clauses(node: s.PatternQuery) -> list[Doc]:
    return [
        wrap("PATTERN ", root_doc(node.pattern)),
        *_list("FROM", node.streams),
        *_condition("WHERE", node.where),
        *_list("PARTITION BY", list(map(str, node.partition_by))),
        *([f"WITHIN {show_window(node.within)}"] if node.within else []),
        *([f"USING {node.strategy}{_among(node.among)}"] if node.strategy else []),
        *([f"WHEN COMPLETE{until_text(node.complete_until)}"] if node.complete else []),
        *([show_confidence(node.confidence)] if node.confidence else []),
        *(["WITH PARTIAL MATCHES"] if node.partial else []),
        *([] if node.kept is None else kept_clauses(node.kept)),
        *([return_doc(node.returns)] if node.returns else []),
        *_list("ORDER BY", list(map(show_sort_item, node.order_by))),
        *([f"LIMIT {node.limit}"] if node.limit is not None else []),
    ]


def until_text(until: Expr | None) -> str:
    return "" if until is None else f" UNTIL {show_expr(until)}"


def _among(types: tuple[str, ...]) -> str:
    return f" AMONG ({', '.join(types)})" if types else ""


def kept_clauses(node: s.KeptMatches) -> list[str]:
    """
    >>> from neelc.ir.script import MatchSkip, SkipPlace
    >>> kept_clauses(s.KeptMatches(("a", "b"), MatchSkip(SkipPlace.LAST, "b")))
    ['ONE MATCH PER a, b', 'AFTER MATCH SKIP TO LAST b']
    """
    return [
        *([f"ONE MATCH PER {', '.join(node.one_per)}"] if node.one_per else []),
        *([show_match_skip(node.skip)] if node.skip else []),
        *([f"SUPPRESS {show_window(node.suppress)}"] if node.suppress else []),
    ]


def show_match_skip(node: s.MatchSkip) -> str:
    return f"AFTER MATCH SKIP {node.place}" + (f" {node.variable}" if node.variable else "")


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
        case s.FromQuery(query=s.ScriptQuery() as query):
            source = wrap("(", query_doc(query), ")")
        case s.FromAgent(name=name, inputs=inputs):
            source = TextBlock(f"{name}(", commas(list(map(from_item_doc, inputs))), ")")
        case s.FromMatchmaker(attributes=attributes):
            source = TextBlock("MATCH(", commas(list(map(show_matchmaker_attribute, attributes))), ")")
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")
    window = f" {show_stream_window(node.window)}" if node.window else ""
    source = wrap("", source, (f" AS {node.alias}" if node.alias else "") + window)
    if node.matcher is None:
        return source
    matcher = wrap("", matcher_doc(node.matcher), f" AS {node.matcher_alias}" if node.matcher_alias else "")
    return wrap(f"{source} ", matcher) if isinstance(source, str) else TextBlock("", (source, matcher))


def show_stream_window(node: s.StreamWindow) -> str:
    """
    >>> from neelc.ir.expressions import Literal
    >>> from neelc.ir.patterns import Window
    >>> from neelc.ir.types import INT
    >>> print(s.StreamWindow(Window(Literal(5, INT), "EVENT"), Window(Literal(1, INT), "EVENT"), ("id",)))
    WINDOW(COUNT 5 EVENTS JUMP 1 EVENT PARTITION BY id)
    """
    kind = "COUNT" if node.size.unit == "EVENT" else "TIME"
    jump = f" JUMP {show_window(node.jump)}" if node.jump else ""
    partition = f" PARTITION BY {', '.join(node.partition_by)}" if node.partition_by else ""
    return f"WINDOW({kind} {show_window(node.size)}{jump}{partition})"


def show_matchmaker_attribute(node: s.MatchmakerAttribute) -> str:
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
            return [TextBlock(f"{keyword} ", conjuncts)]
    return [f"{keyword} {show_expr(condition)}"]


# A network of the event algebra as an indented text: an operator, and below it what it reads.


def algebra_doc(node: a.Algebra) -> Doc:
    return TextBlock(f"SELECT WITH TIMES {node.clock} ", (operator_doc(node.root),), always=True)


def operator_doc(node: a.Operator) -> Doc:
    """The operator, and below it its inputs."""
    inputs = tuple(map(operator_doc, a.inputs_of(node)))
    return TextBlock(f"{_head(node)} ", inputs, always=True) if inputs else _head(node)


def _head(node: a.Operator) -> str:
    match node:
        case a.StreamSource(variable, stream):
            return f"{'QUERY' if stream.query else 'STREAM'} {written(stream.name)} AS {variable}"
        case a.RelationSource(variable, stream):
            return f"RELATION {written(stream.name)} AS {variable}"
        case a.TimeWindow(_, size, jump):
            return f"WINDOW TIME {show_window(size)}" + _jump(jump)
        case a.CountWindow(_, size, jump, partition):
            jumping = f" JUMP {jump}" if jump > 1 else ""
            return f"WINDOW COUNT {size}{jumping}" + _operator_list(" PARTITION BY", partition)
        case a.Filter(_, condition):
            return f"FILTER {show_expr(condition)}"
        case a.Correlator(_, condition):
            return "CORRELATE" + (f" ON {show_expr(condition)}" if condition is not None else "")
        case a.Aggregator(_, variable, groups, aggregates):
            made = ", ".join(map(_output, aggregates))
            return f"AGGREGATE AS {variable}{' ' if made else ''}{made}" + _groups(groups)
        case a.Projection(_, variable, outputs):
            return f"PROJECT AS {variable} {', '.join(map(_output, outputs))}"
        case a.Coalesced():
            return "COALESCE"
        case a.Merger():
            return "MERGE"
        case a.PatternMatcher(_, variable, clause):
            return f"MATCH AS {variable} {_clause(clause)}"
        case a.TemporalMatcher(_, variable, clause):
            return f"MATCH TEMPORAL AS {variable} {_temporal_clause(clause)}"
        case a.Agent(_, variable, name, columns):
            return f"AGENT {name} AS {variable} ({', '.join(map(_column, columns))})"
    raise AssertionError(f"{type(node).__name__} has no text")


def _clause(clause: Sequential) -> str:
    defined = ", ".join(f"{one.variable} AS {show_expr(one.condition)}" for one in clause.definitions)
    measures = ", ".join(map(_output, clause.measures))
    using = f" USING {clause.following}" if clause.following.eventually else ""
    using += f" {show_skip(clause.skip)}" if clause.skip else ""
    defining = f" DEFINE {defined}" if defined else ""
    found = f"PATTERN {clause.pattern}{using}{defining} MEASURES {measures}"
    keys = ", ".join(map(written, clause.partition))
    return found + (f" PARTITION BY {keys}" if keys else "")


def _temporal_clause(clause: Temporal) -> str:
    defined = ", ".join(map(show_symbol, clause.symbols))
    measures = ", ".join(map(_output, clause.measures))
    within = f" WITHIN {show_window(clause.within)}" if clause.within else ""
    keys = ", ".join(map(written, clause.partition))
    found = f"PATTERN {clause.text}{within} DEFINE {defined} MEASURES {measures}"
    return found + (f" PARTITION BY {keys}" if keys else "")


def show_symbol(symbol: SymbolDefinition) -> str:
    """The definition of a symbol, as far as it has one."""
    condition = "TRUE" if symbol.condition is None else show_expr(symbol.condition)
    text = f"{symbol.name} AS {f'TEMP({condition})' if symbol.lasts else condition}"
    if symbol.least is None and symbol.most is None:
        return text
    return f"{text} {show_duration(SymbolDuration(symbol.least, symbol.most))}"


def _jump(jump: Window | None) -> str:
    return "" if jump is None else f" JUMP {show_window(jump)}"


def _operator_list(keyword: str, items: Sequence[Attribute]) -> str:
    return f"{keyword} {', '.join(map(show_expr, items))}" if items else ""


def _groups(groups: Sequence[OutputColumn]) -> str:
    return f" BY {', '.join(map(_output, groups))}" if groups else ""


def _output(column: OutputColumn) -> str:
    return f"{written(column.name)} = {show_expr(column.expression)}"


def _column(column: Column) -> str:
    return f"{written(column.name)} {show_type(column.type)}"
