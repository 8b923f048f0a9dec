"""Iterative nested execution, the papers' baseline: what the same query costs without this compiler.

For each result of the outermost list, every inner query is computed anew over the whole window (NEEL+ 5.3),
its conditions judged at the end (5.2) or pushed in (5.4, 5.5), and nothing is brought together by key.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from neelc.cost import compute
from neelc.cost.closure import closure
from neelc.cost.estimate import Estimate, assembled, limited
from neelc.cost.evaluation import evaluation_cost
from neelc.cost.gaps import room
from neelc.cost.growth import Growth
from neelc.cost.items import Item
from neelc.cost.ledger import Ledger
from neelc.cost.region import Region
from neelc.cost.selectivity import truth
from neelc.cost.setting import Setting
from neelc.cost.statistics import Statistics
from neelc.cost.steps import EXTEND, Place, Step
from neelc.cost.ways import Ways, events, logarithm
from neelc.cost.weights import COMPARISON, HOLD, TRY
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import Expr, Same
from neelc.ir.logical import Match
from neelc.ir.parts import inner_parts

PRIMITIVE = (p.Event, p.Repeat)


def nested_estimate(
    query: Match, statistics: Statistics, push_in: bool = False, rows: float | None = None
) -> Estimate:
    """What iterative nested execution of a query would cost.

    >>> from neelc.cost.estimate import estimate
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, !SEQ(B b, C c WHERE b.id = a.id), D d) WHERE a.id = d.id WITHIN 10 SECONDS")
    >>> basic, pushed = (nested_estimate(match, Statistics(), choice) for choice in (False, True))
    >>> basic.work > pushed.work > estimate(match, Statistics()).work
    True
    """
    setting = Setting(Ledger(query, statistics), push_in=push_in)
    if rows is None:
        found = Growth(setting).region(Region(setting, query.pattern), Place()).ways
        rows = limited(setting.occurrences(found), setting)
    work = Ways(logarithm(computed(query.pattern, setting)), room(query.pattern))
    built = work.times(1 / (TRY + HOLD))
    step = Step(EXTEND, "iterative nested execution", built, built)
    return assembled(setting, [step], [Item(step.what, setting.occurrences(work))], rows)


def computed(part: p.Pattern, setting: Setting, around: tuple[Same, ...] = ()) -> float:
    """The work of computing a part once in one window, by NEEL+ 5.3 or, with push-in, 5.5. `around` are the
    `[id]`s of the queries around it.

    One A and one B a second: in 10 seconds 10 events of B, and 10 * 10 / 2 pairs.

    >>> from neelc.rewrite.examples import query
    >>> def work(text):
    ...     match = query(text)
    ...     return round(computed(match.pattern, Setting(Ledger(match, Statistics()), push_in=False)), 6)
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
    found = compute.results(counts) * prod(shares) if root else 1.0
    same = (*around, *(c for c in conjuncts(part.where) if isinstance(c, Same)))
    children = [computed(child, setting, same) for child in _children(part)]
    return compute.nested(_flat(counts, costs, shares, setting.push_in), found, children)


def _flat(counts: list[float], costs: list[float], shares: list[float], push_in: bool) -> float:
    """A flat query, built backwards from its last component: 5.2, or 5.4 with push-in, in our weights.

    Single events count too. The cost of a condition is paid for all bindings that it is tried on; as the
    thesis writes 5.4, it would be paid only for those that have met it.
    """
    built, work = 1.0, 0.0
    for place in reversed(range(len(counts))):
        in_order = 1.0 if place == len(counts) - 1 else compute.IN_ORDER
        tried = min(compute.MOST, built * counts[place] * in_order)
        built = tried * shares[place] if push_in else tried
        work += tried * (TRY + costs[place] * COMPARISON * push_in) + built * HOLD
    return work if push_in else work + built * sum(costs) * COMPARISON


def _components(part: p.Pattern) -> list[p.Event | p.Repeat]:
    """The single and Kleene components directly in a part: its outermost query."""
    if isinstance(part, PRIMITIVE):
        return [part]
    if isinstance(part, p.Seq | p.And | p.AndNeg):
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


def _count(component: p.Event | p.Repeat, setting: Setting) -> float:
    match component:
        case p.Event(type):
            return setting.count(type)
        case p.Repeat(p.Event(type), least, most):
            return closure(events(setting.count(type)), least, most).number
    return 1.0


def _attached(part: p.Pattern, root: list[p.Event | p.Repeat], around: tuple[Same, ...]) -> list[list[Expr]]:
    """The conditions of each component. Results are built from the last one backwards, so a condition is
    judged at the first of the components that it names: NEEL+'s relocation, 4.1."""
    found: list[list[Expr]] = [list(around) for _ in root]
    nodes = [part, *(component for component in root if component is not part)]
    for condition in (c for node in nodes for c in conjuncts(node.where)):
        names = names_in(condition)
        if isinstance(condition, Same):
            for place in range(len(root) - 1):
                found[place].append(condition)
        elif places := [place for place, one in enumerate(root) if one.variable in names]:
            found[places[0]].append(condition)
    return found


def _share(conditions: list[Expr], component: p.Event | p.Repeat, setting: Setting) -> float:
    """P_e. An `[id]` asks each component but one to agree."""
    share = 1.0
    for condition in conditions:
        if isinstance(condition, Same):
            for name in condition.attributes:
                share /= setting.ledger.distinct(component.variable or "", name)
        else:
            share *= truth(condition, setting.ledger).true
    return share
