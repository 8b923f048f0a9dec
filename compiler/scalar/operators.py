"""Types of arithmetic: which operands an operator takes and what they are cast to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from neelc.errors import Hint
from neelc.ir.expressions import (
    BITWISE,
    Between,
    Binary,
    Call,
    Case,
    CaseBranch,
    Cast,
    Conjunction,
    Disjunction,
    Expr,
    InList,
    Interval,
    IsDistinct,
    Like,
    Literal,
    Negation,
    Unary,
)
from neelc.ir.names import same
from neelc.ir.node import Node, walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    SimpleType,
    Struct,
    StructField,
    is_orderable,
)
from neelc.scalar import decimals
from neelc.scalar.intervals import is_whole_days
from neelc.scalar.type_of import DATETIMES, INTERVALS, binary_type, type_of
from neelc.source import Span

# Which type two types have in common, and which casts there are: Spark 4's ANSI rules.

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
REALS = (FLOAT, DOUBLE)


GEOMETRY_CASTS: dict[tuple[DataType, DataType], str] = {
    (STRING, GEOMETRY): "st_geomfromtext",
    (BINARY, GEOMETRY): "st_geomfromwkb",
    (GEOMETRY, STRING): "st_astext",
    (GEOMETRY, BINARY): "st_asbinary",
}
"""The functions that casts of geometries are."""


def is_number(type: DataType) -> bool:
    return type in INTEGERS or type in REALS or isinstance(type, Decimal)


def is_nested(type: DataType) -> bool:
    return isinstance(type, Array | Map | Struct)


def cast_to(expression: Expr, source: DataType, target: DataType) -> Expr:
    """The expression, with an implicit cast if its type is another."""
    if (source, target) in GEOMETRY_CASTS:
        name = GEOMETRY_CASTS[source, target]
        return Call(name, (expression,), type=target, span=expression.span)
    return expression if source == target else Cast(expression, target, implicit=True, span=expression.span)


def common(left: DataType, right: DataType, strings: bool = True) -> DataType | None:
    """The type that values of both are cast to before they are compared or put into one column, or None.

    `strings` says whether a STRING may become the type of the other side.

    >>> common(INT, FLOAT), common(DATE, TIMESTAMP), common(STRING, INT), common(BOOLEAN, INT)
    (SimpleType(name='DOUBLE'), SimpleType(name='TIMESTAMP'), SimpleType(name='BIGINT'), None)
    """
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if left in DATETIMES and right in DATETIMES:
        return TIMESTAMP_NTZ if TIMESTAMP not in (left, right) else TIMESTAMP
    if strings and STRING in (left, right):
        return _promoted(right if left == STRING else left)
    return _common_nested(left, right, strings)


def _common_number(left: DataType, right: DataType) -> DataType:
    if left in REALS or right in REALS:
        return DOUBLE  # INT with FLOAT too: a FLOAT cannot hold every INT
    if left in INTEGERS and right in INTEGERS:
        return INTEGERS[max(INTEGERS.index(left), INTEGERS.index(right))]
    first, second = decimals.as_decimal(left), decimals.as_decimal(right)
    assert first is not None and second is not None
    return decimals.wider(first, second)


def _promoted(other: DataType) -> DataType | None:
    """What a STRING becomes beside a value of another type."""
    if other in INTEGERS:
        return BIGINT
    if is_number(other):
        return DOUBLE
    return None if other in INTERVALS or is_nested(other) else other


def _common_nested(left: DataType, right: DataType, strings: bool) -> DataType | None:
    match left, right:
        case Array(first), Array(second):
            element = common(first, second, strings)
            return None if element is None else Array(element)
        case Map(first_key, first_value), Map(second_key, second_value):
            key, value = common(first_key, second_key, strings), common(first_value, second_value, strings)
            return None if key is None or value is None else Map(key, value)
        case Struct(first_fields), Struct(second_fields) if len(first_fields) == len(second_fields):
            fields = []
            for one, other in zip(first_fields, second_fields, strict=True):
                type = common(one.type, other.type, strings)
                if type is None or not same(one.name, other.name):
                    return None
                fields.append(StructField(one.name, type))
            return Struct(tuple(fields))
    return None


def common_of(types: Iterable[DataType], strings: bool = True) -> DataType | None:
    """The common type of many, from left to right as Spark does.

    >>> common_of([INT, STRING, Decimal(2, 1)])
    Decimal(precision=21, scale=1)
    """
    found: DataType | None = VOID
    for type in types:
        if found is not None:
            found = common(found, type, strings)
    return found


def tightest(types: Iterable[DataType]) -> DataType | None:
    """The common type of elements that Spark puts into one array: no DECIMAL stands beside another number.

    >>> tightest([INT, BIGINT]), tightest([INT, Decimal(5, 2)])
    (SimpleType(name='BIGINT'), None)
    """
    given = [type for type in types if type != VOID]
    if any(isinstance(part, Decimal) for type in given for part in walk(type)) and len(set(given)) > 1:
        return None
    return common_of(given, strings=False)


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether CAST(source AS target) makes sense at all; a single value may still fail, which gives NULL.

    >>> can_cast(STRING, DATE), can_cast(INT, DATE), can_cast(TIMESTAMP, BIGINT)
    (True, False, True)
    """
    if VOID in (source, target) or source == target:
        return target != VOID or source == VOID
    match source, target:
        case Array(one), Array(other):
            return can_cast(one, other)
        case Map(key, value), Map(other_key, other_value):
            return can_cast(key, other_key) and can_cast(value, other_value)
        case Struct(fields), Struct(others):
            pairs = zip(fields, others, strict=False)
            return len(fields) == len(others) and all(can_cast(f.type, o.type) for f, o in pairs)
    if target == STRING or (source, target) in GEOMETRY_CASTS:
        return True
    if is_nested(source) or is_nested(target):
        return False
    if source == STRING:
        return True
    if is_number(target):
        counted = source in INTERVALS and target not in REALS
        return counted or is_number(source) or source in (BOOLEAN, TIMESTAMP)
    if target == TIMESTAMP:
        return is_number(source) or source in DATETIMES
    if target in (DATE, TIMESTAMP_NTZ):
        return source in DATETIMES
    if target in INTERVALS:
        return source in INTEGERS or isinstance(source, Decimal)
    return target == BOOLEAN and is_number(source)


