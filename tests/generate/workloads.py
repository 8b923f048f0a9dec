"""Random expressions that share prefixes, suffixes, middles and positive parts, for the plan finder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

from pattern_examples import query

from neelc.ir.patterns import Event, Not, Seq
from neelc.ir.program import Member
from neelc.sharing.cost import CostModel
from neelc.sharing.expressions import Constraint, Expression, SequenceComponent, SharingContext, expressions
from neelc.sharing.operators import Members, Workload
from neelc.sharing.plan_finder import Plan, in_order

QUERY = query("A a")


def expression(text: str, number: int = 0) -> Expression:
    """An expression as a row of types; `!` stands before what must not lie in a gap.

    >>> print(expression("A !X B").slice(0, 2))
    SEQ(A, !X, B)
    """
    components: list[SequenceComponent] = []
    contents: list[tuple[int, str]] = []
    for word in text.split():
        if word.startswith("!"):
            contents.append((len(components), word[1:]))
        else:
            part = Event(word, "v1")
            components.append(
                SequenceComponent(part, ((Member("S", word),),), SharingContext(), word, part, QUERY)
            )
    last = len(components)
    constraints = tuple(
        Constraint(
            Not(Event(word, "v1")),
            tuple(range(last)) if gap in (0, last) else (gap - 1, gap),
            gap,
            ((Member("S", word),),),
            f"!{word}",
            Not(Event(word, "x")),
            QUERY,
        )
        for gap, word in contents
    )
    variables = tuple(f"{component.text}{place}" for place, component in enumerate(components))
    return Expression(f"E{number + 1}", tuple(components), constraints, variables, 0, Seq((Event("A", "a"),)))


def workload(random: Random, count: int, types: str = "ABCDE") -> Workload:
    """`count` expressions: each new, or one of those before with its head, tail or gaps changed."""
    texts: list[list[str]] = []
    while len(texts) < count:
        if not texts or random.random() < 0.3:
            new = [random.choice(types) for _ in range(random.randint(2, 5))]
        else:
            old = random.choice(texts)
            cut = random.randint(1, len(old))
            more = [random.choice(types) for _ in range(random.randint(0, 3))]
            new = random.choice([old[:cut] + more, more + old[-cut:], _negated(random, old, types)])
        if sum(not word.startswith("!") for word in new) > 1:
            texts.append(new)
    found = [expression(" ".join(words), number) for number, words in enumerate(texts)]
    sizes = {type: 10 ** random.uniform(-0.5, 1.5) for type in types}
    return Workload(found, sized(sizes))


def _negated(random: Random, words: list[str], types: str) -> list[str]:
    """The words with one negation more or less."""
    negative = [place for place, word in enumerate(words) if word.startswith("!")]
    if negative and random.random() < 0.4:
        gone = random.choice(negative)
        return words[:gone] + words[gone + 1 :]
    place = random.randint(0, len(words))
    return [*words[:place], f"!{random.choice(types)}", *words[place:]]


MIXED = """SEQ(MSFT, !IPIX, ORCL, INTC) OR SEQ(MSFT, !QQQ, ORCL, INTC) OR SEQ(MSFT, !RIMM, ORCL, INTC)
  OR SEQ(RIMM, DELL, AMAT, MSFT, ORCL) OR SEQ(IPIX, DELL, AMAT, MSFT, ORCL)
  OR SEQ(CSCO, !RIMM, YHOO, QQQ) OR EXISTS RIMM : SEQ(CSCO, !IPIX, RIMM, YHOO, QQQ) WITHIN 10 MILLISECONDS"""
"""NEEL, the mixed workload of section VI-F, with Proj as EXISTS: also in tests/seeds/neel.neel."""
PAPER_GROUPS = [["E1", "E2", "E3"], ["E4", "E5"], ["E6", "E7"]]
"""The partition that the paper's plan finder returns for it."""


def groups_of(workload: Workload, plan: Plan) -> list[list[str]]:
    """The names of the expressions, group by group."""
    return [[workload.expressions[number].name for number in sorted(group)] for group in plan]


def mixed_workloads(spread: float, count: int = 30) -> Iterator[Workload]:
    """The mixed workload with rates that differ by up to a factor of `spread`."""
    found = expressions(query(MIXED))
    for seed in range(count):
        chance = Random(seed)
        names = dict.fromkeys(component.text for one in found for component in one.components)
        sizes = {name: 10 * spread ** chance.uniform(-0.5, 0.5) for name in names}
        yield Workload(found, sized(sizes))


def sized(sizes: dict[str, float]) -> CostModel:
    """Costs for components of these sizes."""
    return CostModel(lambda component: sizes[component.text])


def best_plan(workload: Workload) -> Plan:
    """A plan of least cost, by trying all: what the plan finder is compared with, for a few expressions.

    The first expression is in some group; for each group that it may be in, what is left is solved by itself.
    """
    known: dict[Members, tuple[float, Plan]] = {frozenset(): (0.0, ())}

    def solve(left: Members) -> tuple[float, Plan]:
        if left not in known:
            first, *others = sorted(left)
            chosen = (
                frozenset((first, *more)) for size in range(len(left)) for more in combinations(others, size)
            )
            options = ((group, solve(left - group)) for group in chosen)
            plans = ((workload.cost(group) + cost, (group, *plan)) for group, (cost, plan) in options)
            known[left] = min(plans, key=lambda plan: plan[0])
        return known[left]

    return in_order(workload, solve(frozenset(range(len(workload.expressions))))[1])
