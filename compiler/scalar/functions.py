"""Calls of known functions: how many arguments, of which types, and what comes out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

from neelc.errors import Hint, NeelError, write
from neelc.ir.expressions import (
    BY_ORDER,
    BY_VALUE,
    LAMBDAS,
    Aggregate,
    AllenRelation,
    Attribute,
    Between,
    Binary,
    Call,
    Case,
    CaseBranch,
    Cast,
    Conjunction,
    DeclaredFunction,
    EventTime,
    Expr,
    Field,
    FilteredCall,
    Interval,
    IntervalPart,
    IsNull,
    Literal,
    Star,
)
from neelc.ir.names import bare, written
from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
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
from neelc.runtime.values.functions.space import is_geometry
from neelc.runtime.values.statistics import PAIRED
from neelc.runtime.values.times import MICROSECONDS
from neelc.scalar import decimals
from neelc.scalar.operators import (
    INTEGERS,
    Report,
    Typed,
    binary,
    cast,
    common,
    common_of,
    is_nested,
    is_number,
    literal_integer,
    numbers,
    shared_type,
    tightest,
    wrong,
)
from neelc.scalar.signatures import (
    AGGREGATE_SIGNATURES,
    KINDS,
    NAMES,
    ROW_AGGREGATE_SIGNATURES,
    SCALAR_SIGNATURES,
    SHARED,
    WRITTEN,
    Signature,
    result_type,
)
from neelc.scalar.type_of import DATETIMES, INTERVALS, binary_type, type_of
from neelc.source import Span
from neelc.syntax import schema

# Functions whose types no line of the table can say.


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
    return Case(None, (CaseBranch(test, nothing),), left[0], span=node.span), left[1]


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


def array_and_value(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """An array, perhaps a place in it, and a value that is, or becomes, one of its elements."""
    (array, type), *places, value = arguments
    if not isinstance(type, Array):
        message = f"argument 1 of `{node.name}` must be an array, not {type}"
        return _report(node, message, array, report)
    shared = tightest((type.element, value[1]))
    compares = node.name in ("array_position", "array_remove")
    if shared is None or (compares and not is_orderable(shared)):
        return _report(node, f"an array of {type.element} cannot contain {value[1]}", value[0], report)
    numbers = [KINDS["INT"](kind) for _, kind in places]
    if None in numbers:
        return _report(
            node, f"a place in an array must be a number, not {places[0][1]}", places[0][0], report
        )
    middle = tuple(cast(one, INT) for one in places)
    result = BIGINT if node.name == "array_position" else Array(shared)
    typed = (cast((array, type), Array(shared)), *middle, cast(value, shared))
    return replace(node, arguments=typed, type=result), result


def mapping(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """map: keys and values in turn."""
    if len(arguments) % 2:
        report("NEEL2105", "`map` takes keys and values in turn", node.span, "map('x', 1, 'y', 2)")
        return wrong(node)
    shared = []
    for part, what in ((arguments[::2], "keys"), (arguments[1::2], "values")):
        type = common_of(kind for _, kind in part)
        if type is not None and what == "keys" and is_nested(type):
            return _report(node, f"a map has no keys of type {type}", part[0][0], report)
        if type is None:
            names = ", ".join(dict.fromkeys(str(kind) for _, kind in part))
            return _report(node, f"the {what} of `map` have no type in common: {names}", part[0][0], report)
        shared.append(type)
    typed = tuple(cast(one, shared[place % 2]) for place, one in enumerate(arguments))
    found = Map(*shared)
    return replace(node, arguments=typed, type=found), found


def map_from_arrays(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    for (array, type), what in zip(arguments, ("keys", "values"), strict=True):
        if not isinstance(type, Array) or (what == "keys" and is_nested(type.element)):
            return _report(
                node, f"the {what} of `map_from_arrays` must be an array, not {type}", array, report
            )
    (keys, of), (values, to) = arguments
    assert isinstance(of, Array) and isinstance(to, Array)
    found = Map(of.element, to.element)
    return replace(node, arguments=(keys, values), type=found), found


def map_contains_key(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    (map, type), key = arguments
    if not isinstance(type, Map):
        return _report(node, f"argument 1 of `map_contains_key` must be a map, not {type}", map, report)
    shared = None if key[1] == VOID else common(type.key, key[1], strings=False)
    if shared is None:
        return _report(node, f"the keys of this map are {type.key}, not {key[1]}", key[0], report)
    typed = (cast((map, type), Map(shared, type.value)), cast(key, shared))
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


def bit_get(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """Read as `x >> place & 1`, of a place that the type has: how many it has is known only here."""
    fitted = fit(SCALAR_SIGNATURES[node.name], arguments, node.span, report)
    if fitted is None:
        return wrong(node)
    (value, place), bound = fitted
    bits = 8 << INTEGERS.index(bound["integer"])
    wide = cast((value, bound["integer"]), BIGINT)
    shifted = Call("shiftright", (wide, place), type=BIGINT, span=node.span)
    bit = Cast(Binary("&", shifted, Literal(1, BIGINT)), TINYINT, implicit=True)
    inside = Between(place, Literal(0, INT), Literal(bits - 1, INT))
    return Case(None, (CaseBranch(inside, bit),), None, span=node.span), TINYINT


def read_by_pattern(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """to_date, to_timestamp, unix_timestamp and their kin: a text, by a pattern; a time stays what it is."""
    target = {"to_date": DATE, "to_timestamp_ntz": TIMESTAMP_NTZ}.get(node.name, TIMESTAMP)
    value, *pattern = arguments
    counts = is_number(value[1]) and not pattern and target == TIMESTAMP
    if value[1] not in (*DATETIMES, STRING, VOID) and not counts:
        message = f"argument 1 of `{node.name}` must be STRING, DATE or TIMESTAMP, not {value[1]}"
        return _report(node, message, value[0], report)
    if pattern:
        problem = _not_written("pattern", pattern[0][0])
        if problem is not None:
            message = f"argument 2 of `{node.name}` must be {problem[0]}"
            report("NEEL2106", message, pattern[0][0].span or node.span, problem[1])
            return wrong(node)
    if pattern and value[1] == STRING:
        name = "to_timestamp_ntz" if target == TIMESTAMP_NTZ else "try_to_timestamp"
        type = TIMESTAMP_NTZ if target == TIMESTAMP_NTZ else TIMESTAMP
        read: Expr = Call(name, (value[0], pattern[0][0]), type=type, span=node.span)
        value = read, type
    if node.name != "unix_timestamp":
        return cast(value, target), target
    # A TIMESTAMP_NTZ stays one: it is counted as if it were in UTC.
    found = value[0] if value[1] in DATETIMES else cast(value, target)
    return Call(node.name, (found,), type=BIGINT, span=node.span), BIGINT


def read_time(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """Functions that take a pattern, or none and are functions of a time."""
    if len(arguments) > 1 or node.name in ("to_timestamp_ntz", "try_to_timestamp"):
        return read_by_pattern(node, arguments, report)
    signature = SCALAR_SIGNATURES[node.name]
    fitted = fit(signature, arguments, node.span, report)
    if fitted is None:
        return wrong(node)
    type = result_type(signature.result, fitted[1])
    return replace(node, arguments=fitted[0], type=type), type


def with_unit(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """timestampadd, which is a sum, and timestampdiff: of two local times, or else of two instants."""
    (unit, _), *others = arguments
    problem = _not_written("unit", unit)
    if problem is not None or not isinstance(unit, Literal):
        message = f"argument 1 of `{node.name}` must be {problem[0] if problem else 'a unit'}"
        return _report(node, message, unit, report)
    moments = others[1:] if node.name == "timestampadd" else others
    for moment, type in moments:
        if type not in (*DATETIMES, STRING, VOID):
            return _report(node, f"`{node.name}` takes a DATE or a TIMESTAMP, not {type}", moment, report)
    target = TIMESTAMP_NTZ if all(type == TIMESTAMP_NTZ for _, type in moments) else TIMESTAMP
    if node.name == "timestampdiff":
        typed = (unit, *(cast(one, target) for one in moments))
        return replace(node, arguments=typed, type=BIGINT), BIGINT
    if KINDS["BIGINT"](others[0][1]) is None:
        message = f"argument 2 of `{node.name}` must be a number, not {others[0][1]}"
        return _report(node, message, others[0][0], report)
    if target == TIMESTAMP and str(unit.value).upper() in _SHORT:
        return _elapsed(str(unit.value).upper(), others[0], moments[0], node, report)
    count, word = _INTERVALS.get(str(unit.value).upper(), ("1", str(unit.value).upper()))
    step = (
        Interval((IntervalPart(count, word),)),
        YEAR_INTERVAL if word in ("MONTH", "YEAR") else DAY_INTERVAL,
    )
    number = cast(others[0], BIGINT), BIGINT
    span = binary(Binary("*", number[0], step[0], span=node.span), number, step, report)
    start = cast(moments[0], target), target
    return binary(Binary("+", start[0], span[0], span=node.span), start, span, report)


_SHORT = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def _elapsed(unit: str, number: Typed, moment: Typed, node: Call, report: Report) -> Typed:
    """So much time after an instant, whatever the clock shows: days of an interval are days of the clock."""
    length = Literal(MICROSECONDS[unit], BIGINT)
    count = cast(number, BIGINT)
    passed = binary(Binary("*", count, length, span=node.span), (count, BIGINT), (length, BIGINT), report)
    since = Call("unix_micros", (cast(moment, TIMESTAMP),), type=BIGINT, span=node.span)
    micros = binary(Binary("+", since, passed[0], span=node.span), (since, BIGINT), passed, report)
    return Call("timestamp_micros", (micros[0],), type=TIMESTAMP, span=node.span), TIMESTAMP


_INTERVALS = {"QUARTER": ("3", "MONTH"), "DAYOFYEAR": ("1", "DAY")}


def convert_timezone(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """The zones, and a local time."""
    *zones, local = arguments
    target = KINDS["local"](local[1])
    if target is None:
        message = f"the last argument of `{node.name}` must be {NAMES['local']}, not {local[1]}"
        return _report(node, message, local[0], report)
    for zone, type in zones:
        if KINDS["STRING"](type) is None:
            return _report(node, f"a zone of `{node.name}` must be STRING, not {type}", zone, report)
    typed = (*(cast(zone, STRING) for zone in zones), cast(local, target))
    return replace(node, arguments=typed, type=TIMESTAMP_NTZ), TIMESTAMP_NTZ


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


# JSON. A VARIANT is no type of columns and results: it stands between parse_json and what reads it.

PARSERS = ("parse_json", "try_parse_json")
READERS = ("is_variant_null", "to_json", "try_variant_get", "variant_get")


def parse_json(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    fitted = fit(SCALAR_SIGNATURES[node.name], arguments, node.span, report)
    if fitted is None:
        return wrong(node)
    return replace(node, arguments=fitted[0], type=VARIANT), VARIANT


def from_json(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """The schema is written down; it is the type of the result."""
    fitted = fit(SCALAR_SIGNATURES[node.name], arguments, node.span, report)
    type = None if fitted is None else _written_type(node, 2, _of_json, report)
    if fitted is None or type is None:
        return wrong(node)
    if not isinstance(type, Array | Map | Struct):
        message = f"argument 2 of `from_json` must be an array, a map or a struct, not {type}"
        return _report(node, message, node.arguments[1], report)
    return replace(node, arguments=fitted[0], type=type), type


def variant_get(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """The type is written down."""
    (_, given), *_ = arguments
    if given != VARIANT:
        message = f"argument 1 of `{node.name}` must be a VARIANT, not {given}"
        report("NEEL2106", message, node.arguments[0].span or node.span, f"{node.name}(parse_json(x), ...)")
        return wrong(node)
    if node.name == "is_variant_null":
        return replace(node, arguments=(arguments[0][0],), type=BOOLEAN), BOOLEAN
    fitted = fit(SCALAR_SIGNATURES[node.name], arguments, node.span, report)
    type = None if fitted is None else _written_type(node, 3, _of_variant, report)
    return (
        wrong(node)
        if fitted is None or type is None
        else (replace(node, arguments=fitted[0], type=type), type)
    )


def to_json(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    ((value, type),) = arguments
    parts = [part for part in walk(type) if isinstance(part, DataType)]
    if not isinstance(type, Array | Map | Struct) and type != VARIANT:
        return _report(
            node, f"the argument of `to_json` must be an array, a map or a struct, not {type}", value, report
        )
    odd = next((part for part in parts if part in (*INTERVALS, GEOMETRY)), None)
    if odd is not None:
        return _report(node, f"`to_json` is not defined for {odd}", value, report)
    return replace(node, arguments=(value,), type=STRING), STRING


def _written_type(
    node: Call, place: int, accepts: Callable[[DataType], bool], report: Report
) -> DataType | None:
    """The type that a text says, with parts that `accepts` knows."""
    argument = node.arguments[place - 1]
    assert isinstance(argument, Literal), "the signature says so"
    try:
        type = schema(str(argument.value))
    except NeelError as problem:
        message = f"argument {place} of `{node.name}` must be a type: {problem.diagnostics[0].message}"
        report("NEEL2106", message, argument.span or node.span, "for example 'a INT, b ARRAY<STRING>'")
        return None
    odd = next((part for part in walk(type) if isinstance(part, DataType) and not accepts(part)), None)
    if odd is None:
        return type
    report(
        "NEEL2106",
        f"`{node.name}` does not give {odd}",
        argument.span or node.span,
        "read it as a STRING, and convert that",
    )
    return None


def _of_json(type: DataType) -> bool:
    if isinstance(type, Map):
        return type.key == STRING
    return isinstance(type, Array | Struct | Decimal) or type in (STRING, BOOLEAN, FLOAT, DOUBLE, *INTEGERS)


def _of_variant(type: DataType) -> bool:
    return type == DATE or _of_json(type)


def _name(expression: Expr, place: int) -> str:
    match expression:
        case Attribute(name=name) | Field(name=name) | EventTime(name=name):
            return written(bare(name))
    return f"col{place}"


SPECIAL: dict[str, Callable[[Call, tuple[Typed, ...], Report], Typed]] = {
    "array_append": array_and_value,
    "array_contains": array_contains,
    "array_insert": array_and_value,
    "array_position": array_and_value,
    "array_prepend": array_and_value,
    "array_remove": array_and_value,
    "bit_get": bit_get,
    "convert_timezone": convert_timezone,
    "element_at": element_at,
    "from_json": from_json,
    "getbit": bit_get,
    "is_variant_null": variant_get,
    "map": mapping,
    "map_contains_key": map_contains_key,
    "map_from_arrays": map_from_arrays,
    "mod": remainder,
    "named_struct": named_struct,
    "nullif": nullif,
    "parse_json": parse_json,
    "pmod": remainder,
    "struct": struct,
    "timestampadd": with_unit,
    "timestampdiff": with_unit,
    "to_date": read_time,
    "to_json": to_json,
    "to_timestamp": read_time,
    "to_timestamp_ntz": read_time,
    "try_parse_json": parse_json,
    "try_to_timestamp": read_time,
    "try_variant_get": variant_get,
    "unix_timestamp": read_time,
    "variant_get": variant_get,
}


def is_aggregate(node: Expr) -> bool:
    """Whether an expression calls an aggregate: one of neelc's own, whatever its case, or a registered one.

    >>> [is_aggregate(Call(name, ())) for name in ("SUM", "abs")], is_aggregate(Call("x", (), function=len))
    ([True, False], True)
    """
    if not isinstance(node, Call) or node.declared is not None:
        return False
    return node.function is not None or node.name.lower() in AGGREGATE_SIGNATURES


def is_row_aggregate(node: Expr) -> bool:
    """Whether an expression calls an aggregate over the rows of a match."""
    return is_aggregate(node) or (isinstance(node, Call) and node.name.lower() in ROW_AGGREGATE_SIGNATURES)


def is_known(node: Call) -> bool:
    """Whether there is such a function at all."""
    name = node.name.lower()
    return node.declared is not None or is_aggregate(node) or name in SCALAR_SIGNATURES or name in LAMBDAS


def called(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """A call of a scalar function, with its arguments cast and its type."""
    if node.declared is not None:
        return _declared(node, node.declared, arguments, report)
    name = node.name.lower()
    signature = SCALAR_SIGNATURES.get(name)
    if signature is None:
        report_unknown(node, (), report)
        return wrong(node)
    if node.distinct:
        report("NEEL2109", f"DISTINCT is for aggregates; `{name}` is not one", node.span, None)
    if not _has_right_number(signature, len(arguments), node.span, report):
        return wrong(node)
    if name in SPECIAL:
        return SPECIAL[name](replace(node, name=name), arguments, report)
    fitted = fit(signature, arguments, node.span, report)
    if fitted is None:
        return wrong(node)
    expressions, bound = fitted
    if signature.result in RESULTS:
        type = RESULTS[signature.result]([bound[kind] for kind in signature.parameters(1)], expressions)
    else:
        type = result_type(signature.result, bound)
    return replace(node, name=name, arguments=expressions, type=type), type


def _declared(node: Call, function: DeclaredFunction, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """A call of a function that is declared. An argument is cast where nothing can be lost."""
    form = f"its form is {function.form}"
    if node.distinct:
        report("NEEL2109", f"DISTINCT is for aggregates; `{function.name}` is not one", node.span, None)
        return wrong(node)
    if len(arguments) != len(function.takes):
        count = f"{len(function.takes)} argument{'s' * (len(function.takes) != 1)}"
        report("NEEL2105", f"`{function.name}` takes {count}, not {len(arguments)}", node.span, form)
        return wrong(node)
    for place, ((argument, type), target) in enumerate(zip(arguments, function.takes, strict=True), 1):
        if type != target and common(type, target, strings=False) != target:
            which = "the argument" if len(arguments) == 1 else f"argument {place}"
            message = f"{which} of `{function.name}` must be {target}, not {type}"
            report("NEEL2106", message, argument.span or node.span, form)
            return wrong(node)
    fitted = tuple(cast(one, target) for one, target in zip(arguments, function.takes, strict=True))
    return replace(node, arguments=fitted, type=function.returns), function.returns


def report_unknown(node: Call, registered: Sequence[str], report: Report) -> None:
    """There is no such function; `registered` are aggregates that could be meant beside neelc's own."""
    name = node.name.lower()
    is_of_rows = name in ROW_AGGREGATE_SIGNATURES
    of_rows = f"`{name}` is for MATCH_RECOGNIZE only" if is_of_rows else None
    hint = of_rows or changing(name) or suggestion(name, registered)
    report("NEEL2104", f"unknown function `{node.name}`", _name_span(node), hint)


