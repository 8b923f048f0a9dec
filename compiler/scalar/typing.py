"""Spark's type rules: every expression is checked and its implicit casts are written into it.

Types are those of Spark 4 with ANSI on. References must have been resolved before: `Attribute`, not `Name`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from neelc.ir import expressions as e
from neelc.ir import types
from neelc.ir.expressions import Aggregate, Call, EveryElement, Expr, Interval, Literal, Star, lists
from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    GEOMETRY,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Map,
)
from neelc.runtime.values.functions.space_aggregates import distance
from neelc.runtime.values.times import date_of, timestamp_ntz_of, timestamp_of
from neelc.scalar import operators as comparison
from neelc.scalar.functions import (
    PARSERS,
    READERS,
    aggregated,
    called,
    is_aggregate,
    paired,
    report_no_geometry,
)
from neelc.scalar.intervals import counts_months, interval_value
from neelc.scalar.lambdas import called_with_lambdas
from neelc.scalar.operators import (
    GEOMETRY_CASTS,
    INTEGERS,
    Report,
    Typed,
    binary,
    can_cast,
    cast,
    common,
    unary,
    wrong,
)
from neelc.scalar.rewritten import rewritten
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, READ_AS, SCALAR_SIGNATURES
from neelc.scalar.type_of import (
    DATETIMES,
    FIELDS,
    INTERVAL_FIELDS,
    INTERVALS,
    extract_field,
    extract_type,
    type_of,
)

# Constants: dates that exist, intervals that make sense, numbers that fit their type.

_READERS: dict[types.DataType, tuple[Callable[[str], object], str]] = {
    types.DATE: (date_of, "DATE '2020-01-31'"),
    types.TIMESTAMP: (timestamp_of, "TIMESTAMP '2020-01-31 12:30:00'"),
    types.TIMESTAMP_NTZ: (timestamp_ntz_of, "TIMESTAMP_NTZ '2020-01-31 12:30:00'"),
}


def literal(node: Literal, report: Report) -> Typed:
    """A constant and its type; an integer has the first of INT, BIGINT and DECIMAL that holds it.

    >>> literal(Literal(3_000_000_000, types.INT), print)[1]
    SimpleType(name='BIGINT')
    """
    match node.type, node.value:
        case types.SimpleType("INT" | "BIGINT"), int(value):
            return _integer(node, value, report)
        case types.SimpleType("DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" as name), str(text):
            read, example = _READERS[types.SIMPLE_TYPES[name]]
            if read(text) is None:
                hint = f"for example {example}; years go from 1 to 9999"
                report("NEEL2107", f"'{text}' is not a {name}", node.span, hint)
                return wrong(node)
    return node, node.type


def _integer(node: Literal, value: int, report: Report) -> Typed:
    type: types.DataType = node.type
    if type == types.INT and not -(2**31) <= value < 2**31:
        type = types.BIGINT
    if type == types.BIGINT and not -(2**63) <= value < 2**63:
        type = types.Decimal(len(str(abs(value))), 0)
    if isinstance(type, types.Decimal) and type.precision > 38:
        report("NEEL2107", "this number has more than the 38 digits of a DECIMAL", node.span, None)
        return wrong(node)
    return (node if type == node.type else replace(node, type=type)), type


def interval(node: Interval, report: Report) -> Typed:
    """An interval constant."""
    try:
        interval_value(node)
    except ValueError as problem:
        report(
            "NEEL2107",
            str(problem),
            node.span,
            "for example INTERVAL '5' MINUTE, or INTERVAL '1' DAY '2' HOUR",
        )
        return wrong(node)
    return node, types.YEAR_INTERVAL if counts_months(node) else types.DAY_INTERVAL


# Aggregates: over the elements of lists, `sum(b[].price)`, or over all matches, `count(*)`.

# Aggregates that mean something only where the elements have an order.
NEED_ORDER = ("first", "last", "max_by", "min_by")


def aggregate(
    node: Expr, name: str, arguments: tuple[Expr, ...], distinct: bool, report: Report, inside: bool,
    typed: Callable[[Expr, Report], Typed],
) -> Typed:  # fmt: skip
    """A call of an aggregate, as an `Aggregate`; `inside` says that it is part of another's argument."""
    if isinstance(node, Aggregate | Call) and node.function is not None:
        return _registered(node, arguments, report, typed)
    name = READ_AS.get(name.lower(), name.lower())
    if name == "count" and (not arguments or isinstance(arguments[0], Star)) and len(arguments) < 2:
        if distinct:
            message = "DISTINCT is for aggregates of values; `count` of all has none"
            report("NEEL2109", message, node.span, "name an attribute: count(DISTINCT a.x)")
            return wrong(node)
        if _stands_alone(name, (), inside, node, report):
            return Aggregate(name, None, BIGINT, span=node.span), BIGINT
        return wrong(node)
    if distinct and name in NEED_ORDER:
        message = f"DISTINCT is for aggregates of values; `{name}` takes one element"
        report("NEEL2109", message, node.span, "leave it out")
        return wrong(node)
    signature = AGGREGATE_SIGNATURES[name]
    if not signature.accepts(len(arguments)):
        message = f"`{name}` takes {signature.count_text()}, not {len(arguments)}"
        report("NEEL2105", message, node.span, f"its form is {signature.text}")
        return wrong(node)
    found = tuple(dict.fromkeys(one for argument in arguments for one in lists(argument)))
    typed_arguments = tuple(typed(argument, report) for argument in arguments)
    if not (_stands_alone(name, found, inside, node, report) and _is_one_list(found, node, report)):
        return wrong(node)
    if len(arguments) > 1 and distinct:
        report("NEEL2109", f"DISTINCT is for aggregates of one value; `{name}` takes two", node.span, None)
        return wrong(node)
    if len(arguments) > 1:
        return paired(name, typed_arguments, node, report)
    return aggregated(name, typed_arguments[0], node, distinct, report)


