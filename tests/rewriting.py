"""Whether rewriting keeps what a query finds: what test_rewrite.py, `make fuzz` and `make mutate` share.

A query is rewritten in several ways: simplified, in each form, and by every rule alone, as rules may hide
each other's mistakes. After each step the query must keep the promises of a plan, have the columns it had,
and find what it found.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import signature

from answers import Answer, answer, case_text
from generate.rewritable import Sample
from generate.witnesses import Tables
from invariants import check

from neelc.findings import Findings
from neelc.ir.patterns import targets
from neelc.ir.program import Match
from neelc.pattern import rules as rules_package
from neelc.pattern.bind.windows import check_strategy
from neelc.pattern.rules.driver import forms, rewrite
from neelc.pattern.rules.rule import PatternBatch, Rewriting, RuleStep
from neelc.rewriting import RuleLoop
from neelc.source import Source


@dataclass
class Tally:
    """What a check has seen."""

    queries: int = 0
    pairs: int = 0
    with_matches: int = 0
    comparisons: int = 0
    too_large: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    """Queries on which a rule fired, alone or with others."""
    tested: Counter[str] = field(default_factory=Counter)
    """Pairs with matches in which a rule fired."""
    steps: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class Way:
    """One way to rewrite a query; `name` is a form, or a rule that was alone."""

    name: str
    rewriting: Rewriting


class Broken(AssertionError):
    """A rule that breaks a query: `rule` is its name, empty when it is not known."""

    def __init__(self, rule: str, report: str) -> None:
        super().__init__(report)
        self.rule = rule


@cache
def rules() -> dict[str, PatternBatch]:
    """Every rule, as a batch of its own: the function that has the name of a file that says so."""
    found: dict[str, PatternBatch] = {}
    for name in (module.name for module in pkgutil.iter_modules(rules_package.__path__)):
        module = importlib.import_module(f"neelc.pattern.rules.{name}")
        if (module.__doc__ or "").startswith(f"The rule `{name}`"):
            rule = getattr(module, name)
            is_on_parts = len(signature(rule).parameters) == 2
            found[name] = PatternBatch(name, "alone", *(((rule,), ()) if is_on_parts else ((), (rule,))))
    return found


def ways(match: Match, alone: Collection[str] | None = None) -> Iterator[Way]:
    """The query in all forms, and by each rule alone: as it is written, and half way to each form, where
    branches of OR share variables, for example. With `alone`, by these rules only."""
    begun = {"": Rewriting(match)}
    for form in forms(match):
        half = form.rewriting.steps[: len(form.rewriting.steps) // 2]
        if half:
            begun[f", half way to {form.name}"] = Rewriting(half[-1].query, half)
        if alone is None:
            yield Way(form.name, form.rewriting)
    for name, batch in rules().items():
        if alone is None or name in alone:
            for where, before in begun.items():
                found = rewrite(before.query, [batch])
                yield Way(f"{name} alone{where}", replace(found, steps=(*before.steps, *found.steps)))


@dataclass(frozen=True)
class Place:
    """A step on a way: its query is one that was not there before."""

    way: Way
    number: int

    @property
    def step(self) -> RuleStep:
        return self.way.rewriting.steps[self.number]


def check_sample(sample: Sample, tally: Tally, alone: Collection[str] | None = None) -> None:
    """Raise `Broken` if one of the ways changes the query of the sample."""
    try:
        known = list(ways(sample.match, alone))
    except (RuleLoop, AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        report = f"rewriting fails: {type(error).__name__} {error}\n\n{case_text(sample, sample.tables[0])}"
        raise Broken("", report) from error
    places = _places(sample.match, known, alone)
    for place in places:
        check_promises(sample, place)
    tally.queries += 1
    fired = {step.rule for way in known for step in way.rewriting.steps}
    tally.fired.update(fired)
    tally.steps.update(place.step.rule for place in places)
    tally.refused.update({refusal.rule for way in known for refusal in way.rewriting.refusals})
    if not places and alone is not None:  # there is nothing to compare, and nobody asks for more
        tally.pairs += len(sample.tables)
        return
    for tables in sample.tables:
        if _check_answers(sample, tables, places, tally):
            tally.tested.update(fired)


def _places(match: Match, known: Sequence[Way], alone: Collection[str] | None) -> list[Place]:
    """All steps of all ways, or those of some rules, without those whose query was there before."""
    seen = {match}
    found: list[Place] = []
    for way in known:
        for number, step in enumerate(way.rewriting.steps):
            if step.query not in seen and (alone is None or step.rule in alone):
                seen.add(step.query)
                found.append(Place(way, number))
    return found


def check_promises(sample: Sample, place: Place) -> None:
    """After every step the promises of a plan hold, the columns are those of the query as written, and the
    selection strategy is still defined for the pattern."""
    columns = [(output.name, output.type) for output in sample.match.outputs]
    query, findings = place.step.query, Findings(Source(""))
    try:
        check(query)
        found = [(output.name, output.type) for output in query.outputs]
        assert found == columns, f"the columns were {columns} and are {found}"
        check_strategy(query.strategy, query.pattern, findings)
        assert not findings.diagnostics, findings.diagnostics[0].message
    except AssertionError as error:
        problem = f"breaks a promise of the plan: {error}"
        raise _broken(problem, sample, sample.tables[0], place) from error


def _check_answers(sample: Sample, tables: Tables, places: Sequence[Place], tally: Tally) -> bool:
    """Compare what is found in one stream after each step; whether something is to be found."""
    expected = answer(sample.match, tables)
    if expected is None:
        tally.too_large += 1
        return False
    tally.pairs += 1
    tally.with_matches += bool(expected.bindings)
    for place in places:
        found = answer(place.step.query, tables)
        tally.comparisons += found is not None
        tally.too_large += found is None
        if found and (problem := _difference(sample.match, expected, place.step, found)):
            raise _broken(problem, sample, tables, place)
    return bool(expected.bindings)


def _difference(original: Match, expected: Answer, step: RuleStep, found: Answer) -> str | None:
    """How the answers differ; what is bound is compared unless the step has dropped variables."""
    if found.rows != expected.rows:
        lost, added = expected.rows - found.rows, found.rows - expected.rows
        return f"changes what a query finds: {lost.total()} rows lost, {added.total()} added"
    same_variables = set(targets(original.pattern)) == set(targets(step.query.pattern))
    if same_variables and found.bindings != expected.bindings:
        return "changes what is bound"
    return None


def _broken(problem: str, sample: Sample, tables: Tables, place: Place) -> Broken:
    """The rule, what it changed, and the case to keep."""
    step, steps = place.step, place.way.rewriting.steps
    before = step.before or (steps[place.number - 1].query if place.number else sample.match)
    lines = [
        f"{step.rule} {problem} ({place.way.name}, step {place.number + 1})",
        f"before: {before}",
        f"after:  {step.after or step.query}",
        f"whole:  {step.query.pattern}",
        "",
        case_text(sample, tables, step.rule),
    ]
    return Broken(step.rule, "\n".join(lines))