# Functions of Spark that give something else each time a query is run, and a name for what they give.
CHANGING: dict[str, str | None] = {
    "current_time": "now",
    **dict.fromkeys(("rand", "random", "randn", "uuid"), None),
}


def changing(name: str) -> str | None:
    """What to do instead of calling a function that gives something else in each run.

    >>> changing("RAND"), changing("lower")
    ('a query must find the same matches in every run, so this function is not available', None)
    """
    if name.lower() not in CHANGING:
        return None
    why, value = "a query must find the same matches in every run", CHANGING[name.lower()]
    if value is None:
        return f"{why}, so this function is not available"
    return f"{why}: pass the time as a parameter, `:{value}`"


def report_foreign(node: Expr, report: Report) -> None:
    """A part of SQL that only MATCH_RECOGNIZE has, or a relation that only the events of a PATTERN have."""
    match node:
        case AllenRelation(_, relation):
            hint = "compare their times: h.te < p.ts"
            report("NEEL3031", f"{relation} relates two events of a PATTERN", node.span, hint)
        case FilteredCall(Call(name, arguments), condition):
            value = arguments[0] if arguments and not isinstance(arguments[0], Star) else 1
            better = f"{name}(CASE WHEN {condition} THEN {value} END)"
            report("NEEL4052", "FILTER is supported in MATCH_RECOGNIZE only", node.span, write(better))
        case _:
            hint = "DEFINE and MEASURES of MATCH_RECOGNIZE may have subqueries, and the query around it"
            report("NEEL4053", "a subquery is not supported here", node.span, hint)


