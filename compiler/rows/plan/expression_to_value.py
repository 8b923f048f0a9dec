"""Expressions on single values as operations: what a worker evaluates where it cannot with whole columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal

from neelc.ir import expressions as e
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children
from neelc.ir.types import DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.runtime.program import Apply, ApplyLambda, ColumnValue, Constant, LambdaArgument, Value
from neelc.runtime.values.functions import OF_TYPES
from neelc.runtime.values.times import day_interval_text
from neelc.runtime.values.types import fit
from neelc.scalar.intervals import interval_value
from neelc.scalar.type_of import extract_field, type_of, value_type

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_LIKE = {"LIKE": "like", "ILIKE": "ilike", "RLIKE": "rlike", "REGEXP": "rlike"}


def expression_to_value(node: e.Expr) -> Value:
    """The operations that give the value of an expression. Attributes of variables are columns.

    >>> from neelc.ir.types import INT
    >>> x = e.Attribute(e.Variable("a"), "x", INT)
    >>> expression_to_value(e.Binary("+", x, e.Literal(1, INT)))
    Apply(operation='+', operands=(ColumnValue(variable='a', name='x'), Constant(value=1)), type='int')
    """
    match node:
        case e.Literal(value, type):
            return _literal(value, type)
        case e.Interval():
            span = interval_value(node)
            text = day_interval_text(span) if isinstance(span, datetime.timedelta) else str(span)
            return _cast(Constant(text), STRING, type_of(node))
        case e.Attribute(e.Variable(variable), name):
            return ColumnValue(variable, bare(name))
        case e.Field(base, name):
            return Apply("field", (expression_to_value(base), Constant(bare(name))))
        case e.ElementAccess(base, index):
            return _apply("item", base, index)
        case e.Unary("+", operand):
            return expression_to_value(operand)
        case e.Unary(op, operand):
            return _apply("neg" if op == "-" else op, operand, type=type_of(operand))
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return _apply(op, left, right)
        case e.Binary(op, left, right):
            return _apply(op, left, right, type=type_of(node))
        case e.Cast(operand, type):
            return _cast(expression_to_value(operand), type_of(operand), type)
        case e.Lambda(parameters, body):
            return ApplyLambda("lambda", (expression_to_value(body),), None, parameters)
        case e.LambdaParameter(name):
            return LambdaArgument(name)
        case e.Call(name, arguments, type=type) if name in OF_TYPES:
            types = (Constant(value_type(type_of(one))) for one in arguments)
            return Apply(name, (*map(expression_to_value, arguments), *types), value_type(type or INT))
        case e.Call(name, arguments, type=type):
            return _apply(name, *arguments, type=type)
        case e.Extract(field, operand):
            return Apply("extract", (expression_to_value(operand), Constant(extract_field(field))))
        case e.Case():
            return _case(node)
    return _condition(node)


def _apply(operation: str, *operands: e.Expr, type: DataType | None = None) -> Value:
    values = tuple(map(expression_to_value, operands))
    return Apply(operation, values, None if type is None else value_type(type))


def _literal(value: object, type: DataType) -> Value:
    """A constant. One of a time or a DECIMAL is the cast of a text: a program can be printed, and a time may
    depend on the session's time zone."""
    if isinstance(value, Decimal) or (type in _TIMES and isinstance(value, str)):
        return _cast(Constant(str(value)), STRING, type)
    fitted = fit(value, value_type(type))
    assert fitted is None or isinstance(fitted, bool | int | float | str | bytes), f"{type} has no constants"
    return Constant(fitted)


def _cast(value: Value, source: DataType, target: DataType) -> Value:
    return Apply("cast", (value, Constant(value_type(source))), value_type(target))


def _case(node: e.Case) -> Value:
    """The results are of one type, to which they are cast: nothing is left to fit."""
    operands: list[Value] = []
    for when in node.whens:
        test = when.condition if node.operand is None else e.Binary("=", node.operand, when.condition)
        operands += (expression_to_value(test), expression_to_value(when.result))
    operands.append(Constant(None) if node.otherwise is None else expression_to_value(node.otherwise))
    return Apply("case", tuple(operands))


def _condition(node: e.Expr) -> Value:
    match node:
        case e.Conjunction(operands):
            return _apply("and", *operands)
        case e.Disjunction(operands):
            return _apply("or", *operands)
        case e.Negation(operand):
            return _apply("not", operand)
        case e.IsTruth(operand, value, negated):
            name = "isnull" if value is None else "istrue" if value else "isfalse"
            return _unless(negated, _apply(name, operand))
        case e.IsNull(operand, negated):
            return _apply("isnotnull" if negated else "isnull", operand)
        case e.IsDistinct(left, right, negated):
            return _unless(not negated, _apply("<=>", left, right))
        case e.Between(operand, low, high, negated):
            both = (_apply(">=", operand, low), _apply("<=", operand, high))
            return _unless(negated, Apply("and", both))
        case e.InList(operand, items, negated):
            return _unless(negated, Apply("or", tuple(_apply("=", operand, item) for item in items)))
        case e.Like(text, pattern, kind, escape, negated):
            more = () if escape is None else (Constant(escape),)
            matched = Apply(_LIKE[kind], (expression_to_value(text), expression_to_value(pattern), *more))
            return _unless(negated, matched)
    raise TypeError(f"{type(node).__name__} has no value of its own")


def _unless(negated: bool, value: Value) -> Value:
    return Apply("not", (value,)) if negated else value


# Expressions over more than the columns of a row: what they name is found first, and has a value of its own.

LEAF = "#leaf"
Leaf = Callable[[Node], Value | None]


def lowered(expression: e.Expr, leaf: Leaf) -> Value:
    """An expression as operations, given the values of what it names."""
    values: dict[str, Value] = {}

    def change(node: Node) -> Node:
        value = leaf(node)
        if value is None:
            return map_children(node, change)
        assert isinstance(node, e.Expr)
        name = f"leaf_{len(values)}"
        values[name] = value
        return e.Attribute(e.Variable(LEAF), name, type_of(node))

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return _with_leaves(expression_to_value(changed), values)


def _with_leaves(value: Value, leaves: Mapping[str, Value]) -> Value:
    match value:
        case ColumnValue(variable, name) if variable == LEAF:
            return leaves[name]
        case Apply(operands=operands):
            return replace(value, operands=tuple(_with_leaves(one, leaves) for one in operands))
    return value
