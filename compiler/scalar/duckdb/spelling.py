"""Expressions of Spark SQL as DuckDB spells them.

Each part of an expression is spelled with its type, from the leaves up: by its type it is known what Spark
makes of it. All calls of functions come by the names that Spark has for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError

from neelc.ir.names import bare, same, written
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SIMPLE_TYPES,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.functions import spelled_call
from neelc.scalar.duckdb.operators import (
    arithmetic,
    common_pieces,
    comparison,
    interval,
    negative,
)
from neelc.scalar.duckdb.pieces import (
    DuckText,
    NameScope,
    UnspelledOperation,
    duck_type,
    quoted,
    text_literal,
)

Node = Any
"""A node of sqlglot's; versions differ in the class that all of them have in common."""


class SparkCalls(Databricks):
    """Spark's SQL. Unlike sqlglot's own, it leaves calls of functions as they are written."""

    class Parser(Databricks.Parser):
        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS: ClassVar[Any] = {
            name: parse
            for name, parse in Databricks.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
            name: parse
            for name, parse in Databricks.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name != "TRANSFORM"
        }


@lru_cache(maxsize=4096)
def parsed(text: str) -> Node:
    """A text of Spark SQL as a tree."""
    try:
        return sqlglot.parse_one(text, dialect=SparkCalls)
    except (SqlglotError, RecursionError) as error:
        raise UnspelledOperation(text if len(text) <= 80 else f"{text[:80]} ...") from error


def spelled(text: str, scope: NameScope) -> DuckText:
    """A text of Spark SQL as one of DuckDB.

    >>> from neelc.ir.types import TIMESTAMP
    >>> scope = NameScope({"": {"ts": TIMESTAMP, "x": INT}})
    >>> print(spelled("unix_micros(ts) DIV 10L", scope).text)
    TRY((epoch_us("ts") // CAST(10 AS BIGINT)))
    """
    return spell(parsed(text), scope)


def spelled_type(text: str) -> DataType:
    """A type as Spark writes it."""
    return data_type(exp.DataType.build(text, dialect=SparkCalls))


def spelled_schema(schema: str) -> dict[str, DataType]:
    """The columns of a schema as Spark writes it.

    >>> spelled_schema("a INT, `b c` ARRAY<STRUCT<d: STRING>>")["b c"]
    Array(element=Struct(fields=(StructField(name='d', type=SimpleType(name='STRING')),)))
    """
    struct = spelled_type(f"STRUCT<{schema}>") if schema else Struct(())
    assert isinstance(struct, Struct)
    return {bare(one.name): one.type for one in struct.fields}


# Types.

TYPES = {
    "TEXT": "STRING",
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP_NTZ",
    "NULL": "VOID",
    "VARBINARY": "BINARY",
}


def data_type(node: Node) -> DataType:
    """The type that a part of a tree stands for."""
    if isinstance(node.this, exp.Interval):
        name = node.this.sql(dialect=SparkCalls).upper()
        return SIMPLE_TYPES[
            "INTERVAL YEAR TO MONTH" if re.search("YEAR|MONTH", name) else "INTERVAL DAY TO SECOND"
        ]
    name = getattr(node.this, "value", str(node.this)).upper()
    inside = node.expressions
    match name:
        case "ARRAY":
            return Array(data_type(inside[0]))
        case "MAP":
            return Map(data_type(inside[0]), data_type(inside[1]))
        case "STRUCT":
            return Struct(
                tuple(StructField(written(one.name), data_type(one.args["kind"])) for one in inside)
            )
        case "DECIMAL":
            return Decimal(*(int(one.name or one.this.name) for one in inside))
    known = SIMPLE_TYPES.get(TYPES.get(name, name))
    if known is None:
        raise UnspelledOperation(f"values of type {node.sql(dialect=SparkCalls)}")
    return known


# The walk.

Spell = Callable[[Node, NameScope], DuckText]


def spell(node: Node, scope: NameScope) -> DuckText:
    """A part of a tree."""
    known = SPELLINGS.get(type(node))
    if known is None:
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    return known(node, scope)


