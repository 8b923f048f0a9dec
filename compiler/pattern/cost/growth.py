"""How the matches of a pattern grow, event by event: NEEL+'s costs of computing, over any pattern.

A pattern is searched in the order in which it is written. Each step tries the partial matches so far with
all events in the window that the key leaves, and keeps those that are in order and meet the conditions that
can be checked (push-in, 5.4). The negations of a region are checked last. Bindings are counted for one
window; `CostSetting.occurrences` converts that count to the whole input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import field, replace
from math import exp, lgamma, log

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, conjoin, conjuncts, names_in
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.patterns import declared, renamed, targets
from neelc.pattern.cost.ledger import HOLD, LOOK_UP, TRY, comparisons_work, evaluation_cost
from neelc.pattern.cost.selectivity import truth
from neelc.pattern.cost.setting import (
    AROUND,
    NOTHING,
    BindingCount,
    CostSetting,
    Gap,
    Term,
    classes,
    either,
    equal_terms,
    events,
    in_any_order,
    in_sequence,
    logarithm,
    occurs,
    room,
    widened,
)
from neelc.runtime.late_dataclass import dataclass

# What the conditions of a region leave: a region is a part whose conditions are checked on one binding.
#
# As `analysis/regions.py` has it: the whole pattern, a branch of an OR, the body of an optional part, a
# negation, a repetition or an EXISTS. Inside, through SEQ and AND, a condition is checked as soon as all
# variables that it names are bound.


@dataclass(frozen=True)
class RemainingShare:
    """What is left, as logarithms: `before` by filters at the scan and by the key, so that the rest is never
    looked at; `after` of what was looked at."""

    before: float = 0.0
    after: float = 0.0

    def plus(self, log: float, is_before: bool) -> RemainingShare:
        return (
            RemainingShare(self.before + log, self.after)
            if is_before
            else RemainingShare(self.before, self.after + log)
        )

    @property
    def both(self) -> float:
        return self.before + self.after


@dataclass(frozen=True)
class ConditionEffect:
    """The share of the bindings that the conditions checked now leave, and what it costs to check them.

    `each` is left by conditions on every element of a list; as those with an earlier element hold for the
    first one by definition, `first` is what they would have left there.
    """

    once: RemainingShare = RemainingShare()
    each: RemainingShare = RemainingShare()
    first: RemainingShare = RemainingShare()
    comparisons: float = 0.0


class PendingConditions:
    """Conditions that wait until all variables of the region that they name are bound."""

    def __init__(self, conditions: Sequence[e.Expr], own: Set[str], bound: Set[str]) -> None:
        self._conditions = dict(enumerate(conditions))
        self._missing = {place: set(names_in(one) & own - bound) for place, one in self._conditions.items()}
        self._free = [place for place, names in self._missing.items() if not names]
        self._waiting: dict[str, list[int]] = {}
        for place, names in self._missing.items():
            for name in names:
                self._waiting.setdefault(name, []).append(place)

    def bind(self, variables: Iterable[str]) -> list[e.Expr]:
        """The conditions that can be checked now, in the order they are written."""
        for name in variables:
            for place in self._waiting.pop(name, ()):
                self._missing[place].discard(name)
                if not self._missing[place]:
                    self._free.append(place)
        ready, self._free = sorted(self._free), []
        return [self._conditions.pop(place) for place in ready]

    def rest(self) -> list[e.Expr]:
        """All that are left."""
        rest, self._conditions, self._free = [*self._conditions.values()], {}, []
        return rest


class EqualTerms:
    """Terms that are equal, and those of them whose variables are bound."""

    def __init__(self, terms: frozenset[Term], bound: Set[str]) -> None:
        self.terms = terms
        self.bound = [term for term in terms if term[0] in bound]
        self.of: dict[str, list[Term]] = {}
        for term in terms:
            self.of.setdefault(term[0], []).append(term)

    def among(self, variables: Iterable[str]) -> list[Term]:
        return [term for name in dict.fromkeys(variables) for term in self.of.get(name, ())]

    def bind(self, variables: Iterable[str]) -> None:
        self.bound = [*dict.fromkeys((*self.bound, *self.among(variables)))]


@dataclass
class CostRegion:
    """A part, what of it is bound so far, and the logarithm of the share that its conditions left so far.

    `outer` are the variables bound around it, `same` the attributes of the `[id]`s around it. `fixed`: its
    scope is given, as that of a negation, not measured from its own events.
    """

    setting: CostSetting
    part: p.Pattern
    outer: frozenset[str] = frozenset()
    same: frozenset[str] = frozenset()
    fixed: bool = False
    log: float = 0.0
    filters: list[tuple[p.Pattern, Gap, frozenset[str]]] = field(default_factory=list)
    necessary: list[float] = field(default_factory=list)
    late: ConditionEffect = ConditionEffect()

    def __post_init__(self) -> None:
        self.own = frozenset(targets(self.part))
        self.bound = {*self.outer, AROUND} if self.outer else set()
        alike = [[(AROUND, name), *((variable, name) for variable in self.own)] for name in sorted(self.same)]
        equal: list[tuple[Term, Term]] = []
        pending: list[e.Expr] = []
        for part in own_parts(self.part):
            for conjunct in conjuncts(part.where):
                if isinstance(conjunct, e.SameAttributes):
                    alike += [[(v, bare(name)) for v in targets(part)] for name in conjunct.attributes]
                elif (pair := equal_terms(conjunct)) and self.setting.ledger.declared(conjunct) is None:
                    equal.append(pair)
                else:
                    pending.append(conjunct)
        self.alike = frozenset(term for group in alike for term in group)
        self.classes = [EqualTerms(terms, self.bound) for terms in classes([*alike, *equal])]
        self.pending = PendingConditions(pending, self.own, self.bound)

    def bind(self, *variables: str, composite: bool = False, listed: bool = False) -> ConditionEffect:
        """The effect of the conditions that can be checked once these variables are bound, all at once. With
        `composite` they come from parts that have checked the `[id]`s around them already; with `listed` each
        is a list of events."""
        effect = self._agreed(variables, composite, listed)
        self.bound.update(variables)
        effect = self._with_conditions(effect, self.pending.bind(variables), variables)
        if self.setting.push_in:
            return effect
        once = RemainingShare(0.0, self.late.once.after + effect.once.both)
        self.late = ConditionEffect(once, comparisons=self.late.comparisons + effect.comparisons)
        return replace(effect, once=RemainingShare(), comparisons=0.0)

    def rest(self) -> ConditionEffect:
        """The effect of the conditions that are checked at the end."""
        effect = self._with_conditions(self.late, self.pending.rest(), ())
        self.late = ConditionEffect()
        return effect

    def _agreed(self, variables: tuple[str, ...], composite: bool, listed: bool) -> ConditionEffect:
        """Equal attributes: each class once for each variable, given what of it is bound already."""
        once, first, comparisons = RemainingShare(), RemainingShare(), 0.0
        for group in self.classes:
            bound = list(group.bound)
            for term in sorted(group.among(variables)):
                if composite and term in self.alike:
                    continue
                is_key = term in self.setting.keys
                once = once.plus(logarithm(1 - self.setting.ledger.nulls(*term)), True)
                if bound or listed:
                    share = logarithm(self.setting.agreement(term, group.terms, bound))
                    once = once.plus(share, is_key)
                    first = first if bound else first.plus(share, is_key)
                    comparisons += 0.0 if is_key else 1.0
                bound.append(term)
            group.bind(variables)
        each = once if listed else RemainingShare()
        return ConditionEffect(
            RemainingShare() if listed else once, each, first if listed else RemainingShare(), comparisons
        )

    def _with_conditions(
        self, effect: ConditionEffect, ready: list[e.Expr], variables: tuple[str, ...]
    ) -> ConditionEffect:
        once, each, first, comparisons = effect.once, effect.each, effect.first, effect.comparisons
        reached = 1.0
        for condition in ready:
            true = truth(condition, self.setting.ledger).true
            share = logarithm(true)
            is_before = single_event(condition) in variables
            name, lag = element_of(condition)
            if name is not None and name in variables:
                each = each.plus(share, is_before)
                first = first.plus(share, is_before) if lag else first
            else:
                once = once.plus(share, is_before)
            if not is_before:
                # Conditions are checked in order, until one does not hold.
                comparisons += reached * evaluation_cost(condition)
                reached *= true
        return ConditionEffect(once, each, first, comparisons)


def own_parts(part: p.Pattern) -> Iterator[p.Pattern]:
    """A part, and the parts below it whose conditions are checked whenever its own are."""
    yield part
    if isinstance(part, p.Joint):
        for inner in part.parts:
            if not isinstance(inner, p.Not | p.Optional):
                yield from own_parts(inner)


def element_of(condition: e.Expr) -> tuple[str | None, bool]:
    """The list whose every element a condition constrains, and whether it names an earlier element too.

    >>> from pattern_examples import query
    >>> element_of(query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x").pattern.where)
    ('b', True)
    >>> element_of(query("SEQ(A a, B+ b[]) WHERE b[last].x > a.x").pattern.where)
    (None, False)
    """
    name, lag = None, False
    for node in walk(condition):
        match node:
            case e.ListElement(e.Variable(base), e.Index("CURRENT", offset)):
                name, lag = base, lag or offset < 0
            case e.EveryElement(e.Variable(base), e.Index("CURRENT")):
                name, lag = base, True
    return name, lag


def single_event(condition: e.Expr) -> str | None:
    """The variable of a condition on one event, or on each element of a list alone: such a condition is
    checked where events are read.

    >>> from pattern_examples import query
    >>> def single(text): return single_event(query(f"SEQ(A a, B+ b[]) WHERE {text}").pattern.where)
    >>> single("a.x > 1"), single("b[i].x > 1"), single("b[i].x > b[i-1].x"), single("sum(b[].x) > 1")
    ('a', 'b', None, None)
    """
    names = names_in(condition)
    for node in walk(condition):
        match node:
            case e.ListElement(e.Variable(), e.Index("CURRENT", 0)):
                continue
            case e.ListElement() | e.EveryElement() | e.Aggregate() | e.SameAttributes():
                return None
    return next(iter(names)) if len(names) == 1 else None


# Parts that only check whether an event exists: what they keep, and the marks of the latest candidate.


def is_filter(part: p.Pattern) -> bool:
    """Whether a part binds nothing: a negation, or an EXISTS that drops all its variables.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, !B b, EXISTS c : SEQ(C c, D d), EXISTS e : E e)").pattern
    >>> [is_filter(inner) for inner in pattern.parts]
    [False, True, False, True]
    """
    return isinstance(part, p.Not) or (isinstance(part, p.Exists) and not targets(part))


def is_latest(part: p.Pattern, after: p.Pattern) -> bool:
    """Whether `after` says that `part` is the latest of its kind: `C c, !C c_2`.

    >>> from pattern_examples import query
    >>> one, two, three = query("SEQ((C c : c.x > 1), !(C d : d.x > 1), B b) WITHIN 5").pattern.parts
    >>> is_latest(one, two), is_latest(two, three)
    (True, False)
    """
    if not isinstance(part, p.Event) or not isinstance(after, p.Not) or not isinstance(after.part, p.Event):
        return False
    names = {after.part.variable or "": part.variable or ""}
    return part.type == after.part.type and renamed(after.part, names) == part


def constrained(part: p.Pattern, where: Expr | None) -> p.Pattern:
    """`part` with one more condition."""
    return part if where is None else replace(part, where=conjoin([where, part.where]))


def without(part: p.Pattern, dropped: frozenset[str]) -> p.Pattern | None:
    """What is left of a part when some variables are dropped, with all conditions on them; None when
    nothing is. Negations refer to the dropped events as well, so they are dropped too, and so are the
    variables that an EXISTS inside drops.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, !N n, B b, OR(C c, D d) WHERE a.x < b.x AND a.x < 3)").pattern
    >>> print(without(pattern, frozenset({"b", "c"})))
    SEQ(A a, OR(D d) WHERE a.x < 3)
    """
    where = conjoin(c for c in conjuncts(part.where) if not names_in(c) & dropped)
    match part:
        case p.Event(variable=name) | p.Repeat(variable=name):
            return None if name in dropped else replace(part, where=where)
        case p.Not():
            return None
        case p.Optional(inner):
            left = without(inner, dropped)
            return None if left is None else replace(part, part=left, where=where)
        case p.Exists(variables, inner):
            left = without(inner, dropped.union(variables))
            return None if left is None else constrained(left, where)
        case p.Listing(parts):
            left_parts = [without(inner, dropped) for inner in parts]
            kept = tuple(inner for inner in left_parts if inner is not None)
            return replace(part, parts=kept, where=where) if kept else None
    raise AssertionError(type(part).__name__)


# Steps of a search for matches: what is tried, what is kept, and where the search stands in the pattern.

EXTEND, CHECK = "extend", "check"


@dataclass(frozen=True)
class GrowthStep:
    """`tried` bindings of one window cost `comparisons` each and `work` besides, and `kept` of them are good.

    EXTEND binds another event; CHECK checks whether an event exists, or does not, as EXISTS and `!` require.
    `variables` are those that are bound, or looked for.
    """

    kind: str
    what: str
    tried: BindingCount
    kept: BindingCount
    comparisons: float = 0.0
    work: float = 0.0
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartFrame:
    """What stands around a part: the ways of the parts before it, a window, a share that is left."""

    combine: Callable[[BindingCount, BindingCount], BindingCount] | None = None
    before: BindingCount = NOTHING
    window: float = 1.0
    log: float = 0.0

    def around(self, own: BindingCount) -> BindingCount:
        both = own if self.combine is None else self.combine(self.before, own)
        return widened(both, self.window).plus(self.log)


@dataclass(frozen=True)
class PartPosition:
    """Where in the pattern a part stands.

    `span` is its scope as a share of the window, `pieces` into how many the events of the SEQ around it cut
    that, 0 outside of a SEQ. `same` are the attributes of the `[id]`s around it. `window` is the narrowest
    window around it, as a share of the whole one: there its events are counted.
    """

    frames: tuple[PartFrame, ...] = ()
    span: float = 1.0
    pieces: float = 0.0
    same: frozenset[str] = frozenset()
    window: float = 1.0

    def total(self, own: BindingCount) -> BindingCount:
        """A partial match: the part's own ways, with all that is bound before it."""
        for frame in reversed(self.frames):
            own = frame.around(own)
        return own

    def inside(self, frame: PartFrame) -> PartPosition:
        return replace(self, frames=(*self.frames, frame))