def _registered(
    node: Aggregate | Call,
    arguments: tuple[Expr, ...],
    report: Report,
    typed: Callable[[Expr, Report], Typed],
) -> Typed:
    """A call of an aggregate that a user has registered. Nobody knows what it takes: any value, but those
    that Python has no word for."""
    form = f"its form is {node.name}(b[].x)"
    if len(arguments) != 1:
        report("NEEL2105", f"`{node.name}` takes 1 argument, not {len(arguments)}", node.span, form)
        return wrong(node)
    if node.distinct:
        report(
            "NEEL2109", f"DISTINCT is for neelc's own aggregates; `{node.name}` is not one", node.span, None
        )
        return wrong(node)
    found = tuple(dict.fromkeys(lists(arguments[0])))
    argument, type = typed(arguments[0], report)
    if not _is_one_list(found, node, report):
        return wrong(node)
    if node.type == GEOMETRY or node.function is distance:
        if type not in (GEOMETRY, STRING, BINARY, VOID):
            message = f"the argument of `{node.name}` must be a GEOMETRY, or its text, not {type}"
            report("NEEL2106", message, argument.span or node.span, form)
            return wrong(node)
    elif any(part == YEAR_INTERVAL for part in walk(type)):
        message = f"the argument of `{node.name}` must be a value that Python has, not {YEAR_INTERVAL}"
        report("NEEL2106", message, argument.span or node.span, None)
        return wrong(node)
    assert node.type is not None
    made = Aggregate(node.name, argument, node.type, function=node.function, span=node.span)
    return made, node.type


def _stands_alone(
    name: str, found: tuple[EveryElement, ...], inside: bool, node: Expr, report: Report
) -> bool:
    if not found and inside:
        report("NEEL2109", f"`{name}` over all matches cannot be inside another aggregate", node.span, None)
        return False
    if not found and name in NEED_ORDER:
        message = f"matches have no order, so there is no {name} of them"
        of_list = f"{name}(b[].x{', b[].y' if name.endswith('_by') else ''})"
        report("NEEL2109", message, node.span, f"min and max need no order; of a list: {of_list}")
        return False
    return True


def _is_one_list(found: tuple[EveryElement, ...], node: Expr, report: Report) -> bool:
    """Whether the lists are one inside the other: `k[].c[]` ranges over `k[]` and, in each, over `c[]`."""
    for outer, inner in pairwise(found):
        if outer not in set(walk(inner.base)):
            message = f"an aggregate covers one list, but this one names {outer} and {inner}"
            report("NEEL2109", message, node.span, None)
            return False
    return True


__all__ = ["Report", "Typed", "type_of", "typed", "typed_condition"]


def typed(expression: e.Expr, report: Report) -> Typed:
    """The expression with its implicit casts, and its type. What is wrong is reported, and has the type VOID.

    >>> from neelc.ir.types import DOUBLE
    >>> sum = e.Binary("/", e.Literal(1, INT), e.Literal(2, INT))
    >>> typed(sum, print)[1] == DOUBLE
    True
    >>> typed(e.Binary("<", e.Literal(True, BOOLEAN), e.Literal(2, INT)), print)[1] == BOOLEAN
    NEEL2101 BOOLEAN and INT cannot be compared None a BOOLEAN is itself a condition: x, or NOT x
    True
    """
    return _typed(expression, report, False)


