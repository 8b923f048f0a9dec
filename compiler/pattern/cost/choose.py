"""The choice between the forms of a query, by cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, log2, prod

from neelc.arguments import ExecutionStrategy
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, Expr, SameAttributes, conjoin, conjuncts, names_in
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Pattern, inner_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import Shortcut, shortcuts
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.cost import ledger as w
from neelc.pattern.cost.estimate import Estimate, assembled, estimate, limited
from neelc.pattern.cost.growth import EXTEND, CostRegion, Growth, GrowthStep, PartPosition, closure
from neelc.pattern.cost.ledger import COMPARISON, HOLD, TRY, CostItem, Ledger, evaluation_cost, term_of
from neelc.pattern.cost.selectivity import truth, without_casts
from neelc.pattern.cost.setting import BindingCount, CostSetting, ShortcutEffect, events, logarithm, room
from neelc.pattern.rules.driver import QueryForm
from neelc.pattern.rules.rule import RuleStep
from neelc.runtime.late_dataclass import dataclass

# Why a form was chosen: one plain sentence.

ALIKE = 1.005
"""Amounts of work that differ by less are reported as equal."""

Named = tuple[str, Estimate]


def reason(alternatives: Sequence[Named], chosen: str) -> str:
    """The chosen form is compared with the first one, which is the query as it stands; or, if it is the first
    itself, with the best of the others.

    >>> def form(name, scan, check):
    ...     return name, Estimate(0, 0, 0, 0, 0, (CostItem("scan", scan), CostItem("check", check)))
    >>> print(reason([form("simplified", 10, 300), form("normal form", 10, 90)], "normal form"))
    The normal form needs 3.1x less work than the simplified query, because of "check": 90 instead of 300.
    >>> print(reason([form("simplified", 10, 90), form("normal form", 10, 90)], "simplified"))
    The simplified query needs as much work as the normal form, and it was there first.
    >>> print(reason([form("simplified", 10, 90), form("normal form", 10, 40)], "simplified"))
    The simplified query is kept: the normal form would save too little work to matter.
    >>> print(reason([form("simplified", 10, 90)], "simplified"))
    No rule offers another form than the simplified query.
    """
    estimates = dict(alternatives)
    others = [(name, estimate) for name, estimate in alternatives if name != chosen]
    if not others:
        return f"No rule offers another form than {_called(chosen)}."
    is_first = alternatives[0][0] == chosen
    name, other = min(others, key=lambda one: one[1].work) if is_first else alternatives[0]
    best = estimates[chosen]
    ratio = other.work / best.work if best.work > 0 else 1.0
    what = _called(chosen)
    if is_first and ratio < 1 / ALIKE:
        return f"{what[0].upper()}{what[1:]} is kept: {_called(name)} would save too little work to matter."
    if ratio < ALIKE:
        equal = "as much work as" if is_first else "slightly less work than"
        end = ", and it was there first" if is_first else ""
        return f"{what[0].upper()}{what[1:]} needs {equal} {_called(name)}{end}."
    item, more = _largest(best, other)
    return (
        f"{what[0].upper()}{what[1:]} needs {_times(ratio)} less work than {_called(name)}, "
        f'because of "{item.what}": {_amount(item.work)} instead of {_amount(more)}.'
    )


def _largest(best: Estimate, other: Estimate) -> tuple[CostItem, float]:
    """The line in which two estimates differ most, and its work in the other one."""
    works = {item.what: item.work for item in other.items}
    items = {item.what: item for item in best.items}
    lines = [items.get(what, CostItem(what, 0.0)) for what in dict.fromkeys((*items, *works))]
    largest = max(lines, key=lambda item: works.get(item.what, 0.0) - item.work)
    return largest, works.get(largest.what, 0.0)


def _called(name: str) -> str:
    """
    >>> _called("simplified"), _called("normal form"), _called("every order of AND")
    ('the simplified query', 'the normal form', 'the form "every order of AND"')
    """
    phrases = {"simplified": "the simplified query", "normal form": "the normal form"}
    return phrases.get(name, f'the form "{name}"')


def _times(ratio: float) -> str:
    """
    >>> _times(3.14159), _times(12345.6), _times(1e30)
    ('3.1x', '12,346x', '1e+30x')
    """
    if ratio >= 1e9:
        return f"{ratio:.0e}x"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2f}x" if ratio < 2 else f"{ratio:.1f}x"


def _amount(work: float) -> str:
    """
    >>> _amount(0.5), _amount(12345.6), _amount(1e30)
    ('0.5', '12,346', '1e+30')
    """
    if work >= 1e12:
        return f"{work:.2g}"
    return f"{work:,.0f}" if work >= 10 else f"{work:.2g}"


# Conditions in the order in which they are checked: JEPC's predicate ordering.


def order_conditions(query: Match, statistics: Statistics) -> Match:
    """Conjuncts of a condition in ascending order of cost by share of bindings that fail them (JEPC, 19.2.1).

    The meaning stays: a conjunction is TRUE if all its conjuncts are, in any order, and no conjunct can
    raise an error (docs/decisions/0007). Checking stops at the first conjunct that is not TRUE, so for
    independent conjuncts of costs c and selectivities s this order is the cheapest: of two neighbours, the
    first goes first if c1 + s1*c2 <= c2 + s2*c1, and that is c1/(1 - s1) <= c2/(1 - s2). JEPC orders by
    selectivity alone, which is the same for equal costs; a regular expression is not worth trying first,
    though, however selective it is.

    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B b) WHERE a.user RLIKE 'x+' AND a.x > b.x AND a.id = b.n"
    >>> print(order_conditions(query(text), Statistics()).pattern)
    SEQ(A a, B b WHERE a.id = b.n AND a.x > b.x AND a.user RLIKE 'x+')

    Conjuncts of equal rank keep their order, and a condition stays at its part: only the order within one
    part changes.

    >>> text = "SEQ((A a : a.x > 1 AND a.n > 2), (B b : b.user LIKE '%u' AND b.id = 7))"
    >>> print(order_conditions(query(text), Statistics()).pattern)
    SEQ((A a : a.x > 1 AND a.n > 2), (B b : b.id = 7 AND b.user LIKE '%u'))
    """
    ledger = Ledger(query, statistics)

    def change(node: Node) -> Node | None:
        if not isinstance(node, Pattern):
            return None
        old = conjuncts(node.where)
        new = tuple(sorted(old, key=lambda conjunct: rank(conjunct, ledger))) if len(old) > 1 else old
        return None if new == old else replace(node, where=conjoin(new))

    pattern = transform(query.pattern, change)
    assert isinstance(pattern, Pattern)
    return query if pattern is query.pattern else replace(query, pattern=pattern)


def rank(condition: Expr, ledger: Ledger) -> float:
    """What it costs to get rid of one binding by this condition."""
    fails = 1 - truth(condition, ledger).true
    return evaluation_cost(condition) / fails if fails > 0 else inf


# Which shortcuts of inter-query predicates are taken: NEEL+ 4.2, by the statistics.

MUCH_SMALLER = 0.2
"""NEEL+ 4.2: the inner attribute has less than 20 % as many values as the outer one."""


@dataclass(frozen=True)
class ShortcutDecision:
    """A shortcut that is possible, whether it is taken, and why or why not."""

    shortcut: Shortcut
    taken: bool
    reason: str


@dataclass(frozen=True)
class ShortcutEstimate:
    """A query's cost with the shortcuts that pay."""

    estimate: Estimate
    decisions: tuple[ShortcutDecision, ...] = ()