# Ways out of type errors.

EXAMPLES: dict[DataType, str] = {
    DATE: "a date is written DATE '2020-01-31'",
    TIMESTAMP: "a timestamp is written TIMESTAMP '2020-01-31 12:00:00'; unix_millis(x) makes it a number",
    TIMESTAMP_NTZ: "a local time is written TIMESTAMP_NTZ '2020-01-31 12:00:00'",
}


def hint_for_comparison(left: DataType, right: DataType) -> str:
    """What would fit, for two types that cannot be compared.

    >>> from neelc.ir.types import DAY_INTERVAL, INT
    >>> hint_for_comparison(DAY_INTERVAL, INT)
    "an interval is written INTERVAL '5' SECOND"
    """
    kinds = (left, right)
    if GEOMETRY in kinds:
        return "st_equals(a, b) compares places; CAST(... AS STRING) compares texts"
    for kind in kinds:
        if isinstance(kind, Map):
            return "maps have no order and no equality; their values can be compared: m['key']"
        if isinstance(kind, Array):
            return "of a list b[], one element, b[1] or b[last], or an aggregate, max(b[].x), can be compared"
        if isinstance(kind, Struct):
            return "the fields of a struct can be compared: a.position.x"
    if all(kind in INTERVALS for kind in kinds):
        return "a month has no fixed number of days: both sides must count days, or both months"
    for kind in kinds:
        if kind in INTERVALS:
            return "an interval is written INTERVAL '5' SECOND"
        if kind in EXAMPLES:
            return EXAMPLES[kind]
    if BOOLEAN in (left, right):
        return "a BOOLEAN is itself a condition: x, or NOT x"
    return f"CAST(... AS {left if is_number(left) or left == STRING else right}) converts a value"