def _all(nodes: Sequence[Node], scope: NameScope) -> list[DuckText]:
    return [spell(node, scope) for node in nodes]


def _column(node: Node, scope: NameScope) -> DuckText:
    first, *rest = [part.name for part in node.parts]
    if first in scope.variables:
        return fields(scope.variables[first], rest)
    relation = next((one for one in scope.columns if one and one.lower() == first.lower()), None)
    if relation is not None and rest:
        own = ((name, type) for name, type in scope.columns[relation].items() if same_bare(name, rest[0]))
        found = next(own, None)
        if found is not None:
            return fields(DuckText(f"{quoted(relation)}.{quoted(found[0])}", found[1]), rest[1:])
    column = scope.column(first)
    if column is None:
        raise UnspelledOperation(f"the column {node.sql(dialect=SparkCalls)}")
    return fields(DuckText(quoted(column[0]), column[1]), rest)


def same_bare(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def fields(piece: DuckText, names: Sequence[str]) -> DuckText:
    """A field of a struct, of its field, and so on; of an array of structs, the field of each."""
    for name in names:
        listed = isinstance(piece.type, Array)
        struct = piece.type.element if isinstance(piece.type, Array) else piece.type
        known = struct.fields if isinstance(struct, Struct) else ()
        found = next((one for one in known if same(one.name, written(name))), None)
        if found is None:
            raise UnspelledOperation(f"the field {name}")
        if listed:
            text = f"list_transform({piece.text}, lambda e_: e_.{quoted(bare(found.name))})"
            piece = DuckText(text, Array(found.type))
        else:
            piece = DuckText(f"({piece.text}).{quoted(bare(found.name))}", found.type)
    return piece


def _literal(node: Node, scope: NameScope) -> DuckText:
    if node.is_string:
        return DuckText(text_literal(node.this), STRING, node.this)
    text = str(node.this)
    if text.isdigit():
        number = int(text)
        type: DataType = INT if number < 2**31 else BIGINT if number < 2**63 else Decimal(len(str(number)), 0)
        return _typed_number(text, type, number)
    if "e" in text.lower():
        return DuckText(f"CAST({text} AS DOUBLE)", DOUBLE, float(text))
    whole, _, places = text.partition(".")
    digits = max(len(whole.lstrip("0")) + len(places), len(places), 1)
    return _typed_number(text, Decimal(digits, len(places)), text)


def _typed_number(text: str, type: DataType, value: object) -> DuckText:
    shown = text if type == INT else f"CAST({text} AS {duck_type(type)})"
    return DuckText(shown, type, value)


def _cast(node: Node, scope: NameScope) -> DuckText:
    target = data_type(node.args["to"])
    operand = spell(node.this, scope)
    if isinstance(operand.value, int) and not isinstance(operand.value, bool) and target in INTEGERS:
        return _typed_number(str(operand.value), target, operand.value)
    if target in (DOUBLE, FLOAT) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return DuckText(f"CAST({node.this.this} AS {target!s})", target, float(node.this.this))
    strict = scope.strict and not isinstance(node, exp.TryCast)
    return cast_to(operand, target, scope, strict)


INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


def _infix(name: str) -> Spell:
    def infix(node: Node, scope: NameScope) -> DuckText:
        return arithmetic(name, spell(node.this, scope), spell(node.expression, scope), scope)

    return infix


def _compared(sign: str) -> Spell:
    def compared(node: Node, scope: NameScope) -> DuckText:
        return comparison(sign, spell(node.this, scope), spell(node.expression, scope), scope)

    return compared


def _joined(word: str) -> Spell:
    def joined(node: Node, scope: NameScope) -> DuckText:
        # Long chains of one word are deep trees.
        operands: list[Node] = []
        pending = [node]
        while pending:
            one = pending.pop()
            if type(one) is type(node):
                pending += [one.expression, one.this]
            else:
                operands.append(one)
        texts = (cast_to(spell(one, scope), BOOLEAN, scope).text for one in operands)
        return DuckText("(" + f" {word} ".join(texts) + ")", BOOLEAN)

    return joined


def _not(node: Node, scope: NameScope) -> DuckText:
    return DuckText(f"(NOT {cast_to(spell(node.this, scope), BOOLEAN, scope).text})", BOOLEAN)


def _negative(node: Node, scope: NameScope) -> DuckText:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        inner = _literal(node.this, scope)
        if isinstance(inner.value, int) and inner.value in (2**31, 2**63):
            return _typed_number(str(-inner.value), INT if inner.value == 2**31 else BIGINT, -inner.value)
    operand = spell(node.this, scope)
    if isinstance(operand.value, int | float) and not isinstance(operand.value, bool):
        if isinstance(operand.value, float):
            return DuckText(f"CAST('{-operand.value!r}' AS {operand.type!s})", operand.type, -operand.value)
        return _typed_number(str(-operand.value), operand.type, -operand.value)
    return negative(operand, scope)


def _paren(node: Node, scope: NameScope) -> DuckText:
    return spell(node.this, scope)


def _if(node: Node, scope: NameScope) -> DuckText:
    last = node.args.get("false")
    return conditional([(node.this, node.args["true"])], last, scope)


def _case(node: Node, scope: NameScope) -> DuckText:
    subject = node.this
    branches = [
        (exp.EQ(this=subject, expression=one.this) if subject is not None else one.this, one.args["true"])
        for one in node.args["ifs"]
    ]
    return conditional(branches, node.args.get("default"), scope)


def conditional(branches: Sequence[tuple[Node, Node]], last: Node | None, scope: NameScope) -> DuckText:
    """CASE: its results have a type in common."""
    tests = [cast_to(spell(test, scope), BOOLEAN, scope) for test, _ in branches]
    results = [spell(result, scope) for _, result in branches]
    results += [] if last is None else [spell(last, scope)]
    cast, shared = common_pieces(results, scope)
    whens = "".join(
        f" WHEN {test.text} THEN {result.text}" for test, result in zip(tests, cast, strict=False)
    )
    otherwise = "" if last is None else f" ELSE {cast[-1].text}"
    return DuckText(f"CASE{whens}{otherwise} END", shared)


def _between(node: Node, scope: NameScope) -> DuckText:
    value, low, high = (spell(part, scope) for part in (node.this, node.args["low"], node.args["high"]))
    lower, upper = comparison(">=", value, low, scope), comparison("<=", value, high, scope)
    return DuckText(f"({lower.text} AND {upper.text})", BOOLEAN)


def _in(node: Node, scope: NameScope) -> DuckText:
    query = node.args.get("query")
    if query is not None:
        text, types = _nested(query, scope)
        operand, (inner,) = spell(node.this, scope), types.items()
        first, second = common_pieces([operand, DuckText(quoted(inner[0]), inner[1])], scope)[0]
        return DuckText(f"({first.text} IN (SELECT {second.text} FROM ({text})))", BOOLEAN)
    operand, *items = common_pieces(_all([node.this, *node.expressions], scope), scope)[0]
    return DuckText(f"({operand.text} IN ({', '.join(item.text for item in items)}))", BOOLEAN)


def _nested(node: Node, scope: NameScope) -> tuple[str, Mapping[str, DataType]]:
    """A query inside of an expression."""
    if scope.queries is None:
        raise UnspelledOperation("a query inside of an expression")
    return scope.queries(node.this if isinstance(node, exp.Subquery) else node, scope)


def _scalar_query(node: Node, scope: NameScope) -> DuckText:
    text, types = _nested(node, scope)
    (type,) = types.values()
    return DuckText(f"({text})", type)


def _exists(node: Node, scope: NameScope) -> DuckText:
    return DuckText(f"EXISTS ({_nested(node.this, scope)[0]})", BOOLEAN)


def _parameter(node: Node, scope: NameScope) -> DuckText:
    name = node.name
    if name not in scope.arguments:
        raise UnspelledOperation(f"the parameter {name}")
    return spelled(scope.arguments[name], NameScope({}, calls=scope.calls))


def _filtered(node: Node, scope: NameScope) -> DuckText:
    """An aggregate with FILTER (WHERE ...)."""
    found = spell(node.this, scope)
    condition = cast_to(spell(node.expression.this, scope), BOOLEAN, scope)
    return found.followed(f"FILTER (WHERE {condition.text})")


def _is(node: Node, scope: NameScope) -> DuckText:
    inner = node.expression
    operand = spell(node.this, scope)
    if isinstance(inner, exp.Null):
        return DuckText(f"({operand.text} IS NULL)", BOOLEAN)
    if isinstance(inner, exp.Boolean):
        word = "TRUE" if inner.this else "FALSE"
        return DuckText(f"({cast_to(operand, BOOLEAN, scope).text} IS {word})", BOOLEAN)
    raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])


