"""An explanation as text for a terminal, 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from neelc.catalog.statistics.numbers import Fact
from neelc.explain import words as numbers
from neelc.explain.constraint_graph import tree_lines
from neelc.explain.engine import Engine
from neelc.explain.explanation import (
    NOT_SHARED,
    Explanation,
    PlanNode,
    Report,
    SharedGroup,
    ShownAlternative,
    ShownStep,
    defaults,
)
from neelc.explain.host import HostExplanation
from neelc.explain.network import NetworkExplanation, ShownOrder
from neelc.pattern.cost.estimate import Estimate

# Lines of at most `WIDTH` columns: paragraphs, tables, titles.

WIDTH = 100


def title(text: str, line: str = "═") -> list[str]:
    return [text, line * min(len(text), WIDTH)]


def folded(text: str, first: str = "", later: str | None = None, width: int = WIDTH) -> list[str]:
    """The lines of a text, each cut at spaces where it is too long; `first` stands before the first one.

    >>> folded("one two", "  ")
    ['  one two']
    >>> [len(line) for line in folded("word " * 30, "  - ", "    ")]
    [98, 58]
    """
    following = " " * len(first) if later is None else later
    found: list[str] = []
    for line in text.split("\n"):
        own = line[: len(line) - len(line.lstrip())]  # what is broken stays below where it began
        begin = following if found else first
        found += textwrap.wrap(
            line.strip(),
            width,
            initial_indent=begin + own,
            subsequent_indent=following + own + ("  " if own or "\n" in text else ""),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [begin.rstrip()]
    return found


def labelled(pairs: Iterable[tuple[str, str]], before: str = "", width: int = WIDTH) -> Iterator[str]:
    """Pairs of a label and a text, the texts below each other; a label that comes again is not repeated.

    >>> print(*labelled([("only", "x > 1"), ("only", "y > 1"), ("columns", "x, y")], "  "), sep="\\n")
      only     x > 1
               y > 1
      columns  x, y
    """
    listed = list(pairs)
    widest = max((len(label) for label, _ in listed), default=0)
    last = None
    for label, text in listed:
        shown = "" if label == last else label
        yield from folded(text, f"{before}{shown.ljust(widest)}  ", before + " " * (widest + 2), width)
        last = label


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Cells below each other; all columns but the first `left` ones end at the same place.

    >>> print(*table(["what", "work"], [["scan", "1,000"], ["sort", "5"]]), sep="\\n")
    what   work
    ────  ─────
    scan  1,000
    sort      5
    """
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    lines = [header, ["─" * width for width in widths], *rows]
    return [
        "  ".join(_cell(row[at], widths[at], at < left) for at in range(len(row))).rstrip() for row in lines
    ]