def order_of(part: p.Pattern) -> Callable[[BindingCount, BindingCount], BindingCount]:
    """How the parts of a list come together."""
    return in_sequence if isinstance(part, p.Seq) else in_any_order


# Kleene closures: in how many ways a list can be chosen.

LARGE = 50.0
"""From here on a sum without an end is its asymptote, to many digits."""
TERMS = 1_000
"""Of a long sum, only the largest terms count."""
LONGEST = 1e12
"""Elements of a list: beyond, differences of logarithms would no longer be exact."""


def closure(iteration: BindingCount, least: int, most: int | None) -> BindingCount:
    """Lists of iterations, one after another, `least` to `most` of them, under SKIP TILL ANY MATCH.

    k iterations of m events are m*k events in one of (m*k)! orders. With one event each and no limits the
    terms add up to e^count, which is the mean of 2^k for k events in the window, the empty list included:
    SASE++'s exponential number of matches.

    >>> from neelc.pattern.cost.setting import events
    >>> round(closure(events(3.0), 1, None).number, 3), round(closure(events(3.0), 1, 2).number, 3)  # e^3-1
    (19.086, 7.5)
    >>> round(closure(events(1e9), 1, None).log, 3)
    1000000000.0
    >>> round(closure(events(1e9), 2, 3).number / (1e27 / 6), 3)
    1.0
    """
    size = max(iteration.events, 1e-9)
    base = iteration.log + lgamma(size + 1)  # so that k iterations are base^k / (size*k)!
    peak = base / size  # the logarithm of how many events the likeliest list has
    if most is None and peak > log(LARGE):
        # The sum of b^k / (mk)! is about e^(b^(1/m)) / m.
        root = exp(min(log(LONGEST), peak))
        return BindingCount(root - log(size), root)
    lists = range(least, _end(least, most, peak, size) + 1)
    return either([BindingCount(k * base - lgamma(size * k + 1), size * k) for k in lists[-TERMS:]])


