"""Functions of arrays that take a lambda: what its parameters are, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from neelc.ir.expressions import Call, ElementAccess, Expr, Field, Lambda, LambdaParameter
from neelc.ir.names import bare, same
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import BOOLEAN, INT, VOID, Array, DataType, Map, Struct
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.operators import Report, Typed, cast, wrong
from neelc.scalar.type_of import type_of

Check = Callable[[Expr], Typed]


@dataclass(frozen=True)
class LambdaForm:
    """How a function with lambdas is called: with an array, so many `values`, and then lambdas, each
    of which has so many `parameters`; the last ones are `optional`."""

    text: str
    parameters: tuple[tuple[int, ...], ...]
    values: int = 0
    optional: int = 0


FORMS = {
    **dict.fromkeys(
        ("aggregate", "reduce"),
        LambdaForm("(array, start, (sum, x) -> sum + x [, sum -> sum / 2])", ((2,), (1,)), 1, 1),
    ),
    "exists": LambdaForm("(array, x -> x > 0)", ((1,),)),
    "filter": LambdaForm("(array, x -> x > 0)", ((1, 2),)),
    "forall": LambdaForm("(array, x -> x > 0)", ((1,),)),
    "transform": LambdaForm("(array, x -> x + 1)", ((1, 2),)),
}


def called_with_lambdas(node: Call, check: Check, report: Report) -> Typed:
    """A call of one of the functions of `FORMS`, with its type."""
    name = node.name.lower()
    form = FORMS[name]
    array, *values = (check(one) for one in node.arguments[: 1 + form.values])
    lambdas = node.arguments[1 + form.values :]
    hint = f"its form is {name}{form.text}"
    if array[1] == VOID:
        return wrong(node)
    if not isinstance(array[1], Array):
        report("NEEL2106", f"argument 1 of `{name}` must be an array, not {array[1]}", node.span, hint)
        return wrong(node)
    counts = [len(one.parameters) for one in lambdas if isinstance(one, Lambda)]
    fits = all(count in known for count, known in zip(counts, form.parameters, strict=False))
    complete = len(form.parameters) - form.optional <= len(lambdas) <= len(form.parameters)
    if node.distinct or not complete or len(counts) != len(lambdas) or not fits:
        report("NEEL2105", f"`{name}` takes an array and a lambda in this form only", node.span, hint)
        return wrong(node)
    known = [one for one in lambdas if isinstance(one, Lambda)]
    if values:
        return _folded(replace(node, name="aggregate"), array, values[0], known, check, report)
    (function,) = known
    typed, type = _typed(function, (array[1].element, INT), check, report)
    if name != "transform":
        if type not in (BOOLEAN, VOID):
            message = f"the lambda of `{name}` must be a condition, but this is {type}"
            report("NEEL2106", message, function.span or node.span, hint)
            return wrong(node)
        typed = replace(typed, body=cast((typed.body, type), BOOLEAN))
    result = {"filter": array[1], "transform": Array(type)}.get(name, BOOLEAN)
    return replace(node, name=name, arguments=(array[0], typed), type=result), result


def _folded(
    node: Call, array: Typed, start: Typed, lambdas: Sequence[Lambda], check: Check, report: Report
) -> Typed:
    """aggregate: what is held has the type of the start."""
    assert isinstance(array[1], Array), "it was checked"
    held = start[1]
    merge, type = _typed(lambdas[0], (held, array[1].element), check, report)
    if type != held:
        message = f"`{node.name}` starts with {held}, but its lambda returns {type}"
        hint = f"start with a value of that type: CAST(... AS {type})" if type != VOID else None
        report("NEEL2106", message, lambdas[0].span or node.span, hint)
        return wrong(node)
    last = [_typed(one, (held,), check, report) for one in lambdas[1:]]
    result = last[0][1] if last else held
    typed = (array[0], start[0], merge, *(one for one, _ in last))
    return replace(node, arguments=typed, type=result), result


def _typed(
    function: Lambda, types: Sequence[DataType], check: Check, report: Report
) -> tuple[Lambda, DataType]:
    for call in (node for node in walk(function.body) if isinstance(node, Call)):
        if call.declared is not None and call.declared.python is not None:
            message = f"`{call.name}` is a Python function, which a lambda cannot call"
            report("NEEL2106", message, call.span, "call it with the array: it may take ARRAY<...>")
    known = dict(zip(function.parameters, types, strict=False))
    body, type = check(_with_types(function.body, known, report))
    return replace(function, body=body), type


def _with_types(body: Expr, known: Mapping[str, DataType], report: Report) -> Expr:
    """The body with the types of its parameters, and of what is reached through them."""

    def change(node: Node) -> Node:
        match node:
            case Lambda(parameters):
                inner = {name: type for name, type in known.items() if name not in parameters}
                return replace(node, body=_with_types(node.body, inner, report))
            case LambdaParameter(name) if name in known:
                return replace(node, type=known[name])
        node = map_children(node, change)
        match node:
            case Field(base, name, type) if type == VOID and _is_reached(base):
                return replace(node, type=_field(node, type_of(base), report))
            case ElementAccess(base, _, type) if type == VOID and _is_reached(base):
                return replace(node, type=_element(node, type_of(base), report))
        return node

    found = change(body)
    assert isinstance(found, Expr)
    return found


def _is_reached(base: Expr) -> bool:
    """Whether an expression is a parameter of a lambda whose type is known, or something inside of one."""
    if isinstance(base, Field | ElementAccess):
        return _is_reached(base.base)
    return isinstance(base, LambdaParameter) and base.type is not None


def _field(node: Field, type: DataType, report: Report) -> DataType:
    fields = type.fields if isinstance(type, Struct) else ()
    found = next((one.type for one in fields if same(one.name, node.name)), None)
    if found is None and type != VOID:
        report("NEEL2106", f"there is no field `{bare(node.name)}` in {type}", node.span, None)
    return found or VOID


def _element(node: ElementAccess, type: DataType, report: Report) -> DataType:
    match type:
        case Array(element):
            return element
        case Map(_, value):
            return value
    if type != VOID:
        report("NEEL2106", f"{type} has no elements", node.span, None)
    return VOID