def _cell(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def indented(lines: Iterable[str], by: str = "  ") -> list[str]:
    return [by + line if line else line for line in lines]


# What the alternatives cost and what that rests on, as tables.

ORIGINS = {
    "declared": "the script, WITH STATS",
    "file": "the file of statistics",
    "metadata": "the data files' metadata",
    "counted": "counted in the data files",
    "assumed": "assumed: no statistics",
}
"""Where a number comes from, in words."""

SHUFFLED = "shuffled"

MEASURES: dict[str, Callable[[Estimate], str]] = {
    "rows read": lambda found: numbers.amount(found.rows_scanned),
    SHUFFLED: lambda found: numbers.size(found.bytes_shuffled),
    "rows sorted": lambda found: numbers.amount(found.rows_sorted),
    "partial matches": lambda found: numbers.amount(found.partial_matches),
    "held at a time": lambda found: numbers.amount(found.held),
    "rows returned": lambda found: numbers.amount(found.rows_produced),
}
"""What there is to know of an estimate beside its work."""


def measures_on(engine: Engine) -> dict[str, Callable[[Estimate], str]]:
    """What there is of these on an engine: the local one shuffles nothing."""
    return {what: one for what, one in MEASURES.items() if what != SHUFFLED or not engine.is_local}


def cost_lines(explanation: Explanation) -> Iterator[str]:
    forms = [one for one in explanation.alternatives if not one.baseline]
    baselines = [one for one in explanation.alternatives if one.baseline]
    yield "Alternatives (one unit of work is reading one row)"
    for group in _groups(forms):
        yield from indented(_breakdown(group, measures_on(explanation.engine)))
        yield ""
    if note := explanation.engine.cost_note():
        yield from folded(note)
        yield ""
    if baselines:
        yield "For comparison: the query as written, by simpler means"
        yield from indented(_compared_with(baselines))
        yield ""
    yield from _search(next(one.estimate for one in forms if one.chosen))
    yield "What the numbers rest on"
    yield from indented(fact_lines(explanation.facts))


def compared(ratio: float) -> str:
    """
    >>> compared(3.14), compared(1.001), compared(0.5)
    ('3.1x as much', 'as much', '0.5x as much')
    """
    return "as much" if abs(ratio - 1) < 0.05 else f"{numbers.times(ratio)} as much"


def _groups(alternatives: Sequence[ShownAlternative]) -> Iterator[Sequence[ShownAlternative]]:
    """As many alternatives side by side as a page is wide."""
    room = WIDTH - 4 - max(len(item.what) for one in alternatives for item in one.estimate.items)
    group: list[ShownAlternative] = []
    for alternative in alternatives:
        if group and sum(max(len(one.name), 16) + 2 for one in (*group, alternative)) > room:
            yield group
            group = []
        group.append(alternative)
    yield group


def _breakdown(
    alternatives: Sequence[ShownAlternative], measures: Mapping[str, Callable[[Estimate], str]]
) -> list[str]:
    names = dict.fromkeys(item.what for one in alternatives for item in one.estimate.items)
    empty = ["" for _ in range(len(alternatives) + 1)]
    rows = [
        ["", *("chosen" if one.chosen else compared(one.ratio) for one in alternatives)],
        ["work", *(numbers.amount(one.estimate.work) for one in alternatives)],
        *([f"  {name}", *(_work(one, name) for one in alternatives)] for name in names),
        empty,
        *([what, *(measure(one.estimate) for one in alternatives)] for what, measure in measures.items()),
    ]
    return table(["", *(one.name for one in alternatives)], rows)


def _work(alternative: ShownAlternative, name: str) -> str:
    works = [item.work for item in alternative.estimate.items if item.what == name]
    return numbers.amount(sum(works)) if works else ""


def _compared_with(baselines: Sequence[ShownAlternative]) -> list[str]:
    rows = [[one.name, numbers.amount(one.estimate.work), compared(one.ratio)] for one in baselines]
    return table(["", "work", ""], rows)


def _search(found: Estimate) -> Iterator[str]:
    """What the search for matches looks at, step by step."""
    if found.steps:
        yield "The search, step by step (in the whole input)"
        rows = [[_cut(s.what), numbers.amount(s.tried), numbers.amount(s.kept)] for s in found.steps]
        yield from indented(table(["", "looked at", "kept"], rows))
        yield ""


def _cut(text: str) -> str:
    """What fits into a table."""
    return text if len(text) <= WIDTH - 35 else text[: WIDTH - 38] + "..."


def fact_lines(facts: Sequence[Fact]) -> Iterator[str]:
    """Numbers by origin, declared ones first."""
    if not facts:
        yield "No statistics were needed."
    texts = {fact: _cut(fact.what) for fact in facts}
    wide = max(map(len, texts.values()), default=0)
    values = {fact: numbers.amount(fact.value) for fact in facts}
    high = max(map(len, values.values()), default=0)
    for origin, words in ORIGINS.items():
        own = [fact for fact in facts if fact.origin == origin]
        if own:
            yield words
            yield from (f"  {texts[fact].ljust(wide)}  {values[fact].rjust(high)}" for fact in own)


# A plan as a tree of lines.

PAGE = WIDTH - 2
"""What the tree may take: it is indented."""


def plan_lines(node: PlanNode, before: str = "", here: str = "") -> Iterator[str]:
    """The operation that comes last stands on top; what an operation works on stands below it.

    >>> scan = PlanNode("scan", "read S once", (("types", "A, B"),), 1e6)
    >>> for line in plan_lines(PlanNode("sort", "sort by time", (), None, (scan, scan))):
    ...     print(line)
    sort by time
    ├─ read S once                                                                about 1,000,000 rows
    │     types  A, B
    └─ read S once                                                                about 1,000,000 rows
          types  A, B
    """
    rows = node.rows_text
    below = before + {"├─ ": "│  ", "└─ ": "   ", "": ""}[here]
    rail = below + ("│  " if node.inputs else "   ")
    first, *more = folded(node.title, before + here, rail + "  ", PAGE - len(rows) - 2)
    yield (first.ljust(PAGE - len(rows)) + rows).rstrip()
    yield from more
    yield from (line.rstrip() for line in labelled(node.details, rail, PAGE))
    for source in node.inputs[:-1]:
        yield from plan_lines(source, below, "├─ ")
    for source in node.inputs[-1:]:
        yield from plan_lines(source, below, "└─ ")


# The explanation of a SELECT as lines of text.


def network_lines(found: NetworkExplanation, mode: str) -> list[str]:
    """What a mode shows; there is no automaton, but temporal patterns have a graph."""
    lines = [*title(found.name), *folded(found.text, "  "), ""]
    if mode in ("simple", "all"):
        lines += [*_plan(found), ""]
    if mode in ("nfa", "all"):
        for graph in found.graphs:
            lines += [*folded(f"Constraint graph: {graph.title}"), *indented(tree_lines(graph)), ""]
    if mode in ("rewrite", "all"):
        lines += [*_network_rewriting(found), ""]
    if mode in ("cost", "all"):
        lines += [*_prices(found), *_orders(found), ""]
    return lines[:-1]


def _plan(found: NetworkExplanation) -> Iterator[str]:
    yield "Plan, with the events that are valid at an instant"
    yield from indented(plan_lines(found.plan))
    yield ""
    if star := defaults(found.facts):
        yield from folded(star, "*      ", "       ")
    yield from _orders(found)
    if found.refusal is not None:
        yield from _paragraph(found.engine.label, found.refusal)
    elif found.spark:
        yield found.engine.label
        yield from labelled(found.spark, "  ")
    yield from _streaming(found.streaming)


def _streaming(notes: Sequence[tuple[str, str]]) -> Iterator[str]:
    """How the query runs over streams without end."""
    if notes:
        yield from ("", "Streaming")
        yield from labelled(notes, "  ")


def _orders(found: NetworkExplanation) -> Iterator[str]:
    for order in found.orders:
        yield from folded(order_text(order), "Order  ", "       ")


def order_text(order: ShownOrder) -> str:
    """In which order a correlator joins, and what that is worth."""
    sizes = ", ".join(numbers.amount(size) for size in order.sizes)
    found = f"{' with '.join(order.inputs)}: {sizes} combinations at an instant"
    return found + (
        f"; as written it would be {numbers.times(order.ratio)} that" if order.ratio > 1.01 else ""
    )


def _prices(found: NetworkExplanation) -> Iterator[str]:
    yield "Price: events that are valid at an instant, in all operators together"
    kinds = dict.fromkeys(kind for price in found.prices for kind, _ in price.items)
    rows = [["all", *(numbers.amount(price.events) for price in found.prices)]]
    for kind in kinds:
        own = [dict(price.items).get(kind) for price in found.prices]
        rows.append([f"  {kind}", *("" if one is None else numbers.amount(one) for one in own)])
    yield from indented(table(["", *(price.name for price in found.prices)], rows))
    yield ""
    yield "What the numbers rest on"
    yield from indented(fact_lines(found.facts))
    if found.orders:
        yield ""


def _network_rewriting(found: NetworkExplanation) -> Iterator[str]:
    count = len(found.steps)
    yield f"Rewriting: {count or 'no'} step{'' if count == 1 else 's'}"
    for number, step in enumerate(found.steps, 1):
        yield ""
        yield f"  {number}. {step.rule}"
        yield from folded(step.law, "     ")
        yield from folded(step.before, "     before  ")
        yield from folded(step.after, "     after   ")


MOST_STEPS = 60
"""Longer rewritings are cut in the middle: nobody reads on, and JSON has all of it."""


# The explanation of a query around MATCH_RECOGNIZE as lines of text.


def host_lines(found: HostExplanation, mode: str) -> list[str]:
    """The explanation as lines of text."""
    lines = [*title(found.name), *folded(found.text, "  "), ""]
    if mode not in ("simple", "all"):
        return [*lines, f"MATCH_RECOGNIZE has one way to run: there is nothing to tell of its {mode}."]
    if found.refusal is not None:
        return [*lines, *_paragraph(found.engine.label, found.refusal)]
    for reads, record in found.clauses:
        lines += [*folded(f"MATCH_RECOGNIZE over {reads}"), *_clause_lines(record), ""]
    lines.append(f"{found.engine.host_sentence()}:")
    return [*lines, *(f"  {line}" for line in found.spark.splitlines()), *_streaming(found.streaming)]


def _clause_lines(record: dict[str, object]) -> list[str]:
    lines: list[str] = []
    for key, value in record.items():
        if isinstance(value, dict):
            texts = [f"{name}: {text}" for name, text in value.items()]
        else:
            texts = [str(value)]
        for place, text in enumerate(texts):
            lines += folded(text, f"  {key if place == 0 else '':<12}", " " * 14)
    return lines


def as_text(report: Report, mode: str) -> str:
    """The report in one of the modes."""
    blocks = [_block(one, mode) for one in report.explained]
    if report.sharing and mode in ("cost", "all"):
        blocks.append(list(_sharing(report.sharing))[:-1])
    if report.engine.why is not None and mode in ("simple", "all"):
        blocks.append(_paragraph("Engine", report.engine.why))
    if (evaluated := report.engine.evaluated_sentence()) is not None:
        blocks.append(_paragraph("Runtime", evaluated))
    if report.notes:
        blocks.append([line for note in report.notes for line in folded(note, "note: ", "      ")])
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n"


def _block(found: Explanation | NetworkExplanation | HostExplanation, mode: str) -> list[str]:
    match found:
        case NetworkExplanation():
            return network_lines(found, mode)
        case HostExplanation():
            return host_lines(found, mode)
    return _query(found, mode)


def _query(explanation: Explanation, mode: str) -> list[str]:
    lines = [*title(explanation.name), *folded(explanation.text, "  "), ""]
    sections = [section for name in (MODES if mode == "all" else [mode]) for section in MODES[name]]
    for section in sections:
        lines += [*section(explanation), ""]
    return lines[:-1]


def _simple(explanation: Explanation) -> Iterator[str]:
    yield f"Plan ({explanation.chosen})"
    yield from indented(plan_lines(explanation.plan))
    yield ""
    if star := defaults(explanation.facts):
        yield from _paragraph("*", star)
    yield from _paragraph("Why", explanation.why)
    yield from _paragraph("State", f"{explanation.bounds.state} {held(explanation)}")
    bounds = explanation.bounds
    yield from _paragraph(
        "Work", f"at worst {bounds.work}, {bounds.growth}. {bounds.reason} {legend(bounds.work)}"
    )
    yield from _paragraph(explanation.engine.label, explanation.execution.text)
    for number, condition in enumerate(explanation.execution.lists):
        yield from _paragraph("" if number else "Lists", condition)
    yield from _streaming(explanation.streaming)
    for lint in explanation.lints:
        text = lint.message + (f"; {lint.hint}" if lint.hint else "")
        yield from folded(text, f"Warning {lint.code}: ", "       ")


def held(explanation: Explanation) -> str:
    """How much that is likely to be."""
    star = "*" if defaults(explanation.facts) else ""
    count = numbers.amount(round(explanation.held) if 1 <= explanation.held < 1000 else explanation.held)
    text = f"About {count} partial match{'' if count == '1' else 'es'}{star} at a time."
    if explanation.held < 1:
        text = f"Less than 1 partial match{star} at a time."
    if explanation.hopeless:
        text += (
            " If the statistics are right, which --mode cost shows, no machine gets through that: a shorter "
            "window, a condition that ties the events together, or another strategy is needed."
        )
    return text


def legend(work: str) -> str:
    """What the letters of a formula mean."""
    return "n: events; w: events in one window." if "w" in work else "n: events."


def _paragraph(label: str, text: str) -> list[str]:
    return folded(text, f"{label.ljust(6)} ", "       ")


def _rewriting(explanation: Explanation) -> Iterator[str]:
    steps = list(enumerate(explanation.steps, 1))
    count = len(steps)
    yield f"Rewriting ({explanation.chosen}): {count or 'no'} step{'' if count == 1 else 's'}"
    cut = steps[: MOST_STEPS // 2], steps[len(steps) - MOST_STEPS // 2 :]
    for shown in cut if count > MOST_STEPS else (steps,):
        if shown is cut[1] and count > MOST_STEPS:
            yield ""
            yield f"  ... {count - MOST_STEPS} more steps; --format json has them all ..."
        for number, step in shown:
            yield ""
            yield from _step(number, step)
    if explanation.shortcuts:
        yield ""
        yield "Shortcuts"
        for shortcut in explanation.shortcuts:
            yield from folded(f"{'taken' if shortcut.taken else 'not taken'}: {shortcut.text}", "  ", "    ")
            yield from folded(shortcut.reason, "    ")
    if explanation.refusals:
        yield ""
        yield "Not done"
        for refusal in explanation.refusals:
            yield ""
            yield f"  {refusal.rule}"
            yield from folded(refusal.law, "    ")
            yield from folded(f"not here: {refusal.reason}", "    ", "      ")
            if refusal.part:
                yield from folded(refusal.part, "    in      ")


def _step(number: int, step: ShownStep) -> Iterator[str]:
    yield f"  {number}. {step.rule}"
    yield from folded(step.law, "     ")
    yield from folded(step.before, "     before  ")
    yield from folded(step.after, "     after   ")


def _automaton(explanation: Explanation) -> Iterator[str]:
    found = explanation.automaton
    window = f"; a run ends after {found.window}" if found.window else ""
    yield f"Automaton ({explanation.chosen}): {found.strategy}{window}"
    for line in str(found).split("\n"):
        own = line[: len(line) - len(line.lstrip())]
        yield from folded(line.strip(), f"  {own}", f"  {own}     ")


def _sharing(groups: Iterable[SharedGroup]) -> Iterator[str]:
    yield from title("Work that could be shared")
    yield from folded(NOT_SHARED)
    yield ""
    for number, group in enumerate(groups, 1):
        yield from folded(f"{number}. {group.operator}, {numbers.times(group.saving)} less work")
        members = [(member.name, member.text) for member in group.members]
        yield from labelled([("once", group.shared), *members], "   ")
        if group.marks:
            yield ""
            yield from indented(group.marks.split("\n"), "   ")
        yield ""


MODES: dict[str, tuple[Callable[[Explanation], Iterator[str]], ...]] = {
    "simple": (_simple,),
    "rewrite": (_rewriting,),
    "cost": (cost_lines,),
    "nfa": (_automaton,),
}