def chains(iteration: BindingCount, begins_next: bool) -> BindingCount:
    """Lists of which each element is the next one after that before it: one for each first and last element,
    or if also the first one is given, for each last one. Of k events, with a mean of m, the mean of k(k+1)/2
    is m + m^2/2.

    >>> from neelc.pattern.cost.setting import events
    >>> chains(events(4.0), False).number, chains(events(4.0), True).number
    (12.0, 4.0)
    """
    mean = iteration.number
    number = mean if begins_next else mean + mean**2 / 2
    return BindingCount(log(max(number, 1e-300)), max(1.0, mean / 3) * iteration.events)


def _end(least: int, most: int | None, peak: float, size: float) -> int:
    """The longest list worth counting: beyond, the terms are too small to matter."""
    enough = least + 20 + int(4 * exp(min(log(LARGE), peak)) / size)
    if most is None:
        return enough
    return most if peak > log(LARGE) else max(least, min(most, enough))


@dataclass(frozen=True)
class PartGrowth:
    """The ways of a part in one window, and before negations and existence were checked."""

    ways: BindingCount
    unchecked: BindingCount


@dataclass
class Growth:
    """Collects the steps of a search.

    One event of each type a second, and windows of 10: 10 A, 10 * 10 / 2 pairs. Of the gaps between the two,
    about one in ten has no N in it.

    >>> from neelc.pattern.cost.ledger import Ledger
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, !N n, B b) WITHIN 10 SECONDS")
    >>> setting = CostSetting(Ledger(match, Statistics()))
    >>> search = Growth(setting)
    >>> growth = search.region(CostRegion(setting, match.pattern), PartPosition())
    >>> for step in search.steps:
    ...     print(step.kind, step.what, round(step.tried.number, 1), round(step.kept.number, 1))
    extend A a 10.0 10.0
    extend B b 50.0 50.0
    check !N n 50.0 4.8
    """

    setting: CostSetting
    steps: list[GrowthStep] = field(default_factory=list)

    def region(self, region: CostRegion, at: PartPosition) -> PartGrowth:
        """All of a region: its positive parts, the conditions checked at the end, its negations."""
        ways = self.part(region, region.part, at)
        self._check_conditions(region, region.rest(), "conditions checked at the end", ways, at)
        unchecked = ways.plus(region.log)
        for part, gap, same in region.filters:
            share, work = self._checked(region, part, gap, same)
            tried = ways.plus(region.log)
            region.log += logarithm(share)
            kept = ways.plus(region.log)
            sought = tuple(declared(part))
            self.steps.append(
                GrowthStep(CHECK, str(part), at.total(tried), at.total(kept), work=work, variables=sought)
            )
        return PartGrowth(ways.plus(region.log), unchecked)

    def part(self, region: CostRegion, part: p.Pattern, at: PartPosition) -> BindingCount:
        """The ways of a part, the share that the region's conditions leave apart."""
        match part:
            case p.Event():
                return self._event(region, part, at)
            case p.Joint():
                return self._listed(region, part, at)
            case p.Repeat(p.Event(type)):
                own = events(self.setting.count(type) * at.window)
                return self._repeated(region, part, own, at)
            case p.Repeat(inner):
                grown = self._inner(region, inner, self._under(part, at))
                return self._repeated(region, part, grown.ways, at)
        ways = self._composite(region, part, self._under(part, at))
        effect = region.bind(*targets(part), composite=True)
        self._check_conditions(region, effect, f"conditions on {part}", ways, at)
        return ways

    def _composite(self, region: CostRegion, part: p.Pattern, at: PartPosition) -> BindingCount:
        match part:
            case p.Or(parts):
                alike: dict[p.Pattern | None, list[PartGrowth]] = {}
                for inner in parts:
                    grown = self._inner(region, inner, at)
                    alike.setdefault(without(inner, frozenset()), []).append(grown)
                return either([_united(branches) for branches in alike.values()])
            case p.Optional(inner):
                return either([NOTHING, self._inner(region, constrained(inner, part.where), at).ways])
            case p.Exists(variables, inner):
                ways = self._inner(region, inner, at).ways
                kept = without(inner, frozenset(variables))
                base = NOTHING
                if kept is not None:
                    base = Growth(self.setting)._inner(region, kept, at).ways
                return base.times(1 - exp(-min(700.0, ways.plus(-base.log).number)))
        raise AssertionError(type(part).__name__)

    def _inner(self, region: CostRegion, part: p.Pattern, at: PartPosition) -> PartGrowth:
        """A part that is a region of its own, in the place of a part of this one."""
        inner = CostRegion(self.setting, part, frozenset(region.bound), at.same, region.fixed)
        return self.region(inner, at.inside(PartFrame(log=region.log)))

    def _under(self, part: p.Pattern, at: PartPosition) -> PartPosition:
        """The position of the parts of `part`, with the attributes of its `[id]`s."""
        same = (c.attributes for c in conjuncts(part.where) if isinstance(c, e.SameAttributes))
        return replace(at, same=at.same.union(bare(name) for names in same for name in names))

    def _event(
        self, region: CostRegion, part: p.Event, at: PartPosition, latest: bool = False
    ) -> BindingCount:
        name = part.variable or ""
        left = self.setting.left_by_shortcuts(name)
        effect = region.bind(name)
        whole = events(self.setting.count(part.type) * left)
        own, count = whole.times(at.window), whole.plus(effect.once.both).number
        if latest:
            # Of many candidates one is the latest; it is looked up, the others are not tried.
            alone = Gap(at.span, max(1.0, at.pieces)).average(lambda gap: exp(-min(700.0, count * gap)))
            effect = replace(effect, once=replace(effect.once, after=effect.once.after + logarithm(alone)))
        tried = at.total(NOTHING.plus(region.log)) if latest else None
        self._extend(region, part, own, effect, at, tried)
        region.necessary.append(count)
        return own

    def _extend(
        self,
        region: CostRegion,
        part: p.Event,
        own: BindingCount,
        effect: ConditionEffect,
        at: PartPosition,
        tried: BindingCount | None = None,
    ) -> None:
        seen = at.total(own.plus(region.log + effect.once.before)) if tried is None else tried
        region.log += effect.once.both
        kept = at.total(own.plus(region.log))
        step = GrowthStep(EXTEND, str(part), seen, kept, effect.comparisons, variables=targets(part))
        self.steps.append(step)

    def _check_conditions(
        self, region: CostRegion, effect: ConditionEffect, what: str, ways: BindingCount, at: PartPosition
    ) -> None:
        """Conditions that are checked when nothing new is bound."""
        if effect.once.both or effect.comparisons:
            tried = at.total(ways.plus(region.log))
            region.log += effect.once.both
            kept = at.total(ways.plus(region.log))
            self.steps.append(GrowthStep(CHECK, what, tried, kept, effect.comparisons))

    def _repeated(
        self, region: CostRegion, part: p.Repeat, one: BindingCount, at: PartPosition
    ) -> BindingCount:
        """A list. With COLLAPSED it is there or not, and no choice of its own."""
        effect = region.bind(part.variable or "", listed=True)
        seen = closure(one.plus(effect.each.before), part.least, part.most).plus(-effect.first.before)
        kept = closure(one.plus(effect.each.both), part.least, part.most).plus(-effect.first.both)
        if part.is_chain:
            seen = chains(one.plus(effect.each.before), part.begins_next)
            kept = chains(one.plus(effect.each.both), part.begins_next)
        if self.setting.query.collapsed:
            present = 1.0 if part.least == 0 else 1 - exp(-min(700.0, one.plus(effect.each.both).number / 2))
            seen = kept = NOTHING.times(present)
        tried = at.total(seen.plus(region.log + effect.once.before))
        region.log += effect.once.both
        left = at.total(kept.plus(region.log))
        self.steps.append(
            GrowthStep(EXTEND, str(part), tried, left, effect.comparisons, variables=targets(part))
        )
        if part.least > 0:
            region.necessary.append(one.plus(effect.each.both).number)
        return kept

    def _listed(self, region: CostRegion, part: p.Joint, at: PartPosition) -> BindingCount:
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
            here = inside.inside(PartFrame(combine, done))
            after = part.parts[number + 1] if number + 1 < len(part.parts) else None
            if isinstance(inner, p.Event) and isinstance(part, p.Seq) and after and is_latest(inner, after):
                own = self._event(region, inner, here, latest=True)
            else:
                own = self.part(region, inner, here)
            done = combine(done, own)
        return widened(done, inside.window / at.window)

    def _place_inside(
        self, region: CostRegion, part: p.Pattern, at: PartPosition
    ) -> tuple[PartPosition, Gap]:
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
        return place.inside(PartFrame(window=window / at.window)), gap

    def _checked(
        self, region: CostRegion, part: p.Pattern, gap: Gap, same: frozenset[str]
    ) -> tuple[float, float]:
        """The share of matches that a negation or a pure EXISTS leaves, and the work to check one match."""
        negative, sought = False, part
        while isinstance(sought, p.Not | p.Exists | p.Optional):
            negative = negative != isinstance(sought, p.Not)
            sought = constrained(sought.part, sought.where)
        if isinstance(sought, p.Repeat):
            sought = replace(sought, least=max(1, sought.least))  # what is found binds an event
        search = Growth(self.setting)
        inner = CostRegion(self.setting, sought, frozenset(region.bound | region.own), same, fixed=True)
        ways = search.region(inner, PartPosition(span=gap.mean, same=same)).ways
        chance = gap.average(lambda share: occurs(ways, inner.necessary, share))
        once = search.work_in(gap.mean, ways, occurs(ways, inner.necessary, gap.mean))
        work = once * self.setting.left_to_check(declared(sought))
        return (1 - chance if negative else chance), work

    def work_in(self, share: float, ways: BindingCount, chance: float) -> float:
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
        hits = max(ways.shrunk(share).number, chance, 1e-9)
        return LOOK_UP + (1 - chance) * max(0.0, total - last) + chance * total * chance / hits


def _united(branches: list[PartGrowth]) -> BindingCount:
    """Branches that differ in their negations only find some matches twice: each is counted once."""
    base = max((one.unchecked for one in branches), key=lambda ways: ways.log)
    missed = 1.0
    for one in branches:
        missed *= 1 - min(1.0, exp(min(0.0, one.ways.log - base.log)))
    return base.times(1 - missed)
