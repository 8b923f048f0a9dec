"""One sequence taken apart: components, gaps, and the constraints on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from neelc.cost.sharing_expression import Constraint, Expression
from neelc.cost.sharing_surroundings import Around, foreign_names, neutral, own_names
from neelc.cost.sharing_text import component_text, gap_text
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, names_in
from neelc.ir.expr import Expr
from neelc.ir.node import Node
from neelc.ir.parts import all_parts, may_be_empty, targets


@dataclass
class Taken:
    """A sequence while it is taken apart.

    `kept` are the components, `gaps` what stands before, between and after them. `conditions` are those
    between components; `single` those on one of them and `dropped` those on what EXISTS drops, by place.
    """

    around: Around
    kept: list[p.Pattern] = field(default_factory=list)
    gaps: list[list[p.Pattern]] = field(default_factory=lambda: [[]])
    conditions: list[Expr] = field(default_factory=list)
    single: dict[int, list[Expr]] = field(default_factory=dict)
    dropped: dict[int, list[Expr]] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[str, int]:
        """The component that declares a variable."""
        return {name: place for place, part in enumerate(self.kept) for name in own_names(part)}

    @cached_property
    def holes(self) -> dict[str, int]:
        """The gap in which a variable is dropped."""
        return {name: gap for gap, parts in enumerate(self.gaps) for part in parts for name in targets(part)}


def sequence(part: p.Pattern, around: Around) -> Expression | None:
    """A SEQ, or a SEQ under EXISTS, taken apart; None when it cannot be.

    Proj around a SEQ (NEEL's normal forms) and EXISTS in a gap (what pushing a negation down makes) say the
    same. What is dropped in a gap lies strictly between the components around it, so what the gaps ask for is
    judged gap by gap. Not where a condition ties dropped events of two gaps together:

    >>> from neelc.rewrite.examples import query
    >>> one = query("EXISTS c : SEQ(A a, !B b, C c, D d)")
    >>> two = query("SEQ(A a, EXISTS c : SEQ(!B b, C c), D d)")
    >>> sequence(one.pattern, Around(one)).columns == sequence(two.pattern, Around(two)).columns
    True
    >>> tied = query("EXISTS b, d : SEQ(A a, B b, C c, D d, E e WHERE b.x = d.x)")
    >>> sequence(tied.pattern, Around(tied)) is None
    True

    Nor where a part may be absent, so that it is not clear which gap is which; where a part depends on
    what is around it in a way that is not its condition; or where times are uncertain.
    """
    original, dropped = part, set[str]()
    while isinstance(part, p.Exists):
        around, dropped, part = around.inside(part), dropped | set(part.variables), part.part
    if not isinstance(part, p.Seq) or any(stream.latest for stream in around.query.streams):
        return None
    if dropped and part.within is not None:
        return None  # that window is about the dropped events too
    taken = Taken(around.inside(part))
    if not all(_place(taken, inner, dropped) for inner in part.parts):
        return None
    for condition in (*taken.around.judged, *_said_of_components(taken)):
        _assign(taken, condition)
    columns = list(_columns(taken))
    if None in columns:
        return None
    return _expression(original, taken, [column for column in columns if column])


def whole(part: p.Pattern, around: Around) -> Expression:
    """A pattern that cannot be taken apart, as an expression of one component."""
    said = replace(part, where=conjoin([part.where, *around.judged]))
    return Expression("", (around.component(said, str(part)),), (), targets(part), 0, part)


def _place(taken: Taken, part: p.Pattern, dropped: set[str]) -> bool:
    """Put a part of the sequence into the gap or among the components; whether that could be done."""
    names = set(targets(part))
    if isinstance(part, p.Not) or not names or (names <= dropped and not may_be_empty(part)):
        taken.gaps[-1].append(part)
        return True
    if names & dropped or may_be_empty(part) or not _stands_alone(part):
        return False
    taken.kept.append(part)
    taken.gaps.append([])
    return True


def _stands_alone(part: p.Pattern) -> bool:
    """Whether a component is judged without its surroundings, but for conditions on a single event.

    The scope of a negation in it would depend on its neighbours, and so would what EXISTS may find.
    """
    if isinstance(part, p.Event):
        return True
    closed = not any(isinstance(inner, p.Not | p.Exists) for inner in all_parts(part))
    return closed and not foreign_names(part)


def _said_of_components(taken: Taken) -> Iterator[Expr]:
    """The conditions written at an event that name other events; they are taken off it."""
    for place, part in enumerate(taken.kept):
        if isinstance(part, p.Event):
            own = [c for c in conjuncts(part.where) if names_in(c) <= {part.variable}]
            yield from (c for c in conjuncts(part.where) if c not in own)
            taken.kept[place] = replace(part, where=conjoin(own))


def _assign(taken: Taken, condition: Expr) -> None:
    """Put a condition where it is judged."""
    names = names_in(condition)
    places = {taken.places[name] for name in names & taken.places.keys()}
    holes = {taken.holes[name] for name in names & taken.holes.keys()}
    if taken.around.leaf and not names <= taken.places.keys() | taken.holes.keys():
        return  # the AND judges it
    for hole in holes:
        taken.dropped.setdefault(hole, []).append(condition)
    if not holes and len(places) == 1 and isinstance(taken.kept[min(places)], p.Event):
        taken.single.setdefault(min(places), []).append(condition)
    elif not holes:
        taken.conditions.append(condition)


def _columns(taken: Taken) -> Iterator[Constraint | None]:
    """What the gaps ask for; None for what ties two gaps together."""
    last = len(taken.kept)
    for gap, parts in enumerate(taken.gaps):
        if taken.around.leaf and gap in (0, last):
            continue
        for part in _contents(parts, taken.dropped.get(gap, [])):
            names = foreign_names(part)
            if names & taken.holes.keys():
                yield None
            elif not taken.around.leaf or names <= taken.places.keys():
                places = {taken.places[name] for name in names & taken.places.keys()}
                needs = range(last) if gap in (0, last) else places | {gap - 1, gap}
                yield _constraint(taken, part, needs, gap, gap_text(part))


def _contents(parts: list[p.Pattern], conditions: list[Expr]) -> list[p.Pattern]:
    """Negations in one gap are independent of each other; with something dropped they are one requirement."""
    dropped = tuple(name for part in parts for name in targets(part))
    if not dropped:
        return parts
    return [p.Exists(dropped, p.Seq(tuple(parts), where=conjoin(conditions)))]


def _constraint(taken: Taken, node: Node, needs: Iterable[int], gap: int | None, text: str) -> Constraint:
    ordered = tuple(sorted(needs))
    outer = {
        name: f"{number}{_inner(taken.kept[place], name)}"
        for number, place in enumerate(ordered, 1)
        for name in own_names(taken.kept[place])
    }
    around = taken.around
    return Constraint(neutral(node, outer), ordered, gap, around.members(node), text, node, around.query)


def _inner(part: p.Pattern, name: str) -> str:
    """What tells the variables of a composite component apart."""
    names = own_names(part)
    return f".{names.index(name) + 1}" if len(names) > 1 else ""


def _expression(part: p.Pattern, taken: Taken, columns: list[Constraint]) -> Expression:
    components = []
    for place, kept in enumerate(taken.kept):
        said = replace(kept, where=conjoin([kept.where, *taken.single.get(place, [])]))
        components.append(taken.around.component(said, component_text(said)))
    conditions = []
    for condition in taken.conditions:
        places = {taken.places[name] for name in names_in(condition) & taken.places.keys()}
        needs = places or range(len(components))  # a condition on no event at all is judged on the whole
        conditions.append(_constraint(taken, condition, needs, None, str(condition)))
    variables = tuple(name for kept in taken.kept for name in targets(kept))
    return Expression("", tuple(components), (*conditions, *columns), variables, 0, part)
