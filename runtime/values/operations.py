"""The table of operations, and the value of an expression: for many rows at once, and for one row."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, distinct
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Apply,
    ApplyDeclared,
    ApplyLambda,
    ColumnValue,
    Constant,
    EventName,
    LambdaArgument,
    OneByOne,
    PatternProgram,
    Total,
    Value,
    columns_of_value,
    conditions,
    names_of_value,
    totals_of_value,
)
from neelc.runtime.values import arithmetic
from neelc.runtime.values.functions import (
    ABOUT_NULL,
    FUNCTIONS,
    OF_TYPE,
    STRUCTS,
    extract,
    field_of,
    is_like,
    item_of,
)
from neelc.runtime.values.functions.space import SPATIAL, computed
from neelc.runtime.values.order import equal, less
from neelc.runtime.values.scalars import FAILURES, MICROSECOND, binary, negative, quotient, remainder
from neelc.runtime.values.types import BITS, EPOCH, DecimalOf, ValueType, cast, fit, single, to_integer
from neelc.runtime.vector_columns import nullable_of_call
from neelc.runtime.vector_functions import values_of_call


@dataclass(frozen=True)
class Operation:
    """How an operation is computed: of `single` values, and of whole `columns` if kernels can do that.

    The function of columns is given the type of the result as `type`; so is that of single values if it is
    `typed`. That one is called only if no operand is NULL, unless it `sees_nulls`. What it gives is fitted to
    the type of the result, and its failures are NULL.
    """

    single: Callable[..., Any]
    columns: Callable[..., NullableArray] | None = None
    sees_nulls: bool = False
    typed: bool = False


def _untyped(compute: Callable[..., NullableArray]) -> Callable[..., NullableArray]:
    """A function of columns that needs no type."""
    return lambda *operands, type: compute(*operands)


def _compared(name: str) -> Callable[..., NullableArray]:
    return _untyped(arithmetic.comparison(name))


# Operations on single values. Numbers are the most common, and need no more than Python.

_NUMBERS = frozenset((int, float))


def _calculated(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculate(left: Any, right: Any) -> Any:
        if left.__class__ in _NUMBERS and right.__class__ in _NUMBERS:
            return compute(left, right)
        return binary(name, left, right)

    return calculate


def _remainder(left: Any, right: Any) -> Any:
    if left.__class__ is right.__class__ is int:
        return left - right * quotient(left, right)
    return remainder(float(left), float(right))


def _negative(value: Any) -> Any:
    return -value if isinstance(value, int | float) else negative(value)


def _same(left: Any, right: Any) -> bool:
    """`<=>`: NULL is like NULL, and unlike all else."""
    if left is None or right is None:
        return left is right
    return equal(left, right)


def _conjunction(*operands: bool | None) -> bool | None:
    if False in operands:
        return False
    return None if None in operands else True


def _disjunction(*operands: bool | None) -> bool | None:
    if True in operands:
        return True
    return None if None in operands else False


def _case(*operands: Any) -> Any:
    """Condition, result, condition, result, ... and what holds otherwise."""
    for condition, result in zip(operands[:-1:2], operands[1::2], strict=False):
        if condition is True:
            return result
    return operands[-1] if len(operands) % 2 else None


def _cast(value: Any, source: ValueType | None = None, *, type: ValueType) -> Any:
    """Between types of numbers, the source does not matter: what is made is a number that fits."""
    return value if source is None else cast(value, source, type)


def _time_of(number: int, *, type: ValueType) -> datetime.date:
    """A time from the number that kernels count it by: of days, or of microseconds.

    >>> print(_time_of(1, type="date"), _time_of(1_500_000, type="timestamp"))
    1970-01-02 1970-01-01 00:00:01.500000+00:00
    """
    if type == "date":
        return EPOCH.date() + datetime.timedelta(days=number)
    moment = EPOCH + datetime.timedelta(microseconds=number)
    return moment if type == "timestamp" else moment.replace(tzinfo=None)


def _number_of(time: datetime.date) -> int:
    """The number of a time: see `_time_of`.

    >>> _number_of(datetime.date(1970, 1, 2)), _number_of(datetime.datetime(1970, 1, 1, 0, 0, 1))
    (1, 1000000)
    """
    if not isinstance(time, datetime.datetime):
        return (time - EPOCH.date()).days
    epoch = EPOCH if time.tzinfo is not None else EPOCH.replace(tzinfo=None)
    return (time - epoch) // MICROSECOND


def _of_space(name: str) -> Callable[..., NullableArray]:
    return _untyped(
        lambda *operands: NullableArray(*computed(name, [(one.values, one.valid) for one in operands]))
    )


OPERATIONS: dict[str, Operation] = {
    **{name: Operation(function) for name, function in FUNCTIONS.items()},
    **{name: Operation(FUNCTIONS[name], _of_space(name)) for name in SPATIAL},
    **{name: Operation(function, sees_nulls=True) for name, function in ABOUT_NULL.items()},
    **{name: Operation(function, typed=True) for name, function in OF_TYPE.items()},
    **{name: Operation(function, sees_nulls=True, typed=True) for name, function in STRUCTS.items()},
    "=": Operation(equal, _compared("=")),
    "<>": Operation(lambda left, right: not equal(left, right), _compared("<>")),
    "<": Operation(less, _compared("<")),
    "<=": Operation(lambda left, right: not less(right, left), _compared("<=")),
    ">": Operation(lambda left, right: less(right, left), _compared(">")),
    ">=": Operation(lambda left, right: not less(left, right), _compared(">=")),
    "<=>": Operation(_same, _untyped(arithmetic.same), sees_nulls=True),
    # Equality of what is not absent: `evaluate` sees to the rest.
    "agrees": Operation(equal, _compared("=")),
    "and": Operation(_conjunction, _untyped(arithmetic.conjunction), sees_nulls=True),
    "or": Operation(_disjunction, _untyped(arithmetic.disjunction), sees_nulls=True),
    "not": Operation(lambda operand: not operand, _untyped(arithmetic.negation)),
    "isnull": Operation(ABOUT_NULL["isnull"], _untyped(arithmetic.is_null), sees_nulls=True),
    "isnotnull": Operation(ABOUT_NULL["isnotnull"], _untyped(arithmetic.is_not_null), sees_nulls=True),
    "istrue": Operation(
        lambda operand: operand is True,
        _untyped(lambda operand: NullableArray(arithmetic.is_true(operand))),
        sees_nulls=True,
    ),
    "isfalse": Operation(
        lambda operand: operand is False,
        _untyped(lambda operand: NullableArray(arithmetic.is_false(operand))),
        sees_nulls=True,
    ),
    "+": Operation(_calculated("+", lambda left, right: left + right), arithmetic.binary("+")),
    "-": Operation(_calculated("-", lambda left, right: left - right), arithmetic.binary("-")),
    "*": Operation(_calculated("*", lambda left, right: left * right), arithmetic.binary("*")),
    "/": Operation(_calculated("/", lambda left, right: left / right), arithmetic.binary("/")),
    "%": Operation(_calculated("%", _remainder), arithmetic.binary("%")),
    "DIV": Operation(_calculated("DIV", quotient), arithmetic.binary("DIV")),
    **{name: Operation(partial(binary, name)) for name in ("||", "&", "|", "^")},
    "~": Operation(lambda operand: ~operand),
    "neg": Operation(_negative, arithmetic.negative),
    "abs": Operation(FUNCTIONS["abs"], arithmetic.absolute),
    "cast": Operation(_cast, arithmetic.cast, typed=True),
    "coalesce": Operation(ABOUT_NULL["coalesce"], arithmetic.coalesce, sees_nulls=True),
    "case": Operation(_case, arithmetic.case, sees_nulls=True),
    "if": Operation(ABOUT_NULL["if"], arithmetic.case, sees_nulls=True),
    "greatest": Operation(ABOUT_NULL["greatest"], arithmetic.greatest, sees_nulls=True),
    "least": Operation(ABOUT_NULL["least"], arithmetic.least, sees_nulls=True),
    "extract": Operation(extract),
    "like": Operation(partial(is_like, kind="LIKE")),
    "ilike": Operation(partial(is_like, kind="ILIKE")),
    "rlike": Operation(partial(is_like, kind="RLIKE")),
    "field": Operation(field_of),
    "item": Operation(item_of),
    "time_of": Operation(_time_of, typed=True),
    "number_of": Operation(_number_of),
}
"""Adding an operation is adding a line here; a scalar function without one for columns has its line in a
table of `neelc.runtime.values.functions`."""


# Many rows at once.

Lookup = Callable[[EventName], Numbers | NullableArray | None]
"""A variable -> its event in each row, -1 where it is absent; None: in all rows. The name of a fold -> what
was computed."""


def check(program: PatternProgram) -> None:
    """Refuses a program with an operation that is not in the table."""
    pending = list(conditions(program.steps))
    while pending:
        value = pending.pop()
        if isinstance(value, ApplyDeclared):
            pending.extend(value.operands)
        elif isinstance(value, Apply):
            operation = OPERATIONS.get(value.operation)
            if operation is None or operation.columns is None:
                raise KeyError(value.operation)
            pending.extend(value.operands)


def evaluate(value: Value, lookup: Lookup, events: KernelEvents) -> NullableArray:
    """The value in each row; one entry stands for all rows."""
    match value:
        case Constant(None):
            return arithmetic.NULL
        case Constant(constant):
            return NullableArray(np.array([constant]))
        case ColumnValue(variable, name):
            return _column(events.columns[name], _numbers(variable, lookup))
        case Total(name):
            total = lookup(name)
            return total if isinstance(total, NullableArray) else arithmetic.NULL
        case ApplyDeclared(name, operands, takes=takes, returns=returns):
            columns = [evaluate(operand, lookup, events) for operand in operands]
            return nullable_of_call(name, events.functions[name], takes, returns, columns)
        case Apply(operation, operands, type):
            arguments = [evaluate(operand, lookup, events) for operand in operands]
            compute = OPERATIONS[operation].columns
            assert compute is not None, f"no kernel computes {operation}"
            result = compute(*arguments, type=type)
            return _agreed(result, value, lookup) if operation == "agrees" else result
        case OneByOne(single):
            return _one_by_one(single, lookup, events)
    raise TypeError(value)


def _one_by_one(value: Value, lookup: Lookup, events: KernelEvents) -> NullableArray:
    """A truth value of each combination of events, computed once for each that is there; of each row, if
    lists have a part in it."""
    columns, totals = dict.fromkeys(columns_of_value(value)), dict.fromkeys(totals_of_value(value))
    found = {column.variable: _numbers(column.variable, lookup) for column in columns}
    known = {total: lookup(total.name) for total in totals}
    rows = max(
        (len(one) for one in (*found.values(), *map(_array, known.values())) if one is not None), default=1
    )
    nothing = np.full(rows, -1)
    bound = {name: nothing if numbers is None else numbers for name, numbers in found.items()}
    if totals or not bound:
        first = like = np.arange(rows)
    else:
        first, like = distinct(list(bound.values()))
    given: dict[Value, Sequence[object]] = {
        column: _python_values(column, bound[column.variable][first], events) for column in columns
    }
    given |= {total: _python_totals(total, one, rows, events) for total, one in known.items()}
    results = _single_values(value, given, events, len(first))
    truths = np.array([result is True for result in results], bool)
    return NullableArray(truths[like], np.array([result is not None for result in results], bool)[like])


def _array(total: Numbers | NullableArray | None) -> Numbers | None:
    return total.values if isinstance(total, NullableArray) else None


def _python_totals(
    total: Total, found: Numbers | NullableArray | None, rows: int, events: KernelEvents
) -> Sequence[object]:
    """The values of a fold in each row; of no elements, where there is no list."""
    if isinstance(found, NullableArray):
        values: list[object] = found.values.tolist()
        if found.valid is None:
            return values
        return [value if known else None for value, known in zip(values, found.valid.tolist(), strict=True)]
    return [events.calls[total.name].of(()) if total.name in events.calls else None] * rows


def _single_values(
    value: Value, given: Mapping[Value, Sequence[object]], events: KernelEvents, rows: int
) -> Sequence[object]:
    """A value for each of some rows, of what is given for them. Functions of users see all rows at once."""
    known = dict(given)
    for call in dict.fromkeys(_outermost_calls(value)):
        operands = [_single_values(one, given, events, rows) for one in call.operands]
        function = events.functions[call.operation]
        known[call] = values_of_call(call.operation, function, call.takes, call.returns, operands)
    names = list(known)
    compute = compiled(value, names.index)
    return [compute(row) for row in zip(*known.values(), strict=True)] if known else [compute(())] * rows


def _outermost_calls(value: Value) -> Iterator[ApplyDeclared]:
    if isinstance(value, ApplyDeclared):
        yield value
    elif isinstance(value, Apply):
        for operand in value.operands:
            yield from _outermost_calls(operand)


def _python_values(column: ColumnValue, numbers: Numbers, events: KernelEvents) -> list[object]:
    """The values of a column for some events; None where there is none."""
    assert events.values is not None, "single values are needed"
    present = np.flatnonzero(numbers >= 0)
    values: list[object] = [None] * len(numbers)
    for place, value in zip(present.tolist(), events.values(column.name, numbers[present]), strict=True):
        values[place] = value
    return values


def seen(frontier: Frontier) -> Lookup:
    """What the rows of a table have."""

    def lookup(name: EventName) -> Numbers | NullableArray | None:
        if isinstance(name, str) and name in frontier.totals:
            return frontier.totals[name]
        return frontier.variables.get(name)

    return lookup


def _numbers(variable: EventName, lookup: Lookup) -> Numbers | None:
    found = lookup(variable)
    assert not isinstance(found, NullableArray), "a variable has events"
    return found


def _column(column: NullableArray, numbers: Numbers | None) -> NullableArray:
    if numbers is None or not len(column.values):
        return arithmetic.NULL
    values = column.values[numbers]
    present = numbers >= 0
    if column.valid is not None:
        return NullableArray(values, present & column.valid[numbers])
    return NullableArray(values, None if present.all() else present)


def _agreed(equal: NullableArray, value: Apply, lookup: Lookup) -> NullableArray:
    """True also where one of the events is absent."""
    absent = np.zeros(1, bool)
    for variable in names_of_value(value):
        numbers = _numbers(variable, lookup)
        absent = absent | (np.ones(1, bool) if numbers is None else numbers < 0)
    return NullableArray(absent | equal.values, None if equal.valid is None else absent | equal.valid)


def holds(condition: Value, lookup: Lookup, events: KernelEvents, rows: int) -> Truths:
    """The rows in which the condition is true."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(arithmetic.is_true(evaluate(condition, lookup, events)), (rows,))