def _bracket(node: Node, scope: NameScope) -> DuckText:
    base, (key,) = spell(node.this, scope), node.expressions
    if isinstance(base.type, Struct) and isinstance(key, exp.Literal) and key.is_string:
        return fields(base, [key.this])
    name = "item" if isinstance(base.type, Map) else "get"
    if isinstance(base.type, Array):
        # sqlglot counts from 0 whatever the dialect has written.
        shift = int(node.args.get("offset") or 0)
        place = spell(key, scope)
        return spelled_call(
            name, [base, place if not shift else arithmetic("-", place, DuckText("1", INT, 1), scope)], scope
        )
    return spelled_call(name, [base, spell(key, scope)], scope)


def _dot(node: Node, scope: NameScope) -> DuckText:
    if isinstance(node.expression, exp.Identifier):
        return fields(spell(node.this, scope), [node.expression.name])
    raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])


def _call(node: Node, scope: NameScope) -> DuckText:
    name, arguments = node.name.lower(), list(node.expressions)
    special = SPECIAL.get(name)
    if special is not None:
        return special(arguments, scope)
    if any(isinstance(one, exp.Star | exp.Distinct | exp.Lambda) for one in arguments):
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    return spelled_call(name, _all(arguments, scope), scope)


def _extract(node: Node, scope: NameScope) -> DuckText:
    part = node.this.name or str(node.this)
    return spelled_call(
        "extract", [DuckText(text_literal(part), STRING, part), spell(node.expression, scope)], scope
    )