def shortened(
    query: Match, statistics: Statistics, keys: tuple[Key, ...], rows: float | None = None
) -> ShortcutEstimate:
    """The cost of a query, with each shortcut taken that makes it cheaper, in the order they are found.

    >>> from neelc.catalog.statistics.numbers import KnownStatistic
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, AND(B b, C c WHERE c.id = a.id), D d) WITHIN 1 MINUTE RETURN a.x")
    >>> def decided(values):
    ...     few = Statistics((KnownStatistic("S", "DISTINCT", values, "declared", "C", "id"),))
    ...     for one in shortened(match, few, ()).decisions:
    ...         print(one.shortcut, one.taken, one.reason, sep="; ")
    >>> decided(10)
    a.id IN c.id; True; c.id has 1% as many values as a.id, and that saves 46.5% of the work
    >>> decided(500)
    a.id IN c.id; False; c.id has 50% as many values as a.id, not under 20%
    """
    ledger = Ledger(query, statistics)
    cuts: tuple[ShortcutEffect, ...] = ()
    best = estimate(query, statistics, cuts, rows=rows, keys=keys)
    decisions: list[ShortcutDecision] = []
    for shortcut in shortcuts(query):
        cut = cut_of(shortcut, ledger)
        if cut is None or cut.share >= MUCH_SMALLER:
            decisions.append(ShortcutDecision(shortcut, False, _reason(shortcut, cut, best, None)))
            continue
        cheaper = estimate(query, statistics, (*cuts, cut), rows=best.rows_produced, keys=keys)
        taken = cheaper.work < best.work
        decisions.append(ShortcutDecision(shortcut, taken, _reason(shortcut, cut, best, cheaper)))
        if taken:
            cuts, best = (*cuts, cut), cheaper
    return ShortcutEstimate(best, tuple(decisions))


