"""`neelc explain --analyze`: what the steps of a plan were expected to give, and what they gave in a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from math import prod

from neelc.explain import words as numbers
from neelc.explain.text import folded, indented, table, title
from neelc.ir import patterns as p
from neelc.ir.names import written
from neelc.ir.patterns import all_parts
from neelc.ir.program import Stream
from neelc.pattern.cost.choose import FormChoice
from neelc.pattern.cost.estimate import Estimate, KernelInput, StepCount
from neelc.pattern.cost.gathering import StreamCounts
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.selectivity import truth
from neelc.pattern.cost.setting import CostSetting
from neelc.pattern.plan.counting.plan import AggregatePlan
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.pattern.plan.plan import Plan, Role
from neelc.pattern.plan.relational_plan import WindowPlan
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pipeline import PlannedQuery
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.kernels.measuring import StepMeasures
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    AnyBound,
    Choose,
    EachElement,
    EventName,
    FilterStep,
    Follow,
    KernelStep,
    PatternProgram,
    Present,
    Rename,
    RepeatStep,
    Step,
    Take,
    base_of,
    takes,
)

FAR = 10.0
"""An estimate that is off by more than this is marked."""


@dataclass(frozen=True)
class QueryMeasures:
    """What was counted of a query in a run: its `streams` before any event was left out, the events that can
    play each of its `roles`, the `steps` of its kernel, its `rows`. What is not known is not there."""

    streams: Mapping[str, StreamCounts] = field(default_factory=dict)
    roles: tuple[int, ...] = ()
    steps: StepMeasures | None = None
    rows: int | None = None


@dataclass(frozen=True)
class AnalysedStep:
    """A step of a plan: how many rows it was expected to give, None where nobody knows, and how many it gave.
    `is_assumed` if the estimate rests on defaults. `depth` is 1 for a part of the step before it."""

    step: str
    estimated: float | None = None
    measured: int | None = None
    is_assumed: bool = False
    seconds: float | None = None
    depth: int = 0

    @property
    def ratio(self) -> float | None:
        """What was measured by what was estimated; less than a row counts as one.

        >>> AnalysedStep("take A a", 0.02, 30).ratio, AnalysedStep("take A a", 400, 0).ratio
        (30.0, 0.0025)
        """
        if self.estimated is None or self.measured is None:
            return None
        return max(1.0, self.measured) / max(1.0, self.estimated)

    @property
    def is_far(self) -> bool:
        ratio = self.ratio
        return ratio is not None and not 1 / FAR <= ratio <= FAR


@dataclass(frozen=True)
class AnalysedQuery:
    """A query of a script that was run: `strategy` is how."""

    name: str
    strategy: str
    steps: tuple[AnalysedStep, ...]


def roles_of(planned: PlannedQuery) -> tuple[Role, ...]:
    """The roles that events play in the plan of a query, in the order of their bits."""
    plan = _plan(planned)
    return () if plan is None else plan.roles


def _plan(planned: PlannedQuery) -> Plan | None:
    if not isinstance(planned.plan, StrategyPlan):
        return None
    match planned.plan.plan:
        case WindowPlan(joined):
            return joined.plan
        case AggregatePlan(kernel) | StreamPlan(kernel):
            return kernel.plan
        case found:
            return found.plan


def analysed(name: str, planned: PlannedQuery, measures: QueryMeasures) -> AnalysedQuery:
    """Estimates and counts, side by side."""
    choice, plan = planned.choice, planned.plan
    if not isinstance(choice, FormChoice) or not isinstance(plan, StrategyPlan):
        strategy = ", ".join(plan.strategies) if isinstance(plan, HostPlan) else "algebra"
        streams = () if isinstance(choice, FormChoice) else planned.named.query.streams
        steps = (
            *_read(streams, measures, lambda _: (None, False)),
            AnalysedStep("rows", None, measures.rows),
        )
        return AnalysedQuery(name, strategy, steps)
    estimate = choice.chosen.estimate
    is_assumed = any(fact.origin == "assumed" for fact in estimate.facts)
    ledger = Ledger(plan.query, planned.statistics)
    found = [
        *_read(
            plan.query.streams,
            measures,
            lambda one: (ledger.stream_events(one), ledger.origin_of_events(one) == "assumed"),
        ),
        *(_role(role, place, planned, measures) for place, role in enumerate(roles_of(planned))),
        *_kernel(plan, estimate, measures.steps, is_assumed),
        AnalysedStep("rows", estimate.rows_produced, measures.rows, is_assumed),
    ]
    return AnalysedQuery(name, str(plan.strategy), tuple(found))


def _read(
    streams: Sequence[Stream],
    measures: QueryMeasures,
    estimated: Callable[[Stream], tuple[float | None, bool]],
) -> Iterator[AnalysedStep]:
    for stream in streams:
        number, is_assumed = estimated(stream)
        counted = measures.streams.get(stream.name)
        what = "read" if stream.producer is None else "take the rows of"
        events = None if counted is None else counted.events
        yield AnalysedStep(f"{what} {written(stream.name)}", number, events, is_assumed)


def _role(role: Role, place: int, planned: PlannedQuery, measures: QueryMeasures) -> AnalysedStep:
    """The events that can play a role: those of its type that meet the conditions on one event."""
    assert isinstance(planned.plan, StrategyPlan), "others have no roles"
    ledger = Ledger(planned.plan.query, planned.statistics)
    conditions = KernelInput(CostSetting(ledger)).conditions.get(str(base_of(role.variable)), [])
    estimated = ledger.events(role.type) * prod(truth(one, ledger).true for one in conditions)
    is_assumed = any(fact.origin == "assumed" for fact in ledger.facts)
    text = " AND ".join(map(str, conditions))
    measured = measures.roles[place] if place < len(measures.roles) else None
    label = f"{role.type} {role.variable}{': ' if text else ''}{text}"
    return AnalysedStep(label, estimated, measured, is_assumed, depth=1)


# The steps of a kernel's program.


def _kernel(
    plan: StrategyPlan, estimate: Estimate, measured: StepMeasures | None, is_assumed: bool
) -> Iterator[AnalysedStep]:
    if not isinstance(plan.plan, KernelPlan) or type(plan.plan.program) is not PatternProgram:
        return
    events = None if measured is None else measured.events
    yield AnalysedStep("bring together and sort", estimate.rows_sorted, events, is_assumed)
    course = _EstimatedCourse(plan.plan, estimate.steps)
    steps = plan.plan.program.steps
    for place, step in enumerate(steps):
        label, expected = course.after(step)
        if isinstance(steps[place + 1] if place + 1 < len(steps) else None, FilterStep | EachElement):
            expected = None  # for the cost model, it is checked as soon as all of its variables are bound
        rows = None if measured is None else measured.rows_out[place]
        seconds = None if measured is None else round(measured.seconds[place], 3)
        yield AnalysedStep(label, expected, rows, is_assumed and expected is not None, seconds)


class _EstimatedCourse:
    """How many partial matches there should be after each step of a program.

    The cost model follows the order of the text, a program an order of its own. So the estimate is known
    where both have bound the same variables: what is left of these by the checks that were made. A step that
    looks ahead drops rows that the cost model keeps for a while; then nothing is known until all variables
    are bound. Nor is it inside of choices, whose branches the cost model counts apart.
    """

    def __init__(self, planned: KernelPlan, steps: Sequence[StepCount]) -> None:
        self.types = {role.name: role.type for role in planned.plan.roles}
        self.parts = {
            _sought(step): step.part
            for step in planned.plan.steps
            if isinstance(step, Absent | Present) and step.part
        }
        self.shares = {
            frozenset[EventName](one.variables): one.kept / one.tried
            for one in steps
            if one.checks and one.variables and one.tried > 0
        }
        self.kept: dict[frozenset[EventName], float] = {}
        self.all: frozenset[EventName] = frozenset()
        for one in steps:
            if not one.checks:
                self.all |= frozenset(one.variables)
                self.kept[self.all] = one.kept
        if any(isinstance(part, p.Or | p.Optional) for part in all_parts(planned.query.pattern)):
            self.kept = {}
        self.bound: frozenset[EventName] = frozenset()
        self.share: float | None = 1.0
        self.is_ahead = False

    def after(self, step: KernelStep) -> tuple[str, float | None]:
        """What a step does, and how many rows it should leave."""
        label = self._label(step)
        match step:
            case Take(variable=variable, until=groups):
                self.bound |= {variable}
                for group in groups:
                    self._check(frozenset(base_of(take.variable) for take in takes(group)))
            case RepeatStep(variable=variable):
                self.bound |= {variable}
            case Follow():
                self.bound = self.all
            case Absent() | Present() if _sought(step) in self.parts:
                self._check(_sought(step))
            case Present():
                self.is_ahead = True
                return label, None
        if self.share is None or (self.is_ahead and self.bound != self.all):
            return label, None
        kept = self.kept.get(self.bound)
        return label, None if kept is None else kept * self.share

    def _check(self, sought: frozenset[EventName]) -> None:
        known = self.shares.get(sought)
        self.share = None if known is None or self.share is None else self.share * known

    def _label(self, step: KernelStep) -> str:
        match step:
            case Take(variable=variable, role=role, until=groups):
                checked = (self.parts.get(frozenset(base_of(t.variable) for t in takes(g))) for g in groups)
                return ", ".join([f"take {self.types[role]} {variable}", *(one for one in checked if one)])
            case RepeatStep(variable=variable, first=first):
                types = dict.fromkeys(self.types[take.role] for take in takes(first))
                return f"take list of {', '.join(types)} {variable}[]"
            case Absent() | Present():
                part = self.parts.get(_sought(step))
                names = ", ".join(str(name) for name in sorted(map(str, _sought(step))))
                return f"check {part}" if part else f"look ahead for {names}"
            case EachElement(variable=variable):
                return f"check each element of {variable}[]"
            case Follow():
                return "follow runs, event by event"
        return _WORDS.get(type(step), type(step).__name__.lower())


_WORDS = {
    FilterStep: "check a condition",
    Choose: "choose a branch",
    Rename: "name what branches share",
    AnyBound: "check that an event is there",
}


def _sought(step: Step[object]) -> frozenset[EventName]:
    """The variables that a check looks for."""
    assert isinstance(step, Absent | Present)
    return frozenset(base_of(take.variable) for take in takes(step.steps))


# As text and as JSON.

LONGEST = 46


def analysis_text(queries: Sequence[AnalysedQuery]) -> str:
    """For a terminal.

    >>> steps = AnalysedStep("read S", 1e6, 40, is_assumed=True), AnalysedStep("rows", 5.2, 7)
    >>> print(analysis_text([AnalysedQuery("query 1", "kernel", steps)]))
    query 1
    ═══════
    <BLANKLINE>
    How    kernel
    <BLANKLINE>
      step     estimated  measured                    seconds
      ──────  ──────────  ────────  ────────────────  ───────
      read S  1,000,000*        40  25,000x fewer !!
      rows           5.2         7      1.3x more
    <BLANKLINE>
    !!     off by more than 10x
    *      rests on a default: `neelc run --stats-out FILE`, then `--stats FILE`, replaces it
    <BLANKLINE>
    """
    return "\n".join(line for query in queries for line in _lines(query))


def _lines(query: AnalysedQuery) -> Iterator[str]:
    yield from title(query.name)
    yield ""
    yield f"How    {query.strategy}"
    yield ""
    header = ("step", "estimated", "measured", "", "seconds")
    yield from indented(table(header, [_cells(step) for step in query.steps]))
    yield ""
    if any(step.is_far for step in query.steps):
        yield f"!!     off by more than {FAR:.0f}x"
    if any(step.is_assumed for step in query.steps):
        advice = "rests on a default: `neelc run --stats-out FILE`, then `--stats FILE`, replaces it"
        yield from folded(advice, "*      ")
    yield ""


def _cells(step: AnalysedStep) -> tuple[str, ...]:
    label = "  " * step.depth + step.step
    shown = label if len(label) <= LONGEST else f"{label[: LONGEST - 3]}..."
    estimated = "" if step.estimated is None else numbers.amount(_rounded(step.estimated))
    measured = "" if step.measured is None else f"{step.measured:,}"
    seconds = "" if step.seconds is None else f"{step.seconds:.2f}"
    return (
        shown,
        estimated + ("*" if step.is_assumed and estimated else ""),
        measured,
        _compared(step),
        seconds,
    )


def _rounded(value: float) -> float:
    return float(round(value)) if 10 <= value < 1000 else value


def _compared(step: AnalysedStep) -> str:
    ratio = step.ratio
    if ratio is None:
        return ""
    if 0.95 <= ratio <= 1.05:
        return "as estimated   "
    text = f"{numbers.times(ratio)} more" if ratio > 1 else f"{numbers.times(1 / ratio)} fewer"
    return f"{text}{' !!' if step.is_far else '   '}"


def analysis_json(file: str, queries: Sequence[AnalysedQuery]) -> str:
    """The same as one JSON object."""
    found = [
        {
            "name": query.name,
            "strategy": query.strategy,
            "steps": [{**asdict(step), "ratio": step.ratio, "is_far": step.is_far} for step in query.steps],
        }
        for query in queries
    ]
    return json.dumps({"file": file, "queries": found}, indent=2, ensure_ascii=False) + "\n"
