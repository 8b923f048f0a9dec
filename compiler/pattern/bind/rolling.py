"""ROLL UP and DRILL DOWN: a PATTERN with coarser, or finer, types and attributes, as a PATTERN of its own.

MQOS (Definition 9) has SEQ(Medicine, DELL) below SEQ(Medicine, Computer), because DELL is below Computer. The
query is rewritten before it is bound: what shares work between queries sees two patterns over one hierarchy
of types, and needs to know nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from neelc.catalog.catalog import Catalog, Hierarchy
from neelc.catalog.hierarchies import known_level
from neelc.findings import Findings, did_you_mean
from neelc.ir import expressions as e
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.patterns import Event
from neelc.ir.script import PatternQuery, RolledQuery, RollStep
from neelc.runtime.late_dataclass import dataclass


def rolled_pattern(
    rolled: RolledQuery, base: PatternQuery, catalog: Catalog, findings: Findings
) -> PatternQuery | None:
    """The query that a roll-up or a drill-down of `base` is; None after a report."""
    before = len(findings.diagnostics)
    types = [step for step in rolled.steps if step.hierarchy is None]
    for step in types:
        _check_type(step, rolled, catalog, findings)
    found = [_level_step(step, rolled, catalog, findings) for step in rolled.steps if step.hierarchy]
    if len(findings.diagnostics) > before or None in found:
        return None
    rolling = _Rolling(rolled, base, types, [one for one in found if one is not None], catalog, findings)
    changed = rolling.query()
    rolling.report_unused()
    return changed if len(findings.diagnostics) == before else None


# Steps: from which type to which, from which level to which.


@dataclass(frozen=True)
class LevelStep:
    """From a level of a hierarchy to another one. An attribute is of the level whose name it has."""

    step: RollStep
    hierarchy: Hierarchy
    source: str
    target: str

    @property
    def name(self) -> e.LevelName:
        return e.LevelName(written(self.hierarchy.name), written(self.target), span=self.step.span)


def _check_type(step: RollStep, rolled: RolledQuery, catalog: Catalog, findings: Findings) -> None:
    finer, coarser = (step.source, step.target) if rolled.is_up else (step.target, step.source)
    if catalog.is_below(finer, coarser):
        return
    concept = catalog.concept(coarser)
    if catalog.is_below(coarser, finer):
        words = "DRILL DOWN" if rolled.is_up else "ROLL UP"
        message = f"`{bare(step.target)}` is {'below' if rolled.is_up else 'above'} `{bare(step.source)}`"
        findings.report("NEEL3061", message, findings.at(step.target, step), f"write {words}")
    elif concept is None:
        message = f"`{bare(coarser)}` is not declared with CREATE TYPE, so nothing is below it"
        hint = did_you_mean(coarser, catalog.concepts, "declared types")
        findings.report("NEEL3061", message, findings.at(coarser, step), hint or _declare(finer, coarser))
    else:
        message = f"`{bare(finer)}` is not below `{concept.name}`"
        hint = did_you_mean(finer, catalog.flattened(coarser), f"types below {concept.name}")
        findings.report("NEEL3061", message, findings.at(finer, step), hint)


def _declare(finer: str, coarser: str) -> str:
    return f"declare it: CREATE TYPE {coarser} AS ({finer}, ...)"


def _level_step(
    step: RollStep, rolled: RolledQuery, catalog: Catalog, findings: Findings
) -> LevelStep | None:
    assert step.hierarchy is not None, "a step of attributes"
    found = known_level(e.LevelName(step.hierarchy, step.target, span=step.span), catalog, findings)
    if found is None:
        return None
    hierarchy, target = found
    source = hierarchy.level(step.source)
    if source is None:
        hint = did_you_mean(step.source, hierarchy.levels, f"levels of {hierarchy.name}")
        message = f"hierarchy `{hierarchy.name}` has no level `{bare(step.source)}`"
        findings.report("NEEL2261", message, findings.at(step.source, step), hint)
        return None
    finer, coarser = (source, target) if rolled.is_up else (target, source)
    if not hierarchy.is_coarser(coarser, finer):
        message = f"`{target}` is not {'coarser' if rolled.is_up else 'finer'} than `{source}`"
        order = f"from the finest to the coarsest: {', '.join(hierarchy.levels)}"
        findings.report("NEEL3061", message, findings.at(step.target, step), order)
        return None
    return LevelStep(step, hierarchy, source, target)


# The query with all steps taken at once.

_COMPARING = (e.Binary, e.InList, e.Between, e.Like, e.IsDistinct)


class _Rolling:
    def __init__(
        self,
        rolled: RolledQuery,
        base: PatternQuery,
        types: Sequence[RollStep],
        levels: Sequence[LevelStep],
        catalog: Catalog,
        findings: Findings,
    ) -> None:
        self.rolled, self.base = rolled, base
        self.types, self.levels = types, levels
        self.catalog, self.findings = catalog, findings
        self.taken: set[int] = set()
        unnamed = [node.type for node in walk(base) if isinstance(node, Event) and node.variable is None]
        # A part without a variable is called as its type, and keeps that name.
        self.names = {one for one in unnamed if sum(same(one, other) for other in unnamed) == 1}

    def query(self) -> PatternQuery:
        partition = tuple(map(self.shared, self.base.partition_by))
        streams = self.streams() if self.rolled.is_up else self.base.streams
        changed = replace(self.base, partition_by=partition, streams=streams, span=self.rolled.span)
        return map_children(changed, self.node)

    def streams(self) -> tuple[str, ...]:
        """FROM, with the streams of a coarser type in place of a finer one."""
        found: dict[str, None] = {}
        for name in self.base.streams:
            step = next((step for step in self.types if same(step.source, name)), None)
            leaves = [name] if step is None else self.catalog.flattened(step.target)
            found |= {leaf: None for leaf in leaves if self.catalog.entry(leaf) is not None or leaf == name}
        return tuple(found)

    def node(self, node: Node) -> Node:
        match node:
            case Event():
                return self.event(node)
            case e.Call(name, arguments) if name.lower() == "level":
                return self.level(node, arguments)
            case e.Name((_, attribute)) | e.MemberAccess(_, attribute):
                return self.attribute(map_children(node, self.node), attribute)
            case e.SameAttributes(items) | e.SameLevels(items):
                return self.same(node, tuple(map(self.shared, items)))
        if isinstance(node, _COMPARING):
            self.check_comparison(node)
        return map_children(node, self.node)

    def event(self, node: Event) -> Event:
        changed = map_children(node, self.node)
        step = next((step for step in self.types if same(step.source, node.type)), None)
        if step is None:
            return changed
        self.taken.add(id(step))
        variable = node.type if node.variable is None and node.type in self.names else node.variable
        return replace(changed, type=step.target, variable=variable)

    def step_of(self, attribute: str) -> LevelStep | None:
        """The step that leads away from an attribute."""
        return next((one for one in self.levels if find(attribute, [one.source])), None)

    def attribute(self, node: Node, attribute: str) -> Node:
        one = self.step_of(attribute)
        if one is None:
            return node
        self.taken.add(id(one.step))
        if self.rolled.is_up:
            assert isinstance(node, e.Expr)
            level = e.Name((one.name.hierarchy, one.name.level), span=one.step.span)
            return e.Call("level", (node, level), span=node.span)
        if isinstance(node, e.Name):
            return replace(node, parts=(*node.parts[:-1], one.name.level))
        assert isinstance(node, e.MemberAccess)
        return replace(node, name=one.name.level)

    def level(self, node: e.Call, arguments: tuple[e.Expr, ...]) -> e.Expr:
        """A level in place of another one; of an attribute of that level, the attribute itself. What the
        level is taken of stays as it is."""
        match arguments:
            case (value, e.Name((hierarchy, of)), e.Name((other, level))) if same(hierarchy, other):
                own = of
            case (e.Name((*_, own)) | e.MemberAccess(_, own) as value, e.Name((hierarchy, level))):
                pass
            case _:
                return node  # reported where it is bound
        target = self.retargeted(hierarchy, level, own, node)
        if target is None:
            return node
        if find(own, [bare(target.level)]):
            return value
        return replace(node, arguments=(*arguments[:-1], e.Name((hierarchy, target.level), span=target.span)))

    def shared(self, item: str | e.SharedLevel) -> str | e.SharedLevel:
        if isinstance(item, str):
            one = self.step_of(item)
            if one is None:
                return item
            self.taken.add(id(one.step))
            return e.SharedLevel(item, one.name, span=one.step.span) if self.rolled.is_up else one.name.level
        own = item.attribute if item.of is None else item.of.level
        target = self.retargeted(item.target.hierarchy, item.target.level, own, item)
        if target is None:
            return item
        return item.attribute if find(own, [bare(target.level)]) else replace(item, target=target)

    def retargeted(self, hierarchy: str, level: str, own: str, place: Node) -> e.LevelName | None:
        """The level that a step puts in place of another one; None if none does."""
        steps = (one for one in self.levels if same(hierarchy, written(one.hierarchy.name)))
        one = next((one for one in steps if find(level, [one.source])), None)
        if one is None:
            return None
        self.taken.add(id(one.step))
        finest = one.hierarchy.level(own)
        if finest is not None and one.hierarchy.is_coarser(finest, one.target):
            message = f"`{one.target}` is finer than `{finest}`, all that `{self.rolled.name}` knows"
            hint = f"drill down to `{finest}`, at most: it has {place}"
            self.findings.report("NEEL3061", message, self.findings.at(one.step.target, one.step), hint)
        return one.name

    def same(self, node: Node, items: tuple[str | e.SharedLevel, ...]) -> e.Expr:
        names = tuple(item for item in items if isinstance(item, str))
        if len(names) < len(items):
            return e.SameLevels(items, span=node.span)
        return e.SameAttributes(names, span=node.span)

    def check_comparison(self, node: e.Binary | e.InList | e.Between | e.Like | e.IsDistinct) -> None:
        """A city is no street: what is compared with one becomes a city, too, or the comparison is wrong."""
        if isinstance(node, e.Binary) and node.op not in e.COMPARISONS:
            return
        operands = list(_operands(node))
        changed = [one for one in operands if self.changes(one)]
        if not changed or len(changed) == len(operands):
            return
        other = next(one for one in operands if one not in changed)
        message = f"`{changed[0]}` becomes a value of another level, but `{other}` does not"
        hint = f"leave `{node}` out of `{self.rolled.name}`, or compare with another attribute"
        self.findings.report("NEEL3063", message, self.findings.at(self.rolled), hint)

    def changes(self, node: Node) -> bool:
        """Whether a step changes a value."""
        match node:
            case e.Call(name, (*_, e.Name((hierarchy, level)))) if name.lower() == "level":
                steps = (one for one in self.levels if same(hierarchy, written(one.hierarchy.name)))
                return any(find(level, [one.source]) for one in steps)
            case e.Name((_, attribute)):
                return self.step_of(attribute) is not None
            case e.MemberAccess(_, attribute) if self.step_of(attribute) is not None:
                return True
        return any(map(self.changes, children(node)))

    def report_unused(self) -> None:
        """Report the steps that have changed nothing."""
        types = [bare(node.type) for node in walk(self.base) if isinstance(node, Event)]
        for step in self.rolled.steps:
            if id(step) in self.taken:
                continue
            what = "type" if step.hierarchy is None else "attribute or level"
            message = f"`{bare(self.rolled.name)}` has no {what} `{bare(step.source)}`"
            hint = did_you_mean(step.source, types, "its types") if step.hierarchy is None else None
            place = self.findings.at(step.source, step)
            self.findings.report("NEEL3062", message, place, hint or f"leave `{step}` out")


def _operands(node: Node) -> Iterable[e.Expr]:
    """What a comparison compares."""
    return (child for child in children(node) if isinstance(child, e.Expr))