def _name_span(node: Call) -> Span | None:
    """Where the name of the function stands: a call begins with it."""
    return None if node.span is None else Span(node.span.start, node.span.start + len(node.name))


def aggregated(name: str, argument: Typed, node: Expr, distinct: bool, report: Report) -> Typed:
    """An aggregate of one argument."""
    signature = AGGREGATE_SIGNATURES.get(name) or ROW_AGGREGATE_SIGNATURES[name]
    fitted = fit(signature, (argument,), node.span, report)
    if fitted is None:
        return wrong(node)
    (expression,), bound = fitted
    if signature.result in RESULTS:
        type = RESULTS[signature.result](list(bound.values()), (expression,))
    else:
        type = result_type(signature.result, bound)
    return Aggregate(name, expression, type, distinct, span=node.span), type


def paired(name: str, arguments: tuple[Typed, ...], node: Expr, report: Report) -> Typed:
    """An aggregate of two arguments, as one of pairs; there is none where one of the two is NULL. What max_by
    and min_by choose may be NULL."""
    signature = AGGREGATE_SIGNATURES[name]
    fitted = fit(signature, arguments, node.span, report)
    if fitted is None:
        return wrong(node)
    expressions, bound = fitted
    type = result_type(signature.result, bound)
    pair = (pair_of if name in PAIRED else ranked)(*expressions)
    return Aggregate(name, pair, type, span=node.span), type