# One row.

SingleValue = Callable[[Sequence[Any]], Any]
"""The values of the columns that an expression names, in their places -> its own value."""


def compiled(value: Value, place: Callable[[Any], int]) -> SingleValue:
    """The value of an expression; `place` returns the position of a column's value, and of that of a function
    of users. What is constant is computed here: in the time zone in which the expression will be evaluated.

    >>> rises = Apply(">", (ColumnValue("a", "x"), Apply("+", (ColumnValue("b", "y"), Constant(1)), "int")))
    >>> test = compiled(rises, lambda column: "xy".index(column.name))
    >>> test([3, 1]), test([2, 1]), test([None, 1]), test([3, 2**31 - 1])
    (True, False, None, None)
    """
    match value:
        case Constant(constant):
            return lambda values: constant
        case ColumnValue() | ApplyDeclared() | Total():
            return itemgetter(place(value))
        case LambdaArgument():
            return itemgetter(place(value))
        case Apply(name, (array, *others), type) if any(isinstance(one, ApplyLambda) for one in others):
            return _of_lambdas(
                name, [_compiled_lambda(one, place) for one in (array, *others)], _fitting(type)
            )
        case Apply(name, operands, type):
            operation = OPERATIONS[name]
            compute = partial(operation.single, type=type) if operation.typed else operation.single
            parts = [compiled(operand, place) for operand in operands]
            fits = _fitting(type)
            if operands and all(isinstance(operand, Constant) for operand in operands):
                found = _of_many(compute, parts, fits, operation.sees_nulls)(())
                return lambda values: found
            if len(parts) > 2 or operation.sees_nulls:
                return _of_many(compute, parts, fits, operation.sees_nulls)
            return (_of_one if len(parts) == 1 else _of_two)(compute, parts, fits)
    raise TypeError(value)


