"""The explanation of a SELECT on the page: its operators as a picture, rules, prices, the steps on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.explain import numbers
from neelc.explain.network import NetworkExplanation, ShownOrder
from neelc.explain.network_svg import network_svg
from neelc.explain.page_bars import Bar, bars
from neelc.explain.page_cost import facts_table
from neelc.explain.page_steps import stepper
from neelc.explain.tags import escape, tag
from neelc.explain.text_cost import compared
from neelc.explain.text_network import order_text

TABS = {"simple": "Network", "rewrite": "Rewriting", "cost": "Cost", "spark": "Spark"}


def network_panels(query: NetworkExplanation, anchor: str) -> Mapping[str, str]:
    """What stands behind each tab."""
    return {
        "simple": _picture(query, anchor),
        "rewrite": stepper(query.steps),
        "cost": _prices(query),
        "spark": _spark(query),
    }


def network_counts(query: NetworkExplanation) -> Mapping[str, int]:
    """The numbers that stand beside the tabs."""
    return {"rewrite": len(query.steps), "cost": len(query.prices), "spark": len(query.spark)}


def network_summary(query: NetworkExplanation) -> str:
    """The query, and the most important of what there is to say about it."""
    terms = {
        "holds": f"about {numbers.amount(query.prices[0].events)} events at an instant, in all operators",
        **{("order" if at == 0 else ""): order_text(one) for at, one in enumerate(query.orders)},
        "spark": query.refusal or f"{len(query.spark)} relations, one after the other",
    }
    return tag(
        "section",
        tag("div", tag("pre", escape(query.text)), class_="panel"),
        tag(
            "div",
            tag("p", escape(_why(query)), class_="why"),
            tag("dl", *(tag("dt", term) + tag("dd", escape(said)) for term, said in terms.items())),
            class_="panel",
        ),
        class_="summary",
    )


def _why(query: NetworkExplanation) -> str:
    written = query.prices[-1]
    if written.ratio < 1.01:
        return "The network as it is written holds as few events as any that the rules lead to."
    count = len(query.steps)
    steps = "The order of joins" if not count else f"{count} step{'' if count == 1 else 's'} of rewriting"
    return f"{steps}: as written, the network would hold {numbers.times(written.ratio)} as many events."


def _picture(query: NetworkExplanation, anchor: str) -> str:
    help = (
        "Events rise from the streams at the bottom to the result on top; beside each operator, how many of "
        "its events are expected to be valid at an instant. "
    )
    fit = tag("button", "Fit to width", type="button", class_="fit-picture only-js")
    svg = network_svg(query.plan, anchor, f"{query.name}: network")
    return tag("p", escape(help), fit, class_="hint") + tag("div", svg, class_="picture")


def _prices(query: NetworkExplanation) -> str:
    lines = [
        Bar(one.name, one.events, dict(one.items), "" if at == 0 else f", {compared(one.ratio)}")
        for at, one in enumerate(query.prices)
    ]
    title = tag("h3", "Events that are valid at an instant, in all operators together")
    return (
        tag("div", title, bars(lines, query.prices[0].events), class_="panel")
        + _orders(query.orders)
        + tag("h3", "What the numbers rest on")
        + tag("div", facts_table(query.facts), class_="panel scroll")
    )


def _orders(orders: Sequence[ShownOrder]) -> str:
    if not orders:
        return ""
    return tag("h3", "The order of joins") + "".join(map(_order, orders))


def _order(order: ShownOrder) -> str:
    header = tag("tr", tag("th", "joined"), tag("th", "combinations at an instant"))
    first, *others = order.inputs
    rows = [tag("tr", tag("td", escape(first)), tag("td"))]
    rows += [
        tag("tr", tag("td", escape(f"with {name}")), tag("td", numbers.amount(size)))
        for name, size in zip(others, order.sizes, strict=True)
    ]
    remark = f"As written it would be {numbers.times(order.ratio)} that."
    below = tag("p", remark, class_="hint") if order.ratio > 1.01 else ""
    return tag("div", tag("table", header, *rows), below, class_="panel scroll")


def _spark(query: NetworkExplanation) -> str:
    if query.refusal is not None:
        return tag("p", escape(query.refusal), class_="hint")
    rows = [
        tag("tr", tag("td", tag("code", escape(name))), tag("td", escape(why), class_="text"))
        for name, why in query.spark
    ]
    header = tag("tr", tag("th", "relation"), tag("th", "what it is for", class_="text"))
    return tag("div", tag("table", header, *rows), class_="panel scroll")
