"""How the matches of a pattern grow, event by event: NEEL+'s costs of computing, over any pattern.

A pattern is searched in the order in which it is written. Each step tries the partial matches so far with
all events in the window that the key leaves, and keeps those that are in order and meet what can be judged
(push-in, 5.4). The negations of a region are checked last. Bindings are counted for one window;
`Setting.occurrences` makes the number for the whole input of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp

from neelc.cost.closure import closure
from neelc.cost.dropped import constrained, is_filter, is_latest, without
from neelc.cost.gaps import Gap, occurs, room
from neelc.cost.region import Judged, Region
from neelc.cost.setting import Setting
from neelc.cost.steps import CHECK, EXTEND, Frame, Place, Step, order_of
from neelc.cost.ways import NOTHING, Ways, either, events, logarithm, widened
from neelc.cost.weights import HOLD, LOOK_UP, TRY, comparisons_work
from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.names import bare
from neelc.ir.parts import declared, targets


@dataclass(frozen=True)
class Grown:
    """The ways of a part in one window, and before negations and existence were checked."""

    ways: Ways
    unchecked: Ways


@dataclass
class Growth:
    """Collects the steps of a search.

    One event of each type a second, and windows of 10: 10 A, 10 * 10 / 2 pairs. Of the gaps between the two,
    about one in ten has no N in it.

    >>> from neelc.cost.ledger import Ledger
    >>> from neelc.cost.statistics import Statistics
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, !N n, B b) WITHIN 10 SECONDS")
    >>> setting = Setting(Ledger(match, Statistics()))
    >>> search = Growth(setting)
    >>> found = search.region(Region(setting, match.pattern), Place())
    >>> for step in search.steps:
    ...     print(step.kind, step.what, round(step.tried.number, 1), round(step.kept.number, 1))
    extend A a 10.0 10.0
    extend B b 50.0 50.0
    check !N n 50.0 4.8
    """

    setting: Setting
    steps: list[Step] = field(default_factory=list)

    def region(self, region: Region, at: Place) -> Grown:
        """All of a region: its positive parts, what is judged at the end, its negations."""
        ways = self.part(region, region.part, at)
        self._judge(region, region.rest(), "conditions judged at the end", ways, at)
        unchecked = ways.plus(region.log)
        for part, gap, same in region.filters:
            share, work = self._checked(region, part, gap, same)
            tried = ways.plus(region.log)
            region.log += logarithm(share)
            kept = ways.plus(region.log)
            self.steps.append(Step(CHECK, str(part), at.total(tried), at.total(kept), work=work))
        return Grown(ways.plus(region.log), unchecked)

    def part(self, region: Region, part: p.Pattern, at: Place) -> Ways:
        """The ways of a part, the share that the region's conditions leave apart."""
        match part:
            case p.Event():
                return self._event(region, part, at)
            case p.Seq() | p.And() | p.AndNeg():
                return self._listed(region, part, at)
            case p.Repeat(p.Event(type)):
                own = events(self.setting.count(type) * at.window)
                return self._repeated(region, part, own, at)
            case p.Repeat(inner):
                grown = self._inner(region, inner, self._under(part, at))
                return self._repeated(region, part, grown.ways, at)
        ways = self._composite(region, part, self._under(part, at))
        found = region.bind(*targets(part), composite=True)
        self._judge(region, found, f"conditions on {part}", ways, at)
        return ways

    def _composite(self, region: Region, part: p.Pattern, at: Place) -> Ways:
        match part:
            case p.Or(parts):
                alike: dict[p.Pattern | None, list[Grown]] = {}
                for inner in parts:
                    grown = self._inner(region, inner, at)
                    alike.setdefault(without(inner, frozenset()), []).append(grown)
                return either([_united(branches) for branches in alike.values()])
            case p.Optional(inner):
                return either([NOTHING, self._inner(region, constrained(inner, part.where), at).ways])
            case p.Exists(variables, inner):
                found = self._inner(region, inner, at).ways
                kept = without(inner, frozenset(variables))
                base = NOTHING
                if kept is not None:
                    base = Growth(self.setting)._inner(region, kept, at).ways
                return base.times(1 - exp(-min(700.0, found.plus(-base.log).number)))
        raise AssertionError(type(part).__name__)

    def _inner(self, region: Region, part: p.Pattern, at: Place) -> Grown:
        """A part that is a region of its own, in the place of a part of this one."""
        inner = Region(self.setting, part, frozenset(region.bound), at.same, region.fixed)
        return self.region(inner, at.inside(Frame(log=region.log)))

    def _under(self, part: p.Pattern, at: Place) -> Place:
        """The place of the parts of `part`, of whose `[id]`s they must take note."""
        same = (c.attributes for c in conjuncts(part.where) if isinstance(c, e.Same))
        return replace(at, same=at.same.union(bare(name) for names in same for name in names))

    def _event(self, region: Region, part: p.Event, at: Place, latest: bool = False) -> Ways:
        name = part.variable or ""
        left = self.setting.left_by_shortcuts(name)
        found = region.bind(name)
        whole = events(self.setting.count(part.type) * left)
        own, count = whole.times(at.window), whole.plus(found.once.both).number
        if latest:
            # Of many candidates one is the latest; it is looked up, the others are not tried.
            alone = Gap(at.span, max(1.0, at.pieces)).average(lambda gap: exp(-min(700.0, count * gap)))
            found = replace(found, once=replace(found.once, after=found.once.after + logarithm(alone)))
        tried = at.total(NOTHING.plus(region.log)) if latest else None
        self._extend(region, str(part), own, found, at, tried)
        region.necessary.append(count)
        return own

    def _extend(
        self, region: Region, what: str, own: Ways, found: Judged, at: Place, tried: Ways | None = None
    ) -> None:
        seen = at.total(own.plus(region.log + found.once.before)) if tried is None else tried
        region.log += found.once.both
        kept = at.total(own.plus(region.log))
        self.steps.append(Step(EXTEND, what, seen, kept, found.comparisons))

    def _judge(self, region: Region, found: Judged, what: str, ways: Ways, at: Place) -> None:
        """Conditions that are judged when nothing new is bound."""
        if found.once.both or found.comparisons:
            tried = at.total(ways.plus(region.log))
            region.log += found.once.both
            kept = at.total(ways.plus(region.log))
            self.steps.append(Step(CHECK, what, tried, kept, found.comparisons))

    def _repeated(self, region: Region, part: p.Repeat, one: Ways, at: Place) -> Ways:
        """A list. With COLLAPSED it is there or not, and no choice of its own."""
        found = region.bind(part.variable or "", listed=True)
        seen = closure(one.plus(found.each.before), part.least, part.most).plus(-found.first.before)
        kept = closure(one.plus(found.each.both), part.least, part.most).plus(-found.first.both)
        if self.setting.query.collapsed:
            present = 1.0 if part.least == 0 else 1 - exp(-min(700.0, one.plus(found.each.both).number / 2))
            seen = kept = NOTHING.times(present)
        tried = at.total(seen.plus(region.log + found.once.before))
        region.log += found.once.both
        self.steps.append(Step(EXTEND, str(part), tried, at.total(kept.plus(region.log)), found.comparisons))
        if part.least > 0:
            region.necessary.append(one.plus(found.each.both).number)
        return kept

    def _listed(self, region: Region, part: p.Seq | p.And | p.AndNeg, at: Place) -> Ways:
        """SEQ and AND: part after part, negations and pure existence left for later."""
        inside, gap = self._place_inside(region, part, at)
        done, combine = NOTHING, order_of(part)
        for number, inner in enumerate(part.parts):
            before = part.parts[number - 1] if number else None
            if before is not None and isinstance(part, p.Seq) and is_latest(before, inner):
                continue
            if is_filter(inner):
                region.filters.append((inner, gap, inside.same))
                continue
            here = inside.inside(Frame(combine, done))
            after = part.parts[number + 1] if number + 1 < len(part.parts) else None
            if isinstance(inner, p.Event) and isinstance(part, p.Seq) and after and is_latest(inner, after):
                own = self._event(region, inner, here, latest=True)
            else:
                own = self.part(region, inner, here)
            done = combine(done, own)
        return widened(done, inside.window / at.window)

    def _place_inside(self, region: Region, part: p.Pattern, at: Place) -> tuple[Place, Gap]:
        """Where the parts of a list stand, and the gap in which its negations look."""
        window = min(at.window, self.setting.share(part.within))
        span = min(at.span, window)
        size = max(1.0, room(part))
        if isinstance(part, p.Seq):
            own = part.within is not None or not at.pieces
            pieces = max(1.0, size + region.fixed) if own else at.pieces
            gap = Gap(span, pieces)
        else:
            # m events in a scope leave m+1 pieces around them, and the AND looks into all of these.
            span *= (size + 1) / max(size, at.pieces)
            pieces = 0.0
            gap = Gap(span, 3.0) if isinstance(part, p.AndNeg) else Gap(span)
        place = replace(self._under(part, at), span=span, pieces=pieces, window=window)
        return place.inside(Frame(window=window / at.window)), gap

    def _checked(
        self, region: Region, part: p.Pattern, gap: Gap, same: frozenset[str]
    ) -> tuple[float, float]:
        """The share of matches that a negation or a pure EXISTS leaves, and the work to check one match."""
        negative, sought = False, part
        while isinstance(sought, p.Not | p.Exists | p.Optional):
            negative = negative != isinstance(sought, p.Not)
            sought = constrained(sought.part, sought.where)
        if isinstance(sought, p.Repeat):
            sought = replace(sought, least=max(1, sought.least))  # what is found binds an event
        search = Growth(self.setting)
        inner = Region(self.setting, sought, frozenset(region.bound | region.own), same, fixed=True)
        found = search.region(inner, Place(span=gap.mean, same=same)).ways
        chance = gap.average(lambda share: occurs(found, inner.necessary, share))
        once = search.work_in(gap.mean, found, occurs(found, inner.necessary, gap.mean))
        work = once * self.setting.left_to_check(declared(sought))
        return (1 - chance if negative else chance), work

    def work_in(self, share: float, found: Ways, chance: float) -> float:
        """The work of a search in a gap, a share of the window, for something that is there with a `chance`.

        It ends with the first hit, where NEEL+ 5.3 does not stop. Hits come in clumps, so even where many are
        expected there may be none; then all is tried but the hits themselves.
        """
        if len(self.steps) == 1 and self.steps[0].kind == EXTEND and self.steps[0].comparisons == 0:
            return LOOK_UP  # by time alone: the first event after the gap begins
        total = last = 0.0
        for step in self.steps:
            tried, kept = step.tried.shrunk(share).number, step.kept.shrunk(share).number
            each = TRY + comparisons_work(step.comparisons) + step.work
            total += tried * each + kept * HOLD
            last = kept * (each + HOLD) if step.kind == EXTEND else last
        hits = max(found.shrunk(share).number, chance, 1e-9)
        return LOOK_UP + (1 - chance) * max(0.0, total - last) + chance * total * chance / hits


def _united(branches: list[Grown]) -> Ways:
    """Branches that differ in their negations only find some matches twice: each is counted once."""
    base = max((one.unchecked for one in branches), key=lambda ways: ways.log)
    missed = 1.0
    for one in branches:
        missed *= 1 - min(1.0, exp(min(0.0, one.ways.log - base.log)))
    return base.times(1 - missed)
