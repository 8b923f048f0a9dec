"""From the parts of a pattern to the fragments of its automaton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.logical import Match
from neelc.ir.parts import declared, targets
from neelc.ir.show_pattern import as_written, show_window
from neelc.plan import neighbours
from neelc.plan.fragments import Fragment, Leave, Move, Place, Token, in_any_order, in_sequence, one_of
from neelc.plan.judged import Judge, Judged, Region, judged

MOST_PLACES = 15
"""Of an AND: the subsets of four events. One with more becomes a single place."""


@dataclass(frozen=True)
class Around:
    """What a part is built in: what is known before it, its neighbours, the optional parts it stands in."""

    known: frozenset[Token] = frozenset()
    left: str | None = None
    right: str | None = None
    regions: tuple[Region, ...] = ()
    dropped: frozenset[str] = frozenset()

    def inside(self, region: Region) -> Around:
        known = {region.taken} if region.group is None else {region.taken, region.decided}
        return replace(self, known=self.known | known, regions=(*self.regions, region))


@dataclass
class Builder:
    """Builds the automaton of a query, and collects its conditions on the way."""

    query: Match
    judge: Judge = field(default_factory=Judge)

    def __post_init__(self) -> None:
        self.numbers = count()

    def whole(self) -> Fragment:
        return self.part(self.query.pattern, Around())

    def part(self, part: p.Pattern, around: Around) -> Fragment:
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

    def _collect(self, part: p.Pattern, around: Around) -> None:
        for conjunct in conjuncts(part.where):
            if isinstance(conjunct, e.Same):
                self.judge.conditions.append(Judged(str(conjunct), among=declared(part)))
            else:
                self.judge.conditions.append(judged(conjunct, around.regions))
        if part.within and len(targets(part)) > 1:
            names = neighbours.listed(targets(part))
            needs = frozenset(("value", name) for name in targets(part))
            text = f"{names} within {show_window(part.within)}"
            self.judge.conditions.append(Judged(text, needs, around.regions))

    def _event(self, kind: str, variable: str, around: Around) -> Fragment:
        self._settle(variable, around)
        number = next(self.numbers)
        place = Place((variable,), around.known | {("value", variable)})
        text = kind if kind == variable else f"{kind} {variable}"
        move = Move(number, text, variable, dropped=variable in around.dropped)
        return Fragment({number: place}, (move,), (), {number: Leave()})

    def _sequence(self, parts: tuple[p.Pattern, ...], around: Around) -> Fragment:
        fragments = []
        known = around.known
        for at, part in enumerate(parts):
            left = neighbours.before(parts[:at], around.left)
            right = neighbours.after(parts[at + 1 :], around.right)
            fragments.append(self.part(part, replace(around, known=known, left=left, right=right)))
            known |= decided(part)
        return in_sequence(fragments)

    def _all(self, part: p.Pattern, parts: tuple[p.Pattern, ...], around: Around) -> Fragment:
        inner = [around] * len(parts)
        if isinstance(part, p.AndNeg):
            inner = [_between(parts, at, around) for at in range(len(parts))]
        fragments = [self.part(one, its) for one, its in zip(parts, inner, strict=True)]
        if prod(len(fragment.places) + 1 for fragment in fragments) - 1 <= MOST_PLACES:
            return in_any_order(fragments, self.numbers)
        return self._summary(part, fragments, around)

    def _summary(self, part: p.Pattern, fragments: list[Fragment], around: Around) -> Fragment:
        """One place for an AND of which all the orders would be too many to look at."""
        number = next(self.numbers)
        events = neighbours.listed([entry.event for fragment in fragments for entry in fragment.entries])
        names = tuple(name for name in targets(part) if name not in around.dropped)
        place = Place((neighbours.listed(names),), around.known | decided(part))
        guards = tuple(guard for f in fragments if f.around for guard in f.around.guards)
        move = Move(number, f"{events}, in any order", "")
        return Fragment({number: place}, (move,), (), {number: Leave(guards)})

    def _branches(self, parts: tuple[p.Pattern, ...], around: Around) -> Fragment:
        """What is bound in the branches not taken is NULL, and their conditions are not judged."""
        group = next(self.numbers)
        regions = [self._region(branch, group) for branch in parts]
        return one_of(
            [self.part(branch, around.inside(region)) for branch, region in zip(parts, regions, strict=True)]
        )

    def _optional(self, inner: p.Pattern, around: Around) -> Fragment:
        region = self._region(inner)
        fragment = self.part(inner, around.inside(region))
        known = absent(targets(inner)) | {region.left_out}
        return replace(fragment, around=Leave(without=targets(inner), known=known))

    def _region(self, part: p.Pattern, group: int | None = None) -> Region:
        return Region(next(self.numbers), next(iter(targets(part)), str(part)), group)

    def _settle(self, variable: str, around: Around) -> None:
        """Note where a variable is declared."""
        self.judge.homes.setdefault(variable, []).append(around.regions)

    def _repeat(self, part: p.Repeat, around: Around) -> Fragment:
        name = part.variable or ""
        self._settle(name, around)
        before = f"the {name}[] before"
        left = f"{around.left} or {before}" if around.left else before
        fragment = self._body(part, name, replace(around, left=left if part.most != 1 else around.left))
        own = frozenset((kind, inner) for kind in ("value", "element") for inner in declared(part.part))
        again = [
            replace(entry.after(end, leave), kind="again", forget=own | {("element", name)})
            for end, leave in fragment.exits.items()
            for entry in fragment.entries
            if part.most != 1
        ]
        if part.most is not None:
            limit = (f"count({name}[]) < {part.most}",)
            again = [replace(move, conditions=limit + move.conditions) for move in again]
        enough = Leave(conditions=(f"count({name}[]) >= {part.least}",) if part.least > 1 else ())
        return replace(
            fragment,
            entries=tuple(replace(entry, begins=entry.begins | {name}) for entry in fragment.entries),
            moves=(*fragment.moves, *again),
            exits={end: leave + enough for end, leave in fragment.exits.items()},
            around=Leave(without=(f"{name}[]",), known=absent([name])) if part.least == 0 else None,
        )

    def _body(self, part: p.Repeat, name: str, around: Around) -> Fragment:
        """One iteration. The list itself is known only when it is left."""
        if not isinstance(part.part, p.Event):
            found = self.part(part.part, around)
            places = found.places.items()
            named = {n: replace(place, names=(*place.names, f"{name}[]")) for n, place in places}
            return replace(found, places=named)
        self._collect(part.part, around)
        number = next(self.numbers)
        place = Place((f"{name}[]",), around.known | {("element", name)})
        move = Move(number, f"{part.part.type} {name}[i]", name, dropped=name in around.dropped)
        return Fragment({number: place}, (move,), (), {number: Leave()})


def decided(part: p.Pattern) -> frozenset[Token]:
    """What is known once a part has been passed: every variable in it is bound, or absent for good."""
    return frozenset((kind, name) for kind in ("value", "element") for name in declared(part))


def absent(names: Iterable[str]) -> frozenset[Token]:
    """What is known where these variables stay NULL."""
    return frozenset((kind, name) for kind in ("value", "element", "absent") for name in names)


def _remark(part: p.Pattern, around: Around) -> Fragment:
    """A part that binds nothing: it says what is missing, or what exists."""
    word = "some"
    while isinstance(part, p.Not):
        word, part = {"some": "no", "no": "some"}[word], part.part
    text = str(as_written(part))
    return Fragment(around=Leave((f"{word} {text} {neighbours.where(around.left, around.right)}",)))


def _between(parts: tuple[p.Pattern, ...], at: int, around: Around) -> Around:
    """Where a part of AND_NEG looks: a negative one strictly between its two positive neighbours."""
    if not isinstance(parts[at], p.Not):
        return around
    left, right = neighbours.before(parts[:at], None), neighbours.after(parts[at + 1 :], None)
    return replace(around, left=left, right=right)
