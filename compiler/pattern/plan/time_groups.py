"""Groups by a computed time: until when a group can get more of them.

`date_trunc('hour', a.ts)` puts all times of an hour into one group. On a stream without end the group is
complete a window after the last time that belongs to it. Such expressions never fall while time goes on, so
there is a last time; it is found from the outside to the inside: of `f(g(t))`, first the greatest g(t) with
the same value of f, then the greatest t with a g(t) that is no greater than that.
"""

from __future__ import annotations

from collections.abc import Callable

from neelc.ir.expressions import (
    Binary,
    Call,
    Case,
    CaseBranch,
    Cast,
    Expr,
    Interval,
    IntervalPart,
    Literal,
)
from neelc.ir.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.intervals import counts_months
from neelc.scalar.operators import INTEGERS
from neelc.scalar.type_of import type_of

UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), ("1", "YEAR")),
    "QUARTER": ("3", "MONTH"),
    **dict.fromkeys(("MONTH", "MON", "MM"), ("1", "MONTH")),
    "WEEK": ("7", "DAY"),
    **dict.fromkeys(("DAY", "DD"), ("1", "DAY")),
    **{unit: ("1", unit) for unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")},
}
"""What date_trunc cuts time into, and how long that is."""

COUNTS = {"unix_seconds": "timestamp_seconds", "unix_millis": "timestamp_millis"}
"""Functions that count times, and those that make times of the counts."""

EXACT = 2**53
"""A DOUBLE holds whole numbers up to here."""


def last_time(expression: Expr, is_time: Callable[[Expr], bool], most: int = EXACT) -> Expr | None:
    """The last time for which the expression has the value that it has for a time, an expression over the
    same time; None, if there need not be one. `is_time` recognizes the time. Whole numbers of times are no
    greater than `most`.

    >>> from pattern_examples import query
    >>> def last(text):
    ...     item = query(f"SEQ(A a, B b) WITHIN 9 RETURN {text} AS t, count(*) AS n").outputs[0]
    ...     return last_time(item.expression, lambda node: str(node) == "a.ts")
    >>> print(last("a.ts - pmod(a.ts, 60)"))
    a.ts - pmod(a.ts, 60) + 59L
    >>> print(last("unix_seconds(timestamp_millis(a.ts))"))
    unix_millis(timestamp_seconds(unix_seconds(timestamp_millis(a.ts)) + 1L) - INTERVAL '1' MICROSECOND)

    What comes again has no last time.

    >>> last("a.ts % 60"), last("-a.ts"), last("hour(timestamp_millis(a.ts))"), last("a.ts - b.ts")
    (None, None, None, None)
    """
    return _TimeSteps(is_time, most).last(expression, expression)


@dataclass(frozen=True)
class _TimeSteps:
    is_time: Callable[[Expr], bool]
    most: int

    def last(self, node: Expr, bound: Expr) -> Expr | None:
        """The last time at which `node` is at most `bound`; None if it might fall while time goes on."""
        bound = _long(bound)
        if self.is_time(node):
            return bound
        match node:
            case Cast(inner, target):
                return self._cast(inner, target, bound)
            case Call("to_date" | "to_timestamp", (inner,)):
                return self.last(inner, bound)
            case Call("date_trunc", (Literal(str(unit)), inner)) if unit.upper() in UNITS:
                return self.last(inner, _end_of(unit.upper(), bound, is_cut=bound == node))
            case Call(name, (inner,)) if name in COUNTS and type_of(inner) == TIMESTAMP:
                after = Call(COUNTS[name], (Binary("+", bound, _whole(1)),), type=TIMESTAMP)
                return self.last(inner, _before(after))
            case Call(name, (inner,)) if name in COUNTS.values() and type_of(inner) in INTEGERS:
                back = next(count for count, made in COUNTS.items() if made == name)
                return self.last(inner, Call(back, (bound,), type=BIGINT))
            case Call("floor", (Binary("/", Cast(inner, target), by),)) if target == DOUBLE:
                return self._floor(inner, by, bound)
            case Binary(op, left, right):
                return self._binary(op, left, right, bound)
        return None

    def _cast(self, inner: Expr, target: DataType, bound: Expr) -> Expr | None:
        source = type_of(inner)
        if source == target or _widens(source, target):
            return self.last(inner, bound)
        if source in (TIMESTAMP, TIMESTAMP_NTZ) and target == DATE:
            next_day = Call("date_add", (bound, Literal(1, INT)), type=DATE)
            return self.last(inner, _before(Cast(next_day, source)))
        if source == DATE and target == TIMESTAMP:
            return self.last(inner, Cast(bound, DATE))
        return None  # a TIMESTAMP_NTZ is an earlier instant than one before it, where clocks are set forward

    def _floor(self, inner: Expr, by: Expr, bound: Expr) -> Expr | None:
        """`floor(t / n)`, which is exact as long as DOUBLEs are."""
        length = _constant(by)
        if length is None or length <= 0 or type_of(inner) not in INTEGERS or self.most > EXACT:
            return None
        return self.last(inner, _end(bound, length))

    def _binary(self, op: str, left: Expr, right: Expr, bound: Expr) -> Expr | None:
        number = _constant(right)
        match op:
            case "+" | "-" if _is_fixed(right):
                return self.last(left, _moved("-" if op == "+" else "+", bound, right))
            case "+" if _is_fixed(left):
                return self.last(right, _moved("-", bound, left))
            case "-" if (cut := _rest(left, right)) is not None:
                by, is_floor = cut
                end = Binary("+", bound, _whole(by - 1))
                return self.last(left, end if is_floor else _if_negative(bound, bound, end))
            case "*" if number is not None and number > 0 and type_of(left) in INTEGERS:
                rest = Call("pmod", (bound, _whole(number)), type=BIGINT)
                return self.last(left, Binary("DIV", Binary("-", bound, rest), _whole(number)))
            case "DIV" if number is not None and number > 0 and type_of(left) in INTEGERS:
                # Rounded towards zero.
                return self.last(
                    left, _if_negative(bound, Binary("*", bound, _whole(number)), _end(bound, number))
                )
        return None


