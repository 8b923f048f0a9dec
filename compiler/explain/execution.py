"""How Spark executes a query, and why not otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.cost.choose import Choice
from neelc.emit.considered import considered, program_of
from neelc.emit.strategies import Planned
from neelc.explain.list_conditions import list_conditions
from neelc.plan.program_sentence import counting_degree, program_sentence
from neelc.plan.unsupported import Unsupported


@dataclass(frozen=True)
class Execution:
    """`strategy` is None if no strategy can execute the query; `others` say what else was considered; `lists`
    say when the conditions on closures are judged. `degree` is that of the work where matches are counted."""

    strategy: str | None
    how: str
    others: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    degree: int | None = None

    @property
    def text(self) -> str:
        """Everything in one paragraph."""
        head = f"{self.strategy}: {self.how}" if self.strategy else self.how
        return " ".join([head, *self.others])


def execution(choice: Choice) -> Execution:
    try:
        found = considered(choice)
    except Unsupported as refusal:
        how = f"not yet: {refusal.what} is not supported. The reference interpreter runs it."
        return Execution(None, how, lists=tuple(list_conditions(choice.query)))
    least = next(price.work for price in found.prices if price.strategy == found.strategy) or 1.0
    others = []
    for price in found.prices:
        if price.strategy == found.strategy:
            continue
        if price.work is None:
            others.append(f"{price.strategy} cannot do it ({price.refusal}).")
        else:
            others.append(f"{price.strategy} would need {price.work / least:.1f}x the work.")
    lists = tuple(list_conditions(choice.query))
    program = program_of(found)
    degree = None if program is None else counting_degree(program)
    return Execution(found.strategy, _how(found), tuple(others), lists, degree)


def _how(found: Planned) -> str:
    """In a sentence."""
    if found.strategy == "window":
        return "window functions over the events of each key, in the order of time."
    if found.strategy == "join":
        return "one join for each event, by key and by buckets of one window; checks are semi and anti joins."
    program = program_of(found)
    assert program is not None, "all other strategies have a kernel"
    return program_sentence(program)
