"""A SEQ as stages, one for each of its components, and the conditions and negations between them."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr
from neelc.ir.names import bare
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import Key
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.plan.blocks import (
    Block,
    BlockVariables,
    PlacedVariable,
    block_variables,
    keyed_attributes,
    ranges,
)
from neelc.pattern.plan.columns import EventRoles, event_roles, width_of, without_key_equalities
from neelc.pattern.plan.kernel_values import has_lists
from neelc.pattern.plan.pattern_to_blocks import pattern_to_blocks
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ElementName, EventName, base_of

MOST_LEVELS = 32
"""How many elements of a list are distinguished by their number."""


class NoChain(Exception):
    """The matches of a query cannot be counted without enumerating them, or not here."""


@dataclass(frozen=True)
class SequenceStage:
    """A component of a SEQ: an event, or a list of `least` to `most` events. One of a single event that need
    not be there has `least` 0."""

    variable: str
    role: str
    least: int = 1
    most: int | None = 1
    listed: bool = False

    @property
    def first(self) -> EventName:
        """The name of its first event."""
        return ElementName(self.variable, 1) if self.listed else self.variable

    @property
    def last(self) -> EventName:
        return ElementName(self.variable, -1) if self.listed else self.variable

    @property
    def levels(self) -> int:
        """How many lengths of a list must be distinguished."""
        return self.most if self.most is not None else max(1, self.least)


@dataclass(frozen=True)
class StageCondition:
    """A condition. One `of_list` is on each of its elements; one that is checked only `if_there` is on an
    optional component."""

    expression: Expr
    of_list: str | None = None
    if_there: str | None = None


@dataclass(frozen=True)
class StageSequence:
    """Stages in their order; `gaps` has for each negation how many stages come before it."""

    stages: tuple[SequenceStage, ...]
    conditions: tuple[StageCondition, ...]
    gaps: tuple[tuple[int, Block], ...]
    width: int | None
    counted: bool
    block: Block
    roles: EventRoles
    variables: BlockVariables

    def stage_of(self, name: EventName) -> int | None:
        """The number of the stage that a name belongs to."""
        return stage_of(name, self.stages)


def stage_of(name: EventName, stages: tuple[SequenceStage, ...]) -> int | None:
    """The number of the stage that a name belongs to."""
    return next((n for n, stage in enumerate(stages) if base_of(name) == stage.variable), None)


def match_to_stages(query: Match, keys: tuple[Key, ...], unit: str) -> StageSequence:
    """The stages of a query; raises `NoChain`, or `UnsupportedQuery` as other plans do.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B* b[], !N n, C? c, D d) WITHIN 9 RETURN count(*)")
    >>> sequence = match_to_stages(match, (), "SECOND")
    >>> [(str(stage.first), str(stage.last), stage.least, stage.most) for stage in sequence.stages]
    [('a', 'a', 1, 1), ('b[1]', 'b[last]', 0, None), ('c', 'c', 0, 1), ('d', 'd', 1, 1)]
    >>> [before for before, _ in sequence.gaps]
    [2]
    """
    _refuse(query)
    parts = query.pattern.parts if isinstance(query.pattern, p.Seq) else (query.pattern,)
    width, counted = _window(query, unit)
    block, repeats = pattern_to_blocks(query, unit)
    block = without_key_equalities(block, keys)
    facts = QueryFacts(lambda: query)
    roles = event_roles(block, {type.name: type for type in query.types})
    variables = block_variables(block, facts, keyed_attributes(keys))
    if repeats or variables.lasting:
        raise NoChain("events that last")
    if any(
        bare(name).casefold() not in variables.keyed for item in block.all_items() for _, name in item.same
    ):
        raise NoChain("[id] of attributes that are no key")
    items = {item.variable: item for item in block.items}
    stages = tuple(_stage(part, items, roles) for part in parts if not isinstance(part, p.Not))
    conditions = tuple(_conditions(block, roles, {item.when: str(name) for name, item in items.items()}))
    before = [n - sum(isinstance(one, p.Not) for one in parts[:n]) for n in _negations(parts)]
    if len(before) != len(block.checks) or any(check.must_exist or check.when for check in block.checks):
        raise NoChain("a check that is no negation between two components")
    gaps = tuple(zip(before, block.checks, strict=True))
    return StageSequence(stages, conditions, gaps, width, counted, block, roles, variables)


def _refuse(query: Match) -> None:
    if query.strategy != SelectionStrategy.ANY_MATCH or query.collapsed or query.confidence is not None:
        raise NoChain(query.strategy)
    if any(stream.latest for stream in query.streams):
        raise NoChain("an imprecise timestamp")


def _negations(parts: tuple[p.Pattern, ...]) -> list[int]:
    return [number for number, part in enumerate(parts) if isinstance(part, p.Not)]


def _window(query: Match, unit: str) -> tuple[int | None, bool]:
    windows = [one for one in (query.within, query.pattern.within) if one is not None]
    widths = {width_of(window, unit) for window in windows}
    if len({counted for _, counted in widths}) > 1:
        raise NoChain("a window of time and one of events")
    return min(widths) if widths else (None, False)


def _stage(part: p.Pattern, items: dict[EventName, PlacedVariable], roles: EventRoles) -> SequenceStage:
    inner = part.part if isinstance(part, p.Optional | p.Repeat) else part
    if not isinstance(inner, p.Event) or inner.within is not None:
        raise NoChain(f"the part {part}")
    match part:
        case p.Event(variable=str(variable)) if part.within is None:
            return SequenceStage(variable, roles.of[items[variable]])
        case p.Optional(p.Event(variable=str(variable))) if part.within is None:
            return SequenceStage(variable, roles.of[items[variable]], least=0)
        case p.Repeat(_, least, most, str(variable), (), None, None) if part.within is None and most != 0:
            loop = items[variable].loop
            assert loop is not None, "a closure has a loop"
            stage = SequenceStage(variable, roles.of[loop.body.items[0]], least, most, listed=True)
            if stage.levels <= MOST_LEVELS:
                return stage
    raise NoChain(f"the part {part}")


def _conditions(block: Block, roles: EventRoles, variables: dict[object, str]) -> Iterator[StageCondition]:
    lists = [(str(item.variable), item.loop.body) for item in block.items if item.loop is not None]
    for owner, inner in [(None, block), *lists]:
        for condition in inner.conditions:
            if roles.is_absorbed(condition):
                continue
            if has_lists(condition.expression) or not condition.names:
                raise NoChain(f"the condition `{condition.expression}`")
            if condition.when and condition.when not in variables:
                raise NoChain(f"the condition `{condition.expression}`")
            if_there = variables[condition.when] if condition.when else None
            ranged = owner if owner in ranges(condition.expression) else None
            yield StageCondition(condition.expression, ranged, if_there)
