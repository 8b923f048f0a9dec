"""The explanation of a SELECT as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.explain import numbers
from neelc.explain.explanation import defaults
from neelc.explain.network import NetworkExplanation, ShownOrder
from neelc.explain.text_cost import fact_lines
from neelc.explain.text_layout import folded, indented, labelled, table, title
from neelc.explain.text_plan import plan_lines


def network_lines(found: NetworkExplanation, mode: str) -> list[str]:
    """What a mode shows; there is no automaton."""
    lines = [*title(found.name), *folded(found.text, "  "), ""]
    if mode in ("simple", "all"):
        lines += [*_plan(found), ""]
    if mode in ("rewrite", "all"):
        lines += [*_rewriting(found), ""]
    if mode in ("cost", "all"):
        lines += [*_prices(found), *_orders(found), ""]
    return lines[:-1]


def _plan(found: NetworkExplanation) -> Iterator[str]:
    yield "Plan, with the events that are valid at an instant"
    yield from indented(plan_lines(found.plan))
    yield ""
    if star := defaults(found.facts):
        yield from folded(star, "*      ", "       ")
    yield from _orders(found)
    if found.refusal is not None:
        yield from folded(found.refusal, "Spark  ", "       ")
    else:
        yield "Spark"
        yield from labelled(found.spark, "  ")


def _orders(found: NetworkExplanation) -> Iterator[str]:
    for order in found.orders:
        yield from folded(order_text(order), "Order  ", "       ")


def order_text(order: ShownOrder) -> str:
    """In which order a correlator joins, and what that is worth."""
    sizes = ", ".join(numbers.amount(size) for size in order.sizes)
    found = f"{' with '.join(order.inputs)}: {sizes} combinations at an instant"
    return found + (
        f"; as written it would be {numbers.times(order.ratio)} that" if order.ratio > 1.01 else ""
    )


def _prices(found: NetworkExplanation) -> Iterator[str]:
    yield "Price: events that are valid at an instant, in all operators together"
    kinds = dict.fromkeys(kind for price in found.prices for kind, _ in price.items)
    rows = [["all", *(numbers.amount(price.events) for price in found.prices)]]
    for kind in kinds:
        own = [dict(price.items).get(kind) for price in found.prices]
        rows.append([f"  {kind}", *("" if one is None else numbers.amount(one) for one in own)])
    yield from indented(table(["", *(price.name for price in found.prices)], rows))
    yield ""
    yield "What the numbers rest on"
    yield from indented(fact_lines(found.facts))
    if found.orders:
        yield ""


def _rewriting(found: NetworkExplanation) -> Iterator[str]:
    count = len(found.steps)
    yield f"Rewriting: {count or 'no'} step{'' if count == 1 else 's'}"
    for number, step in enumerate(found.steps, 1):
        yield ""
        yield f"  {number}. {step.rule}"
        yield from folded(step.law, "     ")
        yield from folded(step.before, "     before  ")
        yield from folded(step.after, "     after   ")
