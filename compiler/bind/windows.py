"""How far a match may reach: WITHIN in whole units of fixed length."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from neelc.bind.catalog import is_integer
from neelc.bind.findings import Findings
from neelc.ir import types
from neelc.ir.expr import Expr, Interval, Literal
from neelc.ir.intervals import interval_value
from neelc.ir.logical import Clock
from neelc.ir.moments import Months
from neelc.ir.pattern import Window
from neelc.ir.units import LENGTHS
from neelc.source import Span


def bind_window(window: Window, clock: Clock | None, findings: Findings) -> Window | None:
    """`window` as a whole number of a unit that is always equally long; None, and a report, if there is none.

    >>> from neelc.source import Source
    >>> def bound(count, unit):
    ...     return bind_window(Window(count, unit), Clock(types.BIGINT, "SECOND"), Findings(Source("")))
    >>> print(bound(Literal(100, types.INT), None))
    100 SECONDS
    >>> print(bound(Literal(1.5, types.DOUBLE), "HOUR"))
    90 MINUTES
    >>> from neelc.parse import expression
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
        why = f"the timestamps are no integers but {clock.type}"
        if is_integer(clock.type):
            why = "the streams count in different units"
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
        findings.report("NEEL3026", "this window is longer than any time there is", findings.at(window))
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
    hint = "use a unit that is always equally long, such as DAYS or WEEKS"
    findings.report("NEEL3028", f"{what} is not always equally long", span, hint)


def _number(count: Expr) -> Fraction | None:
    match count:
        case Literal(bool()):
            return None
        case Literal(int() | float() | Decimal() as value):
            number = Decimal(str(value))
            return Fraction(number) if number.is_finite() else None
    return None
