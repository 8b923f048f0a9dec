"""Parse tree to statistics: what stands in WITH STATS."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.statistics import Statistic
from neelc.parse import literals
from neelc.parse.expressions import expression
from neelc.parse.problem import span_of
from neelc.parse.units import unit


def statistic(context: Any) -> Statistic:
    kind = context.name().getText() if context.TYPE() else None
    return replace(_measure(context.measure()), type=kind, span=span_of(context))


def _measure(context: Any) -> Statistic:
    match context:
        case NeelParser.PlainMeasureContext():
            return Statistic("EVENTS" if context.EVENTS() else "SHARE", (_number(context.signedNumber()),))
        case NeelParser.RateMeasureContext():
            return _with_unit("RATE", context)
        case NeelParser.SpanMeasureContext():
            return _with_unit("SPAN", context)
        case NeelParser.ColumnMeasureContext():
            word = "DISTINCT" if context.DISTINCT() else "NULLS" if context.NULLS() else "MOST FREQUENT"
            return Statistic(word, (_number(context.signedNumber()),), column=context.name().getText())
        case NeelParser.RangeMeasureContext():
            numbers = tuple(map(_number, context.signedNumber()))
            return Statistic("RANGE", numbers, column=context.name().getText())
    condition = expression(context.expression())
    return Statistic("SELECTIVITY", (_number(context.signedNumber()),), condition=condition)


def _with_unit(word: str, context: Any) -> Statistic:
    name = context.name()
    return Statistic(word, (_number(context.signedNumber()),), unit=unit(name.getText(), name))


def _number(context: Any) -> Decimal:
    found = literals.number(context.NUMBER()).value
    # A float as the digits that a person would write for it: `2e6` is 2000000.0, and means 2000000.
    value = Decimal(str(found)).normalize() if isinstance(found, float) else Decimal(str(found))
    return -value if context.MINUS() else value
