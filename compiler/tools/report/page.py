"""Pictures as one HTML file that works offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from neelc.explain.html import document, escape, page_header, query_title, tag
from neelc.runtime.reference.model import bound_events
from neelc.runtime.values.times import in_zone
from neelc.tools.report.map import map_section
from neelc.tools.report.picture import Panel, PatternVariable, Picture, hashable
from neelc.tools.report.record import counted, lane_text, packed, record, text_of, time_text

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
        "" if picture.lanes else tag("div", *_chips(picture), role="group", aria_label="types of events"),
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
    columns = next(iter(picture.keys.values()))
    key = ", ".join(columns[:-1] if picture.symbols else columns)
    if not key:
        return [search]
    every = tag("option", f"every {escape(key)}", value="")
    only = tag("select", every, data_key="", aria_label=f"only one {key}")
    return [search, only, box, _orders(key, *words) if words else ""]


def _orders(key: str, one: str, many: str) -> str:
    """In which order the lanes stand that have something."""
    orders = {"name": f"in order of {key}", "first": f"first {one} first", "most": f"most {many} first"}
    options = (tag("option", escape(text), value=name) for name, text in orders.items())
    return tag("select", *options, data_order="", aria_label=f"order of the lanes with {many}")


def _chips(picture: Picture) -> list[str]:
    """A button for each type, in the order in which the page numbers them, with the colours and the names of
    its variables."""
    counts = Counter(text_of(event.type) for event in picture.shown.events)
    types, variables = list(counts), picture.shown_variables
    ranks: dict[str, int] = {}
    for place, variable in enumerate(variables):
        for name in variable.types:
            ranks.setdefault(name, place)
    shown = sorted(range(len(types)), key=lambda at: ranks.get(types[at].casefold(), len(variables) + at))
    return [
        tag(
            "button",
            escape(types[at]) if len(swatches) > 1 else swatches[0] + escape(types[at]),
            *(swatches if len(swatches) > 1 else [_names(variables, types[at])]),
            tag("span", f"{counts[types[at]]:,}", class_="count"),
            type="button",
            class_="chip",
            data_type=str(at),
            aria_pressed="true",
        )
        for at in shown
        for swatches in [_swatches(variables, types[at], at)]
    ]


def _swatches(variables: Sequence[PatternVariable], type: str, at: int) -> list[str]:
    """The colours of a type: with names where it has several."""
    of_type = [(n, one.name) for n, one in enumerate(variables) if type.casefold() in one.types]
    if len(of_type) < 2:
        colour = of_type[0][0] % COLOURS if of_type else COLOURS if variables else at % COLOURS
        return [tag("i", class_=f"swatch c{colour}")]
    return [
        tag("i", class_=f"swatch c{n % COLOURS}") + tag("code", escape(name.replace("[]", "")))
        for n, name in of_type
    ]


def _names(variables: Sequence[PatternVariable], type: str) -> str:
    names = [one.name for one in variables if type.casefold() in one.types and one.name]
    return tag("code", escape(names[0].replace("[]", ""))) if names else ""


# What a picture says of itself in words: how much there is, and what of it is drawn.


def summary(picture: Picture) -> str:
    """The sentence on top: matches among events."""
    events = picture.counted
    if len(picture.panels) > 1:
        totals = [panel.total for panel in picture.panels if panel.problem is None]
        if not totals:
            return f"No strategy is defined for this pattern; {events}."
        return f"The same {events} under {counted(len(totals), 'strategy', 'strategies')}: {_range(totals)}."
    (panel,) = picture.panels
    if picture.lanes:
        return f"{panel.counted}."
    return f"{panel.counted} among {events}." if panel.words else f"{events}."


def _range(totals: list[int]) -> str:
    low, high = min(totals), max(totals)
    return f"{'' if low == high else f'{low:,} to '}{counted(high, 'match', 'matches')}"


def facts(picture: Picture) -> dict[str, str]:
    """Lanes, matches and time."""
    shown = picture.shown
    found: dict[str, str] = {}
    if picture.lanes:
        return _facts_of_rules(picture)
    if picture.keys:
        lanes = {hashable(picture.lane(event)) for event in shown.events}
        matched = {
            hashable(picture.lane(event))
            for panel in picture.panels
            for one in panel.found
            for event in bound_events(one.binding)
        }
        key = ", ".join(next(iter(picture.keys.values())))
        if picture.symbols:
            lanes, matched = ({lane[:-1] for lane in some} for some in (lanes, matched))
            key = ", ".join(next(iter(picture.keys.values()))[:-1]) or "symbol, one partition"
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


def _facts_of_rules(picture: Picture) -> dict[str, str]:
    (panel,) = picture.panels
    matched = {one.values[0] for one in panel.found}
    found = {"rules": f"{len(matched):,} with matches, {len(picture.lanes) - len(matched):,} without"}
    times = [time for one in panel.found for time in (one.start, one.end) if time is not None]
    if times:
        first, last = (time_text(time, picture.clock) for time in (min(times), max(times)))
        found[picture.axis] = f"{first} to {last}"
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
    "bundles",
    "model",
    "view",
    "palette",
    "draw",
    "draw_matches",
    "point",
    "overview",
    "details",
    "table",
    "map",
    "wire",
)

HELP = (
    "Drag to move, Ctrl and the wheel (or a double click) to zoom, Shift and drag to mark a time. With the "
    "picture in focus: <kbd>←</kbd> <kbd>→</kbd> move, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> all of "
    "the time, <kbd>n</kbd> <kbd>p</kbd> next match and the one before, <kbd>.</kbd> <kbd>,</kbd> next event "
    "and the one before."
)
EMPTY = '<p class="hint">Point at an event or a match; click to keep it here.</p>'


def report_page(pictures: Sequence[Picture]) -> str:
    """The whole page: an article for each picture."""
    records, articles = [], []
    for place, picture in enumerate(pictures):
        with in_zone(picture.zone):
            records.append(packed(record(picture)))
            articles.append(_article(picture, place, len(pictures) > 1))
    names = [title(one, len(pictures) > 1) for one in pictures]
    links = [tag("a", escape(name), href=f"#picture-{place}") for place, name in enumerate(names)]
    nav = tag("nav", *links, aria_label="queries") if len(links) > 1 else ""
    first = pictures[0]
    parts = [
        ("neelc.tools.report", "timeline.css"),
        *(("neelc.tools.report", f"{name}.js") for name in SCRIPTS),
    ]
    return document(
        f"{names[0]}: {summary(first)}" if len(names) == 1 else f"{first.file}: matches",
        page_header(first.file, nav),
        "".join(articles),
        records,
        "pictures",
        parts,
    )


def title(picture: Picture, is_one_of_many: bool = False) -> str:
    """The name of the query."""
    return query_title(picture.name, picture.file, is_one_of_many)


def _article(picture: Picture, place: int, is_one_of_many: bool) -> str:
    several = len(picture.panels) > 1
    stages = [_stage(panel, several) for panel in picture.panels]
    return tag(
        "article",
        _summary(picture, is_one_of_many),
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
        map_section(picture),
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


def _summary(picture: Picture, is_one_of_many: bool) -> str:
    """The title and how much there is in a line; the query can be unfolded."""
    notes = [tag("p", escape(text)) for text in limits(picture)]
    query = tag("details", tag("summary", "Query"), tag("pre", escape(picture.text)), class_="asked")
    return tag(
        "section",
        tag("h2", escape(title(picture, is_one_of_many))),
        tag("p", escape(summary(picture)), class_="why"),
        tag("dl", *(tag("dt", escape(k)) + tag("dd", escape(v)) for k, v in facts(picture).items())),
        query if picture.text else "",
        tag("div", *notes, class_="limits") if notes else "",
        class_="head summary",
    )


def _counts(picture: Picture) -> str:
    words = picture.panels[0].words
    absence = any(shades for panel in picture.panels for shades in panel.shades)
    return tag(
        "p",
        "" if picture.lanes else tag("span", tag("i"), f"{picture.unit}s over {picture.axis}"),
        tag("span", tag("i", class_="of-matches"), f"{words[1]}, by their start") if words else "",
        tag("span", tag("i", class_="of-absence"), "where an absent event was looked for") if absence else "",
        tag("span", tag("i", class_="swatch why"), "a note") if picture.remarks else "",
        tag("span", tag("i", class_="of-misses"), "how far a lane without matches came")
        if picture.misses
        else "",
        tag("span", "bars count events: zoom in to see single ones", class_="coarse", hidden="hidden"),
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
