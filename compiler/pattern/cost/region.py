"""What the conditions of a region leave: a region is a part whose conditions are judged on one binding.

As `rewrite/regions.py` has it: the whole pattern, a branch of an OR, the body of an optional part, a
negation, a repetition or an EXISTS. Inside, through SEQ and AND, a condition is judged as soon as what it
names is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.conditions import conjuncts, names_in
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.patterns import targets
from neelc.pattern.cost.ledger import evaluation_cost
from neelc.pattern.cost.selectivity import truth
from neelc.pattern.cost.setting import AROUND, CostSetting, Gap, Term, classes, equal_terms, logarithm


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
    """What the conditions that can be judged now leave of the bindings, and what it costs to judge them.

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
        """Those that can be judged now, in the order they are written."""
        for name in variables:
            for place in self._waiting.pop(name, ()):
                self._missing[place].discard(name)
                if not self._missing[place]:
                    self._free.append(place)
        ready, self._free = sorted(self._free), []
        return [self._conditions.pop(place) for place in ready]

    def rest(self) -> list[e.Expr]:
        """All that are left."""
        found, self._conditions, self._free = [*self._conditions.values()], {}, []
        return found


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
        """What binding these variables, all at once, lets be judged. With `composite` they come from parts
        that have judged the `[id]`s around them themselves; with `listed` each is a list of events."""
        found = self._agreed(variables, composite, listed)
        self.bound.update(variables)
        found = self._judged(found, self.pending.bind(variables), variables)
        if self.setting.push_in:
            return found
        once = RemainingShare(0.0, self.late.once.after + found.once.both)
        self.late = ConditionEffect(once, comparisons=self.late.comparisons + found.comparisons)
        return replace(found, once=RemainingShare(), comparisons=0.0)

    def rest(self) -> ConditionEffect:
        """What is judged at the end."""
        found = self._judged(self.late, self.pending.rest(), ())
        self.late = ConditionEffect()
        return found

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

    def _judged(
        self, found: ConditionEffect, ready: list[e.Expr], variables: tuple[str, ...]
    ) -> ConditionEffect:
        once, each, first, comparisons = found.once, found.each, found.first, found.comparisons
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
                # Conditions are judged in order, until one does not hold.
                comparisons += reached * evaluation_cost(condition)
                reached *= true
        return ConditionEffect(once, each, first, comparisons)


def own_parts(part: p.Pattern) -> Iterator[p.Pattern]:
    """A part, and the parts below it that are judged whenever it is."""
    yield part
    if isinstance(part, p.Joint):
        for inner in part.parts:
            if not isinstance(inner, p.Not | p.Optional):
                yield from own_parts(inner)


def element_of(condition: e.Expr) -> tuple[str | None, bool]:
    """The list of which a condition is about every element, and whether it names an earlier element too.

    >>> from neelc.pattern.rules.examples import query
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
    judged where events are read.

    >>> from neelc.pattern.rules.examples import query
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
