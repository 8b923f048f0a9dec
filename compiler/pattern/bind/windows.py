"""How far a match may reach: WITHIN in whole units of fixed length."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from neelc.catalog.catalog import is_integer
from neelc.findings import Findings
from neelc.ir import types
from neelc.ir.expressions import Expr, Interval, Literal, Name
from neelc.ir.node import walk
from neelc.ir.patterns import KEYWORD_OF, Event, Exists, Not, Optional, Or, Pattern, Repeat, Seq, Window
from neelc.ir.program import Clock
from neelc.ir.script import Confidence, SelectionStrategy
from neelc.ir.types import BIGINT, DOUBLE, LENGTHS, VOID
from neelc.pattern.bind.scopes import CLOSURE, Scopes
from neelc.runtime.values.times import Months
from neelc.scalar.intervals import interval_value
from neelc.scalar.operators import cast_to, common
from neelc.scalar.typing import typed
from neelc.source import Span


def bind_window(window: Window, clock: Clock | None, findings: Findings) -> Window | None:
    """`window` as a whole number of a unit of fixed length; None, and a report, if there is none.

    >>> from neelc.source import Source
    >>> def bound(count, unit):
    ...     return bind_window(Window(count, unit), Clock(types.BIGINT, "SECOND"), Findings(Source("")))
    >>> print(bound(Literal(100, types.INT), None))
    100 SECONDS
    >>> print(bound(Literal(1.5, types.DOUBLE), "HOUR"))
    90 MINUTES
    >>> from neelc.syntax import expression
    >>> print(bound(expression("INTERVAL '1 10:00' DAY TO MINUTE"), None))
    34 HOURS
    """
    if isinstance(window.count, Interval):
        return _of_interval(window, window.count, findings)
    count = _number(window.count)
    span = findings.at(window.count, window)
    if count is None:
        if not findings.knows(span):  # a parameter without a value
            findings.report(
                "NEEL3026", "the length of a window must be a number", span, "for example WITHIN 10 SECONDS"
            )
        return None
    if window.unit == "EVENT":
        if count >= 1 and count == int(count):
            return _literal(int(count), "EVENT", window, findings)
        findings.report(
            "NEEL3026", f"{window.count} is not a number of events", span, "for example WITHIN 50 EVENTS"
        )
        return None
    if count < 0:
        findings.report(
            "NEEL3026", f"a window cannot be {window.count} long", span, "for example WITHIN 10 SECONDS"
        )
        return None
    unit = window.unit or _own_unit(window, clock, findings)
    if unit is None:
        return None
    if unit not in LENGTHS:
        _report_uneven(f"a {unit}", findings.at(window), findings)
        return None
    return _whole(count * LENGTHS[unit], unit, window, findings)


def _own_unit(window: Window, clock: Clock | None, findings: Findings) -> str | None:
    """The unit of a bare number: that of the streams' integer timestamps."""
    if clock is not None and clock.unit is None:
        why = f"the timestamps are {clock.type}, not integers"
        if is_integer(clock.type):
            why = "the streams use different units"
        findings.report(
            "NEEL3027",
            f"a window of {window.count} has no unit, and {why}",
            findings.at(window),
            f"add a unit: WITHIN {window.count} SECONDS",
        )
    return None if clock is None else clock.unit