def hint_for_operands(op: str, left: DataType, right: DataType) -> str | None:
    """What would fit, for an operator that is not defined for two types.

    >>> from neelc.ir.types import INT
    >>> hint_for_operands("+", TIMESTAMP, INT)
    "time is added as an interval: ts + INTERVAL '5' SECOND"
    """
    kinds = (left, right)
    if left == DATE and right == BIGINT and op in ("+", "-"):
        return "days are added as an INT: CAST(... AS INT)"
    if op in ("+", "-") and any(kind in EXAMPLES for kind in kinds) and any(map(is_number, kinds)):
        return "time is added as an interval: ts + INTERVAL '5' SECOND"
    if any(kind in INTERVALS for kind in kinds) and any(map(is_number, kinds)) and op in ("+", "-"):
        return "an interval is written INTERVAL '5' SECOND"
    if kinds == (STRING, STRING):
        return "|| joins strings" if op == "+" else "CAST(... AS DOUBLE) makes a string a number"
    if op == "DIV":
        return "DIV divides whole numbers; / divides all"
    if any(isinstance(kind, Array) and is_number(kind.element) for kind in kinds):
        return "of a list b[], one element, b[1] or b[last], or an aggregate, sum(b[].x), is a number"
    return None


# What the parts of the type checker hand to each other.

# Records a diagnostic: code, message, place, hint.
Report = Callable[[str, str, Span | None, Hint | str | None], None]

# An expression and its type. What is wrong, and has been reported, has the type of NULL, which fits
# everywhere: one mistake gives one message.
Typed = tuple[Expr, DataType]


def wrong(expression: Expr) -> Typed:
    """An expression that has been reported."""
    return expression, VOID


def cast(typed: Typed, target: DataType) -> Expr:
    """The expression as a value of `target`."""
    return cast_to(*typed, target)


def literal_integer(expression: Expr) -> int | None:
    """The value of an integer that is written down, with or without a sign.

    >>> from neelc.ir.types import INT
    >>> literal_integer(Unary("-", Literal(5, INT)))
    -5
    """
    match expression:
        case Literal(bool()):
            return None
        case Literal(int(value)):
            return value
        case Unary("-", Literal(int(value))) if not isinstance(value, bool):
            return -value
        case Unary("+", Literal(int(value))) if not isinstance(value, bool):
            return value
    return None


Sides = tuple[DataType, DataType]
DAY_COUNTS = tuple(type for type in INTEGERS if type != BIGINT)


def unary(node: Unary, operand: Typed, report: Report) -> Typed:
    """`-`, `+` and `~`.

    >>> unary(Unary("-", Literal("5", STRING)), (Literal("5", STRING), STRING), print)[1]
    SimpleType(name='DOUBLE')
    """
    kind = operand[1]
    target: DataType | None
    if node.op == "~":
        target = INT if kind == VOID else kind if kind in INTEGERS else None
    else:
        target = DOUBLE if kind in (STRING, VOID) else kind if is_number(kind) or kind in INTERVALS else None
    if target is None:
        fitting = "an integer" if node.op == "~" else "a number or an interval"
        hint = "NOT negates a condition" if kind == BOOLEAN else None
        report("NEEL2102", f"`{node.op}` takes {fitting}, not {kind}", node.span, hint)
        return wrong(node)
    least = _least(node.op, operand[0], node.span)
    if least is not None:
        return least, least.type
    return replace(node, operand=cast(operand, target)), target


def _least(op: str, operand: Expr, span: Span | None) -> Literal | None:
    """The least INT and BIGINT: without their sign they are too large for the type."""
    match operand:
        case Literal(value, SimpleType("BIGINT")) if op == "-" and value == 2**31:
            return Literal(-(2**31), INT, span=span)
        case Literal(value, Decimal(19, 0)) if op == "-" and value == 2**63:
            return Literal(-(2**63), BIGINT, span=span)
    return None


