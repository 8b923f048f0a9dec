"""Calls of known functions: how many arguments, of which types, and what comes out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

from neelc.errors import Hint, write
from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Case,
    CaseBranch,
    Cast,
    EventTime,
    Expr,
    Field,
    FilteredCall,
    Literal,
    Star,
)
from neelc.ir.names import bare, written
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    SimpleType,
    Struct,
    StructField,
)
from neelc.scalar import decimals
from neelc.scalar.operators import (
    INTEGERS,
    Report,
    Typed,
    cast,
    common,
    is_orderable,
    literal_integer,
    numbers,
    shared_type,
    wrong,
)
from neelc.scalar.signatures import (
    AGGREGATE_SIGNATURES,
    KINDS,
    NAMES,
    ROW_AGGREGATE_SIGNATURES,
    SCALAR_SIGNATURES,
    SHARED,
    Signature,
    result_type,
)
from neelc.scalar.type_of import INTERVALS, binary_type
from neelc.source import Span

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


def is_aggregate(node: Expr) -> bool:
    """Whether an expression calls an aggregate: one of neelc's own, whatever its case, or a registered one.

    >>> [is_aggregate(Call(name, ())) for name in ("SUM", "abs")], is_aggregate(Call("x", (), function=len))
    ([True, False], True)
    """
    if not isinstance(node, Call):
        return False
    return node.function is not None or node.name.lower() in AGGREGATE_SIGNATURES


def is_row_aggregate(node: Expr) -> bool:
    """Whether an expression calls an aggregate over the rows of a match."""
    return is_aggregate(node) or (isinstance(node, Call) and node.name.lower() in ROW_AGGREGATE_SIGNATURES)


def is_known(node: Call) -> bool:
    """Whether there is such a function at all."""
    return is_aggregate(node) or node.name.lower() in SCALAR_SIGNATURES


def called(node: Call, arguments: tuple[Typed, ...], report: Report) -> Typed:
    """A call of a scalar function, with its arguments cast and its type."""
    name = node.name.lower()
    signature = SCALAR_SIGNATURES.get(name)
    if signature is None:
        report_unknown(node, (), report)
        return wrong(node)
    if node.distinct:
        report("NEEL2109", f"DISTINCT is for aggregates; `{name}` is none", node.span, None)
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


def report_unknown(node: Call, registered: Sequence[str], report: Report) -> None:
    """There is no such function; `registered` are aggregates that could be meant beside neelc's own."""
    name = node.name.lower()
    is_of_rows = name in ROW_AGGREGATE_SIGNATURES
    of_rows = f"`{name}` is for MATCH_RECOGNIZE only" if is_of_rows else None
    hint = of_rows or changing(name) or suggestion(name, registered)
    report("NEEL2104", f"unknown function `{node.name}`", _name_span(node), hint)


# Functions of Spark that give something else each time a query is run, and a name for what they give.
CHANGING: dict[str, str | None] = {
    **dict.fromkeys(("current_timestamp", "now", "localtimestamp", "current_time"), "now"),
    **dict.fromkeys(("current_date", "curdate"), "today"),
    **dict.fromkeys(("rand", "random", "randn", "uuid"), None),
}


def changing(name: str) -> str | None:
    """What to do instead of calling a function that gives something else in each run.

    >>> changing("RAND"), changing("lower")
    ('a query finds the same matches in every run: it has no such function', None)
    """
    if name.lower() not in CHANGING:
        return None
    why, value = "a query finds the same matches in every run", CHANGING[name.lower()]
    if value is None:
        return f"{why}: it has no such function"
    return f"{why}: give the time as a parameter, `:{value}`"


def report_foreign(node: Expr, report: Report) -> None:
    """A part of SQL that only MATCH_RECOGNIZE has."""
    match node:
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
        if kind == "places" and literal_integer(expression) is None:
            message = f"argument {position} of `{signature.name}` must be written as a number"
            report("NEEL2106", message, expression.span or span, "for example round(x, 2)")
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


def _shared(signature: Signature, kind: str, kinds: Sequence[str], targets: Sequence[DataType],
            span: Span | None, report: Report) -> DataType | None:  # fmt: skip
    types = [target for place, target in zip(kinds, targets, strict=True) if place == kind]
    shared = SHARED[kind](types)
    if shared is None:
        names = ", ".join(dict.fromkeys(map(str, types)))
        report("NEEL2106", f"the arguments of `{signature.name}` have no type in common: {names}", span, None)
    return shared


def _places(arguments: tuple[Expr, ...]) -> int:
    return (literal_integer(arguments[1]) or 0) if len(arguments) > 1 else 0


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


# Results that depend on more than the name of a kind; each is given the type of the first argument.
RESULTS: dict[str, Callable[[Sequence[DataType], tuple[Expr, ...]], DataType]] = {
    "average": _average,
    "ceiling": _ceiling,
    "rounded": _rounded,
    "sum": _sum,
}
