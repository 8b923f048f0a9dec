"""What the alternatives cost: bars, a table, and the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.cost.estimate import Estimate
from neelc.cost.facts import Fact
from neelc.explain import numbers
from neelc.explain.explanation import Explanation, ShownAlternative
from neelc.explain.page_bars import Bar, bars
from neelc.explain.tags import escape, tag
from neelc.explain.text_cost import MEASURES, ORIGINS, compared


def cost_panel(query: Explanation) -> str:
    alternatives = sorted(query.alternatives, key=lambda alternative: not alternative.chosen)
    forms = [alternative for alternative in alternatives if not alternative.baseline]
    title = tag("h3", "Work, one unit for reading one row")
    return (
        tag("div", title, _bars(alternatives), class_="panel")
        + tag("h3", "Alternatives")
        + tag("div", _table(forms), class_="panel scroll")
        + _search(next(one.estimate for one in forms if one.chosen))
        + tag("h3", "What the numbers rest on")
        + tag("div", facts_table(query.facts), class_="panel scroll")
    )


def _names(alternatives: Sequence[ShownAlternative]) -> list[str]:
    """What work is done for, in the order it comes up."""
    return list(dict.fromkeys(item.what for one in alternatives for item in one.estimate.items))


def _bars(alternatives: Sequence[ShownAlternative]) -> str:
    names = _names(alternatives)
    lines = [
        Bar(
            one.name,
            one.estimate.work,
            {name: _share(one, name) for name in names},
            "" if one.chosen else f", {compared(one.ratio)}",
            one.baseline,
        )
        for one in alternatives
    ]
    return bars(lines, next(one.estimate.work for one in alternatives if one.chosen))


def _share(alternative: ShownAlternative, name: str) -> float:
    return sum(item.work for item in alternative.estimate.items if item.what == name)


def _table(alternatives: Sequence[ShownAlternative]) -> str:
    header = tag("tr", tag("th"), *(_heading(alternative) for alternative in alternatives))
    works = {"work": [numbers.amount(one.estimate.work) for one in alternatives]}
    for name in _names(alternatives):
        works[f"\N{EM SPACE}{name}"] = [numbers.amount(_share(one, name)) for one in alternatives]
    for name, measure in MEASURES.items():
        works[name] = [measure(alternative.estimate) for alternative in alternatives]
    return tag("table", header, *(_row(name, cells) for name, cells in works.items()))


def _heading(alternative: ShownAlternative) -> str:
    remark = "chosen" if alternative.chosen else compared(alternative.ratio)
    kind = "chosen" if alternative.chosen else "other"
    return tag("th", escape(alternative.name), " ", tag("span", remark, class_=kind))


def _row(name: str, cells: Sequence[str]) -> str:
    return tag("tr", tag("td", escape(name)), *(tag("td", cell) for cell in cells))


def _search(found: Estimate) -> str:
    if not found.steps:
        return ""
    header = tag("tr", *(tag("th", name) for name in ("", "looked at", "kept")))
    rows = [_row(step.what, [numbers.amount(step.tried), numbers.amount(step.kept)]) for step in found.steps]
    table = tag("div", tag("table", header, *rows), class_="panel scroll")
    return tag("h3", "The search, step by step, in the whole input") + table


def facts_table(facts: Sequence[Fact]) -> str:
    """Numbers, each with its origin."""
    if not facts:
        return tag("p", "No statistics were needed.", class_="hint")
    header = tag("tr", tag("th"), tag("th", "value"), tag("th", "from", class_="text"))
    return tag("table", header, *map(_fact, facts))


def _fact(fact: Fact) -> str:
    origin = tag("span", escape(ORIGINS[fact.origin]), class_=f"origin {fact.origin}")
    value = tag("td", numbers.amount(fact.value))
    return tag("tr", tag("td", escape(fact.what)), value, tag("td", origin, class_="text"))