def _compiled_lambda(value: Value, place: Callable[[Any], int]) -> tuple[SingleValue, int]:
    """An operand of a function of arrays, and how many parameters it has. The values of a lambda's parameters
    come behind all others."""
    if not isinstance(value, ApplyLambda):
        return compiled(value, place), 0
    own, (body,) = value.parameters, value.operands

    def place_inside(one: Any) -> int:
        if isinstance(one, LambdaArgument) and one.name in own:
            return own.index(one.name) - len(own)
        found = place(one)
        return found - len(own) if found < 0 else found

    return compiled(body, place_inside), len(own)


def _of_lambdas(name: str, operands: Sequence[tuple[SingleValue, int]], fits: Fitting) -> SingleValue:
    """A function of an array and of lambdas, which see its elements one by one."""
    (array, _), *others = operands

    def all_elements(values: Sequence[Any]) -> Any:
        elements = array(values)
        if elements is None:
            return None
        if name in ("aggregate", "reduce"):
            return _reduced(elements, others, tuple(values))
        ((body, parameters),) = others
        given = ((one, place)[:parameters] for place, one in enumerate(elements))
        return LAMBDAS[name](elements, [body((*values, *one)) for one in given])

    def fitted(values: Sequence[Any]) -> Any:
        try:
            found = all_elements(values)
            return found if found is None or fits is None else fits(found)
        except FAILURES:
            return None

    return fitted