def binary(node: Binary, left: Typed, right: Typed, report: Report) -> Typed:
    """Arithmetic, bits and `||`.

    >>> five, text = (Literal(5, INT), INT), (Literal("6", STRING), STRING)
    >>> binary(Binary("/", five[0], text[0]), five, text, print)[1]
    SimpleType(name='DOUBLE')
    """
    sides = _sides(node.op, left, right)
    if sides is None:
        message = f"`{node.op}` is not defined for {left[1]} and {right[1]}"
        report("NEEL2101", message, node.span, hint_for_operands(node.op, left[1], right[1]))
        return wrong(node)
    typed = replace(node, left=cast(left, sides[0]), right=cast(right, sides[1]))
    return typed, binary_type(node.op, *sides)


def _sides(op: str, left: Typed, right: Typed) -> Sides | None:
    """What both sides are cast to, or None."""
    kinds = (left[1], right[1])
    if op == "||":
        shared = joined(kinds)
        return None if shared is None else (shared, shared)
    if any(kind in DATETIMES for kind in kinds):
        return _moments(op, left, right)
    if any(kind in INTERVALS for kind in kinds):
        return _intervals(op, *kinds)
    return numbers(op, left, right)


def joined(types: tuple[DataType, ...]) -> DataType | None:
    """The type that `||` and concat give: an array of arrays, BINARY of BINARY, else STRING.

    >>> joined((INT, STRING)), joined((Array(INT), INT))
    (SimpleType(name='STRING'), None)
    """
    if any(isinstance(type, Array) for type in types):
        return common_of(types)
    if any(is_nested(type) for type in types):
        return None
    return BINARY if BINARY in types and all(type in (BINARY, VOID) for type in types) else STRING


def numbers(op: str, left: Typed, right: Typed) -> Sides | None:
    """What two numbers, or texts of numbers, are cast to."""
    kinds = (left[1], right[1])
    if kinds == (VOID, VOID):
        shared: DataType | None = INT if op in BITWISE else BIGINT if op == "DIV" else DOUBLE
    else:
        shared = common(*kinds)
    if shared is None or not is_number(shared):
        return None
    if (op in BITWISE and shared not in INTEGERS) or (op == "DIV" and shared in REALS):
        return None
    if isinstance(shared, Decimal):
        return _exact(left, shared), _exact(right, shared)
    return (DOUBLE, DOUBLE) if op == "/" else (shared, shared)


def _exact(side: Typed, shared: Decimal) -> Decimal:
    """The decimal type of a side; of an integer that is written down: as many digits as it has."""
    written = literal_integer(side[0])
    if written is not None and side[1] in INTEGERS:
        return Decimal(len(str(abs(written))), 0)
    return decimals.as_decimal(side[1]) or shared


def _moments(op: str, left: Typed, right: Typed) -> Sides | None:
    """Dates and timestamps: what lies between two, and what comes a while after or before one."""
    one, other = left[1], right[1]
    if op == "-" and other in (*DATETIMES, VOID, STRING) and one in (*DATETIMES, VOID, STRING):
        if one == STRING or other == STRING or VOID in (one, other):
            shared: DataType | None = other if one in (STRING, VOID) else one
        elif {one, other} == {TIMESTAMP, TIMESTAMP_NTZ}:
            shared = TIMESTAMP_NTZ  # a difference is one of clocks
        else:
            shared = common(one, other)
        return None if shared is None else (shared, shared)
    if op == "+" and other in DATETIMES and one not in DATETIMES:
        swapped = _moments(op, right, left)
        return None if swapped is None else (swapped[1], swapped[0])
    if op not in ("+", "-") or one not in DATETIMES:
        return None
    if one == DATE and other in DAY_COUNTS:
        return one, other
    span = DAY_INTERVAL if other == VOID else other
    if span not in INTERVALS:
        return None
    # A date stays a date after whole days, months and years; otherwise it has a time of day.
    stays = one != DATE or span == YEAR_INTERVAL or counts_whole_days(right[0])
    return (one if stays else TIMESTAMP), span