def ranked(value: Expr, by: Expr) -> Expr:
    """A value and what it is chosen by, as a struct; NULL without the latter."""
    fields = (Literal(BY_VALUE, STRING), value, Literal(BY_ORDER, STRING), by)
    types = (type_of(one, inside_aggregate=True) for one in (value, by))
    type = Struct(tuple(map(StructField, (BY_VALUE, BY_ORDER), types)))
    pair = Call("named_struct", fields, type=type)
    return Case(None, (CaseBranch(IsNull(by, negated=True), pair),), None)


def pair_of(one: Expr, other: Expr) -> Expr:
    """Two DOUBLEs as a struct; NULL if one of them is NULL."""
    fields = (Literal(BY_VALUE, STRING), one, Literal(BY_ORDER, STRING), other)
    type = Struct((StructField(BY_VALUE, DOUBLE), StructField(BY_ORDER, DOUBLE)))
    pair = Call("named_struct", fields, type=type)
    known = Conjunction((IsNull(one, negated=True), IsNull(other, negated=True)))
    return Case(None, (CaseBranch(known, pair),), None)


def parts_of_pair(argument: Expr) -> tuple[Expr, Expr]:
    """The two arguments that `pair_of` has put together."""
    match argument:
        case Case(None, (CaseBranch(_, Call("named_struct", (_, one, _, other))),), None):
            return one, other
    raise AssertionError(argument)