def cut_of(shortcut: Shortcut, ledger: Ledger) -> ShortcutEffect | None:
    """The shortcut with its share: how many of the outer values the inner attribute has at most. None where
    that is not known, because a side is not an attribute."""
    outer, inner = without_casts(shortcut.outer), without_casts(shortcut.inner)
    if not isinstance(outer, Attribute) or not isinstance(inner, Attribute):
        return None
    one, two = term_of(outer), term_of(inner)
    share = min(1.0, ledger.distinct(*two) / ledger.distinct(*one))
    return ShortcutEffect(one, two, share, shortcut.negative)


def _reason(shortcut: Shortcut, cut: ShortcutEffect | None, before: Estimate, after: Estimate | None) -> str:
    if cut is None:
        return "how many values its sides have is not known"
    values = f"{shortcut.inner} has {cut.share:.0%} as many values as {shortcut.outer}"
    if after is None:
        return f"{values}, not under {MUCH_SMALLER:.0%}"
    if after.work < before.work:
        return f"{values}, and that saves {1 - after.work / before.work:.1%} of the work"
    return f"{values}, but it would cost {after.work / before.work - 1:.1%} more than it saves"


# The formulas of NEEL+, chapter 5, over values: what computing the results of a query costs.
#
# |S_i| is the number of events of the i-th component in a window (`counts`), Pt the share of pairs of
# neighbours that are in order, P_e and PC_e the selectivity and the cost of the conditions attached to a
# component, SC_e the share that a shortcut leaves; all are 1 where there is nothing. Insertion and purging,
# the other terms of equation 5.1, are the same for all ways to compute and are left out, as in the thesis.
# `growth.py` generalises them to any pattern, `nested.py` uses them for the papers' baselines.

IN_ORDER = 0.5
"""Pt: of two events in any order, half are in the right one. The thesis' default."""
MOST = 1e100
"""Products stop growing here, so that sums of them are numbers."""


def combinations(counts: Sequence[float], in_order: float = IN_ORDER) -> float:
    """The first part of equation 5.2: partial results, built backwards from the last component.

    (sum over i from n to 2 of |S_(i-1)| * product over j from i to n of |S_j| * Pt). For |S| = 10, 20, 30:
    of the last two components 30*20/2 = 300 pairs, then 300*10/2 = 1500 triples.

    >>> combinations([10, 20, 30])
    1800.0
    >>> combinations([10])
    0.0
    """
    total, built = 0.0, 1.0
    for place, count in enumerate(reversed(counts)):
        built = min(MOST, built * count * (in_order if place else 1.0))
        total += built if place else 0.0
    return min(MOST, total)


def results(counts: Sequence[float], in_order: float = IN_ORDER) -> float:
    """|S_q|, the results of a flat query before its conditions: the last of its partial results.

    >>> results([10, 20, 30])
    1500.0
    """
    built = 1.0
    for place, count in enumerate(counts):
        built = min(MOST, built * count * (in_order if place else 1.0))
    return built


