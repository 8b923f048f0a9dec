"""The automaton of a pattern, for people: which event leads where, and what is checked on the way.

A state is a point in a match: what was taken last. There is an edge for each event that can come next, with
all conditions that can be checked as soon as that event is there. It is a picture of the pattern, not the
program that runs: negations and existence are shown as remarks on the edge after which they are decided.

>>> from pattern_examples import query
>>> print(automaton(query("SEQ(A a, !C c, B+ b[]) WHERE b[i].x > a.x AND count(b[]) > 2 WITHIN 10")))
(0) begin
      A a        -> (1)
(1) after a
      B b[i]     -> (2)
        if b[i].x > a.x
        if no C c between a and the first b[]
      any event  -> (1)  ignored
(2) in b[]: match
        if count(b[]) > 2
      B b[i]     -> (2)  again
        if b[i].x > a.x
      any event  -> (2)  ignored
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import count, product
from math import prod

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts
from neelc.ir.node import Node, children, walk
from neelc.ir.patterns import declared, inner_parts, may_be_empty, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.print_patterns import as_written, show_window

# Pieces of an automaton, and how they are put together.
#
# The construction is Glushkov's: a place for each component, no empty moves. A fragment has ways in, ways
# out and, if it can be passed over, a way around it. A part that binds nothing, such as a negation, has no
# places: only a way around it, with a remark.

Token = tuple[str, str]
"""What is known at a place: the `value` of a variable, an `element` of a list, a variable that is `absent`, a
part that was `taken` or `left out`."""


@dataclass(frozen=True)
class DraftState:
    """A state in the making: what was bound on the way and all that is known there."""

    names: tuple[str, ...]
    known: frozenset[Token]

    @property
    def label(self) -> str:
        """
        >>> DraftState(("a",), frozenset()).label, DraftState(("a", "b[]"), frozenset()).label
        ('after a', 'after a and in b[]')
        """
        return " and ".join(f"in {name}" if name.endswith("[]") else f"after {name}" for name in self.names)


@dataclass(frozen=True)
class FragmentExit:
    """What comes with leaving a fragment, or with passing it over."""

    guards: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known: frozenset[Token] = frozenset()

    def __add__(self, other: FragmentExit) -> FragmentExit:
        return FragmentExit(
            self.guards + other.guards,
            self.conditions + other.conditions,
            self.without + other.without,
            self.known | other.known,
        )


@dataclass(frozen=True)
class AutomatonMove:
    """A step to `target`, from `source`, or from whatever comes before when it is None.

    `again` moves `forget` what belongs to the iteration before; `begins` are the lists whose first
    element this is. `known` is what the move itself decides.
    """

    target: int
    event: str
    variable: str
    source: int | None = None
    kind: str = "take"
    dropped: bool = False
    guards: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known: frozenset[Token] = frozenset()
    forget: frozenset[Token] = frozenset()
    begins: frozenset[str] = frozenset()

    def after(self, source: int | None, leave: FragmentExit) -> AutomatonMove:
        """The same step, taken after leaving `source`."""
        return replace(
            self,
            source=source,
            guards=leave.guards + self.guards,
            conditions=leave.conditions + self.conditions,
            without=leave.without + self.without,
            known=leave.known | self.known,
        )


@dataclass(frozen=True)
class Fragment:
    """`entries` are moves without a source; `around` is None if the fragment cannot be passed over."""

    places: Mapping[int, DraftState] = field(default_factory=dict)
    entries: tuple[AutomatonMove, ...] = ()
    moves: tuple[AutomatonMove, ...] = ()
    exits: Mapping[int, FragmentExit] = field(default_factory=dict)
    around: FragmentExit | None = None


def in_sequence(fragments: Sequence[Fragment]) -> Fragment:
    """One after the other."""
    places: dict[int, DraftState] = {}
    entries: list[AutomatonMove] = []
    moves: list[AutomatonMove] = []
    ends: dict[int | None, FragmentExit] = {None: FragmentExit()}
    for fragment in fragments:
        places |= fragment.places
        moves += fragment.moves
        for source, leave in ends.items():
            steps = [entry.after(source, leave) for entry in fragment.entries]
            (entries if source is None else moves).extend(steps)
        around = fragment.around
        ends = {} if around is None else {source: leave + around for source, leave in ends.items()}
        ends.update(fragment.exits.items())
    exits = {source: leave for source, leave in ends.items() if source is not None}
    return Fragment(places, tuple(entries), tuple(moves), exits, ends.get(None))


def one_of(fragments: Sequence[Fragment]) -> Fragment:
    """One or another."""
    return Fragment(
        {number: place for fragment in fragments for number, place in fragment.places.items()},
        tuple(entry for fragment in fragments for entry in fragment.entries),
        tuple(move for fragment in fragments for move in fragment.moves),
        {number: leave for fragment in fragments for number, leave in fragment.exits.items()},
        next((fragment.around for fragment in fragments if fragment.around is not None), None),
    )


def in_any_order(fragments: Sequence[Fragment], numbers: Iterator[int]) -> Fragment:
    """All of them, their steps in any order: a place for each combination of their places.

    For single events these are the subsets of those that were taken.
    """
    choices = [(None, *fragment.places) for fragment in fragments]
    combined = {both: next(numbers) for both in product(*choices) if _is_begun(both)}
    entries = [
        replace(entry, target=combined[_put((None,) * len(fragments), at, entry.target)])
        for at, fragment in enumerate(fragments)
        for entry in fragment.entries
    ]
    moves = [
        replace(move, source=number, target=combined[_put(combination, at, move.target)])
        for combination, number in combined.items()
        for at, fragment in enumerate(fragments)
        for move in _steps(fragment, combination[at])
    ]
    exits = {
        number: leave
        for combination, number in combined.items()
        if (leave := _left(fragments, combination)) is not None
    }
    places = {number: _joined(fragments, combination) for combination, number in combined.items()}
    around = _left(fragments, (None,) * len(fragments))
    return Fragment(places, tuple(entries), tuple(moves), exits, around)


Combination = tuple[int | None, ...]


def _is_begun(combination: Combination) -> bool:
    return any(place is not None for place in combination)


def _put(combination: Combination, at: int, place: int) -> Combination:
    return (*combination[:at], place, *combination[at + 1 :])


def _steps(fragment: Fragment, place: int | None) -> Iterator[AutomatonMove]:
    steps = fragment.entries if place is None else fragment.moves
    return (move for move in steps if move.source == place)


def _left(fragments: Sequence[Fragment], combination: Combination) -> FragmentExit | None:
    """What comes with leaving all of them at these places; None if one of them is not complete there."""
    leave = FragmentExit()
    for fragment, place in zip(fragments, combination, strict=True):
        own = fragment.around if place is None else fragment.exits.get(place)
        if own is None:
            return None
        leave += own
    return leave


def _joined(fragments: Sequence[Fragment], combination: Combination) -> DraftState:
    pairs = zip(fragments, combination, strict=True)
    places = [fragment.places[place] for fragment, place in pairs if place is not None]
    names = tuple(name for place in places for name in place.names)
    return DraftState(names, frozenset().union(*(place.known for place in places)))


# When a condition of a pattern can be checked: as soon as everything it names is known.


@dataclass(frozen=True)
class OptionalRegion:
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
class AutomatonCondition:
    """A condition and what it needs.

    `regions` are the optional parts it stands in. `previous` are the lists whose earlier elements it
    names: for the first element it holds by definition. An `[id]` is checked whenever another event of
    `among` is taken.
    """

    text: str
    needs: frozenset[Token] = frozenset()
    regions: tuple[OptionalRegion, ...] = ()
    previous: frozenset[str] = frozenset()
    among: frozenset[str] = frozenset()

    def applies(self, known: frozenset[Token]) -> bool:
        """Whether it is checked at all: not if a part that it stands in is left out."""
        return not any(region.is_left_out(known) for region in self.regions)


def automaton_condition(condition: e.Expr, regions: tuple[OptionalRegion, ...] = ()) -> AutomatonCondition:
    """
    >>> from pattern_examples import query
    >>> found = automaton_condition(query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x + a.x").pattern.where)
    >>> sorted(found.needs), sorted(found.previous)
    ([('element', 'b'), ('value', 'a')], ['b'])
    """
    earlier = frozenset(
        ref.base.name
        for ref in walk(condition)
        if isinstance(ref, e.ListElement | e.EveryElement)
        and isinstance(ref.base, e.Variable)
        and _is_earlier(ref)
    )
    return AutomatonCondition(str(condition), frozenset(_needs(condition)), regions, earlier)


def _is_earlier(ref: e.ListElement | e.EveryElement) -> bool:
    index = ref.index if isinstance(ref, e.ListElement) else ref.upper
    return index is not None and index.anchor == "CURRENT" and index.offset < 0


def _needs(node: Node) -> Iterator[Token]:
    match node:
        case e.InnerVariable(e.ListElement(e.Variable(), e.Index("CURRENT", 0)), name):
            yield ("value", name)  # of this iteration
        case e.InnerVariable(e.ListElement(e.Variable(), e.Index("CURRENT"))):
            return  # of an iteration before
        case e.ListElement(e.Variable(name), e.Index("CURRENT")) | e.ListElement(
            e.Variable(name), e.Index("FIRST", 0)
        ):
            yield ("element", name)
        case e.EveryElement(e.Variable(name), e.Index("CURRENT")):
            yield ("element", name)
        case e.Variable(name):
            yield ("value", name)
        case _:
            for child in children(node):
                yield from _needs(child)


@dataclass
class PatternConditions:
    """All conditions of a pattern, and for each variable the optional parts that it is declared in: several
    times if branches of an OR share it."""

    conditions: list[AutomatonCondition] = field(default_factory=list)
    homes: dict[str, list[tuple[OptionalRegion, ...]]] = field(default_factory=dict)

    def at(self, move: AutomatonMove, whole: Fragment) -> tuple[str, ...]:
        """The conditions that can be checked when the move is made, and not before."""
        base = (frozenset() if move.source is None else whole.places[move.source].known) - move.forget
        then = whole.places[move.target].known | move.known
        known = base | then
        applicable = [condition for condition in self.conditions if condition.applies(known)]
        new = [condition for condition in applicable if self._is_new(condition, move, base, then)]
        return tuple(self._text(condition, known) for condition in new)

    def at_the_end(self, place: int, whole: Fragment) -> tuple[str, ...]:
        """The conditions that can only be checked when it is known that the match ends here."""
        known = whole.places[place].known
        all_known = known | whole.exits[place].known
        applicable = [condition for condition in self.conditions if condition.applies(all_known)]
        late = [condition for condition in applicable if not self._decides(known, condition)]
        return tuple(self._text(condition, all_known) for condition in late)

    def _is_new(
        self,
        condition: AutomatonCondition,
        move: AutomatonMove,
        base: frozenset[Token],
        then: frozenset[Token],
    ) -> bool:
        if condition.among:
            others = (name for kind, name in base if kind in ("value", "element"))
            return move.variable in condition.among and (
                move.kind == "again" or any(name in condition.among for name in others)
            )
        if not condition.needs:
            return move.source is None
        first = bool(condition.previous & move.begins)
        return not first and self._decides(then, condition) and not self._decides(base, condition)

    def _decides(self, known: frozenset[Token], condition: AutomatonCondition) -> bool:
        return all(token in known or self._is_absent(token[1], known) for token in condition.needs)

    def _is_absent(self, name: str, known: frozenset[Token]) -> bool:
        """Whether a variable is known to stay NULL."""
        homes = self.homes.get(name, ())
        return ("absent", name) in known or (
            bool(homes) and all(any(region.is_left_out(known) for region in home) for home in homes)
        )

    def _text(self, condition: AutomatonCondition, known: frozenset[Token]) -> str:
        """The text of a condition and what it depends on."""
        absent = sorted(name for _, name in condition.needs if self._is_absent(name, known))
        may_lack = [region.name for region in condition.regions if region.taken not in known]
        if absent:
            return f"{condition.text}, where {absent[0]} is NULL"
        return f"{condition.text}, where {may_lack[-1]} is there" if may_lack else condition.text


# How the neighbours of a part are called: what a negation says it lies between.


def before(parts: Sequence[p.Pattern], outside: str | None) -> str | None:
    """What ends last before a part that follows `parts`; `outside` is what lies before all of them.

    >>> from neelc.syntax import pattern
    >>> before([pattern("A a"), pattern("SEQ(B b, C+ c[])"), pattern("!D d")], None)
    'the last c[]'
    >>> before([pattern("A a"), pattern("B? b")], None)
    'a (or b, if there is one)'
    """
    return _nearest(reversed(parts), "last", outside)


def after(parts: Sequence[p.Pattern], outside: str | None) -> str | None:
    """What starts first after a part that `parts` follow.

    >>> from neelc.syntax import pattern
    >>> after([pattern("AND(A a, B b)"), pattern("C c")], None)
    'the first of a and b'
    """
    return _nearest(iter(parts), "first", outside)


def _nearest(parts: Iterator[p.Pattern], side: str, outside: str | None) -> str | None:
    optional: list[str] = []
    for part in parts:
        if name := _name(part, side):
            if not may_be_empty(part):
                return _with_optional(name, optional)
            optional.append(name)
    return _with_optional(outside, optional) if outside or optional else None


def _with_optional(name: str | None, optional: Sequence[str]) -> str:
    if not optional:
        return name or ""
    others = f"{' or '.join(optional)}, if there is one"
    return f"{name} (or {others})" if name else others


def _name(part: p.Pattern, side: str, dropped: frozenset[str] = frozenset()) -> str | None:
    """The event of a part that is the first, or the last; None if it binds none."""
    match part:
        case p.Not():
            return None
        case p.Event(variable=variable):
            return None if variable in dropped else variable
        case p.Repeat(variable=variable):
            return None if variable in dropped else f"the {side} {variable}[]"
        case p.Exists(variables, inner):
            return _name(inner, side, dropped | set(variables))
        case p.Seq(parts):
            ordered = parts if side == "first" else tuple(reversed(parts))
            return next((name for inner in ordered if (name := _name(inner, side, dropped))), None)
        case p.Or(parts):
            return " or ".join(name for inner in parts if (name := _name(inner, side, dropped))) or None
        case p.Joint():
            names = [name for name in targets(part) if name not in dropped]
            return f"the {side} of {listed(names)}" if len(names) > 1 else names[0] if names else None
    return next((_name(inner, side, dropped) for inner in inner_parts(part)), None)


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def where(left: str | None, right: str | None) -> str:
    """Where something lies that has these neighbours.

    >>> where("a", "b"), where(None, "b"), where("a", None)
    ('between a and b', 'before b, as far as the window reaches', 'after a, as far as the window reaches')
    """
    reach = "as far as the window reaches"
    match left, right:
        case None, None:
            return "in the same window"
        case None, _:
            return f"before {right}, {reach}"
        case _, None:
            return f"after {left}, {reach}"
    return f"between {left} and {right}"


# From the parts of a pattern to the fragments of its automaton.

MOST_PLACES = 15
"""Of an AND: the subsets of four events. One with more becomes a single place."""


@dataclass(frozen=True)
class FragmentContext:
    """What a part is built in: what is known before it, its neighbours, the optional parts it stands in."""

    known: frozenset[Token] = frozenset()
    left: str | None = None
    right: str | None = None
    regions: tuple[OptionalRegion, ...] = ()
    dropped: frozenset[str] = frozenset()

    def inside(self, region: OptionalRegion) -> FragmentContext:
        known = {region.taken} if region.group is None else {region.taken, region.decided}
        return replace(self, known=self.known | known, regions=(*self.regions, region))


@dataclass
class AutomatonBuilder:
    """Builds the automaton of a query, and collects its conditions on the way."""

    query: Match
    conditions: PatternConditions = field(default_factory=PatternConditions)

    def __post_init__(self) -> None:
        self.numbers = count()

    def whole(self) -> Fragment:
        return self.part(self.query.pattern, FragmentContext())

    def part(self, part: p.Pattern, around: FragmentContext) -> Fragment:
        if not isinstance(part, p.Not):
            self._collect(part, around)
        match part:
            case p.Event(kind, variable):
                return self._event(kind, variable or "", around)
            case p.Seq(parts):
                return self._sequence(parts, around)
            case p.And(parts) | p.AndNeg(parts):
                return self._all(part, parts, around)
            case p.Or(parts):
                return self._branches(parts, around)
            case p.Not():
                return _remark(part, around)
            case p.Exists(variables, inner):
                if not set(targets(inner)) - set(variables):
                    return _remark(inner, around)
                return self.part(inner, replace(around, dropped=around.dropped | set(variables)))
            case p.Optional(inner):
                return self._optional(inner, around)
            case p.Repeat():
                return self._repeat(part, around)
        raise AssertionError(f"{type(part).__name__} is not a pattern")

    def _collect(self, part: p.Pattern, around: FragmentContext) -> None:
        for conjunct in conjuncts(part.where):
            if isinstance(conjunct, e.SameAttributes):
                self.conditions.conditions.append(AutomatonCondition(str(conjunct), among=declared(part)))
            else:
                self.conditions.conditions.append(automaton_condition(conjunct, around.regions))
        if part.within and len(targets(part)) > 1:
            names = listed(targets(part))
            needs = frozenset(("value", name) for name in targets(part))
            text = f"{names} within {show_window(part.within)}"
            self.conditions.conditions.append(AutomatonCondition(text, needs, around.regions))

    def _event(self, kind: str, variable: str, around: FragmentContext) -> Fragment:
        self._settle(variable, around)
        number = next(self.numbers)
        place = DraftState((variable,), around.known | {("value", variable)})
        text = kind if kind == variable else f"{kind} {variable}"
        move = AutomatonMove(number, text, variable, dropped=variable in around.dropped)
        return Fragment({number: place}, (move,), (), {number: FragmentExit()})

    def _sequence(self, parts: tuple[p.Pattern, ...], around: FragmentContext) -> Fragment:
        fragments = []
        known = around.known
        for at, part in enumerate(parts):
            left = before(parts[:at], around.left)
            right = after(parts[at + 1 :], around.right)
            fragments.append(self.part(part, replace(around, known=known, left=left, right=right)))
            known |= decided(part)
        return in_sequence(fragments)

    def _all(self, part: p.Pattern, parts: tuple[p.Pattern, ...], around: FragmentContext) -> Fragment:
        inner = [around] * len(parts)
        if isinstance(part, p.AndNeg):
            inner = [_between(parts, at, around) for at in range(len(parts))]
        fragments = [self.part(one, its) for one, its in zip(parts, inner, strict=True)]
        if prod(len(fragment.places) + 1 for fragment in fragments) - 1 <= MOST_PLACES:
            return in_any_order(fragments, self.numbers)
        return self._summary(part, fragments, around)

    def _summary(self, part: p.Pattern, fragments: list[Fragment], around: FragmentContext) -> Fragment:
        """One place for an AND that has too many orders to show."""
        number = next(self.numbers)
        events = listed([entry.event for fragment in fragments for entry in fragment.entries])
        names = tuple(name for name in targets(part) if name not in around.dropped)
        place = DraftState((listed(names),), around.known | decided(part))
        guards = tuple(guard for f in fragments if f.around for guard in f.around.guards)
        move = AutomatonMove(number, f"{events}, in any order", "")
        return Fragment({number: place}, (move,), (), {number: FragmentExit(guards)})

    def _branches(self, parts: tuple[p.Pattern, ...], around: FragmentContext) -> Fragment:
        """What is bound in the branches not taken is NULL, and their conditions are not checked."""
        group = next(self.numbers)
        regions = [self._region(branch, group) for branch in parts]
        return one_of(
            [self.part(branch, around.inside(region)) for branch, region in zip(parts, regions, strict=True)]
        )

    def _optional(self, inner: p.Pattern, around: FragmentContext) -> Fragment:
        region = self._region(inner)
        fragment = self.part(inner, around.inside(region))
        known = absent(targets(inner)) | {region.left_out}
        return replace(fragment, around=FragmentExit(without=targets(inner), known=known))

    def _region(self, part: p.Pattern, group: int | None = None) -> OptionalRegion:
        return OptionalRegion(next(self.numbers), next(iter(targets(part)), str(part)), group)

    def _settle(self, variable: str, around: FragmentContext) -> None:
        """Note where a variable is declared."""
        self.conditions.homes.setdefault(variable, []).append(around.regions)

    def _repeat(self, part: p.Repeat, around: FragmentContext) -> Fragment:
        name = part.variable or ""
        self._settle(name, around)
        before = f"the {name}[] before"
        left = f"{around.left} or {before}" if around.left else before
        fragment = self._body(part, name, replace(around, left=left if part.most != 1 else around.left))
        own = frozenset((kind, inner) for kind in ("value", "element") for inner in declared(part.part))
        again = [
            _guarded(
                replace(entry.after(end, leave), kind="again", forget=own | {("element", name)}),
                _gaps(part, around, is_first=False),
            )
            for end, leave in fragment.exits.items()
            for entry in fragment.entries
            if part.most != 1
        ]
        if part.most is not None:
            limit = (f"count({name}[]) < {part.most}",)
            again = [replace(move, conditions=limit + move.conditions) for move in again]
        enough = FragmentExit(conditions=(f"count({name}[]) >= {part.least}",) if part.least > 1 else ())
        return replace(
            fragment,
            entries=tuple(
                _guarded(replace(entry, begins=entry.begins | {name}), _gaps(part, around, is_first=True))
                for entry in fragment.entries
            ),
            moves=(*fragment.moves, *again),
            exits={end: leave + enough for end, leave in fragment.exits.items()},
            around=FragmentExit(without=(f"{name}[]",), known=absent([name])) if part.least == 0 else None,
        )

    def _body(self, part: p.Repeat, name: str, around: FragmentContext) -> Fragment:
        """One iteration. The list itself is known only when it is left."""
        if not isinstance(part.part, p.Event):
            found = self.part(part.part, around)
            places = found.places.items()
            named = {n: replace(place, names=(*place.names, f"{name}[]")) for n, place in places}
            return replace(found, places=named)
        self._collect(part.part, around)
        number = next(self.numbers)
        place = DraftState((f"{name}[]",), around.known | {("element", name)})
        move = AutomatonMove(number, f"{part.part.type} {name}[i]", name, dropped=name in around.dropped)
        return Fragment({number: place}, (move,), (), {number: FragmentExit()})


def _guarded(move: AutomatonMove, guards: Iterable[str]) -> AutomatonMove:
    return replace(move, guards=(*move.guards, *guards))


def _gaps(part: p.Repeat, around: FragmentContext, is_first: bool) -> Iterator[str]:
    """What must be missing before the first element of a list, or before each of the others."""
    name = f"{part.variable}[]"
    if part.each_within is not None and not is_first:
        yield f"within {show_window(part.each_within)} of the {name} before"
    since = {
        p.GapReach.FIRST: around.left if is_first else None,
        p.GapReach.UNTIL: around.left,
        p.GapReach.EACH: None if is_first else f"the {name} before",
        p.GapReach.WITHOUT: None if is_first else f"the first {name}",
    }
    for gap in part.gaps:
        if (start := since[gap.reach]) is not None:
            yield f"no {as_written(gap.part)} after {start}"


def decided(part: p.Pattern) -> frozenset[Token]:
    """What is known once a part has been passed: every variable in it is bound, or absent for good."""
    return frozenset((kind, name) for kind in ("value", "element") for name in declared(part))


def absent(names: Iterable[str]) -> frozenset[Token]:
    """What is known where these variables stay NULL."""
    return frozenset((kind, name) for kind in ("value", "element", "absent") for name in names)


def _remark(part: p.Pattern, around: FragmentContext) -> Fragment:
    """A part that binds nothing: it says what is missing, or what exists."""
    word = "some"
    while isinstance(part, p.Not):
        word, part = {"some": "no", "no": "some"}[word], part.part
    text = str(as_written(part))
    return Fragment(around=FragmentExit((f"{word} {text} {where(around.left, around.right)}",)))


def _between(parts: tuple[p.Pattern, ...], at: int, around: FragmentContext) -> FragmentContext:
    """Where a part of AND_NEG looks: a negative one strictly between its two positive neighbours."""
    if not isinstance(parts[at], p.Not):
        return around
    left, right = before(parts[:at], None), after(parts[at + 1 :], None)
    return replace(around, left=left, right=right)


IGNORED = {
    SelectionStrategy.ANY_MATCH: "any event",
    SelectionStrategy.NEXT_MATCH: "an event that fits no edge",
    SelectionStrategy.PARTITION: "an event of another partition",
}
"""What a run that waits may pass over. Under STRICT CONTIGUITY that is nothing."""


@dataclass(frozen=True)
class AutomatonState:
    """A point in a match. `checks` are what must hold for a match to end here; state 0 is the begin."""

    number: int
    label: str
    accepts: bool = False
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """`event` is what is taken: a type and a variable. `kind` is in KINDS.

    `conditions` compare events; `guards` tell what must be missing, or exist, before the event. `without`
    are the variables of optional parts that are passed over. A `dropped` event is not part of the result.
    """

    source: int
    target: int
    kind: str
    event: str
    conditions: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    dropped: bool = False

    @property
    def tests(self) -> tuple[str, ...]:
        """All that must hold for the edge to be taken."""
        return (*self.conditions, *self.guards)

    @property
    def text(self) -> str:
        return self.event + (f", without {', '.join(self.without)}" if self.without else "")


KINDS = ("take", "again", "ignore")
"""An event of the next component; another one for a repetition; one that is passed over."""


@dataclass(frozen=True)
class Automaton:
    """States by number and edges by source; `window` is what ends a run that is not complete by then."""

    states: tuple[AutomatonState, ...]
    edges: tuple[Edge, ...]
    strategy: SelectionStrategy
    window: str | None = None

    def leaving(self, state: AutomatonState) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == state.number)

    def __str__(self) -> str:
        return "\n".join(line for state in self.states for line in _lines(self, state))


def automaton(query: Match) -> Automaton:
    """The automaton of a bound query."""
    builder = AutomatonBuilder(query)
    whole = builder.whole()
    numbers = _numbers(whole)
    edges = [_edge(builder, whole, move, numbers) for move in (*whole.entries, *whole.moves)]
    waiting = {edge.source for edge in edges} - {0}
    if event := IGNORED.get(query.strategy):
        edges += [Edge(number, number, "ignore", event) for number in waiting]
    edges.sort(key=lambda edge: (edge.source, KINDS.index(edge.kind), edge.target))
    begin = AutomatonState(0, "begin")
    states = [begin, *(_state(builder, whole, place, number) for place, number in numbers.items())]
    window = str(query.within) if query.within else None
    return Automaton(tuple(states), tuple(edges), query.strategy, window)


def _numbers(whole: Fragment) -> dict[int, int]:
    """The places in the order a match can come to them, from 1."""
    leading: dict[int | None, list[int]] = {}
    for move in (*whole.entries, *whole.moves):
        leading.setdefault(move.source, []).append(move.target)
    found = dict.fromkeys(leading[None])
    queue = list(found)
    for place in queue:
        new = [target for target in leading.get(place, ()) if target not in found]
        found.update(dict.fromkeys(new))
        queue += dict.fromkeys(new)
    return {place: number for number, place in enumerate(found, 1)}


def _edge(builder: AutomatonBuilder, whole: Fragment, move: AutomatonMove, numbers: dict[int, int]) -> Edge:
    source = 0 if move.source is None else numbers[move.source]
    conditions = (*builder.conditions.at(move, whole), *move.conditions)
    return Edge(
        source,
        numbers[move.target],
        move.kind,
        move.event,
        conditions,
        move.guards,
        move.without,
        move.dropped,
    )


def _state(builder: AutomatonBuilder, whole: Fragment, place: int, number: int) -> AutomatonState:
    label = whole.places[place].label
    if place not in whole.exits:
        return AutomatonState(number, label)
    leave = whole.exits[place]
    checks = (*builder.conditions.at_the_end(place, whole), *leave.conditions, *leave.guards)
    return AutomatonState(number, label, True, checks)


_REMARKS = {"take": "", "again": "  again", "ignore": "  ignored"}


def _lines(self: Automaton, state: AutomatonState) -> list[str]:
    """A state and the edges that leave it."""
    width = max(len(edge.text) for edge in self.edges)
    lines = [f"({state.number}) {state.label}" + (": match" if state.accepts else "")]
    lines += [f"        if {check}" for check in state.checks]
    for edge in self.leaving(state):
        remark = _REMARKS[edge.kind] + ("  dropped" if edge.dropped else "")
        lines.append(f"      {edge.text.ljust(width)}  -> ({edge.target}){remark}")
        lines += [f"        if {test}" for test in edge.tests]
    return lines
