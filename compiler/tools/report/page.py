"""Pictures as one HTML file that works offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from neelc.explain.html import document, escape, page_header, tag
from neelc.runtime.reference.model import bound_events
from neelc.runtime.values.times import in_zone
from neelc.tools.report.picture import Panel, Picture, hashable
from neelc.tools.report.record import counted, lane_text, record, text_of, time_text

# The filters and buttons of a picture.

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


# What a picture says of itself in words: how much there is, and what of it is drawn.


def summary(picture: Picture) -> str:
    """The sentence on top: matches among events."""
    events = counted(picture.shown.total, picture.unit)
    if len(picture.panels) > 1:
        totals = [panel.total for panel in picture.panels if panel.problem is None]
        if not totals:
            return f"No strategy is defined for this pattern; {events}."
        return f"The same {events} under {counted(len(totals), 'strategy', 'strategies')}: {_range(totals)}."
    (panel,) = picture.panels
    return f"{panel.counted} among {events}." if panel.words else f"{events}."


def _range(totals: list[int]) -> str:
    low, high = min(totals), max(totals)
    return f"{'' if low == high else f'{low:,} to '}{counted(high, 'match', 'matches')}"


def facts(picture: Picture) -> dict[str, str]:
    """Lanes, matches and time."""
    shown = picture.shown
    found: dict[str, str] = {}
    if picture.keys:
        lanes = {hashable(picture.lane(event)) for event in shown.events}
        matched = {
            hashable(picture.lane(event))
            for panel in picture.panels
            for one in panel.found
            for event in bound_events(one.binding)
        }
        key = ", ".join(next(iter(picture.keys.values())))
        held = f", {len(matched):,} of them with matches" if matched else ""
        found["lanes"] = f"by {key}: {len(lanes):,}{held}"
    elif picture.unit == "row":
        found["lanes"] = "by variable: MATCH_RECOGNIZE has no PARTITION BY"
    else:
        why = ": nothing ties all events of a match to one key" if picture.panels[0].words else ""
        found["lanes"] = f"by type{why}"
    if shown.events:
        last = max(event.end for event in shown.events)
        found[picture.axis] = (
            f"{time_text(shown.events[0].start, picture.clock)} to {time_text(last, picture.clock)}"
        )
    if picture.remarks:
        found["notes"] = counted(len(picture.remarks), "note")
    return found


def limits(picture: Picture) -> Iterator[str]:
    """What is not drawn; nothing is left out without a word."""
    shown = picture.shown
    yield from picture.notices
    if 0 < len(shown.events) < shown.total:
        yield f"{len(shown.events):,} of {counted(shown.total, picture.unit)} are drawn: {_which(picture)}."
    for panel in picture.panels:
        if len(panel.found) < panel.total:
            name = f"{panel.title}: " if len(picture.panels) > 1 else ""
            yield f"{name}{len(panel.found):,} of {panel.counted} are drawn."


def _which(picture: Picture) -> str:
    shown = picture.shown
    lanes = {hashable(lane): lane for lane in map(picture.lane, shown.events)}
    of = "" if shown.lanes is None else f" of {shown.lanes:,}"
    if shown.since is not None and shown.until is not None:
        since, until = (time_text(time, picture.clock) for time in (shown.since, shown.until))
        where = f"of {lane_text(next(iter(lanes.values())))}, " if picture.keys else ""
        return f"those {where}from {since} to {until}"
    return f"{len(lanes):,}{of} keys, those with matches first"


SCRIPTS = (
    "clock",
    "model",
    "view",
    "palette",
    "draw",
    "draw_matches",
    "point",
    "overview",
    "details",
    "table",
    "wire",
)

HELP = (
    "Drag to move, Ctrl and the wheel (or a double click) to zoom, Shift and drag to mark a time. With the "
    "picture in focus: <kbd>←</kbd> <kbd>→</kbd> move, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> all of "
    "the time, <kbd>n</kbd> <kbd>p</kbd> next match and the one before, <kbd>.</kbd> <kbd>,</kbd> next event "
    "and the one before."
)
EMPTY = '<p class="hint">Point at an event or an arc; click to keep it here.</p>'


def report_page(pictures: Sequence[Picture]) -> str:
    """The whole page: an article for each picture."""
    records, articles = [], []
    for place, picture in enumerate(pictures):
        with in_zone(picture.zone):
            records.append(record(picture))
            articles.append(_article(picture, place))
    links = [tag("a", escape(one.name), href=f"#picture-{place}") for place, one in enumerate(pictures)]
    nav = tag("nav", *links, aria_label="queries") if len(links) > 1 else ""
    title = pictures[0].file
    parts = [
        ("neelc.tools.report", "timeline.css"),
        *(("neelc.tools.report", f"{name}.js") for name in SCRIPTS),
    ]
    return document(
        f"{title}: matches", page_header(title, nav), "".join(articles), records, "pictures", parts
    )


def _article(picture: Picture, place: int) -> str:
    several = len(picture.panels) > 1
    stages = [_stage(panel, several) for panel in picture.panels]
    return tag(
        "article",
        tag("h2", escape(picture.name)),
        _summary(picture),
        tag(
            "noscript",
            tag("p", "The picture is drawn by a script, and scripts are turned off.", class_="lint"),
        ),
        tools(picture),
        tag("canvas", class_="overview only-js", role="img", aria_label="events and matches over time"),
        _counts(picture),
        tag(
            "div",
            tag("div", *stages, class_="stages several" if several else "stages"),
            tag("aside", EMPTY, class_="panel details", aria_live="polite", data_empty=EMPTY),
            class_="board only-js",
        ),
        tag("p", HELP, class_="hint only-js"),
        _table() if picture.panels[0].words else "",
        tag("div", class_="tip", hidden="hidden"),
        tag("div", class_="marked", hidden="hidden"),
        id=f"picture-{place}",
    )


def _table() -> str:
    return tag(
        "details",
        tag("summary"),
        tag("div", class_="rows"),
        tag("div", class_="pages"),
        class_="matches only-js",
    )


def _summary(picture: Picture) -> str:
    notes = [tag("p", escape(text)) for text in limits(picture)]
    return tag(
        "section",
        tag("div", tag("pre", escape(picture.text)), class_="panel") if picture.text else "",
        tag(
            "div",
            tag("p", escape(summary(picture)), class_="why"),
            tag("dl", *(tag("dt", escape(k)) + tag("dd", escape(v)) for k, v in facts(picture).items())),
            tag("div", *notes, class_="limits") if notes else "",
            class_="panel",
        ),
        class_="summary",
    )


def _counts(picture: Picture) -> str:
    words = picture.panels[0].words
    absence = any(shades for panel in picture.panels for shades in panel.shades)
    return tag(
        "p",
        tag("span", tag("i"), f"{picture.unit}s over {picture.axis}"),
        tag("span", tag("i", class_="of-matches"), f"{words[1]}, by their start") if words else "",
        tag("span", tag("i", class_="of-absence"), "where an absent event was looked for") if absence else "",
        tag("span", tag("i", class_="swatch why"), "a note") if picture.remarks else "",
        tag("span", "many in one place: zoom in to see single ones", class_="coarse", hidden="hidden"),
        tag("span", class_="seen"),
        class_="counts only-js",
    )


def _stage(panel: Panel, several: bool) -> str:
    number = panel.counted if panel.problem is None else "not defined here"
    title = tag("b", escape(panel.title)) if several else ""
    problem = tag("span", escape(panel.problem), class_="problem") if panel.problem else ""
    caption = tag("figcaption", title, tag("span", number, class_="soft"), problem) if several else ""
    what = f"time line, {panel.title}: {number}"
    return tag(
        "figure",
        caption,
        tag(
            "div",
            tag("canvas"),
            tag("div", class_="spacer"),
            class_="scroller",
            tabindex="0",
            role="application",
            aria_label=what,
        ),
        class_="stage",
    )
