"""An explanation as one HTML file that works offline: style, script, pictures and data are in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from neelc.catalog.statistics.numbers import Fact
from neelc.explain import words as numbers
from neelc.explain.constraint_svg import constraint_svg
from neelc.explain.engine import Engine
from neelc.explain.explanation import (
    NOT_SHARED,
    Explanation,
    PlanNode,
    Report,
    SharedGroup,
    ShownAlternative,
    ShownRefusal,
    ShownShortcut,
    ShownStep,
    defaults,
)
from neelc.explain.host import HostExplanation, host_record
from neelc.explain.html import document, escape, page_header, query_title, tag
from neelc.explain.network import NetworkExplanation, ShownOrder
from neelc.explain.steps import Run, changes
from neelc.explain.svg import automaton_svg, network_svg
from neelc.explain.text import ORIGINS, compared, held, legend, measures_on, order_text
from neelc.pattern.cost.estimate import Estimate
from neelc.runtime.late_dataclass import dataclass

# Bars to compare what costs what, each made of pieces with a colour for each kind of work.

COLOURS = 12
"""Of the style sheet: c0, c1 and so on."""
LONGEST = 8.0
"""A bar this many times as long as that of the chosen form is cut, so that the chosen one stays visible."""


@dataclass(frozen=True)
class Bar:
    """`remark` stands behind the length; a `soft` bar is there for comparison only."""

    name: str
    length: float
    pieces: Mapping[str, float]
    remark: str = ""
    soft: bool = False


def bars(lines: Sequence[Bar], chosen: float) -> str:
    """The bars below each other; `chosen` is the length of the one that the others are compared with."""
    names = [name for name in _names(lines) if any(line.pieces.get(name, 0) > 0 for line in lines)]
    longest = min(max(line.length for line in lines), LONGEST * chosen) or 1.0
    keys = [tag("span", tag("i", class_=_colour(at)), escape(name)) for at, name in enumerate(names)]
    drawn = [_bar(line, names, longest) for line in lines]
    return tag("div", *drawn, class_="bars") + tag("p", *keys, class_="legend")


def _names(lines: Sequence[Bar]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.pieces))


def _colour(at: int) -> str:
    return f"c{at % COLOURS}"


def _bar(line: Bar, names: Sequence[str], longest: float) -> str:
    """Its pieces in proportion; a bar that is too long is cut, and looks like it."""
    scale = 100 / max(line.length, longest)
    pieces = [
        tag(
            "span",
            class_=_colour(at),
            style=f"width:{share * scale:.3f}%",
            title=f"{name}: {numbers.amount(share)}",
        )
        for at, name in enumerate(names)
        if (share := line.pieces.get(name, 0)) > 0
    ]
    return (
        tag("span", escape(line.name), class_="name baseline" if line.soft else "name")
        + tag("span", *pieces, class_="bar cut" if line.length > longest else "bar")
        + tag("span", numbers.amount(line.length), line.remark, class_="value")
    )


# What the alternatives cost: bars, a table, and the numbers that it rests on.


def cost_panel(query: Explanation) -> str:
    alternatives = sorted(query.alternatives, key=lambda alternative: not alternative.chosen)
    forms = [alternative for alternative in alternatives if not alternative.baseline]
    title = tag("h3", "Work, one unit for reading one row")
    note = query.engine.cost_note()
    return (
        tag("div", title, _bars(alternatives), class_="panel")
        + tag("h3", "Alternatives")
        + tag("div", _table(forms, query.engine), class_="panel scroll")
        + (tag("p", escape(note), class_="hint") if note else "")
        + _search(next(one.estimate for one in forms if one.chosen))
        + tag("h3", "What the numbers rest on")
        + tag("div", facts_table(query.facts), class_="panel scroll")
    )


def _purposes(alternatives: Sequence[ShownAlternative]) -> list[str]:
    """What work is done for, in the order it comes up."""
    return list(dict.fromkeys(item.what for one in alternatives for item in one.estimate.items))


def _bars(alternatives: Sequence[ShownAlternative]) -> str:
    names = _purposes(alternatives)
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


def _table(alternatives: Sequence[ShownAlternative], engine: Engine) -> str:
    header = tag("tr", tag("th"), *(_heading(alternative) for alternative in alternatives))
    works = {"work": [numbers.amount(one.estimate.work) for one in alternatives]}
    for name in _purposes(alternatives):
        works[f"\N{EM SPACE}{name}"] = [numbers.amount(_share(one, name)) for one in alternatives]
    for name, measure in measures_on(engine).items():
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


# The steps of a rewriting to walk through.


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


# The explanation of a SELECT on the page: its operators as a picture, rules, prices, the steps on an engine.


def network_tabs(query: NetworkExplanation) -> Mapping[str, str]:
    """The tabs and their titles."""
    graph = {"nfa": "Constraint graph"} if query.graphs else {}
    return {"simple": "Network", **graph, "rewrite": "Rewriting", "cost": "Cost", "spark": query.engine.label}


def network_panels(query: NetworkExplanation, anchor: str) -> Mapping[str, str]:
    """What stands behind each tab."""
    return {
        "simple": _picture(query, anchor),
        "nfa": _constraints(query, anchor),
        "rewrite": stepper(query.steps),
        "cost": _prices(query),
        "spark": _spark(query),
    }


def network_counts(query: NetworkExplanation) -> Mapping[str, int]:
    """The numbers that stand beside the tabs."""
    return {
        "nfa": sum(len(graph.symbols) for graph in query.graphs),
        "rewrite": len(query.steps),
        "cost": len(query.prices),
        "spark": len(query.spark),
    }


def network_summary(query: NetworkExplanation) -> str:
    """The query, and the most important of what there is to say about it."""
    terms = {
        "holds": f"about {numbers.amount(query.prices[0].events)} events at an instant, in all operators",
        **{("order" if at == 0 else ""): order_text(one) for at, one in enumerate(query.orders)},
        query.engine.name: query.refusal or f"{len(query.spark)} relations, one after the other",
        **({"streaming": " ".join(text for _, text in query.streaming)} if query.streaming else {}),
    }
    return tag(
        "section",
        tag("div", tag("pre", escape(query.text)), class_="panel"),
        tag(
            "div",
            tag("p", escape(_why(query)), class_="why"),
            tag("dl", *(tag("dt", term) + tag("dd", escape(detail)) for term, detail in terms.items())),
            class_="panel",
        ),
        class_="summary",
    )


def _why(query: NetworkExplanation) -> str:
    written = query.prices[-1]
    if written.ratio < 1.01:
        return "The network as written holds as few events as any that the rules lead to."
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


def _constraints(query: NetworkExplanation, anchor: str) -> str:
    """The constraint graphs of the temporal patterns."""
    help = (
        "Symbols are joined in the order of their numbers; round ones are points. One of the relations at an "
        "edge holds, in Allen's names and in the words of the pattern; a dashed symbol must not occur. "
    )
    fit = tag("button", "Fit to width", type="button", class_="fit-picture only-js")
    drawn = (
        tag("h3", escape(graph.title))
        + tag("div", constraint_svg(graph, f"{anchor}-{number}"), class_="picture")
        for number, graph in enumerate(query.graphs)
    )
    return tag("p", escape(help), fit, class_="hint") + "".join(drawn)


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


# An explanation as plain values, for JSON. Keys are a promise: docs/reference/explain.md lists them.

Record = dict[str, object]


def as_json(report: Report, mode: str) -> str:
    """The report as one JSON object; a mode leaves out what belongs to others."""
    return json.dumps(report_record(report, mode), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_record(report: Report, mode: str) -> Record:
    return {
        "file": report.file,
        "queries": [_query(explanation, mode) for explanation in report.queries],
        "networks": [_network(network) for network in report.networks],
        "rows": [host_record(host) for host in report.hosts],
        "sharing": [asdict(group) for group in report.sharing],
        "notes": list(report.notes),
        "engine": report.engine.why,
        "evaluated": list(report.engine.evaluated),
    }


def _network(network: NetworkExplanation) -> Record:
    notes = [{"label": label, "text": text} for label, text in network.streaming]
    return {
        **asdict(network),
        "plan": plan_record(network.plan),
        "streaming": notes,
        "engine": network.engine.name,
    }


def _query(explanation: Explanation, mode: str) -> Record:
    record: Record = {"name": explanation.name, "text": explanation.text, "chosen": explanation.chosen}
    for name, part in PARTS.items():
        if mode in ("all", name):
            record.update(part(explanation))
    return record


def _simple(explanation: Explanation) -> Record:
    return {
        "why": explanation.why,
        "plan": plan_record(explanation.plan),
        "bounds": asdict(explanation.bounds),
        "execution": {"engine": explanation.engine.name, **asdict(explanation.execution)},
        "held": explanation.held,
        "hopeless": explanation.hopeless,
        "streaming": [{"label": label, "text": text} for label, text in explanation.streaming],
        "lints": [
            {"code": lint.code, "message": lint.message, "hint": lint.hint} for lint in explanation.lints
        ],
    }


def plan_record(node: PlanNode) -> Record:
    return {
        "kind": node.kind,
        "title": node.title,
        "details": [{"label": label, "text": text} for label, text in node.details],
        "rows": node.rows,
        "is_assumed": node.is_assumed,
        "inputs": [plan_record(source) for source in node.inputs],
    }


def _rewriting(explanation: Explanation) -> Record:
    return {
        "steps": [asdict(step) for step in explanation.steps],
        "refusals": [asdict(refusal) for refusal in explanation.refusals],
        "shortcuts": [asdict(shortcut) for shortcut in explanation.shortcuts],
    }


def _cost(explanation: Explanation) -> Record:
    alternatives = [
        {
            "name": alternative.name,
            "chosen": alternative.chosen,
            "baseline": alternative.baseline,
            "ratio": alternative.ratio,
            "query": alternative.query,
            "estimate": _estimate(alternative.estimate),
        }
        for alternative in explanation.alternatives
    ]
    return {"alternatives": alternatives, "facts": [asdict(fact) for fact in explanation.facts]}


def _estimate(estimate: Estimate) -> Record:
    return {
        "work": estimate.work,
        "rows_scanned": estimate.rows_scanned,
        "bytes_shuffled": estimate.bytes_shuffled,
        "rows_sorted": estimate.rows_sorted,
        "partial_matches": estimate.partial_matches,
        "held": estimate.held,
        "rows_produced": estimate.rows_produced,
        "items": [{"what": item.what, "work": item.work} for item in estimate.items],
        "steps": [{"what": step.what, "tried": step.tried, "kept": step.kept} for step in estimate.steps],
    }


def _automaton_record(explanation: Explanation) -> Record:
    return {"automaton": asdict(explanation.automaton)}


PARTS: Mapping[str, Callable[[Explanation], Record]] = {
    "simple": _simple,
    "rewrite": _rewriting,
    "cost": _cost,
    "nfa": _automaton_record,
}

TABS = {"simple": "Plan", "rewrite": "Rewriting", "cost": "Cost", "nfa": "Automaton"}


def as_html(report: Report, mode: str) -> str:
    """The whole report; the mode says which of its tabs is open at first."""
    several = len(report.explained) > 1
    titles = {query.name: query_title(query.name, report.file, several) for query in report.explained}
    articles = [_article(query, _anchor(query), mode, titles[query.name]) for query in report.explained]
    engine = [] if report.engine.why is None else [f"Engine: {report.engine.why}"]
    notes = [tag("p", escape(note), class_="hint") for note in (*engine, *report.notes)]
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


def _anchor(query: Explanation | NetworkExplanation | HostExplanation) -> str:
    return "".join(c if c.isalnum() else "-" for c in query.name)


def _article(
    query: Explanation | NetworkExplanation | HostExplanation, anchor: str, mode: str, title: str
) -> str:
    """A query with its tabs; a SELECT has a network where a PATTERN has a plan, and no automaton."""
    counts: Mapping[str, int]
    tabs: Mapping[str, str]
    if isinstance(query, HostExplanation):
        tabs, panels, counts = host_tabs(query.engine), _host_panels(query), {"simple": len(query.clauses)}
        summary = tag("section", tag("div", tag("pre", escape(query.text)), class_="panel"), class_="summary")
    elif isinstance(query, NetworkExplanation):
        tabs, panels, counts = (
            network_tabs(query),
            network_panels(query, anchor),
            network_counts(query),
        )
        summary = network_summary(query)
    else:
        tabs, panels, counts = TABS, _panels(query, anchor), _counts(query)
        summary = _summary(query)
    return tag(
        "article",
        tag("h2", escape(title)),
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


# The explanation of a query around MATCH_RECOGNIZE on the page: its clauses, and the SQL.


def host_tabs(engine: Engine) -> Mapping[str, str]:
    """The tabs and their titles."""
    return {"simple": "MATCH_RECOGNIZE", "spark": engine.label}


def _host_panels(query: HostExplanation) -> Mapping[str, str]:
    help = f"{query.engine.host_sentence()}."
    clauses = "".join(
        tag("div", tag("h3", escape(f"over {reads}")), _terms(record), class_="panel")
        for reads, record in query.clauses
    )
    if query.streaming:
        notes = tag("h3", "Streaming") + tag(
            "dl", *(tag("dt", escape(label)) + tag("dd", escape(text)) for label, text in query.streaming)
        )
        clauses += tag("div", notes, class_="panel")
    help = query.refusal or help
    text = tag("p", escape(help), class_="hint") + tag(
        "div", tag("pre", escape(query.spark)), class_="panel scroll"
    )
    return {"simple": clauses, "spark": text}


def _terms(record: Mapping[str, object]) -> str:
    """A list of terms; a value of several has a line for each."""
    pairs = [
        (term, f"{name}: {text}")
        for term, value in record.items()
        for name, text in (value.items() if isinstance(value, dict) else [("", value)])
    ]
    return tag(
        "dl", *(tag("dt", escape(term)) + tag("dd", escape(text.removeprefix(": "))) for term, text in pairs)
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
        query.engine.name: escape(query.execution.text),
        **({"lists": "<br>".join(map(escape, query.execution.lists))} if query.execution.lists else {}),
        **(
            {"streaming": "<br>".join(escape(text) for _, text in query.streaming)} if query.streaming else {}
        ),
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