def basic(counts: Sequence[float], costs: Sequence[float] = (), shares: Sequence[float] = ()) -> float:
    """Equation 5.2, the basic system: all results are built, then the conditions are checked on each.

    combinations + |S_q| * product of PC * product of P. With one condition of cost 2 that one in ten meets:
    1800 + 1500 * 2 * 0.1.

    >>> basic([10, 20, 30], costs=[1, 2, 1], shares=[1, 0.1, 1])
    2100.0
    """
    return min(MOST, combinations(counts) + results(counts) * prod(costs) * prod(shares))


def nested(root: float, root_results: float, children: Iterable[float]) -> float:
    """Equations 5.3, 5.5 and 5.7, iterative nested execution: the root, and every inner query anew for each
    result of the root. Which of the three it is depends on how the root was computed.

    >>> nested(root=1800, root_results=1500, children=[200, 50])
    376800.0
    """
    return min(MOST, root + root_results * float(sum(children)))


def push_in(counts: Sequence[float], costs: Sequence[float], shares: Sequence[float]) -> float:
    """Equation 5.4, predicate push-in: conditions are checked while results are built.

    5.2's first part with |S| * PC * P for each |S|. A condition of cost 2 on the second component that one
    in ten meets leaves 20*2*0.1 = 4 of it: 30*4/2 = 60 pairs, 60*10/2 = 300 triples.

    >>> push_in([10, 20, 30], costs=[1, 2, 1], shares=[1, 0.1, 1])
    360.0
    """
    return combinations([c * cost * share for c, cost, share in zip(counts, costs, shares, strict=True)])


def shortcut(
    counts: Sequence[float],
    cuts: Sequence[float],
    costs: Sequence[float] = (),
    shares: Sequence[float] = (),
    maintenance: float = 0.0,
) -> float:
    """Equation 5.6, shortcutting inter-query predicates: 5.2 with |S| * SC for each |S|, and the upkeep of
    the cache of values: one insertion for each inner event, and one look at each value to purge it.

    A shortcut that leaves one in five of the first component: 300 pairs, 300*2/2 = 300 triples, 300
    results of cost 1, and 25 for the cache.

    >>> shortcut([10, 20, 30], cuts=[0.2, 1, 1], maintenance=25)
    925.0
    """
    left = [count * cut for count, cut in zip(counts, cuts, strict=True)]
    return min(MOST, basic(left, costs, shares) + maintenance)


# Iterative nested execution, the papers' baseline: what the same query costs without this compiler.
#
# For each result of the outermost list, every inner query is computed anew over the whole window (NEEL+
# 5.3), its conditions checked at the end (5.2) or pushed in (5.4, 5.5), and events are not grouped by key.

PRIMITIVE = (p.Event, p.Repeat)


def nested_estimate(
    query: Match, statistics: Statistics, push_in: bool = False, rows: float | None = None
) -> Estimate:
    """What iterative nested execution of a query would cost.

    >>> from neelc.pattern.cost.estimate import estimate
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, !SEQ(B b, C c WHERE b.id = a.id), D d) WHERE a.id = d.id WITHIN 10 SECONDS")
    >>> basic, pushed = (nested_estimate(match, Statistics(), choice) for choice in (False, True))
    >>> basic.work > pushed.work > estimate(match, Statistics()).work
    True
    """
    setting = CostSetting(Ledger(query, statistics), push_in=push_in)
    if rows is None:
        ways = Growth(setting).region(CostRegion(setting, query.pattern), PartPosition()).ways
        rows = limited(setting.occurrences(ways), setting)
    work = BindingCount(logarithm(computed(query.pattern, setting)), room(query.pattern))
    built = work.times(1 / (TRY + HOLD))
    step = GrowthStep(EXTEND, "iterative nested execution", built, built)
    return assembled(setting, [step], [CostItem(step.what, setting.occurrences(work))], rows)