def suggestion(name: str, registered: Sequence[str] = ()) -> Hint | None:
    """
    >>> suggestion("substing").words, suggestion("spred", ["Spread"]).words
    ('did you mean `substring`?', 'did you mean `Spread`?')
    """
    known = {one: one for one in (*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES)}
    known |= {one.lower(): one for one in registered}
    close = difflib.get_close_matches(name, known, 1, 0.7)
    return Hint(f"did you mean `{known[close[0]]}`?", (written(known[close[0]]),)) if close else None


def _has_right_number(signature: Signature, count: int, span: Span | None, report: Report) -> bool:
    if signature.accepts(count):
        return True
    message = f"`{signature.name}` takes {signature.count_text()}, not {count}"
    report("NEEL2105", message, span, f"its form is {signature.text}")
    return False


def fit(
    signature: Signature, arguments: tuple[Typed, ...], span: Span | None, report: Report
) -> tuple[tuple[Expr, ...], dict[str, DataType]] | None:
    """The arguments, cast, and what each kind stands for; None, and a report, if one does not fit."""
    kinds = signature.parameters(len(arguments))
    targets: list[DataType] = []
    for position, (kind, (expression, type)) in enumerate(zip(kinds, arguments, strict=True), 1):
        target = KINDS[kind](type)
        if target is None:
            place = "the argument" if len(arguments) == 1 else f"argument {position}"
            message = f"{place} of `{signature.name}` must be {NAMES.get(kind, kind)}, not {type}"
            report("NEEL2106", message, expression.span or span, f"its form is {signature.text}")
            return None
        problem = _not_written(kind, expression)
        if problem is not None:
            message = f"argument {position} of `{signature.name}` must be {problem[0]}"
            report("NEEL2106", message, expression.span or span, problem[1])
            return None
        if kind == "geometry" or signature.name in ("st_geomfromtext", "st_geomfromwkb"):
            report_no_geometry(expression, span, report)
        if kind == "places" and literal_integer(expression) is None:
            message = f"argument {position} of `{signature.name}` must be a literal number"
            form = f"its form is {signature.text}"
            hint = form if signature.name == "conv" else f"for example {signature.name}(x, 2)"
            report("NEEL2106", message, expression.span or span, hint)
            return None
        targets.append(target)
    bound = dict(zip(kinds, targets, strict=True))
    for kind in [kind for kind in bound if kind in SHARED]:
        shared = _shared(signature, kind, kinds, targets, span, report)
        if shared is None:
            return None
        bound[kind] = shared
    finals = [bound[kind] if kind in SHARED else target for kind, target in zip(kinds, targets, strict=True)]
    return tuple(cast(argument, final) for argument, final in zip(arguments, finals, strict=True)), bound


