"""Spark's type rules: every expression is checked and its implicit casts are written into it.

Types are those of Spark 4 with ANSI on. References must have been resolved before: `Attribute`, not `Name`.
"""

from __future__ import annotations

from dataclasses import replace

from neelc.bind import comparison
from neelc.bind.aggregates import aggregate
from neelc.bind.arithmetic import binary, unary
from neelc.bind.checking import Report, Typed, cast, wrong
from neelc.bind.coercion import INTEGERS, can_cast, common
from neelc.bind.functions import called, is_aggregate
from neelc.bind.literals import interval, literal
from neelc.ir import expr as e
from neelc.ir.typeof import (
    DATETIMES,
    FIELDS,
    INTERVAL_FIELDS,
    INTERVALS,
    extract_field,
    extract_type,
    type_of,
)
from neelc.ir.types import BOOLEAN, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, Array, DataType, Map

__all__ = ["Report", "Typed", "type_of", "typed", "typed_condition"]


def typed(expression: e.Expr, report: Report) -> Typed:
    """The expression with its implicit casts, and its type. What is wrong is reported, and has the type VOID.

    >>> from neelc.ir.types import DOUBLE
    >>> sum = e.Binary("/", e.Literal(1, INT), e.Literal(2, INT))
    >>> typed(sum, print)[1] == DOUBLE
    True
    >>> typed(e.Binary("<", e.Literal(True, BOOLEAN), e.Literal(2, INT)), print)[1] == BOOLEAN
    NEEL2101 BOOLEAN and INT cannot be compared None a BOOLEAN is a condition of its own: x, or NOT x
    True
    """
    return _typed(expression, report, False)


def typed_condition(expression: e.Expr, place: str, report: Report) -> e.Expr:
    """The expression as a condition; `place` says of what: "WHERE must be a condition, but this is INT"."""
    return comparison.condition(typed(expression, report), place, report)


def _typed(node: e.Expr, report: Report, inside: bool) -> Typed:
    """`inside` an aggregate, `b[].price` is one price; elsewhere it is the array of all."""

    def check(child: e.Expr) -> Typed:
        return _typed(child, report, inside)

    match node:
        case e.Literal():
            return literal(node, report)
        case e.Interval():
            return interval(node, report)
        case e.Unary(_, operand):
            return unary(node, check(operand), report)
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return comparison.compared(node, check(left), check(right), report)
        case e.Binary(_, left, right):
            return binary(node, check(left), check(right), report)
        case e.Aggregate(name, argument, distinct=distinct):
            arguments = () if argument is None else (argument,)
            return aggregate(node, name, arguments, distinct, report, inside, _inside_aggregate)
        case e.Call(name, arguments, distinct) if is_aggregate(node):
            return aggregate(node, name, arguments, distinct, report, inside, _inside_aggregate)
        case e.Call(_, arguments):
            return called(node, tuple(check(argument) for argument in arguments), report)
        case e.Cast(operand, type):
            return _cast(node, check(operand), type, report)
        case e.Extract(_, operand):
            return _extract(node, check(operand), report)
        case e.Attribute() | e.Whole() | e.EventTime() | e.Field() | e.Item() | e.MatchProperty():
            typed = _path(node, report, inside)
            return typed, type_of(typed, inside)
        case e.RowValue():
            return node, node.type
        case e.Star():
            report("NEEL2106", "`*` stands alone in count(*), and nowhere else", node.span, None)
            return wrong(node)
        case e.RunningFinal(_, operand):
            expression, type = check(operand)
            return replace(node, operand=expression), type
        case e.Filtered() | e.NestedQuery() | e.InQuery():
            return wrong(node)  # who resolves names has reported it
        case e.Name() | e.Member() | e.Subscript() | e.Slice() | e.Parameter():
            return wrong(node)  # who resolves names has reported it
    return _condition(node, report, inside)


def _inside_aggregate(node: e.Expr, report: Report) -> Typed:
    return _typed(node, report, True)