def _whole(length: Fraction, preferred: str, window: Window, findings: Findings) -> Window | None:
    """`length` nanoseconds in the preferred unit, or in the longest shorter one that makes it whole."""
    units = list(LENGTHS)
    for unit in units[units.index(preferred) :]:
        if length % LENGTHS[unit] == 0:
            return _literal(int(length) // LENGTHS[unit], unit, window, findings)
    findings.report("NEEL3026", "this window is not a whole number of nanoseconds", findings.at(window))
    return None


def _literal(count: int, unit: str, window: Window, findings: Findings) -> Window | None:
    if count >= 2**63:
        findings.report("NEEL3026", "this window is longer than any possible time", findings.at(window))
        return None
    kind = types.INT if count < 2**31 else types.BIGINT
    return Window(Literal(count, kind, span=window.count.span), unit, span=window.span)


def _of_interval(window: Window, interval: Interval, findings: Findings) -> Window | None:
    try:
        value = interval_value(interval) if interval.parts else timedelta(0)
    except ValueError as problem:
        findings.report(
            "NEEL3026", str(problem), findings.at(interval, window), "for example INTERVAL '10' SECOND"
        )
        return None
    if isinstance(value, Months):
        _report_uneven(f"`{interval}`", findings.at(interval, window), findings)
        return None
    length = value // timedelta(microseconds=1) * LENGTHS["MICROSECOND"]
    if length < 0:
        message = f"a window cannot be `{interval}` long"
        findings.report("NEEL3026", message, findings.at(interval, window), "for example WITHIN 10 SECONDS")
        return None
    longest = next(unit for unit in LENGTHS if unit != "WEEK" and length % LENGTHS[unit] == 0)
    return _whole(Fraction(length), longest, window, findings)


def _report_uneven(what: str, span: Span, findings: Findings) -> None:
    hint = "use a unit of fixed length, such as DAYS or WEEKS"
    findings.report("NEEL3028", f"{what} varies in length", span, hint)


def _number(count: Expr) -> Fraction | None:
    match count:
        case Literal(bool()):
            return None
        case Literal(int() | float() | Decimal() as value):
            number = Decimal(str(value))
            return Fraction(number) if number.is_finite() else None
    return None


# Where the selection strategies are defined, and COLLAPSED results with them.


_WORDS: dict[type[Pattern], str] = {
    **KEYWORD_OF,
    Exists: "EXISTS",
    Or: "an OR inside another operator",
    Seq: "a SEQ inside another operator",
    Repeat: "a closure inside a closure",
}


def check_strategy(strategy: SelectionStrategy, pattern: Pattern, findings: Findings) -> None:
    """Report the first part that only SKIP TILL ANY MATCH is defined for."""
    if strategy == SelectionStrategy.ANY_MATCH:
        return
    odd = _odd_part(pattern)
    if odd is not None:
        findings.report(
            "NEEL3022",
            f"{strategy} is not defined for {_WORDS.get(type(odd), 'this part')}",
            findings.at(odd, pattern),
            "it requires a SEQ of single events, repetitions and negations, or an OR of such "
            "sequences; or use "
            f"{SelectionStrategy.ANY_MATCH}",
        )


def _odd_part(pattern: Pattern) -> Pattern | None:
    """The first part that has no place in a SEQ of events, repetitions and negations, or an OR of such.

    >>> from neelc.syntax import pattern
    >>> _odd_part(pattern("SEQ(A a, B+ b[], !AND(C c, D d), SEQ(E? e, F f)+ k[])")) is None
    True
    >>> print(_odd_part(pattern("SEQ(A a, AND(B b, C c))")))
    AND(B b, C c)
    """
    if isinstance(pattern, Or):
        return next(filter(None, map(_odd_part, pattern.parts)), None)
    return _odd_in_list(pattern) if isinstance(pattern, Seq) else _odd_component(pattern)


def _odd_in_list(pattern: Seq) -> Pattern | None:
    return next(filter(None, (_odd_component(p) for p in pattern.parts if not isinstance(p, Not))), None)


def _odd_component(node: Pattern) -> Pattern | None:
    match node:
        case Event() | Repeat(Event()):
            return None
        case Optional(part):
            return _odd_component(part)
        case Repeat(Seq(parts)):
            flat = (p for p in parts if not isinstance(p, Not))
            return next(filter(None, (_odd_in_closure(p) for p in flat)), None)
        case Repeat(part):
            return part
    return node


def _odd_in_closure(node: Pattern) -> Pattern | None:
    match node:
        case Event() | Repeat(Event()):
            return None
        case Optional(part):
            return _odd_in_closure(part)
    return node


def check_collapsed(scopes: Scopes, span: Span, findings: Findings) -> None:
    """RETURN COLLAPSED joins the lists of repeated events; lists of iterations cannot be joined."""
    results = scopes.results()
    closure = next((v for v in results if v.kind == CLOSURE), None)
    if closure is not None:
        message = f"COLLAPSED is not defined for `{closure.name}`, the closure of a composite"
        findings.report(
            "NEEL3025", message, span, "leave COLLAPSED out, or repeat single events only: B+ b[]"
        )


# WHEN COMPLETE UNTIL: the time that the data go up to.


def bind_end(until: Expr | None, clock: Clock, findings: Findings) -> Expr | None:
    """The time, with its type; None, after a report, if it is none of the streams'."""
    if until is None:
        return None
    span = findings.at(until)
    if any(isinstance(node, Name) for node in walk(until)):
        message = "WHEN COMPLETE UNTIL takes a time that is the same for all events"
        findings.report("NEEL3036", message, span, "for example WHEN COMPLETE UNTIL 120, or UNTIL :end")
        return None
    value, kind = typed(until, findings.report)
    wanted = BIGINT if is_integer(clock.type) else clock.type
    if kind == VOID or common(kind, wanted, strings=False) != wanted:
        if not findings.knows(span):  # a parameter without a value
            message = f"WHEN COMPLETE UNTIL takes a time of the streams, {clock.type}, not {kind}"
            findings.report("NEEL3036", message, span)
        return None
    return cast_to(value, kind, wanted)


# WITH CONFIDENCE: a threshold between 0 and 1.


def bind_confidence(confidence: Confidence | None, findings: Findings) -> Confidence | None:
    """The clause with a threshold of type DOUBLE; None, after a report, if it is no probability.

    >>> from neelc.syntax import expression
    >>> from neelc.source import Source
    >>> bind_confidence(Confidence(">=", expression("0.6")), Findings(Source(""))).threshold.value
    0.6
    """
    if confidence is None:
        return None
    span = findings.at(confidence.threshold, confidence)
    match confidence.threshold:
        case Literal(int() | float() | Decimal() as value) if not isinstance(value, bool):
            if 0 <= value <= 1:
                return replace(confidence, threshold=Literal(float(value), DOUBLE, span=span))
            message = f"a confidence is a probability, from 0 to 1, and {value} is not"
        case _ if findings.knows(span):  # a parameter without a value
            return None
        case _:
            message = "the threshold of a confidence is a number from 0 to 1"
    findings.report("NEEL3029", message, span, "for example WITH CONFIDENCE >= 0.6")
    return None