def _like(kind: str) -> Spell:
    def like(node: Node, scope: NameScope) -> DuckText:
        return spelled_call(kind, [spell(node.this, scope), spell(node.expression, scope)], scope)

    return like


def _escape(node: Node, scope: NameScope) -> DuckText:
    inner = node.this
    kind = "ilike" if isinstance(inner, exp.ILike) else "like"
    return spelled_call(kind, _all([inner.this, inner.expression, node.expression], scope), scope)


def _interval(node: Node, scope: NameScope) -> DuckText:
    return interval(node.sql(dialect=SparkCalls))


# Calls with arguments that are no values.


def _lambda_call(name: str, arguments: list[Node], scope: NameScope) -> tuple[DuckText, str, DuckText]:
    """The list, the lambda as DuckDB writes it, and its body."""
    values = spell(arguments[0], scope)
    function = arguments[1]
    if not isinstance(values.type, Array) or not isinstance(function, exp.Lambda):
        raise UnspelledOperation(name)
    names = [one.name for one in function.expressions]
    inside = scope.binding({names[0]: values.type.element})
    for place in names[1:]:  # DuckDB counts from 1
        number = DuckText(f"CAST({quoted(place)} - 1 AS INTEGER)", INT)
        inside = replace(inside, variables={**inside.variables, place: number})
    body = spell(function.this, inside)
    shown = ", ".join(map(quoted, names))
    return values, f"lambda {shown}: {body.text}", body


def _transform(arguments: list[Node], scope: NameScope) -> DuckText:
    values, function, body = _lambda_call("transform", arguments, scope)
    return DuckText(f"list_transform({values.text}, {function})", Array(body.type))