def _not_written(kind: str, argument: Expr) -> tuple[str, str] | None:
    """What an argument must be that is not, and a hint, where a kind must be written down."""
    if kind not in WRITTEN:
        return None
    wrong_with, example = WRITTEN[kind]
    if not isinstance(argument, Literal) or (argument.value is None and kind != "mark"):
        return f"written as a {'number' if kind == 'share' else 'string'}", example
    problem = wrong_with(argument.value)
    return None if problem is None else (problem, example)


GEOMETRIES = "for example 'POINT (13.4 52.5)' or 'POLYGON ((0 0, 1 0, 1 1, 0 0))', which ends where it begins"


def report_no_geometry(argument: Expr, span: Span | None, report: Report) -> None:
    """A constant that stands for a geometry and is none. It has a meaning, NULL, which engines give it."""
    if not isinstance(argument, Literal) or not isinstance(argument.value, str | bytes):
        return
    if not is_geometry(argument.value):
        report("NEEL2107", f"{argument} is not a GEOMETRY", argument.span or span, GEOMETRIES)


def _shared(signature: Signature, kind: str, kinds: Sequence[str], targets: Sequence[DataType],
            span: Span | None, report: Report) -> DataType | None:  # fmt: skip
    types = [target for place, target in zip(kinds, targets, strict=True) if place == kind]
    shared = SHARED[kind](types)
    if shared is None:
        names = ", ".join(dict.fromkeys(map(str, types)))
        report("NEEL2106", f"the arguments of `{signature.name}` have no type in common: {names}", span, None)
    return shared