def _reduced(
    elements: Sequence[Any], others: Sequence[tuple[SingleValue, int]], values: tuple[Any, ...]
) -> Any:
    (first, _), (merge, _), *finish = others
    held = first(values)
    for one in elements:
        held = merge((*values, held, one))
    return finish[0][0]((*values, held)) if finish else held


LAMBDAS: Mapping[str, Callable[[Sequence[Any], list[Any]], Any]] = {
    "exists": lambda elements, found: _disjunction(*found),
    "filter": lambda elements, found: [
        one for one, kept in zip(elements, found, strict=True) if kept is True
    ],
    "forall": lambda elements, found: _conjunction(*found),
    "transform": lambda elements, found: found,
}
"""Functions of an array and of what a lambda gives for each of its elements."""

Fitting = Callable[[Any], Any] | None


def _fitting(type: ValueType | None) -> Fitting:
    """What makes a value, which is not NULL, one of the type; None if each is.

    >>> _fitting("int")(2.7), _fitting("tinyint")(128), _fitting("double")(1)
    (2, None, 1.0)
    """
    match type:
        case "double":
            return float
        case "float":
            return lambda value: single(float(value))
        case "boolean":
            return bool
        case str() if type in BITS:
            return partial(_whole, limit=1 << (BITS[type] - 1))
        case DecimalOf() | "interval day to second" | "interval year to month":
            return partial(fit, type=type)
    return None