def typed_condition(expression: e.Expr, place: str, report: Report) -> e.Expr:
    """The expression as a condition; `place` says of what: "WHERE must be a condition, but this is INT"."""
    return comparison.condition(typed(expression, report), place, report)


def _typed(node: e.Expr, report: Report, inside: bool, reads_variant: bool = False) -> Typed:
    """`inside` an aggregate, `b[].price` is one price; elsewhere it is the array of all. What
    `reads_variant` takes a VARIANT."""

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
        case e.Call():
            return _call(node, report, inside, reads_variant)
        case e.Lambda():
            functions = ", ".join(e.LAMBDAS)
            report("NEEL2106", f"a lambda stands as an argument of {functions} only", node.span, None)
            return wrong(node)
        case e.LambdaParameter(type=type):
            return node, type or VOID
        case e.Cast(operand, type):
            return _cast(node, check(operand), type, report)
        case e.Extract(_, operand):
            return _extract(node, check(operand), report)
        case (
            e.Attribute() | e.WholeEvent() | e.EventTime() | e.Field() | e.ElementAccess() | e.MatchProperty()
        ):
            typed = _path(node, report, inside)
            return typed, type_of(typed, inside)
        case e.RowValue():
            return node, node.type
        case e.Star():
            report("NEEL2106", "`*` is allowed only in count(*)", node.span, None)
            return wrong(node)
        case e.RunningFinal(_, operand):
            expression, type = check(operand)
            return replace(node, operand=expression), type
        case e.FilteredCall() | e.NestedQuery() | e.InQuery():
            return wrong(node)  # who resolves names has reported it
        case e.Name() | e.MemberAccess() | e.Subscript() | e.Slice() | e.Parameter():
            return wrong(node)  # who resolves names has reported it
    return _condition(node, report, inside)


def _call(node: e.Call, report: Report, inside: bool, reads_variant: bool) -> Typed:
    """A call; what `reads_variant` takes the VARIANT that it may give."""

    def check(child: e.Expr) -> Typed:
        return _typed(child, report, inside)

    match node:
        case e.Call(name, arguments, distinct) if is_aggregate(node):
            return aggregate(node, name, arguments, distinct, report, inside, _inside_aggregate)
        case e.Call(name, declared=None, function=None) if name.lower() in e.LAMBDAS:
            if node.arguments:
                return called_with_lambdas(node, check, report)
            report("NEEL2105", f"`{name}` takes an array and a lambda", node.span, None)
            return wrong(node)
        case e.Call(declared=None) if (other := _read_as(node)) is not None:
            return check(other)
        case e.Call(name, declared=None) if name.lower() in PARSERS and not reads_variant:
            hint = "variant_get(parse_json(x), '$.a', 'INT')"
            report(
                "NEEL2106", f"a VARIANT stands as an argument of {', '.join(READERS)} only", node.span, hint
            )
            return wrong(node)
        case e.Call(name, arguments):
            reads = name.lower() in READERS
            return called(node, tuple(_typed(one, report, inside, reads) for one in arguments), report)
    raise AssertionError(node.name)


def _read_as(node: Call) -> Expr | None:
    """The expression that a call stands for; None if it is a function of its own, or its arguments are too
    few or too many."""
    signature = SCALAR_SIGNATURES.get(node.name.lower())
    return rewritten(node) if signature is not None and signature.accepts(len(node.arguments)) else None


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
            tested = comparison.condition(check(operand), "what IS TRUE tests", report, node.span)
            return replace(node, operand=tested), BOOLEAN
        case e.IsDistinct(left, right):
            return comparison.compared(node, check(left), check(right), report)
        case e.Case(operand, whens, otherwise):
            pairs = tuple((check(when.condition), check(when.result)) for when in whens)
            subject, last = (None if part is None else check(part) for part in (operand, otherwise))
            return comparison.case(node, subject, pairs, last, report)
        case e.SameAttributes():
            return node, BOOLEAN
    raise AssertionError(f"{type(node).__name__} has no type")


def _path(node: e.Expr, report: Report, inside: bool) -> e.Expr:
    """A reference; subscripts of arrays and maps are checked."""
    match node:
        case e.Field(base):
            return replace(node, base=_path(base, report, inside))
        case e.ElementAccess(base, index):
            base = _path(base, report, inside)
            return replace(node, base=base, index=_subscript(base, _typed(index, report, inside), report))
        case e.Attribute() | e.WholeEvent() | e.EventTime() | e.MatchProperty():
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
    if (operand[1], target) in GEOMETRY_CASTS:
        if target == GEOMETRY and not node.safe:
            report_no_geometry(operand[0], node.span, report)
        return cast(operand, target), target
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
