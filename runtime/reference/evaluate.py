"""The value of a bound expression: Spark's meaning, executed.

Nothing here fails on data: where Spark would raise an error (an overflow, a malformed text, a division by
zero) there is NULL, as from its try_ functions. Truth has three values; NULL is UNKNOWN.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from neelc.ir import expressions as e
from neelc.ir.expressions import (
    EventRef,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    Variable,
    element,
    is_array_of_path,
    is_many,
    lists,
)
from neelc.ir.names import bare
from neelc.ir.types import DATE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, VOID, Array, DataType, Struct
from neelc.runtime.reference.aggregates import aggregate, as_python
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, attribute
from neelc.runtime.user_functions import AggregateFailure, called
from neelc.runtime.values.functions import (
    ABOUT_NULL,
    FUNCTIONS,
    OF_TYPE,
    OF_TYPES,
    STRUCTS,
    extract,
    field_of,
    is_like,
    item_of,
)
from neelc.runtime.values.order import order
from neelc.runtime.values.scalars import FAILURES, binary, negative
from neelc.runtime.values.times import date_of, timestamp_ntz_of, timestamp_of
from neelc.runtime.values.types import cast, fit, to_timestamp
from neelc.scalar.intervals import interval_value
from neelc.scalar.type_of import extract_field, type_of, value_type

# References: which event, or which events, they mean in a context.


def event_of(reference: EventRef, context: EvaluationContext) -> ReferenceEvent | None:
    """The event, None if it is absent: a branch not taken, an index outside the list."""
    event = meaning(reference, context)
    return event if isinstance(event, ReferenceEvent) else None


def meaning(reference: EventRef, context: EvaluationContext) -> object:
    """An event, a list of events or of iterations, or one iteration: the bindings of its variables."""
    match reference:
        case Variable(name):
            return context.binding.get(name)
        case ListElement(base, index):
            members = list_of(base, context)
            place = position(index, len(members), context)
            return members[place] if place is not None and 0 <= place < len(members) else None
        case InnerVariable(base, name):
            iteration = meaning(base, context)
            return iteration.get(name) if isinstance(iteration, Mapping) else None
    return None


def list_of(reference: EventRef, context: EvaluationContext) -> tuple[object, ...]:
    """The list that a Kleene variable is bound to; empty if the variable is absent."""
    elements = meaning(reference, context)
    return elements if isinstance(elements, tuple) else ()


def is_absent(reference: EventRef, context: EvaluationContext) -> bool:
    """Whether there is no such list at all, which is not the same as an empty one."""
    return meaning(reference, context) is None


def position(index: Index, length: int, context: EvaluationContext) -> int | None:
    """The place of an index, from 0; it may lie outside the list."""
    match index.anchor:
        case "FIRST":
            return index.offset
        case "LAST":
            return length - 1 + index.offset
        case "CURRENT" if context.current is not None:
            return context.current + index.offset
    return None


def places(each: EveryElement, context: EvaluationContext) -> range:
    """The places of the elements that `b[]` or `b[..i-1]` ranges over."""
    length = len(list_of(each.base, context))
    if each.upper is None:
        return range(length)
    upper = position(each.upper, length, context)
    return range(0 if upper is None else max(0, min(length, upper + 1)))


def one_by_one(expression: Expr, context: EvaluationContext) -> Iterator[Expr]:
    """The expression for each element of the lists it ranges over, outer lists first."""
    each = next(lists(expression), None)
    if each is None:
        yield expression
        return
    for place in places(each, context):
        yield from one_by_one(element(expression, each, place), context)


_READERS: dict[DataType, Callable[[str], object]] = {
    DATE: date_of,
    TIMESTAMP: timestamp_of,
    TIMESTAMP_NTZ: timestamp_ntz_of,
}


def evaluate(expression: e.Expr, context: EvaluationContext) -> object:
    """The value of `expression` in `context`.

    >>> from neelc.ir.types import INT
    >>> five, none = e.Literal(5, INT), e.Literal(None, INT)
    >>> nowhere = EvaluationContext({})
    >>> evaluate(e.Binary("%", five, e.Literal(0, INT)), nowhere) is None
    True
    >>> evaluate(e.Binary("<=>", five, none), nowhere)
    False
    """
    match expression:
        case e.Literal(value, type):
            return _literal(value, type)
        case e.Interval():
            return interval_value(expression)
        case e.Attribute() | e.WholeEvent() | e.EventTime() | e.Field() | e.ElementAccess():
            return _array(expression, context) if is_array_of_path(expression) else _path(expression, context)
        case e.MatchProperty(name):
            return context.properties.get(bare(name))
        case e.Unary(op, operand):
            return _unary(op, evaluate(operand, context), type_of(operand))
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return compared(op, evaluate(left, context), evaluate(right, context))
        case e.Binary(op, left, right):
            return _binary(op, evaluate(left, context), evaluate(right, context), type_of(expression))
        case e.Cast(operand, type):
            return cast(evaluate(operand, context), value_type(type_of(operand)), value_type(type))
        case e.Call(declared=e.DeclaredFunction() as function, arguments=arguments):
            return _declared(function, arguments, context)
        case e.LambdaParameter(name):
            return context.parameters[name]
        case e.Call(name, arguments) if name in e.LAMBDAS:
            return _of_lambda(name, arguments, context)
        case e.Call(name, arguments, type=type) if name in OF_TYPES:
            types = [value_type(type_of(argument)) for argument in arguments]
            return OF_TYPES[name](*(evaluate(argument, context) for argument in arguments), *types)
        case e.Call(name, arguments, type=type):
            return call(name, [evaluate(argument, context) for argument in arguments], type or VOID)
        case e.Aggregate():
            return _aggregate(expression, context)
        case e.Extract(field, operand):
            return _extract(field, evaluate(operand, context))
        case e.Case():
            return _case(expression, context)
    return _condition(expression, context)


def _literal(value: object, type: DataType) -> object:
    if type in _READERS and isinstance(value, str):
        return _READERS[type](value)
    return fit(value, value_type(type))


def _path(path: e.Expr, context: EvaluationContext) -> object:
    """What an event holds; NULL where there is no event."""
    match path:
        case e.Attribute(reference, name, type):
            event = event_of(reference, context)
            value = None if event is None else attribute(event, name)
            return fit(value, "float") if type == FLOAT else value
        case e.EventTime(reference, name, type):
            event = event_of(reference, context)
            time = None if event is None else event.times[bare(name).lower() == "te"]
            # Of a union of streams, some may have a DATE where others have a TIMESTAMP.
            return to_timestamp(time) if type == TIMESTAMP and isinstance(time, datetime.date) else time
        case e.WholeEvent(reference, type):
            return _whole(meaning(reference, context), type)
        case e.Field(base, name):
            return field_of(_path(base, context), bare(name))
        case e.ElementAccess(base, index):
            return item_of(_path(base, context), evaluate(index, context))
    return evaluate(path, context)


def _array(path: e.Expr, context: EvaluationContext) -> list[object] | None:
    """What a path gives for each element; NULL where there is no list, its OR branch not being taken."""
    if is_absent(next(lists(path)).base, context):
        return None
    return [_path(one, context) for one in one_by_one(path, context)]


def _whole(value: object, type: DataType) -> object:
    """An event, an iteration of a closure, or a list of them, as a struct or an array of structs."""
    match value, type:
        case ReferenceEvent(), Struct(fields):
            return {bare(field.name): attribute(value, field.name) for field in fields}
        case Mapping(), Struct(fields):
            inner = {bare(name): inside for name, inside in value.items()}
            return {bare(field.name): _whole(inner.get(bare(field.name)), field.type) for field in fields}
        case tuple(), Array(kind):
            return [_whole(member, kind) for member in value]
    return None


def _unary(op: str, value: object, type: DataType) -> object:
    match op, value:
        case _, None:
            return None
        case "-", _:
            return fit(negative(value), value_type(type))
        case "~", int():
            return ~value
    return value


def _binary(op: str, left: object, right: object, type: DataType) -> object:
    if left is None or right is None:
        return None
    try:
        return fit(binary(op, left, right), value_type(type))
    except FAILURES:
        return None


def compared(op: str, left: object, right: object) -> bool | None:
    """A comparison; with NULL it is UNKNOWN, but for `<=>`.

    >>> compared("<", 1, None), compared("<=>", None, None), compared("=", float("nan"), float("nan"))
    (None, True, True)
    """
    if op == "<=>":
        return order(left, right) == 0
    if left is None or right is None:
        return None
    difference = order(left, right)
    match op:
        case "=":
            return difference == 0
        case "<>":
            return difference != 0
        case "<":
            return difference < 0
        case "<=":
            return difference <= 0
        case ">":
            return difference > 0
    return difference >= 0


def call(name: str, arguments: Sequence[object], type: DataType) -> object:
    """The value of a function: NULL if an argument is, but for those that are about NULL.

    >>> from neelc.ir.types import INT
    >>> call("coalesce", (None, 5), INT), call("abs", (-(2**31),), INT), call("abs", (None,), INT)
    (5, None, None)
    """
    kind = value_type(type)
    try:
        if name in STRUCTS:
            return STRUCTS[name](*arguments, type=kind)
        if name in ABOUT_NULL:
            return fit(ABOUT_NULL[name](*arguments), kind)
        if any(argument is None for argument in arguments):
            return None
        if name in OF_TYPE:
            return OF_TYPE[name](*arguments, type=kind)
        return fit(FUNCTIONS[name](*arguments), kind)
    except FAILURES:
        return None


def _declared(
    function: e.DeclaredFunction, arguments: Sequence[e.Expr], context: EvaluationContext
) -> object:
    """A function of users: NULL if an argument is."""
    from neelc.runtime.vector_functions import value_of_call  # loads NumPy, which few queries need

    values = [evaluate(argument, context) for argument in arguments]
    if any(value is None for value in values):
        return None
    if function.python is None:
        message = f"function `{function.name}` is declared without Python code: only the engine has it"
        raise AggregateFailure(function.name, message)

    given = [as_python(value, kind) for value, kind in zip(values, function.takes, strict=True)]
    takes = tuple(map(str, function.takes))
    return value_of_call(function.name, function.python, takes, str(function.returns), given)


def _of_lambda(name: str, arguments: Sequence[e.Expr], context: EvaluationContext) -> object:
    """A function of an array and of a lambda, which sees the array's elements one by one."""
    values = evaluate(arguments[0], context)
    if not isinstance(values, list | tuple):
        return None
    *_, last = arguments

    def applied(one: e.Expr, *given: object) -> object:
        assert isinstance(one, e.Lambda), "the table says so"
        parameters = {**context.parameters, **dict(zip(one.parameters, given, strict=True))}
        return evaluate(one.body, replace(context, parameters=parameters))

    if name in ("aggregate", "reduce"):
        held = evaluate(arguments[1], context)
        for value in values:
            held = applied(arguments[2], held, value)
        return applied(last, held) if len(arguments) > 3 else held
    assert isinstance(last, e.Lambda), "the table says so"
    places = len(last.parameters) > 1
    found = [
        applied(last, value, place) if places else applied(last, value) for place, value in enumerate(values)
    ]
    match name:
        case "filter":
            return [value for value, holds in zip(values, found, strict=True) if holds is True]
        case "exists":
            return negation(conjunction(negation(_truth_of(one)) for one in found))
        case "forall":
            return conjunction(_truth_of(one) for one in found)
    return found


