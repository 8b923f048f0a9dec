"""What the alternatives cost: bars, a table, and the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.cost.estimate import Estimate
from neelc.cost.facts import Fact
from neelc.explain import numbers
from neelc.explain.explanation import Explanation, ShownAlternative
from neelc.explain.tags import escape, tag
from neelc.explain.text_cost import MEASURES, ORIGINS, compared

COLOURS = 12
"""Of the style sheet: c0, c1 and so on."""
LONGEST = 8.0
"""A bar so many times as long as that of the chosen form is cut: else nothing of that would be seen."""


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
        + tag("div", _facts(query.facts), class_="panel scroll")
    )


def _names(alternatives: Sequence[ShownAlternative]) -> list[str]:
    """What work is done for, in the order it comes up."""
    return list(dict.fromkeys(item.what for one in alternatives for item in one.estimate.items))


def _bars(alternatives: Sequence[ShownAlternative]) -> str:
    names = [name for name in _names(alternatives) if any(_share(one, name) > 0 for one in alternatives)]
    chosen = next(one.estimate.work for one in alternatives if one.chosen)
    longest = min(max(one.estimate.work for one in alternatives), LONGEST * chosen) or 1.0
    lines = [_bar(alternative, names, longest) for alternative in alternatives]
    keys = [tag("span", tag("i", class_=_colour(at)), escape(name)) for at, name in enumerate(names)]
    return tag("div", *lines, class_="bars") + tag("p", *keys, class_="legend")


def _share(alternative: ShownAlternative, name: str) -> float:
    return sum(item.work for item in alternative.estimate.items if item.what == name)


def _colour(at: int) -> str:
    return f"c{at % COLOURS}"


def _bar(alternative: ShownAlternative, names: Sequence[str], longest: float) -> str:
    """Its pieces in proportion; a bar that is too long is cut, and looks like it."""
    work = alternative.estimate.work
    scale = 100 / max(work, longest)
    pieces = [
        tag(
            "span",
            class_=_colour(at),
            style=f"width:{share * scale:.3f}%",
            title=f"{name}: {numbers.amount(share)}",
        )
        for at, name in enumerate(names)
        if (share := _share(alternative, name)) > 0
    ]
    ratio = "" if alternative.chosen else f", {compared(alternative.ratio)}"
    return (
        tag("span", escape(alternative.name), class_="name baseline" if alternative.baseline else "name")
        + tag("span", *pieces, class_="bar cut" if work > longest else "bar")
        + tag("span", numbers.amount(work), ratio, class_="value")
    )


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


def _facts(facts: Sequence[Fact]) -> str:
    if not facts:
        return tag("p", "No statistics were needed.", class_="hint")
    header = tag("tr", tag("th"), tag("th", "value"), tag("th", "from", class_="text"))
    return tag("table", header, *map(_fact, facts))


def _fact(fact: Fact) -> str:
    origin = tag("span", escape(ORIGINS[fact.origin]), class_=f"origin {fact.origin}")
    value = tag("td", numbers.amount(fact.value))
    return tag("tr", tag("td", escape(fact.what)), value, tag("td", origin, class_="text"))
