"""The choice between the forms of a query, by cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neelc.cost.estimate import Estimate, estimate
from neelc.cost.nested import nested_estimate
from neelc.cost.order_conditions import order_conditions
from neelc.cost.reason import reason
from neelc.cost.shortcut_choice import ShortcutDecision, shortened
from neelc.cost.statistics import Statistics
from neelc.ir.logical import Match
from neelc.rewrite.facts import ANY_MATCH
from neelc.rewrite.forms import Form, forms
from neelc.rewrite.keys import Key, partition_keys
from neelc.rewrite.rule import Step

TIE = 1e-9
"""Works that differ by less are equal: what is left are errors of rounding."""
LITTLE = 10_000.0
"""Rows to read in some milliseconds. Where a form saves less work than that, the simplest form is taken: on a
handful of events, any does."""


@dataclass(frozen=True)
class Alternative:
    """A form of the query, its conditions in order, and what it is expected to cost.

    `keys` are the values by which its events can be kept apart, `shortcuts` what was decided about each.
    """

    form: Form
    estimate: Estimate
    keys: tuple[Key, ...] = ()
    shortcuts: tuple[ShortcutDecision, ...] = ()


@dataclass(frozen=True)
class Baseline:
    """Another way to execute the query, for comparison only: what the papers improve on."""

    name: str
    estimate: Estimate


@dataclass(frozen=True)
class Choice:
    """A query, its alternatives in the order they were found, and the one that is executed.

    Choices of several queries may share work; which do is found from all of them together, by `share`, and
    belongs beside the choices, not inside one.
    """

    query: Match
    alternatives: tuple[Alternative, ...]
    chosen: Alternative
    reason: str
    baselines: tuple[Baseline, ...] = ()


def choose(query: Match, statistics: Statistics, compare: bool = True, is_stream: bool = False) -> Choice:
    """Prices every form of a query and takes the one with the least work; of equals, the first. With
    `compare` also the baselines, which only a reader of the explanation needs. `is_stream` says that other
    queries read it as a stream.

    >>> from neelc.rewrite.examples import query
    >>> found = choose(query("SEQ(A a, SEQ(B b, C c)) WHERE [id] WITHIN 1 MINUTE"), Statistics())
    >>> print(found.chosen.form.rewriting.query.pattern)
    SEQ(A a, B b, C c WHERE [id])
    >>> found.chosen.form.name, [key.name for key in found.chosen.keys]
    ('simplified', ['id'])
    >>> for baseline in found.baselines:
    ...     print(f"{baseline.name}: {baseline.estimate.work / found.chosen.estimate.work:.1f}x")
    conditions judged at the end, no key: 4.5x
    iterative nested execution: 11.3x
    iterative nested execution with push-in: 1.2x
    """
    alternatives: list[Alternative] = []
    rows: float | None = None
    for form in forms(query, is_stream):
        alternatives.append(priced(form, statistics, rows))
        # Forms of a query have the same rows; the estimate for the simplest is the least rough.
        rows = alternatives[0].estimate.rows_produced
    chosen = alternatives[0]
    for alternative in alternatives[1:]:
        if alternative.estimate.work < chosen.estimate.work * (1 - TIE):
            chosen = alternative
    if alternatives[0].estimate.work - chosen.estimate.work < LITTLE:
        chosen = alternatives[0]
    named = [(one.form.name, one.estimate) for one in alternatives]
    why = reason(named, chosen.form.name)
    compared = baselines(query, statistics, rows) if compare else ()
    return Choice(query, tuple(alternatives), chosen, why, compared)


def priced(form: Form, statistics: Statistics, rows: float | None = None) -> Alternative:
    """A form with its conditions in the best order, and its cost with the shortcuts that pay."""
    rewriting = form.rewriting
    ordered = order_conditions(rewriting.query, statistics)
    if ordered is not rewriting.query:
        step = Step(order_conditions.__name__, ordered)
        rewriting = replace(rewriting, query=ordered, steps=(*rewriting.steps, step))
    keys = partition_keys(ordered)
    found = shortened(ordered, statistics, keys, rows)
    return Alternative(replace(form, rewriting=rewriting), found.estimate, keys, found.decisions)


def baselines(query: Match, statistics: Statistics, rows: float | None) -> tuple[Baseline, ...]:
    """What the query as written would cost without push-in, without flattening, without a key. The
    papers' systems know SKIP TILL ANY MATCH only."""
    if query.strategy != ANY_MATCH:
        return ()
    return (
        Baseline(
            "conditions judged at the end, no key", estimate(query, statistics, push_in=False, rows=rows)
        ),
        Baseline("iterative nested execution", nested_estimate(query, statistics, False, rows)),
        Baseline("iterative nested execution with push-in", nested_estimate(query, statistics, True, rows)),
    )