def _truth_of(value: object) -> bool | None:
    assert value is None or isinstance(value, bool), "a condition"
    return value


def _aggregate(node: e.Aggregate, context: EvaluationContext) -> object:
    """Over the elements of the lists named in its argument, else over the matches of the group."""
    if node.argument is None:
        return len(context.matches or ())
    if node.function is not None:
        kind = type_of(node.argument, inside_aggregate=True)
        values = [as_python(value, kind) for value in _values(node.argument, context)]
        return called(node.name, node.function, str(node.type), values)
    values = _values(node.argument, context)
    return aggregate(node.name, [v for v in values if v is not None], node.type, node.distinct)


def _values(argument: e.Expr, context: EvaluationContext) -> list[object]:
    if is_many(argument):
        return [evaluate(one, context) for one in one_by_one(argument, context)]
    return [evaluate(argument, match) for match in context.matches or ()]


def _extract(field: str, value: object) -> object:
    name = extract_field(field)
    try:
        return None if value is None or name is None else extract(value, name)
    except FAILURES:
        return None


def _case(node: e.Case, context: EvaluationContext) -> object:
    subject = None if node.operand is None else evaluate(node.operand, context)
    for when in node.whens:
        test = evaluate(when.condition, context)
        if (test if node.operand is None else compared("=", subject, test)) is True:
            return evaluate(when.result, context)
    return None if node.otherwise is None else evaluate(node.otherwise, context)