def _filter(arguments: list[Node], scope: NameScope) -> DuckText:
    values, function, _ = _lambda_call("filter", arguments, scope)
    return DuckText(f"list_filter({values.text}, {function})", values.type)


def _aggregate(arguments: list[Node], scope: NameScope) -> DuckText:
    """Elements of a list put together one by one, from a first value on."""
    values, first = spell(arguments[0], scope), spell(arguments[1], scope)
    function = arguments[2]
    if not isinstance(values.type, Array) or not isinstance(function, exp.Lambda):
        raise UnspelledOperation("aggregate")
    names = [one.name for one in function.expressions]
    inside = scope.binding(dict(zip(names, (first.type, values.type.element), strict=True)))
    body = cast_to(spell(function.this, inside), first.type, inside)
    shown = ", ".join(map(quoted, names))
    found = DuckText(f"list_reduce({values.text}, lambda {shown}: {body.text}, {first.text})", first.type)
    if len(arguments) < 4:
        return found
    (name,) = (one.name for one in arguments[3].expressions)
    end = spell(arguments[3].this, scope.binding({name: first.type}))
    text = f"list_extract(list_transform([{found.text}], lambda {quoted(name)}: {end.text}), 1)"
    return DuckText(f"CASE WHEN {values.text} IS NOT NULL THEN {text} END", end.type)


def _arrays_zip(arguments: list[Node], scope: NameScope) -> DuckText:
    """Structs of the elements of each place; their fields have the names of columns, or are counted."""
    lists = [spell(one, scope) for one in arguments]
    names = [one.name if isinstance(one, exp.Column) else str(place) for place, one in enumerate(arguments)]
    fields = []
    for one in lists:
        if not isinstance(one.type, Array):
            raise UnspelledOperation("arrays_zip")
        fields.append(DuckText(f"list_extract({one.text}, i_)", one.type.element))
    packed = _packed(list(zip(names, fields, strict=True)))
    longest = f"greatest({', '.join(f'len({one.text})' for one in lists)})"
    missing = " OR ".join(f"{one.text} IS NULL" for one in lists)
    places = f"generate_series(1, CASE WHEN {missing} THEN NULL ELSE {longest} END)"
    return DuckText(f"list_transform({places}, lambda i_: {packed.text})", Array(packed.type))


def _struct(arguments: list[Node], scope: NameScope) -> DuckText:
    named = []
    for place, one in enumerate(arguments, 1):
        name = one.alias_or_name or f"col{place}"
        named.append((name, spell(one.unalias() if isinstance(one, exp.Alias) else one, scope)))
    return _packed(named)


def _named_struct(arguments: list[Node], scope: NameScope) -> DuckText:
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    return _packed([(name.this, spell(value, scope)) for name, value in pairs])


def _packed(named: list[tuple[str, DuckText]]) -> DuckText:
    text = ", ".join(f"{quoted(name)} := {piece.text}" for name, piece in named)
    return DuckText(f"struct_pack({text})", Struct(tuple(StructField(written(n), p.type) for n, p in named)))


def _count(arguments: list[Node], scope: NameScope) -> DuckText:
    if not arguments or isinstance(arguments[0], exp.Star):
        return DuckText("count(*)", BIGINT)
    if isinstance(arguments[0], exp.Distinct):
        pieces = _all(arguments[0].expressions, scope)
        return DuckText(f"count(DISTINCT {', '.join(one.text for one in pieces)})", BIGINT)
    pieces = _all(arguments, scope)
    if len(pieces) > 1:
        every = " AND ".join(f"{one.text} IS NOT NULL" for one in pieces)
        return DuckText(f"count(CASE WHEN {every} THEN 1 END)", BIGINT)
    return DuckText(f"count({pieces[0].text})", BIGINT)


def _if_call(arguments: list[Node], scope: NameScope) -> DuckText:
    return conditional([(arguments[0], arguments[1])], arguments[2], scope)


