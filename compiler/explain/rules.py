"""How many rules are executed: what they share, and what each of them does alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.kernels.rules.program import RuleNode, RuleSet, RuleTree, walk_nodes
from neelc.runtime.program import Absent, Choose, EachElement, KernelStep, Present, RepeatStep, Take, Value

if TYPE_CHECKING:
    from neelc.pipeline import CompiledRules

SHOWN = 6
"""How many names are listed before the rest is counted."""


def rules_text(compiled: CompiledRules) -> str:
    """The explanation, as text."""
    return "\n".join(_lines(compiled))


def _lines(compiled: CompiledRules) -> Iterator[str]:
    together = len({name for one in compiled.sets for name in one.names})
    passes = len(compiled.sets)
    yield _counted(together + len(compiled.alone), "rule", "rules")
    if together:
        yield f"{together} of them in {_counted(passes, 'pass', 'passes')} over the events"
    for number, one in enumerate(compiled.sets, 1):
        yield ""
        yield from _set_lines(number, one)
    if compiled.alone:
        yield ""
        yield f"{len(compiled.alone)} executed alone"
        yield from (f"  {name}: {why}" for name, why in compiled.alone)


def _set_lines(number: int, plan: RuleSetPlan) -> Iterator[str]:
    program = plan.program
    keys = ", ".join(key.name for key in plan.keys) or "none: time is cut into chunks"
    yield f"pass {number}: {_listed(plan.names)}"
    yield f"  key      {keys}"
    streams = ", ".join(stream.name for stream in plan.events.streams)
    yield f"  reads    {streams} once: one shuffle, one sort"
    yield f"  judges   {_judging(plan)}"
    distinct = len({(rule.program, rule.roles) for rule in program.rules})
    if distinct < len(program.rules):
        yield f"  equal    {len(program.rules) - distinct} rules are the same as another: they run once"
    shared = {member for tree in program.trees for member in tree.members}
    for tree in program.trees:
        yield from _tree_lines(tree, program)
    apart = [rule.name for n, rule in enumerate(program.rules) if n not in shared]
    if apart:
        yield f"  apart    {_listed(apart)}: no step in common with another"


def _judging(plan: RuleSetPlan) -> str:
    """How it is found out what each event can be."""
    roles, bits = len(plan.program.roles), len(plan.roles)
    what = f"{_counted(roles, 'condition', 'conditions')} on single events, each once"
    if not plan.judged:
        return f"{what}, by Spark"
    tests = Counter(test.column for role in plan.program.roles for test in role.tests)
    looked_up = ", ".join(f"{column} ({count})" for column, count in tests.most_common(SHOWN))
    return f"{what}: {bits} by Spark, the values of {looked_up} looked up by the worker"


def _tree_lines(tree: RuleTree, program: RuleSet) -> Iterator[str]:
    names = [program.rules[number].name for number in tree.members]
    reuse = reuse_of(tree)
    yield f"  shares   {_listed(names)}: {reuse.steps} of {reuse.apart} steps are left"
    yield from (f"             {line}" for line in reuse.lines)


@dataclass(frozen=True)
class TreeReuse:
    """How many steps a tree has, and how many its rules have one by one; and what is shared, in words."""

    steps: int
    apart: int
    lines: tuple[str, ...]


def reuse_of(tree: RuleTree) -> TreeReuse:
    """What the rules of a tree share."""
    nodes = list(walk_nodes(tree.root))
    taken = [node for node in nodes if node.step is not None]
    checks = [check for node in nodes for check in node.checks]
    apart = sum(node.rules.bit_count() for node in taken) + sum(c.rules.bit_count() for c in checks)
    return TreeReuse(len(taken) + len(checks), apart, tuple(_shared_steps(tree.root, 0)))


def _shared_steps(node: RuleNode, depth: int) -> Iterator[str]:
    """The steps that several rules take together."""
    count = node.rules.bit_count()
    if node.step is not None and count > 1:
        yield f"{'  ' * depth}{step_text(node.step)}: {count} rules"
        some = [check for check in node.checks if check.rules.bit_count() < count]
        if some:
            counted = _counted(len(some), "check", "checks")
            yield f"{'  ' * depth}  {counted} of some of them, as bits of each row"
    for below in node.then:
        yield from _shared_steps(below, depth + (node.step is not None))


def step_text(step: KernelStep) -> str:
    """A step in a few words."""
    match step:
        case Take():
            return _take_text(step)
        case RepeatStep():
            return "a list"
        case Choose():
            return "a choice of branches"
        case EachElement():
            return "a check of each element"
        case Absent() | Present():
            return "a check"
    return type(step).__name__


def _take_text(step: Take[Value]) -> str:
    after = ", ".join(map(str, step.bounds.after))
    before = ", ".join(map(str, step.bounds.before))
    where = [f"after {after}"] if after else []
    where += [f"before {before}"] if before else []
    return f"{step.variable}, {step.role}{' ' if where else ''}{' and '.join(where)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
