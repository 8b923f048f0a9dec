"""Expressions that may share work: sequences in normal form, compared by meaning, not by names.

NEEL, IV: a query in normal form is a list of expressions, each a SEQ of the components that its matches keep,
with something that must or must not lie in the gaps between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from neelc.ir import patterns as p
from neelc.ir.expressions import Binary, Expr, SameAttributes, conjoin, conjuncts, names_in
from neelc.ir.node import Node, remembered, transform, walk
from neelc.ir.patterns import (
    Pattern,
    Window,
    all_parts,
    declared,
    inner_parts,
    may_be_empty,
    renamed,
    targets,
)
from neelc.ir.program import Match, Member
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class SharingContext:
    """What must agree before two expressions can share anything.

    `key` are the attributes that `[id]` makes equal on all events. `streams` are the streams of the query
    where a match depends on other events than its own: windows of EVENTS, strategies with an order.
    """

    windows: tuple[Window, ...] = ()
    key: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    strategy: SelectionStrategy = SelectionStrategy.ANY_MATCH
    streams: tuple[str, ...] = ()


@dataclass(frozen=True)
class SequenceComponent:
    """A part that a match keeps, with the conditions on it alone. Its variables are called v1, v2 ...

    `members` are what the types of its events stand for, in order. Two components are equal when they accept
    the same events in the same context, whatever their variables are called.
    """

    part: Pattern
    members: tuple[tuple[Member, ...], ...]
    context: SharingContext
    text: str = field(compare=False)
    original: Pattern = field(compare=False, repr=False)
    """The part with the variables of the query."""
    query: Match = field(compare=False, repr=False)


@dataclass(frozen=True)
class Constraint:
    """A condition between components, or, with `gap`, what must or must not lie between two of them.

    `needs` are the places of the components that must be known before it can be checked; `shape` calls the
    first of them 1, the second 2 and so on, so that it does not depend on where in a sequence it stands.
    Gap 0 is before the first component, gap 1 after it. What lies before the first or after the last
    component depends on the whole match, by its window.
    """

    shape: Node
    needs: tuple[int, ...]
    gap: int | None
    members: tuple[tuple[Member, ...], ...]
    text: str = field(compare=False)
    original: Node = field(compare=False, repr=False)
    """The condition, or the part in the gap, with the variables of the query."""
    query: Match = field(compare=False, repr=False)

    def moved(self, by: int) -> Constraint:
        """The same constraint in a sequence that begins `by` components later."""
        gap = None if self.gap is None else self.gap - by
        return replace(self, needs=tuple(place - by for place in self.needs), gap=gap)


@dataclass(frozen=True)
class ExpressionSlice:
    """Adjacent components of an expression with all constraints that they decide by themselves."""

    components: tuple[SequenceComponent, ...]
    constraints: frozenset[Constraint]

    def __str__(self) -> str:
        return sequence_text(self.components, self.constraints)


@dataclass(frozen=True)
class Expression:
    """A sequence in normal form.

    `variables` are the names that a match gives its events: expressions of one query (`number`) with the same
    components and the same variables have the same matches, which must come out once.
    """

    name: str
    components: tuple[SequenceComponent, ...]
    constraints: tuple[Constraint, ...]
    variables: tuple[str, ...]
    number: int
    part: Pattern = field(repr=False)

    @property
    def columns(self) -> tuple[Constraint, ...]:
        """What must or must not lie in the gaps."""
        return tuple(constraint for constraint in self.constraints if constraint.gap is not None)

    @property
    def positive(self) -> ExpressionSlice:
        """The components and the conditions between them, whatever lies in the gaps."""
        return ExpressionSlice(self.components, frozenset(c for c in self.constraints if c.gap is None))

    def slice(self, start: int, stop: int) -> ExpressionSlice:
        """The components from `start` up to but not including `stop`.

        >>> from neelc.sharing.expressions import expressions
        >>> from pattern_examples import query
        >>> (found,) = expressions(query("SEQ(A a, !B b, C c, !D d, E e)"))
        >>> print(found.slice(0, 2))
        SEQ(A, !B, C)
        >>> found.slice(0, 2) == expressions(query("SEQ(A x, !B y, C z, F f)"))[0].slice(0, 2)
        True
        """
        inside = [c for c in self.constraints if c.needs and start <= c.needs[0] and c.needs[-1] < stop]
        return ExpressionSlice(self.components[start:stop], frozenset(c.moved(start) for c in inside))

    def __str__(self) -> str:
        return f"{self.name} {self.part}"


def sequence_text(components: tuple[SequenceComponent, ...], constraints: frozenset[Constraint]) -> str:
    """A SEQ of the components and of what lies in their gaps, without variables."""
    words: list[str] = []
    for gap in range(len(components) + 1):
        words += sorted(constraint.text for constraint in constraints if constraint.gap == gap)
        words += [component.text for component in components[gap : gap + 1]]
    conditions = sorted(constraint.text for constraint in constraints if constraint.gap is None)
    return f"SEQ({', '.join(words)}{' WHERE ' + ' AND '.join(conditions) if conditions else ''})"


# What the parts around a sequence ask of it, and names that do not depend on what a user chose.

N = TypeVar("N", bound=Node)

NOWHERE = "null"
"""The name of every variable of a branch that is not taken: all of them are NULL."""


@dataclass(frozen=True)
class EnclosingParts:
    """The query, and the conditions and windows of the parts around a sequence, its own included.

    In a `leaf`, a sequence inside an AND, conditions on other parts of the AND are not checked.
    """

    query: Match
    conditions: tuple[Expr, ...] = ()
    windows: tuple[p.Window, ...] = ()
    leaf: bool = False

    def inside(self, part: p.Pattern) -> EnclosingParts:
        windows = (*self.windows, *([part.within] if part.within else []))
        return replace(self, conditions=(*self.conditions, *conjuncts(part.where)), windows=windows)

    @property
    def plain_conditions(self) -> tuple[Expr, ...]:
        """The conditions but for `[id]`."""
        return tuple(condition for condition in self.conditions if not isinstance(condition, SameAttributes))

    @property
    def context(self) -> SharingContext:
        """What must agree. An `[id]` around a sequence is about all its events, negative ones too."""
        query = self.query
        sames = (condition for condition in self.conditions if isinstance(condition, SameAttributes))
        counted = any(window.unit == "EVENT" for window in self.windows)
        streams = tuple(sorted(stream.name for stream in query.streams))
        return SharingContext(
            windows=tuple(sorted(dict.fromkeys(self.windows), key=str)),
            key=tuple(sorted({attribute for same in sames for attribute in same.attributes})),
            partition=query.partition,
            strategy=query.strategy,
            streams=streams if counted or query.strategy != SelectionStrategy.ANY_MATCH else (),
        )

    def members(self, node: Node) -> tuple[tuple[Member, ...], ...]:
        """What the types in `node` stand for, in order."""
        types = {type.name: type.members for type in self.query.types}
        return tuple(types[event.type] for event in walk(node) if isinstance(event, p.Event))

    def component(self, original: p.Pattern, text: str) -> SequenceComponent:
        """A part that a match keeps, with all conditions on it alone."""
        part = neutral(original, {})
        where = conjoin(sorted(conjuncts(part.where), key=str))
        return SequenceComponent(
            replace(part, where=where), self.members(original), self.context, text, original, self.query
        )


@remembered
def own_names(part: p.Pattern) -> tuple[str, ...]:
    """The names declared in a part, in order."""
    found = (node.variable for node in all_parts(part) if isinstance(node, p.Event | p.Repeat))
    return tuple(dict.fromkeys(name for name in found if name))


def foreign_names(node: Node) -> frozenset[str]:
    """The variables that are named in `node` and declared elsewhere."""
    return names_in(node) - (declared(node) if isinstance(node, p.Pattern) else frozenset())


def neutral(node: N, outer: dict[str, str]) -> N:
    """`node` with neutral names: its own variables v1, v2 ..., those of other parts as `outer` says, types
    without a name. Of a comparison and its mirror image one is taken.

    >>> from pattern_examples import query
    >>> part = query("SEQ(A a, !(B b : b.x > a.x), C c)").pattern
    >>> print(neutral(part.parts[1], {"a": "1"}))
    !( v1 : 1.x < v1.x)
    """
    own = own_names(node) if isinstance(node, p.Pattern) else ()
    names = {name: outer.get(name, NOWHERE) for name in foreign_names(node)}
    named = renamed(node, names | {name: f"v{place}" for place, name in enumerate(own, start=1)})
    turned = transform(transform(named, _nameless), _turned)
    assert isinstance(turned, type(node))
    return turned


def _nameless(node: Node) -> Node | None:
    """An event without the name of its type: what types stand for is compared beside the part, so a concept
    with one member is that member."""
    return replace(node, type="") if isinstance(node, p.Event) else None


MIRRORED = {">": "<", ">=": "<="}
EITHER_WAY = ("=", "<>", "<=>")


def _turned(node: Node) -> Node | None:
    match node:
        case Binary(op, left, right) if op in MIRRORED:
            return replace(node, op=MIRRORED[op], left=right, right=left)
        case Binary(op, left, right) if op in EITHER_WAY and str(right) < str(left):
            return replace(node, left=right, right=left)
    return None


# How components and gaps are written: by their types, as the papers do, where no condition is lost.


def component_text(part: p.Pattern) -> str:
    """
    >>> from pattern_examples import query
    >>> [component_text(part) for part in query("SEQ(A a, (B b : b.x > 1))").pattern.parts]
    ['A', '(B b : b.x > 1)']
    """
    return part.type if isinstance(part, p.Event) and part.where is None else str(part)


def gap_text(part: p.Pattern) -> str:
    """`!B`, or `(!B, C latest)` for a C with no other C after it and no B before it.

    >>> from pattern_examples import query
    >>> gap_text(query("SEQ(A a, EXISTS c : SEQ(!B b, C c, !C c_2), D d)").pattern.parts[1])
    '(!B, C latest)'
    >>> gap_text(query("SEQ(A a, !(B b : b.x > a.x), D d)").pattern.parts[1])
    '!(B b : b.x > a.x)'
    """
    match part:
        case p.Not(inner):
            return f"!{component_text(inner)}"
        case p.Exists(_, p.Seq(parts, where=None, within=None), where=None, within=None):
            return f"({', '.join(_words(parts))})"
    return str(part)


def _words(parts: tuple[p.Pattern, ...]) -> list[str]:
    words: list[str] = []
    for place, part in enumerate(parts):
        if place and _is_another(part, parts[place - 1]):
            words[-1] += " latest"
        else:
            words.append(gap_text(part) if isinstance(part, p.Not | p.Exists) else component_text(part))
    return words


def _is_another(part: p.Pattern, before: p.Pattern) -> bool:
    """Whether `part` asks that there is no further event like the one before it."""
    match part, before:
        case p.Not(p.Event(variable=str() as second) as other), p.Event(variable=str() as first):
            return renamed(other, {second: first}) == before
    return False


# One sequence taken apart: components, gaps, and the constraints on them.


@dataclass
class SequenceParts:
    """A sequence while it is taken apart.

    `kept` are the components, `gaps` what stands before, between and after them. `conditions` are those
    between components; `single` those on one of them and `dropped` those on what EXISTS drops, by place.
    """

    around: EnclosingParts
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


def sequence(part: p.Pattern, around: EnclosingParts) -> Expression | None:
    """A SEQ, or a SEQ under EXISTS, taken apart; None when it cannot be.

    Proj around a SEQ (NEEL's normal forms) and EXISTS in a gap (what pushing a negation down makes) say the
    same. What is dropped in a gap lies strictly between the components around it, so what the gaps require is
    checked gap by gap. Not where a condition ties dropped events of two gaps together:

    >>> from pattern_examples import query
    >>> one = query("EXISTS c : SEQ(A a, !B b, C c, D d)")
    >>> two = query("SEQ(A a, EXISTS c : SEQ(!B b, C c), D d)")
    >>> first, second = (sequence(match.pattern, EnclosingParts(match)) for match in (one, two))
    >>> first.columns == second.columns
    True
    >>> tied = query("EXISTS b, d : SEQ(A a, B b, C c, D d, E e WHERE b.x = d.x)")
    >>> sequence(tied.pattern, EnclosingParts(tied)) is None
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
    taken = SequenceParts(around.inside(part))
    if not all(_place(taken, inner, dropped) for inner in part.parts):
        return None
    for condition in (*taken.around.plain_conditions, *_moved_conditions(taken)):
        _assign(taken, condition)
    columns = list(_columns(taken))
    if None in columns:
        return None
    return _expression(original, taken, [column for column in columns if column])


def whole(part: p.Pattern, around: EnclosingParts) -> Expression:
    """A pattern that cannot be taken apart, as an expression of one component."""
    original = replace(part, where=conjoin([part.where, *around.plain_conditions]))
    return Expression("", (around.component(original, str(part)),), (), targets(part), 0, part)


def _place(taken: SequenceParts, part: p.Pattern, dropped: set[str]) -> bool:
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
    """Whether a component is checked without its surroundings, but for conditions on a single event.

    The scope of a negation in it would depend on its neighbours, and so would what EXISTS may find.
    """
    if isinstance(part, p.Event):
        return True
    closed = not any(isinstance(inner, p.Not | p.Exists) for inner in all_parts(part))
    return closed and not foreign_names(part)


def _moved_conditions(taken: SequenceParts) -> Iterator[Expr]:
    """The conditions written at an event that name other events; they are taken off it."""
    for place, part in enumerate(taken.kept):
        if isinstance(part, p.Event):
            own = [c for c in conjuncts(part.where) if names_in(c) <= {part.variable}]
            yield from (c for c in conjuncts(part.where) if c not in own)
            taken.kept[place] = replace(part, where=conjoin(own))


def _assign(taken: SequenceParts, condition: Expr) -> None:
    """Put a condition where it is checked."""
    names = names_in(condition)
    places = {taken.places[name] for name in names & taken.places.keys()}
    holes = {taken.holes[name] for name in names & taken.holes.keys()}
    if taken.around.leaf and not names <= taken.places.keys() | taken.holes.keys():
        return  # the AND checks it
    for hole in holes:
        taken.dropped.setdefault(hole, []).append(condition)
    if not holes and len(places) == 1 and isinstance(taken.kept[min(places)], p.Event):
        taken.single.setdefault(min(places), []).append(condition)
    elif not holes:
        taken.conditions.append(condition)


def _columns(taken: SequenceParts) -> Iterator[Constraint | None]:
    """What the gaps require; None for what ties two gaps together."""
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


def _constraint(
    taken: SequenceParts, node: Node, needs: Iterable[int], gap: int | None, text: str
) -> Constraint:
    ordered = tuple(sorted(needs))
    outer = {
        name: f"{number}{_inner(taken.kept[place], name)}"
        for number, place in enumerate(ordered, 1)
        for name in own_names(taken.kept[place])
    }
    around = taken.around
    return Constraint(neutral(node, outer), ordered, gap, around.members(node), text, node, around.query)


def _inner(part: p.Pattern, name: str) -> str:
    """A suffix that distinguishes the variables of a composite component."""
    names = own_names(part)
    return f".{names.index(name) + 1}" if len(names) > 1 else ""


def _expression(part: p.Pattern, taken: SequenceParts, columns: list[Constraint]) -> Expression:
    components = []
    for place, kept in enumerate(taken.kept):
        original = replace(kept, where=conjoin([kept.where, *taken.single.get(place, [])]))
        components.append(taken.around.component(original, component_text(original)))
    conditions = []
    for condition in taken.conditions:
        places = {taken.places[name] for name in names_in(condition) & taken.places.keys()}
        needs = places or range(len(components))  # a condition on no event at all is checked on the whole
        conditions.append(_constraint(taken, condition, needs, None, str(condition)))
    variables = tuple(name for kept in taken.kept for name in targets(kept))
    return Expression("", tuple(components), (*conditions, *columns), variables, 0, part)


# The expressions of a query that may share work.


def expressions(query: Match, number: int = 0, first: int = 1) -> tuple[Expression, ...]:
    """The expressions of a query, named E1, E2 ... from `first` on; `number` is the query's own.

    Of a disjunction, its branches (NEEL, definition 5):

    >>> from pattern_examples import query
    >>> for found in expressions(query("OR(SEQ(A a, !B b, C c), EXISTS d : SEQ(A e, !B f, D d, C g))")):
    ...     print(found.name, found.positive, [column.text for column in found.columns])
    E1 SEQ(A, C) ['!B']
    E2 SEQ(A, C) ['(!B, D)']

    Of a conjunction and of a nested AND/SEQ expression, the SEQs in the AND (definitions 6 and 7), without
    what lies before and after them, which only the whole AND can check:

    >>> for found in expressions(query("AND(SEQ(A a, B b, !C c), SEQ(D d, E e), F f) WITHIN 9")):
    ...     print(found.name, found.slice(0, 2))
    E1 SEQ(A, B)
    E2 SEQ(D, E)

    Conditions count, wherever they were written; the names of variables do not:

    >>> one, two = expressions(query("OR(SEQ((A a : a.x > b.x), B b), SEQ(A c, B d WHERE c.x > d.x))"))
    >>> one.positive == two.positive
    True

    A condition over the whole OR is checked in every branch, with NULL for the variables of the others:

    >>> one, two = expressions(query("OR(SEQ(A a, B b), SEQ(A c, B d)) WHERE a.x > b.x"))
    >>> one.positive == two.positive
    False

    What cannot be taken apart is an expression of one component:

    >>> (found,) = expressions(query("SEQ(A a, B? b, C c)"))
    >>> print(found.positive)
    SEQ(SEQ(A a, B? b, C c))
    """
    windows = (query.within,) if query.within else ()
    found = _found(query.pattern, EnclosingParts(query, windows=windows))
    return tuple(
        replace(one, name=f"E{place}", number=number) for place, one in enumerate(found, start=first)
    )


def _found(part: p.Pattern, around: EnclosingParts) -> Iterator[Expression]:
    match part:
        case p.Or(branches):
            for branch in branches:
                yield from _found(branch, around.inside(part))
        case p.And() | p.AndNeg():
            yield from _leaves(part, around)
        case _:
            found = sequence(part, around)
            if found is None and not around.leaf:
                found = whole(part, around)
            if found is not None and len(found.components) + (not around.leaf) > 1:
                yield found
            if isinstance(part, p.Seq):
                for inner in part.parts:
                    if isinstance(inner, p.And | p.AndNeg):
                        yield from _leaves(inner, around.inside(part))


def _leaves(part: p.Pattern, around: EnclosingParts) -> Iterator[Expression]:
    """The SEQs in an AND: "the bottommost event expressions" (NEEL, IV)."""
    for inner in inner_parts(part):
        if not isinstance(inner, p.Not | p.Event):
            yield from _found(inner, replace(around.inside(part), leaf=True))
