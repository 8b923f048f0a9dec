"""An explanation as one HTML file that works offline: style, script, pictures and data are in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.explain import numbers
from neelc.explain.document import document, page_header
from neelc.explain.explanation import NOT_SHARED, Explanation, PlanNode, Report, SharedGroup, defaults
from neelc.explain.network import NetworkExplanation
from neelc.explain.page_cost import cost_panel
from neelc.explain.page_network import TABS as NETWORK_TABS
from neelc.explain.page_network import network_counts, network_panels, network_summary
from neelc.explain.page_steps import steps_panel
from neelc.explain.records import report_record
from neelc.explain.svg import automaton_svg
from neelc.explain.tags import escape, tag
from neelc.explain.text import held, legend

TABS = {"simple": "Plan", "rewrite": "Rewriting", "cost": "Cost", "nfa": "Automaton"}


def as_html(report: Report, mode: str) -> str:
    """The whole report; the mode says which of its tabs is open at first."""
    articles = [_article(query, _anchor(query), mode) for query in report.explained]
    notes = [tag("p", escape(note), class_="hint") for note in report.notes]
    body = f"{''.join(articles)}{_sharing(report.sharing)}{''.join(notes)}"
    record = report_record(report, "all")
    return document(
        f"{report.file}: explained",
        _header(report),
        body,
        record,
        "explanation",
        [("neelc.explain", "page.js")],
    )


def _header(report: Report) -> str:
    links = [tag("a", escape(query.name), href=f"#{_anchor(query)}") for query in report.explained]
    nav = tag("nav", *links, class_="only-js", aria_label="queries") if len(links) > 1 else ""
    return page_header(report.file, nav)


def _anchor(query: Explanation | NetworkExplanation) -> str:
    return "".join(c if c.isalnum() else "-" for c in query.name)


def _article(query: Explanation | NetworkExplanation, anchor: str, mode: str) -> str:
    """A query with its tabs; a SELECT has a network where a PATTERN has a plan, and no automaton."""
    if isinstance(query, NetworkExplanation):
        tabs, panels, counts = NETWORK_TABS, network_panels(query, anchor), network_counts(query)
        summary = network_summary(query)
    else:
        tabs, panels, counts = TABS, _panels(query, anchor), _counts(query)
        summary = _summary(query)
    return tag(
        "article",
        tag("h2", escape(query.name)),
        summary,
        tag(
            "div",
            *(_tab(name, title, counts.get(name)) for name, title in tabs.items()),
            role="tablist",
            class_="only-js",
        ),
        *(
            tag("section", panels[name], role="tabpanel", data_tab=name, aria_label=title)
            for name, title in tabs.items()
        ),
        id=anchor,
        data_first=mode if mode in tabs else "simple",
    )


def _panels(query: Explanation, anchor: str) -> Mapping[str, str]:
    return {
        "simple": tag("ul", _operation(query.plan), class_="plan"),
        "rewrite": steps_panel(query),
        "cost": cost_panel(query),
        "nfa": _automaton(query, anchor),
    }


def _counts(query: Explanation) -> Mapping[str, int]:
    states = len(query.automaton.states)
    return {"rewrite": len(query.steps), "cost": len(query.alternatives), "nfa": states}


def _tab(name: str, title: str, count: int | None) -> str:
    number = "" if count is None else " " + tag("span", str(count), class_="count")
    return tag("button", title, number, type="button", role="tab", data_tab=name, aria_selected="false")


def _summary(query: Explanation) -> str:
    found = query.bounds
    growth = tag("span", found.growth, class_=f"growth {found.growth}")
    work = (
        f"at worst {tag('code', escape(found.work))}, {growth}. {escape(found.reason)} {legend(found.work)}"
    )
    terms = {
        "form": escape(query.chosen),
        **({"*": escape(star)} if (star := defaults(query.facts)) else {}),
        "state": escape(f"{found.state} {held(query)}"),
        "work": work,
        "spark": escape(query.execution.text),
        **({"lists": "<br>".join(map(escape, query.execution.lists))} if query.execution.lists else {}),
    }
    lints = [
        tag(
            "p",
            tag("b", lint.code),
            f" {escape(lint.message)}{escape(f'; {lint.hint}' if lint.hint else '')}",
        )
        for lint in query.lints
    ]
    return tag(
        "section",
        tag("div", tag("pre", escape(query.text)), class_="panel"),
        tag(
            "div",
            tag("p", escape(query.why), class_="why"),
            tag("dl", *(tag("dt", term) + tag("dd", text) for term, text in terms.items())),
            tag("div", *lints, class_="lint") if lints else "",
            class_="panel",
        ),
        class_="summary",
    )


def _operation(node: PlanNode) -> str:
    details = [tag("dt", escape(label)) + tag("dd", escape(text)) for label, text in node.details]
    rows = tag("span", node.rows_text, class_="flow") if node.rows_text else ""
    return tag(
        "li",
        rows,
        tag(
            "div",
            tag("h4", escape(node.title)),
            tag("dl", *details) if details else "",
            class_="operation",
        ),
        tag("ul", *map(_operation, node.inputs)) if node.inputs else "",
        class_=f"plan-{node.kind}",
    )


def _automaton(query: Explanation, anchor: str) -> str:
    found = query.automaton
    window = f" A run ends after {found.window}." if found.window else ""
    help = (
        f"{found.strategy}.{window} An edge is taken by an event of its type for which all its lines hold; "
        "a match may end in a state with a double line. "
    )
    fit = tag("button", "Fit to width", type="button", class_="fit-picture only-js")
    return tag("p", escape(help), fit, class_="hint") + tag(
        "div", automaton_svg(found, anchor), class_="picture"
    )


def _sharing(groups: Sequence[SharedGroup]) -> str:
    if not groups:
        return ""
    hint = tag("p", escape(NOT_SHARED), class_="hint")
    return tag("section", tag("h3", "Work that could be shared"), hint, *map(_group, groups), id="sharing")


def _group(group: SharedGroup) -> str:
    lines = [("once", group.shared), *((f"{one.name}, {one.query}", one.text) for one in group.members)]
    return tag(
        "div",
        tag("b", escape(group.operator)),
        f", {numbers.times(group.saving)} less work",
        tag("dl", *(tag("dt", escape(name)) + tag("dd", tag("code", escape(text))) for name, text in lines)),
        tag("pre", escape(group.marks)) if group.marks else "",
        class_="panel shared",
    )
