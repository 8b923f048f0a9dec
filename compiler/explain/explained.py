"""From a choice of the cost model to its explanation."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.cost.choose import Choice
from neelc.cost.shortcut_choice import ShortcutDecision
from neelc.cost.statistics import Statistics
from neelc.errors import Diagnostic
from neelc.explain.bounds import bounds, counted
from neelc.explain.execution import execution
from neelc.explain.explanation import Explanation, ShownAlternative, ShownShortcut
from neelc.explain.plan_tree import plan_tree
from neelc.explain.query_text import query_text
from neelc.explain.steps import shown_refusal, shown_steps
from neelc.plan.automaton import automaton


def explained(
    name: str, text: str, choice: Choice, statistics: Statistics, lints: tuple[Diagnostic, ...] = ()
) -> Explanation:
    """Why a query is executed as it is. `text` is the query as it was written, laid out."""
    chosen = choice.chosen
    query = chosen.form.rewriting.query
    executed, limits = execution(choice), bounds(query, chosen.keys)
    if executed.degree is not None:
        limits = counted(limits, query, executed.degree)
    facts = tuple(sorted(chosen.estimate.facts, key=lambda fact: fact.what))
    return Explanation(
        name=name,
        text=text,
        chosen=chosen.form.name,
        why=choice.reason,
        plan=plan_tree(query, chosen.keys, chosen.estimate, statistics).resting_on(facts),
        bounds=limits,
        held=chosen.estimate.held,
        hopeless=chosen.estimate.explodes,
        steps=tuple(shown_steps(choice.query, chosen.form.rewriting)),
        refusals=tuple(map(shown_refusal, chosen.form.rewriting.refusals)),
        shortcuts=tuple(map(_shortcut, chosen.shortcuts)),
        alternatives=tuple(_alternatives(choice)),
        facts=facts,
        automaton=automaton(query),
        execution=executed,
        lints=lints,
    )


def _alternatives(choice: Choice) -> Iterator[ShownAlternative]:
    least = choice.chosen.estimate.work or 1.0
    for form in choice.alternatives:
        text = query_text(form.form.rewriting.query)
        ratio = form.estimate.work / least
        yield ShownAlternative(form.form.name, form is choice.chosen, form.estimate, ratio, text)
    for baseline in choice.baselines:
        ratio = baseline.estimate.work / least
        yield ShownAlternative(baseline.name, False, baseline.estimate, ratio, baseline=True)


def _shortcut(decision: ShortcutDecision) -> ShownShortcut:
    outer, inner = decision.shortcut.outer, decision.shortcut.inner
    text = f"only events for which {outer} is a value that {inner} has somewhere"
    if decision.shortcut.negative:
        text = f"nothing is looked for where {outer} is a value that {inner} has nowhere"
    return ShownShortcut(text, decision.taken, decision.reason)
