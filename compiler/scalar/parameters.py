"""What a caller gives to a script: values for `:name`, and aggregates of its own."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal as Number
from typing import TypeVar

from neelc.arguments import UserAggregate, UserFunction
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.findings import Findings, did_you_mean
from neelc.ir import types
from neelc.ir.expressions import (
    Call,
    Cast,
    DeclaredFunction,
    Expr,
    Interval,
    IntervalPart,
    Literal,
    Parameter,
)
from neelc.ir.names import RESERVED, bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Window
from neelc.ir.row_patterns import MatchRecognize, MatchSequential, MatchTemporal
from neelc.ir.script import HostSelect, Script, Statement
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.scalar.space import over_rows, spelled_out
from neelc.source import Span
from neelc.syntax import expression, window
from neelc.syntax.host import parameters_in

T = TypeVar("T", bound=Node)


def parameters_of(script: Script) -> list[str]:
    """The bare names of a script's parameters. In Spark's own SQL, what looks like one is taken for one."""
    nodes = list(walk(script))
    own = {bare(node.name) for node in nodes if isinstance(node, Parameter)}
    hosts = (node for node in nodes if isinstance(node, HostSelect))
    return sorted(own | {name for query in hosts for name in parameters_in(query)})


def with_arguments(statement: T, arguments: Mapping[str, object], findings: Findings) -> T:
    """`statement`, or a part of one, with a constant in place of every parameter.

    A parameter without a usable value is reported, and NULL stands in for it.
    """

    def value_of(node: Parameter) -> object | None:
        name = bare(node.name)
        if name in arguments:
            return arguments[name]
        findings.report(
            "NEEL2006",
            f"parameter `:{node.name}` has no value",
            node.span,
            did_you_mean(name, arguments, "values are given for") or _ways(name),
        )
        return None

    def constant(node: Parameter) -> Expr:
        value = value_of(node)
        found = to_constant(value, node.span)
        if found is None:
            findings.report("NEEL2007", *_no_constant(node, value))
        return found or Literal(None, types.VOID, span=node.span)

    def change(node: Node) -> Node:
        match node:
            case Window(Parameter() as parameter, None):
                given = arguments.get(bare(parameter.name))
                if isinstance(given, str):
                    return _window(node, parameter, given, findings)
                return replace(node, count=constant(parameter))
            case Parameter():
                return constant(node)
        return map_children(node, change)

    found = change(statement)
    assert isinstance(found, type(statement))
    return found


def _ways(name: str) -> str:
    """How a parameter is given a value."""
    python, line = f'args={{"{name}": ...}} in Python', f"--arg {name}=... on the command line"
    return f"give it a value: {python}, {line}, a variable `{name}` for %%neel"


def _window(node: Window, parameter: Parameter, text: str, findings: Findings) -> Window:
    """`WITHIN :w` takes the text of a window: `10 SECONDS`."""
    try:
        found = window(text)
    except NeelError as error:
        message = (
            f"the value of `:{parameter.name}`, `{text}`, is not a window: {error.diagnostics[0].message}"
        )
        findings.report("NEEL2007", message, parameter.span, "for example 10 SECONDS, or 50 EVENTS")
    else:
        if not isinstance(found.count, Parameter):
            return Window(replace(found.count, span=node.span), found.unit, span=node.span)
        findings.report("NEEL2007", f"the value of `:{parameter.name}` is a parameter itself", parameter.span)
    return replace(node, count=Literal(None, types.VOID, span=parameter.span))


def _no_constant(node: Parameter, value: object) -> tuple[str, Span | None, str]:
    if isinstance(value, int | Number):
        finite = isinstance(value, int) or value.is_finite()
        why = "has more than the 38 digits of a DECIMAL" if finite else f"is {value}, which no DECIMAL is"
        message = f"the value of `:{node.name}` {why}"
        return message, node.span, "use a float: it is a DOUBLE"
    message = f"parameter `:{node.name}` has a value of type {type(value).__name__}, which no constant has"
    return message, node.span, "use a number, a string, a boolean, bytes, a date, a datetime or a timedelta"


def to_constant(value: object, span: Span | None = None) -> Expr | None:
    """A value of Python as an expression; None when there is none for its type.

    >>> import datetime
    >>> to_constant(5), to_constant(2**40).type, to_constant(datetime.date(2024, 5, 1)).value
    (Literal(value=5, type=SimpleType(name='INT')), SimpleType(name='BIGINT'), '2024-05-01')
    >>> to_constant(object()) is None
    True
    """
    match value:
        case None:
            return Literal(None, types.VOID, span=span)
        case bool():
            return Literal(value, types.BOOLEAN, span=span)
        case int():
            return _whole(value, span)
        case float():
            return Literal(value, types.DOUBLE, span=span)
        case str():
            return Literal(value, types.STRING, span=span)
        case bytes():
            return Literal(value, types.BINARY, span=span)
        case Number():
            return _decimal(value, span)
        case datetime.datetime():
            return _timestamp(value, span)
        case datetime.date():
            return Literal(value.isoformat(), types.DATE, span=span)
        case datetime.timedelta():
            microseconds = value // datetime.timedelta(microseconds=1)
            seconds = f"{Number(microseconds).scaleb(-6).normalize():f}"
            return Interval((IntervalPart(seconds, "SECOND", span=span),), span=span)
    return None


def _whole(value: int, span: Span | None) -> Expr | None:
    for kind, bits in ((types.INT, 31), (types.BIGINT, 63)):
        if -(2**bits) <= value < 2**bits:
            return Literal(value, kind, span=span)
    return _decimal(Number(value), span)


def _decimal(value: Number, span: Span | None) -> Expr | None:
    digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
    if not isinstance(exponent, int):  # NaN and the infinities have no exponent
        return None
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    plain = value if exponent <= 0 else Number(int(value))
    return Literal(plain, types.Decimal(precision, scale), span=span) if precision <= 38 else None


def _timestamp(value: datetime.datetime, span: Span | None) -> Expr:
    """A moment with a time zone is a TIMESTAMP, one without is a TIMESTAMP_NTZ."""
    if value.tzinfo is None:
        return Literal(value.isoformat(" "), types.TIMESTAMP_NTZ, span=span)
    in_utc = value.astimezone(datetime.UTC)
    return Literal(in_utc.replace(tzinfo=None).isoformat(" ") + "Z", types.TIMESTAMP, span=span)


# Aggregates that users register: calls of them get their function and type before anything is bound.


RETURNED = (
    types.BOOLEAN, types.TINYINT, types.SMALLINT, types.INT, types.BIGINT, types.FLOAT, types.DOUBLE,
    types.STRING, types.BINARY, types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ,
)  # fmt: skip
"""What a function can return; also DECIMALs, and arrays of all these."""

Registered = Mapping[str, tuple[str, UserAggregate, types.DataType]]
"""By its name in small letters: the name of an aggregate, the aggregate and its type."""


def registered(aggregates: Mapping[str, UserAggregate]) -> Registered:
    """The aggregates with their types; `CallError` if one cannot be used.

    >>> registered({"Spread": UserAggregate(len, "decimal(10, 2)")})["spread"][2]
    Decimal(precision=10, scale=2)
    >>> registered({"max": UserAggregate(len, "INT")})
    Traceback (most recent call last):
    neelc.files.CallError: aggregate max: neelc has a function of this name; give it another one
    """
    found: dict[str, tuple[str, UserAggregate, types.DataType]] = {}
    for name, aggregate in aggregates.items():
        key = name.lower()
        if not isinstance(aggregate, UserAggregate):
            raise CallError(f"aggregate {name}: not made by neelc.aggregate(function, returns=...)")
        if isinstance(aggregate, UserFunction) and aggregate.name.lower() != key:
            raise CallError(f"function {aggregate.name}: given by another name, {name}")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.upper() in RESERVED:
            raise CallError(f"aggregate {name}: not a name that a query can call")
        if key in AGGREGATE_SIGNATURES or key in SCALAR_SIGNATURES:
            raise CallError(f"aggregate {name}: neelc has a function of this name; give it another one")
        if key in found:
            raise CallError(f"aggregate {name}: given twice, as {found[key][0]} too; case does not matter")
        found[key] = (name, aggregate, _type(name, aggregate.returns))
    return found


def _type(name: str, text: str, does: str = "return") -> types.DataType:
    try:
        parsed = expression(f"CAST(NULL AS {text})")
    except NeelError:
        parsed = None
    match parsed:
        case Cast(Literal(None), type) if _can_be_returned(type):
            return type
    some = "BOOLEAN, a number, DECIMAL(p, s), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, ARRAY of those"
    raise CallError(f"aggregate {name}: it cannot {does} {text!r}; types: {some}")


def _can_be_returned(type: types.DataType) -> bool:
    if isinstance(type, types.Array):
        return _can_be_returned(type.element)
    return type in RETURNED or isinstance(type, types.Decimal)


def with_aggregates(
    statement: Statement, known: Registered, functions: Mapping[str, DeclaredFunction] | None = None
) -> Statement:
    """The statement with the functions of users in the calls of aggregates, and of what is declared."""
    declared = functions or {}

    def change(node: Node) -> Node:
        if isinstance(node, MatchSequential | MatchTemporal):
            measures = tuple(_over_rows(one, {*declared, *known}) for one in node.measures)
            node = replace(node, measures=measures)
        node = map_children(node, change)
        if not isinstance(node, Call):
            return node
        key = node.name.lower()
        if key in declared:
            return replace(node, name=declared[key].name, declared=declared[key])
        if key in known:
            name, aggregate, type = known[key]
            return replace(node, name=name, type=type, function=aggregate.function)
        return spelled_out(node)

    found = change(statement)
    assert isinstance(found, Statement)
    return found


def with_short_names(clause: MatchRecognize) -> MatchRecognize:
    """A MATCH_RECOGNIZE with functions of geometries by their own names, and aggregates of them."""
    return _over_rows(clause, set())


def _over_rows(clause: T, others: Collection[str]) -> T:
    """The same, but for calls of the functions that `others` names in small letters."""

    def change(node: Node) -> Node:
        node = map_children(node, change)
        return over_rows(node) if isinstance(node, Call) and node.name.lower() not in others else node

    found = change(clause)
    assert isinstance(found, type(clause))
    return found


def given_functions(known: Registered) -> dict[str, DeclaredFunction]:
    """Those of them that are functions of single values, by their names in small letters."""
    return {
        key: DeclaredFunction(
            name, tuple(_type(name, one, "take") for one in given.takes), returns, given.function
        )
        for key, (name, given, returns) in known.items()
        if isinstance(given, UserFunction)
    }


def can_be_declared(type: types.DataType) -> bool:
    """Whether a declared function may take values of a type, and return them."""
    return _can_be_returned(type)
