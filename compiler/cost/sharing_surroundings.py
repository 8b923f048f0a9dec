"""What the parts around a sequence ask of it, and names that do not depend on what a user chose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from neelc.cost.sharing_expression import Component, Context
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, names_in
from neelc.ir.expr import Binary, Expr, Same
from neelc.ir.logical import Match, Member
from neelc.ir.node import Node, remembered, transform, walk
from neelc.ir.parts import all_parts, declared
from neelc.rewrite.facts import ANY_MATCH
from neelc.rewrite.names import renamed

N = TypeVar("N", bound=Node)

NOWHERE = "null"
"""The name of every variable of a branch that is not taken: all of them are NULL."""


@dataclass(frozen=True)
class Around:
    """The query, and the conditions and windows of the parts around a sequence, its own included.

    In a `leaf`, a sequence inside an AND, conditions on other parts of the AND are not judged.
    """

    query: Match
    conditions: tuple[Expr, ...] = ()
    windows: tuple[p.Window, ...] = ()
    leaf: bool = False

    def inside(self, part: p.Pattern) -> Around:
        windows = (*self.windows, *([part.within] if part.within else []))
        return replace(self, conditions=(*self.conditions, *conjuncts(part.where)), windows=windows)

    @property
    def judged(self) -> tuple[Expr, ...]:
        """The conditions but for `[id]`."""
        return tuple(condition for condition in self.conditions if not isinstance(condition, Same))

    @property
    def context(self) -> Context:
        """What must agree. An `[id]` around a sequence is about all its events, negative ones too."""
        query = self.query
        sames = (condition for condition in self.conditions if isinstance(condition, Same))
        counted = any(window.unit == "EVENT" for window in self.windows)
        streams = tuple(sorted(stream.name for stream in query.streams))
        return Context(
            windows=tuple(sorted(dict.fromkeys(self.windows), key=str)),
            key=tuple(sorted({attribute for same in sames for attribute in same.attributes})),
            partition=query.partition,
            strategy=query.strategy,
            streams=streams if counted or query.strategy != ANY_MATCH else (),
        )

    def members(self, node: Node) -> tuple[tuple[Member, ...], ...]:
        """What the types in `node` stand for, in order."""
        types = {known.name: known.members for known in self.query.types}
        return tuple(types[event.type] for event in walk(node) if isinstance(event, p.Event))

    def component(self, said: p.Pattern, text: str) -> Component:
        """A part that a match keeps, with all conditions that are said of it alone."""
        part = neutral(said, {})
        where = conjoin(sorted(conjuncts(part.where), key=str))
        return Component(replace(part, where=where), self.members(said), self.context, text, said, self.query)


@remembered
def own_names(part: p.Pattern) -> tuple[str, ...]:
    """The names declared in a part, in order."""
    found = (node.variable for node in all_parts(part) if isinstance(node, p.Event | p.Repeat))
    return tuple(dict.fromkeys(name for name in found if name))


def foreign_names(node: Node) -> frozenset[str]:
    """The variables that are named in `node` and declared elsewhere."""
    return names_in(node) - (declared(node) if isinstance(node, p.Pattern) else frozenset())


def neutral(node: N, outer: dict[str, str]) -> N:
    """`node` with neutral names: its own variables v1, v2 ..., those of other parts as `outer` says. Of a
    comparison and its mirror image one is taken.

    >>> from neelc.rewrite.examples import query
    >>> part = query("SEQ(A a, !(B b : b.x > a.x), C c)").pattern
    >>> print(neutral(part.parts[1], {"a": "1"}))
    !(B v1 : 1.x < v1.x)
    """
    own = own_names(node) if isinstance(node, p.Pattern) else ()
    names = {name: outer.get(name, NOWHERE) for name in foreign_names(node)}
    named = renamed(node, names | {name: f"v{place}" for place, name in enumerate(own, start=1)})
    turned = transform(named, _turned)
    assert isinstance(turned, type(node))
    return turned


MIRRORED = {">": "<", ">=": "<="}
EITHER_WAY = ("=", "<>", "<=>")


def _turned(node: Node) -> Node | None:
    match node:
        case Binary(op, left, right) if op in MIRRORED:
            return replace(node, op=MIRRORED[op], left=right, right=left)
        case Binary(op, left, right) if op in EITHER_WAY and str(right) < str(left):
            return replace(node, left=right, right=left)
    return None