def computed(part: p.Pattern, setting: CostSetting, around: tuple[SameAttributes, ...] = ()) -> float:
    """The work of computing a part once in one window, by NEEL+ 5.3 or, with push-in, 5.5. `around` are the
    `[id]`s of the queries around it.

    One A and one B a second: in 10 seconds 10 events of B, and 10 * 10 / 2 pairs.

    >>> from pattern_examples import query
    >>> def work(text):
    ...     match = query(text)
    ...     return round(computed(match.pattern, CostSetting(Ledger(match, Statistics()), push_in=False)), 6)
    >>> work("SEQ(A a, B b) WITHIN 10 SECONDS") == round(60 * (TRY + HOLD), 6)
    True

    With an inner query: the same for the root, and again for each of its 50 results.

    >>> work("SEQ(A a, !SEQ(B b, C c), D d) WITHIN 10 SECONDS") == round((60 + 50 * 60) * (TRY + HOLD), 6)
    True
    """
    root = _components(part)
    counts = [_count(component, setting) for component in root]
    attached = _attached(part, root, around)
    shares = [_share(conditions, root[place], setting) for place, conditions in enumerate(attached)]
    costs = [sum(map(evaluation_cost, conditions)) for conditions in attached]
    root_results = results(counts) * prod(shares) if root else 1.0
    same = (*around, *(c for c in conjuncts(part.where) if isinstance(c, SameAttributes)))
    children = [computed(child, setting, same) for child in _children(part)]
    return nested(_flat(counts, costs, shares, setting.push_in), root_results, children)


def _flat(counts: list[float], costs: list[float], shares: list[float], push_in: bool) -> float:
    """A flat query, built backwards from its last component: 5.2, or 5.4 with push-in, in our weights.

    Single events count too. The cost of a condition is paid for all bindings that it is tried on; as the
    thesis writes 5.4, it would be paid only for those that have met it.
    """
    built, work = 1.0, 0.0
    for place in reversed(range(len(counts))):
        in_order = 1.0 if place == len(counts) - 1 else IN_ORDER
        tried = min(MOST, built * counts[place] * in_order)
        built = tried * shares[place] if push_in else tried
        work += tried * (TRY + costs[place] * COMPARISON * push_in) + built * HOLD
    return work if push_in else work + built * sum(costs) * COMPARISON


def _components(part: p.Pattern) -> list[p.Event | p.Repeat]:
    """The single and Kleene components directly in a part: its outermost query."""
    if isinstance(part, PRIMITIVE):
        return [part]
    if isinstance(part, p.Joint):
        return [inner for inner in part.parts if isinstance(inner, PRIMITIVE)]
    return []


def _children(part: p.Pattern) -> Iterator[p.Pattern]:
    """The inner queries of a part."""
    if isinstance(part, p.Repeat) and not isinstance(part.part, p.Event):
        yield part.part
    if isinstance(part, PRIMITIVE):
        return
    for inner in inner_parts(part):
        if isinstance(inner, p.Repeat):
            yield from _children(inner)
        elif isinstance(inner, p.Not | p.Optional | p.Exists):
            yield inner.part
        elif not isinstance(inner, p.Event) or isinstance(part, p.Or):
            yield inner


def _count(component: p.Event | p.Repeat, setting: CostSetting) -> float:
    match component:
        case p.Event(type):
            return setting.count(type)
        case p.Repeat(p.Event(type), least, most):
            return closure(events(setting.count(type)), least, most).number
    return 1.0


def _attached(
    part: p.Pattern, root: list[p.Event | p.Repeat], around: tuple[SameAttributes, ...]
) -> list[list[Expr]]:
    """The conditions of each component. Results are built from the last one backwards, so a condition is
    checked at the first of the components that it names: NEEL+'s relocation, 4.1."""
    attached: list[list[Expr]] = [list(around) for _ in root]
    nodes = [part, *(component for component in root if component is not part)]
    for condition in (c for node in nodes for c in conjuncts(node.where)):
        names = names_in(condition)
        if isinstance(condition, SameAttributes):
            for place in range(len(root) - 1):
                attached[place].append(condition)
        elif places := [place for place, one in enumerate(root) if one.variable in names]:
            attached[places[0]].append(condition)
    return attached


def _share(conditions: list[Expr], component: p.Event | p.Repeat, setting: CostSetting) -> float:
    """P_e. An `[id]` requires each component but one to agree."""
    share = 1.0
    for condition in conditions:
        if isinstance(condition, SameAttributes):
            for name in condition.attributes:
                share /= setting.ledger.distinct(component.variable or "", name)
        else:
            share *= truth(condition, setting.ledger).true
    return share