def _identifier(arguments: list[Node], scope: NameScope) -> DuckText:
    """A column by its name as a text."""
    return spell(parsed(arguments[0].this), scope)


CONVERTED = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP)


def _converted(target: DataType) -> Callable[[list[Node], NameScope], DuckText]:
    """The name of a type as a function is a cast."""
    return lambda arguments, scope: cast_to(spell(arguments[0], scope), target, scope, scope.strict)


SPECIAL: dict[str, Callable[[list[Node], NameScope], DuckText]] = {
    **{type.name.lower(): _converted(type) for type in CONVERTED},
    "aggregate": _aggregate,
    "arrays_zip": _arrays_zip,
    "count": _count,
    "filter": _filter,
    "identifier": _identifier,
    "if": _if_call,
    "named_struct": _named_struct,
    "struct": _struct,
    "transform": _transform,
}


# Windows.


def _window(node: Node, scope: NameScope) -> DuckText:
    function = spell(node.this, scope)
    parts = []
    if node.args.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(one.text for one in _all(node.args["partition_by"], scope)))
    order = node.args.get("order")
    if order is not None:
        parts.append("ORDER BY " + ", ".join(ordering(one, scope) for one in order.expressions))
    if node.args.get("spec") is not None:
        parts.append(node.args["spec"].sql(dialect="duckdb"))
    return function.followed(f"OVER ({' '.join(parts)})")


def ordering(node: Node, scope: NameScope) -> str:
    """What to sort by. Spark has NULL first, or last if the order descends."""
    inner = node.this if isinstance(node, exp.Ordered) else node
    descends = isinstance(node, exp.Ordered) and bool(node.args.get("desc"))
    first = not descends
    if isinstance(node, exp.Ordered) and node.args.get("nulls_first") is not None:
        first = bool(node.args["nulls_first"])
    return f"{spell(inner, scope).text} {'DESC' if descends else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"


SPELLINGS: dict[type, Spell] = {
    exp.Column: _column,
    exp.Identifier: lambda node, scope: _column(exp.Column(this=node), scope),
    exp.Literal: _literal,
    exp.Null: lambda node, scope: DuckText("NULL", VOID),
    exp.Boolean: lambda node, scope: DuckText("TRUE" if node.this else "FALSE", BOOLEAN, bool(node.this)),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Paren: _paren,
    exp.Not: _not,
    exp.Neg: _negative,
    exp.And: _joined("AND"),
    exp.Or: _joined("OR"),
    exp.EQ: _compared("="),
    exp.NEQ: _compared("<>"),
    exp.LT: _compared("<"),
    exp.LTE: _compared("<="),
    exp.GT: _compared(">"),
    exp.GTE: _compared(">="),
    exp.NullSafeEQ: _compared("IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: _compared("IS DISTINCT FROM"),
    exp.Is: _is,
    exp.Add: _infix("+"),
    exp.Sub: _infix("-"),
    exp.Mul: _infix("*"),
    exp.Div: _infix("/"),
    exp.IntDiv: _infix("DIV"),
    exp.Mod: _infix("%"),
    exp.DPipe: _infix("||"),
    exp.BitwiseAnd: _infix("&"),
    exp.BitwiseOr: _infix("|"),
    exp.BitwiseXor: _infix("^"),
    exp.BitwiseNot: lambda node, scope: spelled_call("~", [spell(node.this, scope)], scope),
    exp.If: _if,
    exp.Case: _case,
    exp.Between: _between,
    exp.In: _in,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Anonymous: _call,
    exp.Extract: _extract,
    exp.Like: _like("like"),
    exp.ILike: _like("ilike"),
    exp.RegexpLike: _like("rlike"),
    exp.Escape: _escape,
    exp.Interval: _interval,
    exp.Window: _window,
    exp.Subquery: _scalar_query,
    exp.Select: _scalar_query,
    exp.Exists: _exists,
    exp.Placeholder: _parameter,
    exp.Parameter: _parameter,
    exp.Filter: _filtered,
}
