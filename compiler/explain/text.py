"""An explanation as text for a terminal, 100 columns wide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from neelc.explain import numbers
from neelc.explain.explanation import NOT_SHARED, Explanation, Report, SharedGroup, ShownStep, defaults
from neelc.explain.network import NetworkExplanation
from neelc.explain.text_cost import cost_lines
from neelc.explain.text_layout import folded, indented, labelled, title
from neelc.explain.text_network import network_lines
from neelc.explain.text_plan import plan_lines

MOST_STEPS = 60
"""Longer rewritings are cut in the middle: nobody reads on, and JSON has all of it."""


def as_text(report: Report, mode: str) -> str:
    """The report in one of the modes."""
    blocks = [
        network_lines(one, mode) if isinstance(one, NetworkExplanation) else _query(one, mode)
        for one in report.explained
    ]
    if report.sharing and mode in ("cost", "all"):
        blocks.append(list(_sharing(report.sharing))[:-1])
    if report.notes:
        blocks.append([line for note in report.notes for line in folded(note, "note: ", "      ")])
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n"


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
    yield from _paragraph("Spark", explanation.execution.text)
    for number, condition in enumerate(explanation.execution.lists):
        yield from _paragraph("" if number else "Lists", condition)
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
