"""What there is to say about a query: values, without any formatting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from neelc.catalog.statistics.numbers import Fact
from neelc.errors import Diagnostic
from neelc.explain import words as numbers
from neelc.explain.automaton import Automaton
from neelc.explain.engine import SPARK, Engine
from neelc.explain.execution import Execution
from neelc.ir import patterns as p
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.estimate import Estimate
from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from neelc.explain.host import HostExplanation
    from neelc.explain.network import NetworkExplanation

# How much a query can hold and do at worst: what bounds its state, and its complexity class.
#
# `n` is the number of events, `w` how many of them lie in one window (of one key, if there is one).


@dataclass(frozen=True)
class GrowthBounds:
    """`work` is a formula in n and w; `growth` is linear, polynomial or exponential."""

    state: str
    work: str
    growth: str
    reason: str


@dataclass(frozen=True)
class ChoiceDegree:
    """In how many ways a part can choose events of one window: about w to the power of `degree`, for lists
    without a limit about 2 to the power of w."""

    degree: int
    lists: tuple[str, ...] = ()


def bounds(query: Match, keys: Sequence[Key]) -> GrowthBounds:
    """
    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> match = query("SEQ(A a, !C c, B b) WHERE [id] WITHIN 10 SECONDS")
    >>> found = bounds(match, partition_keys(match))
    >>> found.work, found.growth
    ('n * w', 'polynomial')
    >>> print(found.state)
    Events are kept for 10 SECONDS and for each id apart: older ones can be in no further match.
    >>> print(found.reason)
    A match is a choice of 2 events, and every choice that fits counts.
    """
    return GrowthBounds(_state(query, [key.name for key in keys]), *_work(query))


def _state(query: Match, names: Sequence[str]) -> str:
    each = f" and for each {' and '.join(names)} apart" if names else ""
    if query.kept is not None and (names or query.kept.one_per):
        known = f"each {' and '.join(names)}" if names else "the input"
        return f"In a batch, all events of {known} are in memory: which matches count is known at the end."
    if query.within is None:
        return "Nothing bounds it: without WITHIN every event may be part of a match until the input ends" + (
            f", for each {' and '.join(names)} apart." if names else "."
        )
    if query.within.unit == "EVENT":
        return f"At most {query.within} are kept{each}: more do not fit in a match."
    longer = ", and as long as they may be late" if any(stream.latest for stream in query.streams) else ""
    return f"Events are kept for {query.within}{longer}{each}: older ones can be in no further match."


def _work(query: Match) -> tuple[str, str, str]:
    """A formula, its class, and a sentence about it."""
    if query.strategy != SelectionStrategy.ANY_MATCH:
        return _work_of_runs(query)
    found = _choices(query.pattern)
    if found.lists and query.collapsed and query.is_imprecise:
        names = " and ".join(f"{name}[]" for name in found.lists)
        reason = f"COLLAPSED over imprecise times: a row for each set of elements that {names} can have."
        return f"n * 2^{_w(query)}", "exponential", reason
    if found.lists and not query.collapsed:
        names = " and ".join(f"{name}[]" for name in found.lists)
        reason = f"Every sub-list of {names} that fits is in a match of its own{_advice(query)}."
        return f"n * 2^{_w(query)}", "exponential", reason
    events = "1 event" if found.degree == 1 else f"{found.degree} events"
    counts = "counts" if query.kept is None else "is looked at"
    reason = f"A match is a choice of {events}, and every choice that fits {counts}."
    if found.lists:
        reason = f"COLLAPSED: a row is a choice of {events}, with all that fits in its lists."
    return _power(found.degree, query), "linear" if found.degree <= 1 else "polynomial", reason


def counted(found: GrowthBounds, query: Match, degree: int) -> GrowthBounds:
    """The same where matches are counted instead of enumerated."""
    growth = "linear" if degree <= 1 else "polynomial"
    return replace(found, work=_power(degree, query), growth=growth, reason="However many matches there are.")


def _advice(query: Match) -> str:
    """COLLAPSED is defined for lists of single events; of imprecise times it has a row for each set of
    elements."""
    lists = [part for part in all_parts(query.pattern) if isinstance(part, p.Repeat)]
    precise = not any(stream.latest for stream in query.streams)
    collapses = precise and query.kept is None and all(isinstance(part.part, p.Event) for part in lists)
    return "; RETURN COLLAPSED would give one row for all of them" if collapses else ""


def _work_of_runs(query: Match) -> tuple[str, str, str]:
    lists = sum(isinstance(part, p.Repeat) and part.most is None for part in all_parts(query.pattern))
    started = "Every event starts one run at most"
    split = ", and a run may split where a list can go on or end" if lists else ""
    if query.strategy == SelectionStrategy.NEXT_MATCH:
        reason = f"{started}, which looks once at each event of its window{split}."
        return _power(lists + 2, query), "polynomial", reason
    if not lists:
        return "n", "linear", f"{started}, and the next event continues or ends it."
    return _power(lists + 1, query), "polynomial", f"{started}, which lasts a window at most{split}."


def _w(query: Match) -> str:
    """The events of one window: all of them, where there is none."""
    return "w" if query.within else "n"


def _power(degree: int, query: Match) -> str:
    """
    >>> from pattern_examples import query
    >>> [_power(degree, query("A a WITHIN 5")) for degree in (1, 2, 4)]
    ['n', 'n * w', 'n * w^3']
    >>> _power(3, query("A a"))
    'n^3'
    """
    if degree <= 1:
        return "n"
    if query.within is None:
        return f"n^{degree}"
    return "n * w" if degree == 2 else f"n * w^{degree - 1}"


def _choices(part: p.Pattern, dropped: frozenset[str] = frozenset()) -> ChoiceDegree:
    match part:
        case p.Event(variable=variable):
            return ChoiceDegree(int(variable not in dropped))
        case p.Not():
            return ChoiceDegree(0)
        case p.Exists(variables, inner):
            return _choices(inner, dropped | set(variables))
        case p.Repeat(inner, _, most, variable):
            found = _choices(inner, dropped)
            if variable in dropped:
                return ChoiceDegree(0)
            if part.is_chain:
                return ChoiceDegree(1 if part.begins_next else 2, found.lists)
            if most is None:
                return ChoiceDegree(0, (variable or "", *found.lists))
            return ChoiceDegree(found.degree * most, found.lists)
        case p.Or(parts):
            branches = [_choices(branch, dropped) for branch in parts]
            return max(branches, key=lambda one: (bool(one.lists), one.degree))
    below = [_choices(inner, dropped) for inner in inner_parts(part)]
    lists = tuple(name for one in below for name in one.lists)
    return ChoiceDegree(sum(one.degree for one in below), lists)


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


NOT_SHARED = "Queries that run one by one do not share this. Run together as rules, with --all, they do."


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
    input, are too many for any machine; `streaming` is how it runs over streams without end; `engine` is what
    runs it."""

    name: str
    text: str
    chosen: str
    why: str
    plan: PlanNode
    bounds: GrowthBounds
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
    streaming: tuple[tuple[str, str], ...] = ()
    engine: Engine = SPARK


@dataclass(frozen=True)
class Report:
    """All PATTERNs, all SELECTs and all queries around MATCH_RECOGNIZE of a script in order, what they share,
    and what there is to know about the statistics. `order` are the names of all of them as they are written,
    one after the other; `engine` is what they are explained for."""

    file: str
    queries: tuple[Explanation, ...]
    networks: tuple[NetworkExplanation, ...] = ()
    sharing: tuple[SharedGroup, ...] = ()
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    hosts: tuple[HostExplanation, ...] = ()
    engine: Engine = SPARK

    @property
    def explained(self) -> tuple[Explanation | NetworkExplanation | HostExplanation, ...]:
        """All of them together, in the order of the script."""
        found: list[Explanation | NetworkExplanation | HostExplanation]
        found = [*self.queries, *self.networks, *self.hosts]
        places = {name: place for place, name in enumerate(self.order)}
        return tuple(sorted(found, key=lambda one: places.get(one.name, len(places))))
