"""Functions whose types no line of the table can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from neelc.bind.arithmetic import numbers
from neelc.bind.checking import Report, Typed, cast, wrong
from neelc.bind.coercion import INTEGERS, common, is_orderable
from neelc.bind.comparison import shared_type
from neelc.ir.expr import Attribute, Binary, Call, Case, Cast, EventTime, Expr, Field, Literal, When
from neelc.ir.names import bare, written
from neelc.ir.typeof import binary_type
from neelc.ir.types import BIGINT, BOOLEAN, INT, STRING, VOID, Array, DataType, Map, Struct, StructField


def remainder(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """mod and pmod take what `%` takes."""
    left, right = arguments
    sides = numbers("%", left, right)
    if sides is None:
        message = f"`{node.name}` is not defined for {left[1]} and {right[1]}"
        report("NEEL2106", message, node.span, f"its form is {node.name}(number, number)")
        return wrong(node)
    type = binary_type("%", *sides)
    return replace(node, arguments=(cast(left, sides[0]), cast(right, sides[1])), type=type), type


def nullif(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """The first argument keeps its type: if the comparison needs another, it is written out as a CASE."""
    left, right = arguments
    shared = shared_type(left[1], right[1], node.span, report)
    if shared is None:
        return wrong(node)
    if shared == left[1]:
        return replace(node, arguments=(left[0], cast(right, shared)), type=shared), shared
    test = Binary("=", cast(left, shared), cast(right, shared), span=node.span)
    nothing = Cast(Literal(None, VOID), left[1], implicit=True)
    return Case(None, (When(test, nothing),), left[0], span=node.span), left[1]


def array_contains(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """The element and the array's elements are compared in a common type; strings stay strings."""
    (array, type), value = arguments
    if not isinstance(type, Array):
        message = f"argument 1 of `array_contains` must be an array, not {type}"
        return _report(node, message, array, report)
    shared = None if value[1] == VOID else common(type.element, value[1], strings=False)
    if shared is None or not is_orderable(shared):
        return _report(node, f"an array of {type.element} cannot contain {value[1]}", value[0], report)
    typed = (cast((array, type), Array(shared)), cast(value, shared))
    return replace(node, arguments=typed, type=BOOLEAN), BOOLEAN


def element_at(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """An array's element, counted from 1, or a map's value."""
    (collection, type), key = arguments
    match type:
        case Array(element) if key[1] in (*INTEGERS, VOID) and key[1] != BIGINT:
            target: DataType = INT
        case Array():
            return _report(node, f"an array's elements are counted by INT, not {key[1]}", key[0], report)
        case Map(of, element) if (shared := common(of, key[1], strings=False)) is not None:
            collection, target = cast((collection, type), Map(shared, element)), shared
        case Map(of, element):
            return _report(node, f"the keys of this map are {of}, not {key[1]}", key[0], report)
        case _:
            message = f"argument 1 of `element_at` must be an array or a map, not {type}"
            return wrong(node) if type == VOID else _report(node, message, collection, report)
    return replace(node, arguments=(collection, cast(key, target)), type=element), element


def _report(node: Call, message: str, place: Expr, report: Report) -> Typed:
    report("NEEL2106", message, place.span or node.span, None)
    return wrong(node)


def named_struct(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """Names and values in turn; the names are written as strings."""
    names, values = arguments[::2], arguments[1::2]
    for name, type in names:
        if not isinstance(name, Literal) or type != STRING:
            return _report(node, "the names in `named_struct` must be written as strings", name, report)
    if len(names) != len(values):
        report(
            "NEEL2105",
            "`named_struct` takes names and values in turn",
            node.span,
            "named_struct('x', 1, 'y', 2)",
        )
        return wrong(node)
    pairs = zip(names, values, strict=True)
    fields = tuple(
        StructField(written(str(name.value)), type)
        for (name, _), (_, type) in pairs
        if isinstance(name, Literal)
    )
    return replace(node, arguments=tuple(argument for argument, _ in arguments), type=Struct(fields)), Struct(
        fields
    )


def struct(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """Attributes keep their names; other values are col1, col2, ... by their place."""
    fields = tuple(
        StructField(_name(expression, place), type) for place, (expression, type) in enumerate(arguments, 1)
    )
    return replace(node, arguments=tuple(argument for argument, _ in arguments), type=Struct(fields)), Struct(
        fields
    )


def _name(expression: Expr, place: int) -> str:
    match expression:
        case Attribute(name=name) | Field(name=name) | EventTime(name=name):
            return written(bare(name))
    return f"col{place}"


SPECIAL: dict[str, Callable[[Call, tuple[Typed, ...], Report], Typed]] = {
    "array_contains": array_contains,
    "element_at": element_at,
    "mod": remainder,
    "named_struct": named_struct,
    "nullif": nullif,
    "pmod": remainder,
    "struct": struct,
}
