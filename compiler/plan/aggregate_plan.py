"""Aggregates over matches without enumerating them: when that is possible, and how (docs/decisions/0037)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neelc.ir.logical import Match
from neelc.ir.parts import targets
from neelc.ir.show_pattern import as_written
from neelc.plan import steps as s
from neelc.plan.aggregate_chains import chain
from neelc.plan.aggregate_judging import LEADER, View, begins, pinned
from neelc.plan.aggregate_stages import Asked, NoChain, Sequence, sequence
from neelc.plan.aggregate_tallies import Tallied, grouping, tallies
from neelc.plan.blocks_to_steps import check_step
from neelc.plan.event_columns import EventColumns
from neelc.plan.kernel_outputs import START, closures_of, is_start, references, struct_names
from neelc.plan.kernel_plan import KernelPlan, key_column
from neelc.plan.kernel_values import KernelValues, groups
from neelc.plan.list_folds import NotInKernel
from neelc.plan.list_names import BEFORE, CURRENT, FIRST, LAST, element
from neelc.plan.order import Order
from neelc.plan.plan_to_program import plan_to_steps
from neelc.plan.steps_within import types_of_variables
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.keys import Key
from neelc.runtime.kernels.counting_chain import Counting, mentioned
from neelc.runtime.program import Absent, Output, Program, Value
from neelc.runtime.reference.results import is_over_matches


@dataclass(frozen=True)
class AggregatePlan:
    """The plan of a query whose matches are counted. `planned.program` is a `Counting`."""

    planned: KernelPlan
    tallied: tuple[Tallied, ...]

    @property
    def program(self) -> Counting:
        assert isinstance(self.planned.program, Counting)
        return self.planned.program


def sentence(program: Program) -> str:
    """How a program counts, for explanations.

    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WITHIN 9 RETURN count(*)"
    >>> print(sentence(aggregate_plan(query(text), (), "SECOND").program))
    matches are counted, not enumerated: for each first event, one pass over the events of its window.
    """
    assert isinstance(program, Counting)
    chain = program.chains[0]
    pinned = [take.variable for take in chain.pins]
    if not pinned:
        return "matches are counted, not enumerated: one pass over the events of each key."
    events = "the window" if chain.width is not None else "the key"
    each = f"choice of {' and '.join(pinned)}"
    if chain.leads and len(pinned) == 1:
        each, events = "first event", events.replace("the", "its")
    return f"matches are counted, not enumerated: for each {each}, one pass over the events of {events}."


def aggregate_plan(query: Match, keys: tuple[Key, ...], unit: str) -> AggregatePlan | None:
    """The plan that counts; None if matches must be enumerated, or cannot be found at all.

    >>> from neelc.rewrite.examples import query
    >>> def applies(text):
    ...     return aggregate_plan(query(text), (), "MILLISECOND") is not None
    >>> applies("SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[i].x > a.x RETURN count(*), sum(c.x)")
    True

    Not where lists as a whole are judged, where each match is wanted, or where a value needs all of a list:

    >>> applies("SEQ(A a, B+ b[]) WHERE avg(b[].x) > 1 RETURN count(*)")
    False
    >>> applies("SEQ(A a, B b) RETURN a.x, b.x"), applies("SEQ(A a, B+ b[]) RETURN max(sum(b[].x))")
    (False, False)
    """
    try:
        return _planned(query, keys, unit)
    except (NoChain, NotInKernel, Unsupported):
        return None


def _planned(query: Match, keys: tuple[Key, ...], unit: str) -> AggregatePlan:
    if not query.aggregated or query.distinct:
        raise NoChain("each match is wanted")
    found = sequence(query, keys, unit)
    if found.counted and len(keys) < len(query.partition):
        raise NoChain("a partition whose values differ by type")
    _refuse_open_negations(found)
    grouped, keyed = grouping(query, found, keys)
    pins, ends = _pins(found, grouped)
    plan = _skeleton(query, found, unit)
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    checks = plan_to_steps(plan, columns)
    absent = tuple(step for step in checks.steps if isinstance(step, Absent))
    values = KernelValues(columns, _absent(found))

    def value(asked: Asked) -> Value:
        return values.value(asked.expression)

    chains = tuple(
        replace(chain(found, View(found.stages, begin, pins), value, absent), ends=ends)
        for begin in begins(found.stages)
    )
    made = tallies(query, found, columns)
    counted = tuple(one.tally for one in made)
    roles = {stage.variable: stage.role for stage in found.stages}
    program = Counting(
        mentioned(chains, counted),
        _outputs(query, columns, plan),
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        groups((*values.coded, *checks.codings)),
        counted=found.counted,
        reach=plan.reach,
        looks_back=False,
        everything=found.counted,
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
        chains=chains,
        tallies=counted,
        keyed=tuple((name, roles[name]) for name in sorted(keyed - pins)),
    )
    text = str(as_written(query.pattern))
    planned = KernelPlan(plan, program, tuple(columns.all()), key_columns, (), query, text)
    return AggregatePlan(planned, made)


def _pins(found: Sequence, grouped: frozenset[str]) -> tuple[frozenset[str], str | None]:
    """What is pinned, and the variable that matches end with, if results are grouped by it: that is known at
    the end without being pinned. A window is measured from the first event, which is pinned then."""
    first = {found.stages[begin].variable for begin in begins(found.stages)}
    last = found.stages[-1].variable
    ends = last if last in grouped - first else None
    pins = pinned(found, (grouped - {ends}) | ({LEADER} if found.width is not None else set()))
    pins = pins | {LEADER} if pins & first else pins
    return pins, None if ends in pins else ends


def _refuse_open_negations(found: Sequence) -> None:
    """A negation before the first event, or after the last, looks as far as the window reaches."""
    for before, _ in found.gaps:
        if all(stage.least == 0 for stage in found.stages[:before]):
            raise NoChain("a negation before the first event")
        if all(stage.least == 0 for stage in found.stages[before:]):
            raise NoChain("a negation after the last event")


def _skeleton(query: Match, found: Sequence, unit: str) -> s.Plan:
    """The plan as far as others ask for it: who is bound to what, and the negations."""
    order = Order(found.block, found.known, found.roles)
    steps: list[s.Step] = []
    for stage in found.stages:
        if stage.listed:
            name = element(stage.variable, CURRENT)
            body = (s.Take(name, stage.role),)
            steps.append(s.Repeat(stage.variable, (name,), body, body, stage.least, stage.most))
        else:
            steps.append(s.Take(stage.variable, stage.role))
    checks = (check_step(order, check) for _, check in found.gaps)
    return s.Plan(
        (*steps, *checks),
        found.roles.roles,
        targets(query.pattern),
        unit,
        reach=None if found.counted else found.width,
        counted=found.counted,
        looks_back=False,
        everything=found.counted,
    )


def _absent(found: Sequence) -> frozenset[str]:
    """The names that may have no event."""
    lists = [stage.variable for stage in found.stages if stage.listed]
    ends = (element(name, place) for name in lists for place in (FIRST, LAST, BEFORE))
    return frozenset((*ends, *(stage.variable for stage in found.stages if stage.least == 0)))


def _outputs(query: Match, columns: EventColumns, plan: s.Plan) -> tuple[Output, ...]:
    """A struct for each variable that results are grouped by."""
    fields: dict[str, dict[str, str]] = {}
    for output in query.outputs:
        if not is_over_matches(output.expression):
            for variable, reference in references(output.expression, closures_of(query.pattern)):
                types = columns.type_of_variable[variable]
                is_time = reference is None or is_start(reference, types, query, plan.unit)
                name = START if is_time or reference is None else columns.column(reference, variable).name
                fields.setdefault(variable, {})[name] = name
    names = struct_names(plan.variables)
    return tuple(Output(one, names[one], tuple(found.items())) for one, found in fields.items())