def _places(arguments: tuple[Expr, ...]) -> int:
    """They are written as a number, which may have been cast to INT."""
    if len(arguments) < 2:
        return 0
    written = arguments[1].operand if isinstance(arguments[1], Cast) else arguments[1]
    return literal_integer(written) or 0


def _rounded(types: Sequence[DataType], arguments: tuple[Expr, ...]) -> DataType:
    type = types[0]
    return decimals.rounded(type, _places(arguments)) if isinstance(type, Decimal) else type


def _ceiling(types: Sequence[DataType], arguments: tuple[Expr, ...]) -> DataType:
    exact = decimals.as_decimal(types[0]) if len(arguments) > 1 else types[0]
    return decimals.rounded(exact, _places(arguments)) if isinstance(exact, Decimal) else BIGINT


def _sum(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    match types[0]:
        case Decimal(precision, scale):
            return decimals.bounded(precision + 10, scale)
        case SimpleType("FLOAT" | "DOUBLE"):
            return DOUBLE
    return types[0] if types[0] in INTERVALS else BIGINT


def _average(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    match types[0]:
        case Decimal(precision, scale):
            return decimals.bounded(precision + 4, scale + 4)
    return types[0] if types[0] in INTERVALS else DOUBLE


def _element(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    (type,) = types
    return type.element if isinstance(type, Array) else VOID


def _keys(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    (type,) = types
    return Array(type.key) if isinstance(type, Map) else VOID


def _values(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    (type,) = types
    return Array(type.value) if isinstance(type, Map) else VOID


def _entries(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    (type,) = types
    assert isinstance(type, Map)
    return Array(Struct((StructField("key", type.key), StructField("value", type.value))))


def _mapping(types: Sequence[DataType], _: tuple[Expr, ...]) -> DataType:
    (type,) = types
    assert isinstance(type, Array) and isinstance(type.element, Struct)
    key, value = type.element.fields
    return Map(key.type, value.type)


# Results that depend on more than the name of a kind; each is given the type of the first argument.
RESULTS: dict[str, Callable[[Sequence[DataType], tuple[Expr, ...]], DataType]] = {
    "average": _average,
    "ceiling": _ceiling,
    "element": _element,
    "entries": _entries,
    "keys": _keys,
    "mapping": _mapping,
    "rounded": _rounded,
    "sum": _sum,
    "values": _values,
}
