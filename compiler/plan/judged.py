"""When a condition of a pattern can be judged: as soon as everything it names is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from neelc.ir import expr as e
from neelc.ir.node import Node, children, walk
from neelc.plan.fragments import Fragment, Move, Token


@dataclass(frozen=True)
class Region:
    """A part that need not be there: an optional one, or a branch of an OR. `name` is one of its events.

    Branches of one OR have the same `group`: where one is taken, the others are left out.
    """

    number: int
    name: str
    group: int | None = None

    @cached_property
    def taken(self) -> Token:
        return ("taken", str(self.number))

    @cached_property
    def left_out(self) -> Token:
        return ("left out", str(self.number))

    @cached_property
    def decided(self) -> Token:
        """Known as soon as one of the branches is taken."""
        return ("decided", str(self.group))

    def is_left_out(self, known: frozenset[Token]) -> bool:
        return self.left_out in known or (self.decided in known and self.taken not in known)


@dataclass(frozen=True)
class Judged:
    """A condition and what it needs.

    `regions` are the optional parts it stands in. `previous` are the lists of which it names an earlier
    element: for the first element it holds by definition. An `[id]` is judged whenever another event
    of `among` is taken.
    """

    text: str
    needs: frozenset[Token] = frozenset()
    regions: tuple[Region, ...] = ()
    previous: frozenset[str] = frozenset()
    among: frozenset[str] = frozenset()

    def applies(self, known: frozenset[Token]) -> bool:
        """Whether it is judged at all: not if a part that it stands in is left out."""
        return not any(region.is_left_out(known) for region in self.regions)


def judged(condition: e.Expr, regions: tuple[Region, ...] = ()) -> Judged:
    """
    >>> from neelc.rewrite.examples import query
    >>> found = judged(query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x + a.x").pattern.where)
    >>> sorted(found.needs), sorted(found.previous)
    ([('element', 'b'), ('value', 'a')], ['b'])
    """
    earlier = frozenset(
        ref.base.name
        for ref in walk(condition)
        if isinstance(ref, e.At | e.Each) and isinstance(ref.base, e.Variable) and _is_earlier(ref)
    )
    return Judged(str(condition), frozenset(_needs(condition)), regions, earlier)


def _is_earlier(ref: e.At | e.Each) -> bool:
    index = ref.index if isinstance(ref, e.At) else ref.upper
    return index is not None and index.anchor == "CURRENT" and index.offset < 0


def _needs(node: Node) -> Iterator[Token]:
    match node:
        case e.Inner(e.At(e.Variable(), e.Index("CURRENT", 0)), name):
            yield ("value", name)  # of this iteration
        case e.Inner(e.At(e.Variable(), e.Index("CURRENT"))):
            return  # of an iteration before
        case e.At(e.Variable(name), e.Index("CURRENT")) | e.At(e.Variable(name), e.Index("FIRST", 0)):
            yield ("element", name)
        case e.Each(e.Variable(name), e.Index("CURRENT")):
            yield ("element", name)
        case e.Variable(name):
            yield ("value", name)
        case _:
            for child in children(node):
                yield from _needs(child)


@dataclass
class Judge:
    """All conditions of a pattern, and for each variable the optional parts that it is declared in: several
    times if branches of an OR share it."""

    conditions: list[Judged] = field(default_factory=list)
    homes: dict[str, list[tuple[Region, ...]]] = field(default_factory=dict)

    def at(self, move: Move, whole: Fragment) -> tuple[str, ...]:
        """The conditions that can be judged when the move is made and could not be judged before."""
        base = (frozenset() if move.source is None else whole.places[move.source].known) - move.forget
        then = whole.places[move.target].known | move.known
        known = base | then
        judged = [condition for condition in self.conditions if condition.applies(known)]
        new = [condition for condition in judged if self._is_new(condition, move, base, then)]
        return tuple(self._text(condition, known) for condition in new)

    def at_the_end(self, place: int, whole: Fragment) -> tuple[str, ...]:
        """The conditions that can only be judged when it is known that the match ends here."""
        known = whole.places[place].known
        all_known = known | whole.exits[place].known
        judged = [condition for condition in self.conditions if condition.applies(all_known)]
        late = [condition for condition in judged if not self._decides(known, condition)]
        return tuple(self._text(condition, all_known) for condition in late)

    def _is_new(self, condition: Judged, move: Move, base: frozenset[Token], then: frozenset[Token]) -> bool:
        if condition.among:
            others = (name for kind, name in base if kind in ("value", "element"))
            return move.variable in condition.among and (
                move.kind == "again" or any(name in condition.among for name in others)
            )
        if not condition.needs:
            return move.source is None
        first = bool(condition.previous & move.begins)
        return not first and self._decides(then, condition) and not self._decides(base, condition)

    def _decides(self, known: frozenset[Token], condition: Judged) -> bool:
        return all(token in known or self._is_absent(token[1], known) for token in condition.needs)

    def _is_absent(self, name: str, known: frozenset[Token]) -> bool:
        """Whether a variable is known to stay NULL."""
        homes = self.homes.get(name, ())
        return ("absent", name) in known or (
            bool(homes) and all(any(region.is_left_out(known) for region in home) for home in homes)
        )

    def _text(self, condition: Judged, known: frozenset[Token]) -> str:
        """The text of a condition and what it depends on."""
        absent = sorted(name for _, name in condition.needs if self._is_absent(name, known))
        may_lack = [region.name for region in condition.regions if region.taken not in known]
        if absent:
            return f"{condition.text}, where {absent[0]} is NULL"
        return f"{condition.text}, where {may_lack[-1]} is there" if may_lack else condition.text