TIE = 1e-9
"""Works that differ by less are equal: what is left are errors of rounding."""
LITTLE = 10_000.0
"""Rows to read in some milliseconds. Where a form saves less work than that, the simplest form is taken: on a
handful of events, any does."""


@dataclass(frozen=True)
class Alternative:
    """A form of the query, its conditions in order, and what it is expected to cost.

    `keys` are the values by which its events can be kept apart, `shortcuts` what was decided about each.
    """

    form: QueryForm
    estimate: Estimate
    keys: tuple[Key, ...] = ()
    shortcuts: tuple[ShortcutDecision, ...] = ()


@dataclass(frozen=True)
class Baseline:
    """Another way to execute the query, for comparison only: what the papers improve on."""

    name: str
    estimate: Estimate


@dataclass(frozen=True)
class FormChoice:
    """A query, its alternatives in the order they were found, and the one that is executed.

    Choices of several queries may share work; which do is found from all of them together, by `share`, and
    belongs beside the choices, not inside one.
    """

    query: Match
    alternatives: tuple[Alternative, ...]
    chosen: Alternative
    reason: str
    baselines: tuple[Baseline, ...] = ()


def choose(
    query: Match, forms: Sequence[QueryForm], statistics: Statistics, compare: bool = True
) -> FormChoice:
    """Prices every form of a query and takes the one with the least work; of equals, the first. With
    `compare` also the baselines, which only a reader of the explanation needs.

    >>> from neelc.pattern.rules.driver import forms
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, SEQ(B b, C c)) WHERE [id] WITHIN 1 MINUTE")
    >>> choice = choose(match, forms(match), Statistics())
    >>> print(choice.chosen.form.rewriting.query.pattern)
    SEQ(A a, B b, C c WHERE [id])
    >>> choice.chosen.form.name, [key.name for key in choice.chosen.keys]
    ('simplified', ['id'])
    >>> for baseline in choice.baselines:
    ...     print(f"{baseline.name}: {baseline.estimate.work / choice.chosen.estimate.work:.1f}x")
    conditions checked at the end, no key: 4.5x
    iterative nested execution: 11.3x
    iterative nested execution with push-in: 1.2x
    """
    alternatives: list[Alternative] = []
    rows: float | None = None
    for form in forms:
        alternatives.append(priced(form, statistics, rows))
        # Forms of a query have the same rows; the estimate for the simplest is the least rough.
        rows = alternatives[0].estimate.rows_produced
    chosen = alternatives[0]
    for alternative in alternatives[1:]:
        if alternative.estimate.work < chosen.estimate.work * (1 - TIE):
            chosen = alternative
    if alternatives[0].estimate.work - chosen.estimate.work < LITTLE:
        chosen = alternatives[0]
    named = [(one.form.name, one.estimate) for one in alternatives]
    why = reason(named, chosen.form.name)
    compared = baselines(query, statistics, rows) if compare else ()
    return FormChoice(query, tuple(alternatives), chosen, why, compared)


def priced(form: QueryForm, statistics: Statistics, rows: float | None = None) -> Alternative:
    """A form with its conditions in the best order, and its cost with the shortcuts that pay."""
    rewriting = form.rewriting
    ordered = order_conditions(rewriting.query, statistics)
    if ordered is not rewriting.query:
        step = RuleStep(order_conditions.__name__, ordered)
        rewriting = replace(rewriting, query=ordered, steps=(*rewriting.steps, step))
    keys = partition_keys(ordered)
    cheapest = shortened(ordered, statistics, keys, rows)
    return Alternative(replace(form, rewriting=rewriting), cheapest.estimate, keys, cheapest.decisions)


def baselines(query: Match, statistics: Statistics, rows: float | None) -> tuple[Baseline, ...]:
    """What the query as written would cost without push-in, without flattening, without a key. The
    papers' systems know SKIP TILL ANY MATCH only."""
    if query.strategy != SelectionStrategy.ANY_MATCH:
        return ()
    return (
        Baseline(
            "conditions checked at the end, no key", estimate(query, statistics, push_in=False, rows=rows)
        ),
        Baseline("iterative nested execution", nested_estimate(query, statistics, False, rows)),
        Baseline("iterative nested execution with push-in", nested_estimate(query, statistics, True, rows)),
    )


# What each strategy costs for a query, from the estimate that was made for its search, and which is taken.

