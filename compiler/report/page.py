"""Pictures as one HTML file that works offline."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.explain.document import document, page_header
from neelc.explain.tags import escape, tag
from neelc.ir.moments import in_zone
from neelc.report.controls import tools
from neelc.report.picture import Panel, Picture
from neelc.report.record import record
from neelc.report.sentences import facts, limits, summary

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
    parts = [("neelc.report", "timeline.css"), *(("neelc.report", f"{name}.js") for name in SCRIPTS)]
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
    said = [tag("p", escape(text)) for text in limits(picture)]
    return tag(
        "section",
        tag("div", tag("pre", escape(picture.text)), class_="panel") if picture.text else "",
        tag(
            "div",
            tag("p", escape(summary(picture)), class_="why"),
            tag("dl", *(tag("dt", escape(k)) + tag("dd", escape(v)) for k, v in facts(picture).items())),
            tag("div", *said, class_="limits") if said else "",
            class_="panel",
        ),
        class_="summary",
    )


def _counts(picture: Picture) -> str:
    words = picture.panels[0].words
    absence = any(shades for panel in picture.panels for shades in panel.shades)
    return tag(
        "p",
        tag("span", tag("i"), "events over time"),
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
