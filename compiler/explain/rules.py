"""How many rules are executed: what they share, and what each of them does alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from neelc.algebra.plan.network import MatcherSetPlan
from neelc.catalog.inputs import aligned
from neelc.errors import NeelError, as_record
from neelc.explain import words as numbers
from neelc.explain.engine import SPARK, Engine
from neelc.explain.text import folded
from neelc.pattern.plan.rule_containment import contained_rules
from neelc.pattern.plan.rule_keys import KeyChoice
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.kernels.rules.program import RuleNode, RuleTree, role_number, walk_nodes
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Choose, EachElement, KernelStep, RepeatStep, Take

if TYPE_CHECKING:
    from neelc.rules_pipeline import CompiledRules

SHOWN = 6
"""How many names are listed before the rest is counted."""


def rules_text(compiled: CompiledRules, engine: Engine = SPARK) -> str:
    """The explanation, as text."""
    return "\n".join(_lines(compiled, engine))


def _lines(compiled: CompiledRules, engine: Engine) -> Iterator[str]:
    together = len(compiled.together)
    passes = len(compiled.sets) + len(compiled.matchers)
    yield _counted(together + len(compiled.alone), "rule", "rules")
    if together and compiled.streaming:
        yield f"{together} of them in one operator over the streams"
    elif together:
        yield f"{together} of them in {_counted(passes, 'pass', 'passes')} over the events"
    for number, one in enumerate(compiled.sets, 1):
        yield ""
        yield from _set_lines(number, one, engine)
    for number, matchers in enumerate(compiled.matchers, len(compiled.sets) + 1):
        yield ""
        yield from _matcher_lines(number, matchers)
    if compiled.alone:
        yield ""
        yield f"{_counted(len(compiled.alone), 'rule', 'rules')} executed alone"
        yield from (f"  {name}: {why}" for name, why in compiled.alone)
    if engine.why is not None:
        yield ""
        yield from folded(engine.why, "Engine ", "       ")
    if (evaluated := engine.evaluated_sentence()) is not None:
        yield ""
        yield from folded(evaluated, "Runtime ", "        ")


def _set_lines(number: int, plan: RuleSetPlan, engine: Engine) -> Iterator[str]:
    program = plan.program
    if plan.parts:
        yield from _operator_lines(plan)
    else:
        keys = ", ".join(key.name for key in plan.keys) or "none"
        chunks = "" if program.events.chunk is None else ": time is cut into chunks"
        yield f"pass {number}: {_listed(plan.names)}"
        yield f"  key      {keys}{chunks}"
        streams = ", ".join(stream.name for stream in plan.events.streams)
        yield f"  reads    {streams} once: {engine.rules_read()}"
        yield from map(choice_line, plan.choices)
    yield f"  judges   {_judging(plan, engine)}"
    distinct = len({(rule.program, rule.roles) for rule in program.rules})
    if distinct < len(program.rules):
        equal = _counted(len(program.rules) - distinct, "rule asks", "rules ask")
        yield f"  equal    {equal} for the same as another: what is equal runs once"
    shared = {member for tree in program.trees for member in tree.members}
    for tree in program.trees:
        yield from _tree_lines(tree, plan)
    apart = [rule.name for n, rule in enumerate(program.rules) if n not in shared]
    if apart:
        yield f"  apart    {_listed(apart)}: no step in common with another"
    yield from _group_lines(plan)


def _matcher_lines(number: int, plan: MatcherSetPlan) -> Iterator[str]:
    """What the matchers of a set share: the events that one filter leaves."""
    pivot, equal = plan.filter.pivot, len(plan.rules) - len(plan.filter.matchers)
    yield f"pass {number}: {_listed(plan.names)}"
    yield f"  reads    events near one that emits {pivot.symbol}, once: {pivot.share:.2g} of all emit it"
    yield f"  shares   {len(plan.filter.matchers)} matchers behind one extended filter, in one kernel"
    if equal:
        yield f"  equal    {_counted(equal, 'rule has', 'rules have')} the matcher of another: it runs once"


def choice_line(choice: KeyChoice) -> str:
    """Whether rules with a finer key are in the pass of a coarser one.

    >>> from dataclasses import replace
    >>> choice = KeyChoice(("Shop",), ("card", "shop"), ("card",), 30.0, 20.0, 0.01)
    >>> print(choice_line(choice))
      joins    Shop with [card, shop], partitioned by [card]: 1.5x less work is expected than in two passes
    >>> print(choice_line(replace(choice, together=45.0)))
      stays    Shop with [card, shop]: in the pass of [card] 1.5x more work is expected
    >>> print(choice_line(replace(choice, share=0.5)))
      stays    Shop with [card, shop]: in the pass of [card] one key has 50 % of the events
    >>> replace(choice, share=0.5, chunked=True).joins  # a pass that spreads these events by time
    True
    """
    rules = f"{_listed(choice.rules)} with [{', '.join(choice.own)}]"
    coarser = f"[{', '.join(choice.coarser)}]"
    if choice.joins:
        saved = f"{choice.apart / choice.together:.1f}x less work is expected"
        return f"  joins    {rules}, partitioned by {coarser}: {saved} than in two passes"
    if choice.is_crowded:
        why = f"one key has {100 * choice.share:.0f} % of the events"
    else:
        why = f"{choice.together / choice.apart:.1f}x more work is expected"
    return f"  stays    {rules}: in the pass of {coarser} {why}"


def _group_lines(plan: RuleSetPlan) -> Iterator[str]:
    """What the plan finder expects of the groups that it has made."""
    for group in plan.sharing.shared:
        names = dict.fromkeys(plan.plans[member.number].label for member in group.members)
        saving = group.cost_apart / group.cost if group.cost else 1.0
        what = f"{group.operator} of {group.shared}: {_listed(list(names))}"
        yield f"  expects  {what}: {saving:.1f}x less work for these rules"


def _operator_lines(plan: RuleSetPlan) -> Iterator[str]:
    """What one operator over streams reads for rules with the same key, what it keeps, and when each rule
    emits its matches."""
    yield f"operator: {_listed(plan.names)}"
    rules = list(zip(plan.plans, plan.timings, strict=True))
    for number, part in enumerate(plan.parts):
        own = dict.fromkeys(rule.name for rule, timing in rules if timing.part == number)
        keys = ", ".join(key.name for key in part.keys) or "none"
        spread = "" if part.together else ", all in one bucket"
        streams = ", ".join(stream.name for stream in part.events.streams)
        yield f"  key      {keys}{spread}: {_listed(list(own))}"
        yield f"  reads    {streams} once for these rules"
    if not all(timing.single for timing in plan.timings):
        yield "  keeps    each event once for each key, as long as one of its rules needs it"
    for is_immediate, when in ((True, "at the last event"), (False, "when the watermark has passed it")):
        those = [rule.name for rule, one in rules if one.emission.is_immediate == is_immediate]
        if those:
            yield f"  emits    {when}: {_listed(list(dict.fromkeys(those)))}"


def _judging(plan: RuleSetPlan, engine: Engine) -> str:
    """How it is found out what each event can be."""
    roles, bits = len(plan.program.roles), len(plan.roles)
    what = f"{_counted(roles, 'condition', 'conditions')} on single events, each once"
    if not plan.judged:
        return f"{what}, by {engine.sql}"
    tests = Counter(test.column for role in plan.program.roles for test in role.tests)
    looked_up = ", ".join(f"{column} ({count})" for column, count in tests.most_common(SHOWN))
    return f"{what}: {bits} by {engine.sql}, the values of {looked_up} looked up by {engine.worker}"


def _tree_lines(tree: RuleTree, plan: RuleSetPlan) -> Iterator[str]:
    names = [plan.program.rules[number].name for number in tree.members]
    reuse = reuse_of(tree, plan.role_texts)
    yield f"  shares   {_listed(names)}: {reuse.steps} steps instead of {reuse.apart}"
    yield from (f"             {line}" for line in reuse.lines)


@dataclass(frozen=True)
class TreeReuse:
    """How many steps a tree has, and how many its rules have one by one; and what is shared, in words."""

    steps: int
    apart: int
    lines: tuple[str, ...]


def reuse_of(tree: RuleTree, roles: Sequence[str]) -> TreeReuse:
    """What the rules of a tree share; `roles` are what the roles of the set are called."""
    nodes = list(walk_nodes(tree.root))
    taken = [node for node in nodes if node.step is not None]
    checks = [check for node in nodes for check in node.checks]
    apart = sum(node.rules.bit_count() for node in taken) + sum(c.rules.bit_count() for c in checks)
    return TreeReuse(len(taken) + len(checks), apart, tuple(_shared_steps(tree.root, roles, 0)))


def _shared_steps(node: RuleNode, roles: Sequence[str], depth: int) -> Iterator[str]:
    """The steps that several rules take together."""
    count = node.rules.bit_count()
    if node.step is not None and count > 1:
        some = [check for check in node.checks if check.rules.bit_count() < count]
        checked = f", {_counted(len(some), 'check', 'checks')} for some of them" if some else ""
        yield f"{'  ' * depth}{step_text(node.step, roles)}: {count} rules{checked}"
    for below in node.then:
        yield from _shared_steps(below, roles, depth + (node.step is not None))


def step_text(step: KernelStep, roles: Sequence[str]) -> str:
    """A step in a few words."""
    match step:
        case Take(role=role):
            return f"{'then ' if step.bounds.after else ''}{roles[role_number(role)]}"
        case RepeatStep():
            return "a list"
        case Choose():
            return "a choice of branches"
    return "a check of each element" if isinstance(step, EachElement) else "a check"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


@dataclass(frozen=True)
class MeasuredSharing:
    """How many rows rules have, and the seconds of each run: with the steps that they share taken once, and
    with each rule taking all of its own; none of these if rules share no step. All runs read, sort and judge
    events once."""

    rows: int
    shared: tuple[float, ...]
    unshared: tuple[float, ...] = ()

    def __str__(self) -> str:
        """
        >>> print(MeasuredSharing(1200, (1.5, 1.4, 1.6), (3.0, 3.3, 2.9)))
        measured: 1,200 rows in 1.50 s, the median of 3 runs
        without shared steps: 3.00 s, 2.0x as long

        A difference that is smaller than that between equal runs says nothing:

        >>> print(MeasuredSharing(5, (1.5, 1.4, 1.6), (1.45, 1.6, 1.7)))
        measured: 5 rows in 1.50 s, the median of 3 runs
        without shared steps: 1.60 s, within the spread of the runs: no measurable difference
        >>> print(MeasuredSharing(5, (1.5, 1.4, 1.6)))
        measured: 5 rows in 1.50 s, the median of 3 runs
        no step is shared: there is nothing to compare
        """
        runs = f"the median of {_counted(len(self.shared), 'run', 'runs')}"
        first = f"measured: {_rows(self.rows)} in {median(self.shared):.2f} s, {runs}\n"
        if not self.unshared:
            return f"{first}no step is shared: there is nothing to compare"
        return f"{first}without shared steps: {median(self.unshared):.2f} s, {self._verdict()}"

    def _verdict(self) -> str:
        if min(self.unshared) <= max(self.shared) and min(self.shared) <= max(self.unshared):
            return "within the spread of the runs: no measurable difference"
        return f"{median(self.unshared) / median(self.shared):.1f}x as long"

    @property
    def record(self) -> dict[str, object]:
        """For programs."""
        return {"rows": self.rows, "seconds": self.shared, "seconds_without_sharing": self.unshared}


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


# `neelc rules report`: the rules by what they cost, those that find nothing, and those that contain others.


@dataclass(frozen=True)
class RuleLine:
    """A rule in a report: what it is expected to cost, its rows as estimated and as counted, if they were,
    and what is worth a look."""

    name: str
    partial_matches: float
    estimated: float
    counted: int | None
    notes: tuple[str, ...]


def rule_lines(compiled: CompiledRules, counted: Mapping[str, int]) -> list[RuleLine]:
    """The rules, the most expensive first. `counted` are the rows that a run has found, by rule."""
    notes = dict(_notes(compiled, counted))
    found = [
        RuleLine(name, cost.partial_matches, cost.rows, counted.get(name), notes.get(name, ()))
        for name, cost in compiled.costs.items()
    ]
    return sorted(found, key=lambda line: (-line.partial_matches, line.name))


def _notes(compiled: CompiledRules, counted: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    contained: dict[str, list[str]] = {}
    for one in compiled.sets:
        names = [plan.name for plan in one.plans]
        for wide, narrow in contained_rules(one.program).items():
            others = [names[number] for number in narrow if names[number] != names[wide]]
            contained.setdefault(names[wide], []).extend(others)
    for name in compiled.costs:
        others = list(dict.fromkeys(contained.get(name, ())))
        found = ["found nothing"] if counted.get(name) == 0 else []
        found += [f"contains {_listed(others)}"] if others else []
        yield name, tuple(found)


def report_text(compiled: CompiledRules, counted: Mapping[str, int]) -> str:
    """The report as a table."""
    lines = rule_lines(compiled, counted)
    total = sum(line.partial_matches for line in lines) or 1.0
    cells = [("rule", "work", "expected rows", "rows", "")]
    for line in lines:
        rows = "" if line.counted is None else f"{line.counted:,}"
        share = f"{100 * line.partial_matches / total:.0f} %"
        cells.append((line.name, share, numbers.amount(line.estimated), rows, "; ".join(line.notes)))
    return "\n".join(aligned(cells))


def rules_record(
    compiled: CompiledRules, errors: Iterable[NeelError] = (), engine: Engine = SPARK
) -> dict[str, object]:
    """The explanation, for programs; `errors` are those of rules that are left out."""
    return {
        "engine": engine.why,
        "evaluated": list(engine.evaluated),
        "passes": [_set_record(one) for one in compiled.sets],
        "matchers": [_matcher_record(one) for one in compiled.matchers],
        "alone": [{"rule": name, "why": why} for name, why in compiled.alone],
        "errors": [as_record(one, error.source) for error in errors for one in error.diagnostics],
    }


def _matcher_record(plan: MatcherSetPlan) -> dict[str, object]:
    return {"rules": list(plan.names), "matchers": len(plan.filter.matchers)}


def _choice_record(choice: KeyChoice) -> dict[str, object]:
    return {
        "rules": list(choice.rules),
        "key": list(choice.own),
        "coarser": list(choice.coarser),
        "joins": choice.joins,
        "work": choice.together,
        "work_apart": choice.apart,
    }


def _set_record(plan: RuleSetPlan) -> dict[str, object]:
    shared = []
    for tree in plan.program.trees:
        reuse = reuse_of(tree, plan.role_texts)
        names = dict.fromkeys(plan.program.rules[number].name for number in tree.members)
        shared.append({"rules": list(names), "steps": reuse.steps, "steps_apart": reuse.apart})
    return {
        "rules": list(dict.fromkeys(plan.names)),
        "key": [key.name for key in plan.keys],
        "streams": [stream.name for stream in plan.events.streams],
        "finer": [_choice_record(choice) for choice in plan.choices],
        "conditions": len(plan.program.roles),
        "shared": shared,
    }
