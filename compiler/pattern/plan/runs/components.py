"""What runs go through: the branches of a pattern, and the components of each in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from neelc.pattern.plan.blocks import Block, PlacedVariable, UnsupportedQuery
from neelc.runtime.program import ElementName, EventName, When, is_composite


@dataclass(frozen=True, eq=False)
class ComponentEvent:
    """One event of a component: its item, and the marks of the optional parts that it is."""

    item: PlacedVariable
    marks: frozenset[str] = frozenset()

    @property
    def is_optional(self) -> bool:
        return bool(self.marks)


@dataclass(frozen=True, eq=False)
class RunComponent:
    """A single event, or a closure, whose iterations consist of `parts`. `least` is that of a closure that is
    there: one that is optional is absent rather than empty."""

    item: PlacedVariable
    marks: frozenset[str]
    parts: tuple[ComponentEvent, ...]
    least: int = 1
    most: int | None = 1

    @property
    def is_list(self) -> bool:
        return self.item.loop is not None

    @property
    def can_be_skipped(self) -> bool:
        return bool(self.marks) or (self.item.loop is not None and self.item.loop.least == 0)

    @property
    def first_event(self) -> EventName:
        """What is there if the component is."""
        return ElementName(self.item.list_name, 1) if self.is_list else self.item.variable

    @property
    def is_composite(self) -> bool:
        return self.item.loop is not None and is_composite(self.item.loop.names)

    @property
    def ends_open(self) -> bool:
        """Whether an iteration ends in a negation: it is not over with its last event."""
        own = {part.item.variable for part in self.parts}
        checks = self.item.loop.body.checks if self.item.loop is not None else ()
        return any(not own & set(item.before) for check in checks for item in check.items)


@dataclass(frozen=True, eq=False)
class PatternBranch:
    """The components of one branch of a pattern, under its choices."""

    when: When
    components: tuple[RunComponent, ...]

    @cached_property
    def places(self) -> Mapping[EventName, int]:
        """Where the component of each variable stands."""
        return {one.item.variable: place for place, one in enumerate(self.components)}

    def begin(self, names: Sequence[EventName]) -> tuple[int, int]:
        """The component, and the part of it, that the first of some variables stands at."""
        return min((self._begins[name] for name in names if name in self._begins), default=(0, 0))

    @cached_property
    def _begins(self) -> Mapping[EventName, tuple[int, int]]:
        """The component, and the part of it, that each variable stands at first."""
        found = [(name, (place, 0)) for name, place in self.places.items()]
        for place, component in enumerate(self.components):
            if component.is_list:
                found += [(part.item.variable, (place, n)) for n, part in enumerate(component.parts)]
        return dict(sorted(found, key=lambda one: one[1], reverse=True))

    @cached_property
    def marks(self) -> Mapping[str, tuple[int, int | None]]:
        """For the mark of an optional part: its component, and its part of a closure's body, if it is one."""
        found: dict[str, tuple[int, int | None]] = {}
        for place, component in enumerate(self.components):
            found |= dict.fromkeys(component.marks, (place, None))
            if component.is_list:
                for number, part in enumerate(component.parts):
                    found |= dict.fromkeys(part.marks, (place, number))
        return found


def branches(block: Block) -> list[PatternBranch]:
    """Every branch of an OR of sequences; raises `UnsupportedQuery` for other patterns."""
    optional = _optional_marks(block)
    whens: list[When] = [()]
    for choice in block.choices:
        if choice.mark in optional:
            continue
        begun = [when for when in whens if set(choice.when) <= set(when)]
        rest = [when for when in whens if when not in begun]
        whens = rest + [(*when, (choice.mark, number)) for when in begun for number in range(choice.count)]
    return [PatternBranch(when, tuple(_components(block, when, optional))) for when in whens]


def _optional_marks(block: Block) -> frozenset[str]:
    """The marks of optional parts: where they are 0, there is nothing."""
    used = {choice for item in block.items for choice in item.when}
    return frozenset(choice.mark for choice in block.choices if (choice.mark, 0) not in used)


def _components(block: Block, when: When, optional: frozenset[str]) -> Iterator[RunComponent]:
    for item in block.items:
        chosen = {choice for choice in item.when if choice[0] not in optional}
        if not chosen <= set(when):
            continue
        if chosen != set(when):
            raise UnsupportedQuery("an OR inside of a SEQ, under this strategy")
        marks = frozenset(mark for mark, _ in item.when if mark in optional)
        if item.loop is None:
            yield RunComponent(item, marks, (ComponentEvent(item),))
            continue
        body = item.loop.body
        inner = _optional_marks(body)
        if len(inner) < len(body.choices):
            raise UnsupportedQuery("an OR inside of a closure, under this strategy")
        parts = (
            ComponentEvent(one, frozenset(mark for mark, _ in one.when if mark in inner))
            for one in body.items
        )
        least = max(1, item.loop.least)
        yield RunComponent(item, marks, tuple(parts), least, item.loop.most)