def counts_whole_days(expression: Expr) -> bool:
    """Whether an interval is Spark's INTERVAL DAY, which counts days and nothing smaller.

    >>> from neelc.ir.expressions import IntervalPart
    >>> counts_whole_days(Interval((IntervalPart("1", "DAY"),)))
    True
    """
    match expression:
        case Interval():
            return is_whole_days(expression)
        case Unary(_, operand):
            return counts_whole_days(operand)
        case Binary("-", left, right) if type_of(left) == DATE and type_of(right) == DATE:
            return True
        case Binary("+" | "-", left, right):
            return counts_whole_days(left) and counts_whole_days(right)
        case Case(whens=whens, otherwise=otherwise):
            results = [when.result for when in whens] + ([otherwise] if otherwise else [])
            return all(counts_whole_days(result) for result in results)
        case Call("coalesce" | "nvl" | "ifnull" | "greatest" | "least" | "abs", arguments):
            return all(counts_whole_days(argument) for argument in arguments)
        case Literal(None) | Cast(Literal(None)):
            return True
    return False


def _intervals(op: str, left: DataType, right: DataType) -> Sides | None:
    """Intervals: added, compared in size with DIV, made longer and shorter by numbers."""
    if op in ("+", "-", "DIV") and {left, right} <= {left if left in INTERVALS else right, VOID}:
        span = left if left in INTERVALS else right
        return span, span
    if op == "*" and right in INTERVALS and left not in INTERVALS:
        swapped = _intervals(op, right, left)
        return None if swapped is None else (swapped[1], swapped[0])
    if op in ("*", "/") and left in INTERVALS and (is_number(right) or right in (STRING, VOID)):
        return left, DOUBLE if right in (STRING, VOID) else right
    return None


# Types of comparisons and conditions.


def shared_type(left: DataType, right: DataType, span: Span | None, report: Report) -> DataType | None:
    """The type that two values are compared in; None, and a report, if there is none."""
    shared = common(left, right)
    if shared is not None and is_orderable(shared) and shared != GEOMETRY:
        return shared
    message = (
        f"{left} and {right} cannot be compared" if left != right else f"values of {left} cannot be compared"
    )
    report("NEEL2101", message, span, hint_for_comparison(left, right))
    return None


def compared(node: Binary | IsDistinct, left: Typed, right: Typed, report: Report) -> Typed:
    """`=`, `<` and their kin, and IS DISTINCT FROM."""
    shared = shared_type(left[1], right[1], node.span, report)
    if shared is None:
        return node, BOOLEAN
    return replace(node, left=cast(left, shared), right=cast(right, shared)), BOOLEAN


def between(node: Between, operand: Typed, low: Typed, high: Typed, report: Report) -> Typed:
    """BETWEEN: two comparisons, each in its own type, so that `1 BETWEEN '0' AND 2.5` is what it seems."""
    lower = shared_type(operand[1], low[1], node.low.span or node.span, report)
    upper = shared_type(operand[1], high[1], node.high.span or node.span, report)
    if lower is None or upper is None:
        return node, BOOLEAN
    if lower == upper:
        parts = (cast(operand, lower), cast(low, lower), cast(high, upper))
        return replace(node, operand=parts[0], low=parts[1], high=parts[2]), BOOLEAN
    tests: tuple[Expr, ...] = (
        Binary(">=", cast(operand, lower), cast(low, lower), span=node.span),
        Binary("<=", cast(operand, upper), cast(high, upper), span=node.span),
    )
    both = Conjunction(tests, span=node.span)
    return (Negation(both, span=node.span) if node.negated else both), BOOLEAN