def _widens(source: DataType, target: DataType) -> bool:
    return source in INTEGERS and target in INTEGERS and INTEGERS.index(source) <= INTEGERS.index(target)


def _end_of(unit: str, bound: Expr, is_cut: bool) -> Expr:
    """The last microsecond of the hour, day, ... that a time lies in; `is_cut`: it is the first one of it.
    That is before the next one begins. Where clocks are set back by half an hour, an hour is longer: after an
    hour it is still the same one, after two it is not. Where they are set forward at midnight, a day does
    not begin at the same time as the next."""
    first = bound if is_cut else _cut(unit, bound)
    length = Interval((IntervalPart(*UNITS[unit]),))
    after = Binary("+", first, length)
    following = _cut(unit, after)
    second = _cut(unit, Binary("+", after, length))
    return _before(Case(None, (CaseBranch(Binary(">", following, first), following),), second))


def _cut(unit: str, time: Expr) -> Expr:
    return Call("date_trunc", (Literal(unit.lower(), STRING), time), type=TIMESTAMP)


def _before(time: Expr) -> Expr:
    return Binary("-", time, Interval((IntervalPart("1", "MICROSECOND"),)))


def _end(bound: Expr, length: int) -> Expr:
    """The last number that is at most `bound`, divided by `length` and rounded down."""
    return Binary("+", Binary("*", bound, _whole(length)), _whole(length - 1))


def _if_negative(number: Expr, then: Expr, otherwise: Expr) -> Expr:
    return Case(None, (CaseBranch(Binary("<", number, _whole(0)), then),), otherwise)


def _rest(whole: Expr, rest: Expr) -> tuple[int, bool] | None:
    """Of `t - t % n` the n, and whether that rounds down, as pmod does, or towards zero."""
    match rest:
        case Binary("%", left, right) | Call("mod" | "pmod", (left, right)) if left == whole:
            by = _constant(right)
            is_floor = isinstance(rest, Call) and rest.name == "pmod"
            return (by, is_floor) if by is not None and by > 0 and type_of(whole) in INTEGERS else None
    return None


def _moved(op: str, bound: Expr, by: Expr) -> Expr:
    return Binary(op, bound, _long(by) if type_of(bound) == BIGINT else by)


def _long(number: Expr) -> Expr:
    """Whole numbers as BIGINTs: others may be too small for the end of a group."""
    kind = type_of(number)
    return Cast(number, BIGINT, implicit=True) if kind in INTEGERS and kind != BIGINT else number


def _whole(number: int) -> Literal:
    return Literal(number, BIGINT)


def _constant(node: Expr) -> int | None:
    """A whole number that is written down."""
    while isinstance(node, Cast) and node.implicit:
        node = node.operand
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def _is_fixed(node: Expr) -> bool:
    """Whether a term moves all times by the same: months have different lengths, and civil days too."""
    if isinstance(node, Interval):
        return not counts_months(node) and all(part.unit not in ("DAY", "WEEK") for part in node.parts)
    return _constant(node) is not None
