"""What there is to say about a query: values, without any formatting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from neelc.cost.estimate import Estimate
from neelc.cost.facts import Fact
from neelc.errors import Diagnostic
from neelc.explain import numbers
from neelc.explain.bounds import Bounds
from neelc.explain.execution import Execution
from neelc.plan.automaton import Automaton

if TYPE_CHECKING:
    from neelc.explain.network import NetworkExplanation


@dataclass(frozen=True)
class PlanNode:
    """One operation of a plan. `kind` is in KINDS; `details` are pairs of a label and a text.

    `rows` is how many rows it is expected to give; None where nobody knows. `is_assumed` if that rests on
    defaults, because nobody says more about the events.
    """

    kind: str
    title: str
    details: tuple[tuple[str, str], ...] = ()
    rows: float | None = None
    inputs: tuple[PlanNode, ...] = ()
    is_assumed: bool = False

    @property
    def rows_text(self) -> str:
        """How many rows that are, in words; empty where nobody knows."""
        return "" if self.rows is None else numbers.rows(self.rows, self.is_assumed)

    def resting_on(self, facts: Sequence[Fact]) -> PlanNode:
        """The same plan; its numbers are marked if they rest on a default."""
        if all(fact.origin != "assumed" for fact in facts):
            return self
        inputs = tuple(source.resting_on(facts) for source in self.inputs)
        return replace(self, inputs=inputs, is_assumed=True)


def defaults(facts: Sequence[Fact]) -> str | None:
    """What the star behind a number means; None if there is none.

    >>> print(defaults([Fact("events of S", 1e6, "assumed"), Fact("events of type A in S", 9, "declared")]))
    rests on a default: 1,000,000 events of S. WITH STATS or --stats FILE replaces it.
    """
    found = [fact for fact in facts if fact.origin == "assumed"]
    if not found:
        return None
    # What there is of a whole stream says most.
    first = min(found, key=lambda fact: (" of type " in fact.what, not fact.what.startswith("events of")))
    example = f"{numbers.amount(first.value)} {first.what}"
    if len(found) == 1:
        return f"rests on a default: {example}. WITH STATS or --stats FILE replaces it."
    listed = "--mode cost lists them, WITH STATS or --stats FILE replaces them"
    return f"rests on {len(found)} defaults, such as {example}: {listed}."


KINDS = ("project", "aggregate", "match", "sort", "shuffle", "scan")


@dataclass(frozen=True)
class ShownStep:
    """A rule that fired: its law in one sentence, what it changed, and the whole query before and after."""

    rule: str
    law: str
    before: str
    after: str
    query_before: str
    query_after: str


@dataclass(frozen=True)
class ShownRefusal:
    """A rule that must not fire, why, and what it looked at."""

    rule: str
    law: str
    reason: str
    part: str | None = None


@dataclass(frozen=True)
class ShownShortcut:
    """Events that could be dropped early, because what they must be equal to has few values."""

    text: str
    taken: bool
    reason: str


@dataclass(frozen=True)
class ShownAlternative:
    """A form of the query, or a `baseline`: a way that is there for comparison only.

    `ratio` is its work by that of the chosen one; `query` is the form's text, empty for a baseline.
    """

    name: str
    chosen: bool
    estimate: Estimate
    ratio: float
    query: str = ""
    baseline: bool = False


NOT_SHARED = "This is not executed: each query runs alone. It says what running them together could save."


@dataclass(frozen=True)
class SharedMember:
    """A sequence that a query looks for. `name` is E1, E2 and so on."""

    name: str
    query: str
    text: str


@dataclass(frozen=True)
class SharedGroup:
    """Expressions that could be executed together, and what would be built once for all of them.

    `saving` is what they cost apart by what they cost together. `marks` is the table that bit-marking keeps.
    """

    operator: str
    members: tuple[SharedMember, ...]
    shared: str
    saving: float
    marks: str | None = None


@dataclass(frozen=True)
class Explanation:
    """All about one query. `text` is the query as `neelc fmt` prints it; `chosen` names the form taken;
    `held` is how many partial matches there are expected to be at a time; `hopeless` if these, in the whole
    input, are too many for any machine."""

    name: str
    text: str
    chosen: str
    why: str
    plan: PlanNode
    bounds: Bounds
    held: float
    hopeless: bool
    steps: tuple[ShownStep, ...]
    refusals: tuple[ShownRefusal, ...]
    shortcuts: tuple[ShownShortcut, ...]
    alternatives: tuple[ShownAlternative, ...]
    facts: tuple[Fact, ...]
    automaton: Automaton
    execution: Execution
    lints: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Report:
    """All PATTERNs and all SELECTs of a script in order, what they share, and what there is to know about the
    statistics. `order` are the names of all of them as they are written, one after the other."""

    file: str
    queries: tuple[Explanation, ...]
    networks: tuple[NetworkExplanation, ...] = ()
    sharing: tuple[SharedGroup, ...] = ()
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def explained(self) -> tuple[Explanation | NetworkExplanation, ...]:
        """PATTERNs and SELECTs together, in the order of the script."""
        both: tuple[Explanation | NetworkExplanation, ...] = (*self.queries, *self.networks)
        places = {name: place for place, name in enumerate(self.order)}
        return tuple(sorted(both, key=lambda one: places.get(one.name, len(places))))