def _whole(value: Any, limit: int) -> int | None:
    whole = value if value.__class__ is int else to_integer(value)
    return whole if -limit <= whole < limit else None


def _of_one(compute: Callable[[Any], Any], parts: list[SingleValue], fits: Fitting) -> SingleValue:
    (part,) = parts

    def one(values: Sequence[Any]) -> Any:
        operand = part(values)
        if operand is None:
            return None
        try:
            found = compute(operand)
            return found if found is None or fits is None else fits(found)
        except FAILURES:
            return None

    return one


def _of_two(compute: Callable[[Any, Any], Any], parts: list[SingleValue], fits: Fitting) -> SingleValue:
    left, right = parts

    def two(values: Sequence[Any]) -> Any:
        first = left(values)
        if first is None:
            return None
        second = right(values)
        if second is None:
            return None
        try:
            found = compute(first, second)
            return found if found is None or fits is None else fits(found)
        except FAILURES:
            return None

    return two


def _of_many(
    compute: Callable[..., Any], parts: list[SingleValue], fits: Fitting, sees_nulls: bool
) -> SingleValue:
    def many(values: Sequence[Any]) -> Any:
        operands = [part(values) for part in parts]
        if not sees_nulls and any(operand is None for operand in operands):
            return None
        try:
            found = compute(*operands)
            return found if found is None or fits is None else fits(found)
        except FAILURES:
            return None

    return many