COPIES = 3
"""A join finds events by buckets of one window: each stands in its own bucket and in its neighbours."""
MANY = 20
"""With more partial matches per event, counting them is faster than finding them (bench_counting)."""


@dataclass(frozen=True)
class PlanShape:
    """What matters of a plan: how many joins and how many window functions it has."""

    joins: int = 0
    functions: int = 0


@dataclass(frozen=True)
class StrategyPrice:
    """What a strategy is expected to cost; or why it cannot execute the query."""

    strategy: ExecutionStrategy
    work: float | None = None
    refusal: str = ""


def priced_strategies(
    shapes: Mapping[ExecutionStrategy, PlanShape], estimate: Estimate, is_chain: bool
) -> tuple[ExecutionStrategy, dict[ExecutionStrategy, float]]:
    """The strategy of the least work, of those that have a plan of this shape, and the works of all.

    A chain of events is what window functions are for. Joins have costs of their own, which few events do not
    make up for.

    >>> from pattern_examples import query
    >>> little = estimate(query("SEQ(A a, B b) WHERE a.id = b.id AND a.id = 7 WITHIN 9"), Statistics())
    >>> kernel, window, join, _ = ExecutionStrategy
    >>> shapes = {kernel: PlanShape(), window: PlanShape(0, 1), join: PlanShape(1)}
    >>> [str(priced_strategies(shapes, little, is_chain)[0]) for is_chain in (False, True)]
    ['kernel', 'window']
    """
    works = {strategy: strategy_work(strategy, estimate, shape) for strategy, shape in shapes.items()}

    def rank(strategy: ExecutionStrategy) -> tuple[bool, float]:
        own = LITTLE if strategy == ExecutionStrategy.JOIN else 0.0
        return is_chain and strategy != ExecutionStrategy.WINDOW, works[strategy] + own

    return min(works, key=rank), works


def pays_to_count(query: Match, estimate: Estimate) -> bool:
    """Whether matches are counted, if they can be. Of lists there are too many to find them one by one."""
    lists = any(isinstance(part, p.Repeat) for part in p.all_parts(query.pattern))
    return lists or estimate.partial_matches > MANY * max(1.0, estimate.rows_scanned)


def strategy_work(strategy: ExecutionStrategy, estimate: Estimate, shape: PlanShape) -> float:
    """The expected work of a strategy, in units of one row scanned."""
    return _WORKS[strategy](estimate, shape)


def _kernel(estimate: Estimate, shape: PlanShape) -> float:
    return estimate.work


def _join(estimate: Estimate, shape: PlanShape) -> float:
    """Each join reads the events again, brings both sides together by key and bucket, and sorts them."""
    joins, takes = max(1, shape.joins), shape.joins + 1
    events = COPIES * estimate.rows_sorted / takes
    partial = estimate.partial_matches / takes
    return (
        takes * estimate.rows_scanned * w.SCAN_ROW
        + joins * _brought_together(events + partial, estimate)
        + sum(step.tried for step in estimate.steps) * w.JOIN_PAIR
        + _produced(estimate)
    )


def _window(estimate: Estimate, shape: PlanShape) -> float:
    """One sort, and a pass over the sorted rows for each function."""
    rows = estimate.rows_sorted
    functions = rows * max(1, shape.functions) * w.WINDOW_ROW
    return (
        estimate.rows_scanned * w.SCAN_ROW
        + _brought_together(rows, estimate)
        + functions
        + _produced(estimate)
    )


def _brought_together(rows: float, estimate: Estimate) -> float:
    width = estimate.bytes_shuffled / estimate.rows_sorted if estimate.rows_sorted else 0.0
    return rows * (w.SHUFFLE_ROW + width * w.SHUFFLE_BYTE + log2(max(2.0, rows)) * w.SORT_COMPARISON)


def _produced(estimate: Estimate) -> float:
    return estimate.rows_produced * w.PRODUCE_ROW


_WORKS: dict[ExecutionStrategy, Callable[[Estimate, PlanShape], float]] = {
    ExecutionStrategy.KERNEL: _kernel,
    ExecutionStrategy.WINDOW: _window,
    ExecutionStrategy.JOIN: _join,
}