def _condition(node: e.Expr, report: Report, inside: bool) -> Typed:
    def check(child: e.Expr) -> Typed:
        return _typed(child, report, inside)

    match node:
        case e.Conjunction(operands) | e.Disjunction(operands):
            return comparison.junction(node, tuple(check(operand) for operand in operands), report)
        case e.Negation(operand):
            tested = comparison.condition(check(operand), "what follows NOT", report, node.span)
            return replace(node, operand=tested), BOOLEAN
        case e.Between(operand, low, high):
            return comparison.between(node, check(operand), check(low), check(high), report)
        case e.InList(operand, items):
            return comparison.in_list(node, check(operand), tuple(check(item) for item in items), report)
        case e.Like(operand, pattern):
            return comparison.like(node, check(operand), check(pattern), report)
        case e.IsNull(operand):
            return replace(node, operand=check(operand)[0]), BOOLEAN
        case e.IsTruth(operand):
            tested = comparison.condition(check(operand), "what IS TRUE judges", report, node.span)
            return replace(node, operand=tested), BOOLEAN
        case e.IsDistinct(left, right):
            return comparison.compared(node, check(left), check(right), report)
        case e.Case(operand, whens, otherwise):
            pairs = tuple((check(when.condition), check(when.result)) for when in whens)
            subject, last = (None if part is None else check(part) for part in (operand, otherwise))
            return comparison.case(node, subject, pairs, last, report)
        case e.Same():
            return node, BOOLEAN
    raise AssertionError(f"{type(node).__name__} has no type")


def _path(node: e.Expr, report: Report, inside: bool) -> e.Expr:
    """A reference; subscripts of arrays and maps are checked."""
    match node:
        case e.Field(base):
            return replace(node, base=_path(base, report, inside))
        case e.Item(base, index):
            base = _path(base, report, inside)
            return replace(node, base=base, index=_subscript(base, _typed(index, report, inside), report))
        case e.Attribute() | e.Whole() | e.EventTime() | e.MatchProperty():
            return node
    return _typed(node, report, inside)[0]


def _subscript(base: e.Expr, index: Typed, report: Report) -> e.Expr:
    """What stands in `base[...]`: a whole number, or a key of the map."""
    match type_of(base, inside_aggregate=True):
        case Map(key):
            target = key if common(key, index[1]) is not None else None
            needed = f"the keys of this map are {key}"
        case Array():
            target = index[1] if index[1] in INTEGERS else INT if index[1] == VOID else None
            needed = "an array's elements are counted by integers"
        case _:
            return index[0]
    if target is None:
        report("NEEL2106", f"{needed}, not {index[1]}", index[0].span or base.span, None)
        return index[0]
    return cast(index, target)


def _cast(node: e.Cast, operand: Typed, target: DataType, report: Report) -> Typed:
    if not can_cast(operand[1], target):
        hint = _cast_hint(operand[1], target)
        report("NEEL2108", f"{operand[1]} cannot be cast to {target}", node.span, hint)
        return node, target
    return replace(node, operand=operand[0]), target


def _cast_hint(source: DataType, target: DataType) -> str | None:
    if target == DATE and source in INTEGERS:
        return "days since an epoch: date_add(DATE '1970-01-01', x)"
    if source == DATE and target in INTEGERS:
        return "days since an epoch: datediff(x, DATE '1970-01-01')"
    if source == TIMESTAMP_NTZ and target in INTEGERS:
        return "unix_seconds(x) or unix_millis(x) makes a timestamp a number"
    return None


def _extract(node: e.Extract, operand: Typed, report: Report) -> Typed:
    field, source = extract_field(node.field), operand[1]
    known = INTERVAL_FIELDS.get(source, tuple(FIELDS))
    if field is None or field not in known:
        report(
            "NEEL2106",
            f"there is no field {node.field} in {source}",
            node.span,
            "fields: " + ", ".join(known),
        )
        return wrong(node)
    clock = field in ("HOUR", "MINUTE", "SECOND")
    target = (
        TIMESTAMP
        if clock and source in (DATE, STRING, VOID)
        else DATE
        if source in (STRING, VOID)
        else source
    )
    if target not in DATETIMES and target not in INTERVALS:
        hint = "timestamp_millis(x) makes an integer a timestamp" if source in INTEGERS else None
        report("NEEL2106", f"EXTRACT takes a date, a timestamp or an interval, not {source}", node.span, hint)
        return wrong(node)
    return replace(node, operand=cast(operand, target)), extract_type(node.field, target)
