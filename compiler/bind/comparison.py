"""Types of comparisons and conditions."""

from __future__ import annotations

from dataclasses import replace

from neelc.bind.checking import Report, Typed, cast, wrong
from neelc.bind.coercion import common, common_of, is_nested, is_orderable
from neelc.bind.hints import hint_for_comparison
from neelc.ir.expr import (
    Between,
    Binary,
    Case,
    Conjunction,
    Disjunction,
    Expr,
    InList,
    IsDistinct,
    Like,
    Negation,
    When,
)
from neelc.ir.node import Node
from neelc.ir.types import BOOLEAN, STRING, VOID, DataType
from neelc.source import Span


def shared_type(left: DataType, right: DataType, span: Span | None, report: Report) -> DataType | None:
    """The type that two values are compared in; None, and a report, if there is none."""
    shared = common(left, right)
    if shared is not None and is_orderable(shared):
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
        When(test, cast(result, shared), span=when.span)
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