def _condition(node: e.Expr, context: EvaluationContext) -> bool | None:
    match node:
        case e.Conjunction(operands):
            return conjunction(_truth(operand, context) for operand in operands)
        case e.Disjunction(operands):
            return negation(conjunction(negation(_truth(operand, context)) for operand in operands))
        case e.Negation(operand):
            return negation(_truth(operand, context))
        case e.IsTruth(operand, value, negated):
            return (_truth(operand, context) is value) != negated
        case e.IsNull(operand, negated):
            return (evaluate(operand, context) is None) != negated
        case e.IsDistinct(left, right, negated):
            return compared("<=>", evaluate(left, context), evaluate(right, context)) == negated
        case e.Between(operand, low, high, negated):
            middle = evaluate(operand, context)
            above = compared(">=", middle, evaluate(low, context))
            inside = conjunction((above, compared("<=", middle, evaluate(high, context))))
            return negation(inside) if negated else inside
        case e.InList(operand, items, negated):
            sought = evaluate(operand, context)
            absent = conjunction(compared("<>", sought, evaluate(item, context)) for item in items)
            return absent if negated else negation(absent)
        case e.Like():
            return _like(node, context)
    raise AssertionError(f"{type(node).__name__} is not bound")


def _truth(node: e.Expr, context: EvaluationContext) -> bool | None:
    value = evaluate(node, context)
    return value if isinstance(value, bool) else None


def conjunction(values: Iterable[bool | None]) -> bool | None:
    """AND in three-valued logic.

    >>> conjunction([None, False]), conjunction([None, True])
    (False, None)
    """
    operands = list(values)
    return False if False in operands else None if None in operands else True


def negation(value: bool | None) -> bool | None:
    return None if value is None else not value


def _like(node: e.Like, context: EvaluationContext) -> bool | None:
    text, pattern = evaluate(node.operand, context), evaluate(node.pattern, context)
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    try:
        return is_like(text, pattern, node.escape, node.kind) != node.negated
    except FAILURES:
        return None
