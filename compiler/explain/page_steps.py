"""The steps of a rewriting to walk through."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.explain.changes import Run, changes
from neelc.explain.explanation import Explanation, ShownRefusal, ShownShortcut, ShownStep
from neelc.explain.tags import escape, tag


def steps_panel(query: Explanation) -> str:
    return stepper(query.steps) + _shortcuts(query.shortcuts) + _refusals(query.refusals)


def stepper(steps: Sequence[ShownStep]) -> str:
    """The rules that fired, one at a time."""
    if not steps:
        return tag("p", "No rule changed this query.", class_="hint")
    buttons = [tag("li", tag("button", escape(step.rule), type="button")) for step in steps]
    return tag(
        "div",
        tag("ol", *buttons, class_="only-js"),
        tag("div", _controls(), *map(_step, steps)),
        class_="stepper",
        data_at="0",
    )


def _controls() -> str:
    return tag(
        "div",
        tag("button", "← Previous", type="button", data_go="-1"),
        tag("span", class_="place"),
        tag("button", "Next →", type="button", data_go="1"),
        tag("span", "or the arrow keys", class_="aside"),
        tag("label", tag("input", type="checkbox"), " whole query"),
        class_="controls only-js",
    )


def _step(step: ShownStep) -> str:
    part = changes(step.before, step.after)
    whole = changes(step.query_before, step.query_after) if step.query_after else part
    return tag(
        "section",
        tag("p", escape(step.law), class_="law"),
        tag("div", _side("before", part[0], whole[0]), _side("after", part[1], whole[1]), class_="sides"),
        _rule(step.rule),
        class_="step",
    )


def _rule(name: str) -> str:
    return tag("p", "rule ", tag("code", escape(name)), class_="hint")


def _side(name: str, part: Sequence[Run], whole: Sequence[Run]) -> str:
    return tag(
        "div",
        tag("h4", name),
        tag("pre", _marked(part), class_="part"),
        tag("pre", _marked(whole), class_="all"),
        class_=f"side {name}",
    )


def _marked(runs: Sequence[Run]) -> str:
    """
    >>> _marked([("SEQ(A, ", False), ("B", True), (")", False)])
    'SEQ(A, <mark>B</mark>)'
    """
    return "".join(tag("mark", escape(text)) if changed else escape(text) for text, changed in runs)


def _shortcuts(shortcuts: Sequence[ShownShortcut]) -> str:
    if not shortcuts:
        return ""
    listed = [
        tag(
            "div",
            tag("p", tag("b", "Taken: " if one.taken else "Not taken: "), tag("code", escape(one.text))),
            tag("p", escape(one.reason)),
            class_="panel shortcut" if one.taken else "panel refusal",
        )
        for one in shortcuts
    ]
    return tag("h3", "Shortcuts") + "".join(listed)


def _refusals(refusals: Sequence[ShownRefusal]) -> str:
    if not refusals:
        return ""
    return tag("h3", "Not done") + "".join(map(_refusal, refusals))


def _refusal(refusal: ShownRefusal) -> str:
    return tag(
        "div",
        tag("p", escape(refusal.law)),
        tag("p", tag("b", "Not here:"), f" {escape(refusal.reason)}."),
        tag("pre", escape(refusal.part)) if refusal.part else "",
        _rule(refusal.rule),
        class_="panel refusal",
    )
