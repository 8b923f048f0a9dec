"""The filters and buttons of a picture."""

from __future__ import annotations

from collections import Counter

from neelc.explain.tags import escape, tag
from neelc.report.picture import Picture
from neelc.report.texts import text_of

COLOURS = 11
"""How many colours there are for types; all others are grey, which is the one after them."""


def tools(picture: Picture) -> str:
    """Types, search, keys; moving about; from match to match."""
    buttons = {"left": "←", "right": "→", "out": "−", "in": "+", "fit": "Everything"}
    names = {
        "left": "earlier",
        "right": "later",
        "out": "zoom out",
        "in": "zoom in",
        "fit": "all of the time",
    }
    return tag(
        "section",
        tag("div", *_chips(picture), role="group", aria_label="types of events"),
        tag("div", *_filters(picture)),
        tag("div", *(_button(name, text, names[name]) for name, text in buttons.items())),
        _walk(picture),
        class_="tools only-js",
        aria_label="filters",
    )


def _walk(picture: Picture) -> str:
    """From match to match."""
    words = picture.panels[0].words
    if words is None:
        return ""
    before, after = _button("before", "‹", f"{words[0]} before"), _button("next", "›", f"next {words[0]}")
    return tag("div", before, tag("span", class_="place"), after, class_="walk")


def _button(does: str, text: str, name: str) -> str:
    return tag("button", text, type="button", data_do=does, aria_label=name, title=name)


def _filters(picture: Picture) -> list[str]:
    search = tag(
        "input", type="search", data_search="", placeholder="Search keys and values", aria_label="search"
    )
    words = picture.panels[0].words
    if not picture.keys:
        return [search]
    box = (
        tag("label", tag("input", type="checkbox", data_matched=""), f" only lanes with {words[1]}")
        if words
        else ""
    )
    key = ", ".join(next(iter(picture.keys.values())))
    every = tag("option", f"every {escape(key)}", value="")
    only = tag("select", every, data_key="", aria_label=f"only one {key}")
    return [search, only, box, _orders(key, *words) if words else ""]


def _orders(key: str, one: str, many: str) -> str:
    """In which order the lanes stand that have something."""
    orders = {"name": f"in order of {key}", "first": f"first {one} first", "most": f"most {many} first"}
    options = (tag("option", escape(text), value=name) for name, text in orders.items())
    return tag("select", *options, data_order="", aria_label=f"order of the lanes with {many}")


def _chips(picture: Picture) -> list[str]:
    """A button for each type, in the order in which the page numbers them."""
    counts = Counter(text_of(event.type) for event in picture.shown.events)
    types = list(counts)
    ranks = {name: picture.types.index(name.casefold()) for name in types if name.casefold() in picture.types}
    order = sorted(ranks, key=lambda name: ranks[name]) if ranks else types
    colours = {name: place % COLOURS for place, name in enumerate(order)}
    shown = sorted(range(len(types)), key=lambda at: ranks.get(types[at], len(types) + at))
    return [
        tag(
            "button",
            tag("i", class_=f"swatch c{colours.get(types[at], COLOURS)}"),
            escape(types[at]),
            tag("span", f"{counts[types[at]]:,}", class_="count"),
            type="button",
            class_="chip",
            data_type=str(at),
            aria_pressed="true",
        )
        for at in shown
    ]