def in_list(node: InList, operand: Typed, items: tuple[Typed, ...], report: Report) -> Typed:
    """IN: all values are cast to the one type they have in common."""
    shared = common_of([operand[1], *(item[1] for item in items)])
    if shared is None or not is_orderable(shared):
        for item, place in zip(items, node.items, strict=True):
            if shared_type(operand[1], item[1], place.span or node.span, report) is None:
                return node, BOOLEAN
        names = ", ".join(dict.fromkeys(str(type) for _, type in (operand, *items)))
        report("NEEL2101", f"the values of an IN have no type in common: {names}", node.span, None)
        return node, BOOLEAN
    cast_items = tuple(cast(item, shared) for item in items)
    return replace(node, operand=cast(operand, shared), items=cast_items), BOOLEAN


def like(node: Like, operand: Typed, pattern: Typed, report: Report) -> Typed:
    """LIKE, ILIKE and RLIKE read their operands as strings."""
    for side in (operand, pattern):
        if is_nested(side[1]):
            report("NEEL2102", f"{node.kind} takes a STRING, not {side[1]}", side[0].span or node.span, None)
            return node, BOOLEAN
    return replace(node, operand=cast(operand, STRING), pattern=cast(pattern, STRING)), BOOLEAN


def condition(
    typed: Typed, place: str, report: Report, span: Span | None = None, of_strings: str | None = None
) -> Expr:
    """The expression as a BOOLEAN; a report if it is none. `place` says what it is a condition of, and
    `of_strings` how a string is made one there."""
    expression, type = typed
    if type in (BOOLEAN, VOID):
        return cast(typed, BOOLEAN)
    hint = "for example x > 0, or x IS NOT NULL"
    if type == STRING:
        hint = of_strings or "a string is compared: x = 'true'"
    report("NEEL2103", f"{place} must be a condition, but this is {type}", expression.span or span, hint)
    return expression


def junction(node: Conjunction | Disjunction, operands: tuple[Typed, ...], report: Report) -> Typed:
    """AND and OR."""
    name = "AND" if isinstance(node, Conjunction) else "OR"
    place = f"each side of {name}"
    each = "each side is compared: x = 'a' OR x = 'b'; or x IN ('a', 'b')" if name == "OR" else None
    tested = tuple(condition(operand, place, report, node.span, each) for operand in operands)
    return replace(node, operands=tested), BOOLEAN


def case(node: Case, operand: Typed | None, whens: tuple[tuple[Typed, Typed], ...], otherwise: Typed | None,
         report: Report) -> Typed:  # fmt: skip
    """CASE, with or without an operand; all results are cast to one type."""
    results = [result for _, result in whens] + ([otherwise] if otherwise else [])
    shared = common_of(type for _, type in results)
    if shared is None:
        names = ", ".join(dict.fromkeys(str(type) for _, type in results))
        report("NEEL2101", f"the results of a CASE have no type in common: {names}", node.span, None)
        return wrong(node)
    tests, subject = _tests(node, operand, tuple(test for test, _ in whens), report)
    typed_whens = tuple(
        CaseBranch(test, cast(result, shared), span=when.span)
        for test, (_, result), when in zip(tests, whens, node.whens, strict=True)
    )
    last = None if otherwise is None else cast(otherwise, shared)
    return replace(node, operand=subject, whens=typed_whens, otherwise=last), shared


def _tests(
    node: Case, operand: Typed | None, tests: tuple[Typed, ...], report: Report
) -> tuple[tuple[Expr, ...], Expr | None]:
    if operand is None:
        return tuple(condition(test, "what follows WHEN", report, node.span) for test in tests), None
    shared = [shared_type(operand[1], test[1], _span(test[0], node), report) or VOID for test in tests]
    if len(set(shared)) == 1:
        return tuple(cast(test, shared[0]) for test in tests), cast(operand, shared[0])
    # Each value is compared in a type of its own, so each comparison is written out.
    compared_one_by_one = (
        Binary("=", cast(operand, type), cast(test, type), span=test[0].span)
        for test, type in zip(tests, shared, strict=True)
    )
    return tuple(compared_one_by_one), None


def _span(node: Node, fallback: Node) -> Span | None:
    return node.span or fallback.span
