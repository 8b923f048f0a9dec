"""Everything joins need for a query: its steps, the columns of events, and which of them each variable
uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, product

from neelc.ir.expressions import Binary, Call, Expr, names_in
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.types import BIGINT, is_orderable
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.choose import PlanShape
from neelc.pattern.plan.blocks import UnsupportedQuery, event_names, renamed
from neelc.pattern.plan.columns import EVENT, EventColumn, EventColumns, plain_columns
from neelc.pattern.plan.kernel_plan import KeyColumn, key_column, references, struct_names
from neelc.pattern.plan.match_to_plan import match_to_plan
from neelc.pattern.plan.plan import Plan, PlanStep, types_of_variables
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    AnyBound,
    Bounds,
    Choose,
    EventName,
    FilterStep,
    Present,
    Rename,
    Take,
    When,
    conditions,
    lists_bound,
    names_of_step,
    takes,
)
from neelc.runtime.values.functions.space import SPATIAL


@dataclass(frozen=True)
class JoinCheck:
    """A check by a semi join or an anti join with what each of its `ways` finds; or, if it looks for a
    `single` event, with the events themselves. `names` are the variables that it looks at."""

    check: Absent[Expr] | Present[Expr]
    ways: tuple[tuple[JoinStep, ...], ...]
    names: frozenset[EventName] = frozenset()
    single: Take[Expr] | None = None


JoinStep = Take[Expr] | Rename | FilterStep[Expr] | JoinCheck
"""What joins do with partial matches: the first event of a branch begins them, others are joined to them."""


@dataclass(frozen=True)
class JoinPlan:
    """Steps for joins. `structs` has the column of each variable, `used` the columns of events it needs;
    `numbered`: equal events must be distinguished. `branches` are the ways through the choices."""

    plan: Plan
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...]
    structs: Mapping[EventName, str]
    used: Mapping[EventName, tuple[str, ...]]
    numbered: bool
    branches: tuple[tuple[JoinStep, ...], ...] = ()

    @property
    def shape(self) -> PlanShape:
        """How many joins and window functions there are."""
        return PlanShape(sum(joins_of(steps) for steps in self.branches), self.numbers)

    @property
    def numbers(self) -> int:
        """How many window functions number the events."""
        return 2 * self.plan.counted + self.numbered

    def lines(self) -> Iterator[str]:
        """The plan for people, a line for each step."""
        for number, steps in enumerate(self.branches, 1):
            yield f"branch {number}" if len(self.branches) > 1 else "steps"
            yield from (f"  {line}" for line in join_lines(steps))

    @property
    def ordered(self) -> tuple[EventColumn, ...]:
        """Columns by which events that differ can be distinguished."""
        return tuple(column for column in self.columns if is_orderable(column.type))

    def field(self, reference: Expr, variable: EventName) -> str:
        plain = renamed(reference, variable, EVENT)
        return self._fields[plain]

    @cached_property
    def _fields(self) -> dict[Expr, str]:
        return plain_columns(self.columns)

    def fields(self, variable: EventName) -> list[tuple[str, str, str]]:
        """The fields of a variable's struct: name, text and type."""
        own = ["start", *(["end"] if self.plan.lasting else [])]
        fields = [(name, f"`{name}`" if name == "end" else name, str(BIGINT)) for name in own]
        if self.plan.counted:
            fields += [(name, f"CAST({name} AS BIGINT)", str(BIGINT)) for name in ("first", "beyond")]
        if self.numbered:
            fields.append(("copy", "CAST(copy AS BIGINT)", str(BIGINT)))
        types = {column.name: str(column.type) for column in self.columns}
        return fields + [(name, f"`{name}`", types[name]) for name in self.used.get(variable, ())]

    def label(self, variable: EventName) -> str:
        return next(
            (f"{r.type} {r.variable}" for r in self.plan.roles if r.variable == variable), str(variable)
        )


def join_plan(query: Match, keys: tuple[Key, ...], unit: str) -> JoinPlan:
    """The plan of a query for joins; raises `UnsupportedQuery`.

    >>> from pattern_examples import query
    >>> plan = join_plan(query("SEQ(A a, !B b, C c) WITHIN 9"), (), "MILLISECOND")
    >>> print(*plan.lines(), plan.shape, sep="\\n")
    steps
      begin with a
      join c
      without !B b: join b
    PlanShape(joins=2, functions=0)
    """
    joined = relational_plan(query, keys, unit)
    refuse_too_many_roles(joined.plan)
    branches = tuple(joined_steps(steps, joined) for steps in alternatives(joined.plan.steps))
    return replace(joined, branches=branches)


def relational_plan(query: Match, keys: tuple[Key, ...], unit: str, contiguous: bool = False) -> JoinPlan:
    """What joins and window functions have in common: the steps and the columns, but no branches yet."""
    plan = match_to_plan(query, keys, unit, contiguous)
    if query.order_types:
        raise UnsupportedQuery("an order of events of the same time (THEN BY)")
    if plan.collapsed:
        raise UnsupportedQuery("RETURN COLLAPSED")
    if query.partial is not None:
        raise UnsupportedQuery("WITH PARTIAL MATCHES")
    if query.kept is not None:
        raise UnsupportedQuery(str(query.kept))
    if any(lists_bound(plan.steps)):
        raise UnsupportedQuery("Kleene closure")
    if plan.counted and (plan.lasting or len(keys) < len(query.partition)):
        raise UnsupportedQuery("a window of EVENTS over events that last")
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    used: dict[EventName, dict[str, None]] = {}
    outputs = [output.expression for output in query.outputs]
    for expression in (*outputs, *conditions(plan.steps)):
        for variable, reference in references(expression, {}):
            assert reference is not None, "only lists are counted"
            used.setdefault(variable, {})[columns.column(reference, variable).name] = None
    for old, new in renamed_to(plan.steps):
        used.setdefault(old, {}).update(used.get(new, {}))
    numbered = plan.unique or any(take.differs for take in takes(plan.steps))
    variables = tuple(str(name) for name in columns.type_of_variable)
    structs = struct_names(variables, tuple(key.name for key in key_columns))
    return JoinPlan(
        plan,
        tuple(columns.all()),
        key_columns,
        {name: structs[str(name)] for name in columns.type_of_variable},
        {variable: tuple(names) for variable, names in used.items()},
        numbered,
    )


def renamed_to(steps: tuple[PlanStep, ...]) -> Iterator[tuple[EventName, EventName]]:
    """The variables that get another name: they need what that one needs."""
    return ((step.variable, step.new) for step in steps if isinstance(step, Rename))


# The steps of a branch, as joins execute them.


def joined_steps(steps: Sequence[PlanStep], planned: JoinPlan, begun: bool = False) -> tuple[JoinStep, ...]:
    """The steps in the order of joins: an event comes first, unless partial matches have `begun`. Raises
    `UnsupportedQuery`."""
    first = next((n for n, step in enumerate(steps) if isinstance(step, Take)), 0)
    if not begun:
        steps = (*steps[first : first + 1], *steps[:first], *steps[first + 1 :])
        assert steps and isinstance(steps[0], Take), "a match has an event"
    joined: list[JoinStep] = []
    for step in steps:
        match step:
            case Take():
                if begun or joined:
                    _refuse_cross_join(step, planned)
                joined.append(step)
            case Present(part=""):
                continue  # it only drops early what a join drops as well
            case Absent() | Present():
                joined.append(_check(step, planned))
            case Rename() | FilterStep():
                joined.append(step)
    return tuple(joined)


def _check(step: Absent[Expr] | Present[Expr], planned: JoinPlan) -> JoinCheck:
    ways = alternatives(step.steps)
    single = single_take(ways)
    if single is None and any(not is_orderable(column.type) for column in planned.columns):
        raise UnsupportedQuery("a check with several events, where events have maps,")
    if any(_is_in_python(one) for way in ways for one in conditions(way) if len(event_names(one)) > 1):
        raise UnsupportedQuery(
            "a negation that Python code decides on several events"
        )  # no semi join of Spark's
    names = frozenset(name for way in ways for name in names_of_step(Present(way), event_names))
    return JoinCheck(step, tuple(joined_steps(way, planned, begun=True) for way in ways), names, single)


def _is_in_python(condition: Expr) -> bool:
    calls = (node for node in walk(condition) if isinstance(node, Call))
    return any(call.declared is not None or call.name in SPATIAL for call in calls)


def single_take(ways: tuple[tuple[PlanStep, ...], ...]) -> Take[Expr] | None:
    """The one event that a check looks for, if it is one."""
    if len(ways) != 1 or len(ways[0]) != 1:
        return None
    (step,) = ways[0]
    return step if isinstance(step, Take) else None


def _refuse_cross_join(step: Take[Expr], planned: JoinPlan) -> None:
    related = planned.keys or planned.plan.reach is not None or any(map(_is_equality, step.where))
    if not related:
        raise UnsupportedQuery("a join of events that nothing but time relates, without WITHIN")


def _is_equality(condition: Expr) -> bool:
    return isinstance(condition, Binary) and condition.op == "=" and len(names_in(condition)) > 1


MOST_ROLES = 62
"""The roles that an event can play are bits of a number."""


def refuse_too_many_roles(plan: Plan) -> None:
    if len(plan.roles) > MOST_ROLES:
        raise UnsupportedQuery(f"a pattern with more than {MOST_ROLES} kinds of events")


def joins_of(steps: Sequence[JoinStep], begun: bool = False) -> int:
    """How many joins the steps of a branch are."""
    takes = sum(isinstance(step, Take) for step in steps) - (not begun)
    checks = [step for step in steps if isinstance(step, JoinCheck)]
    inner = (joins_of(way, begun=True) for step in checks if step.single is None for way in step.ways)
    return takes + len(checks) + sum(inner)


def join_lines(steps: Sequence[JoinStep], begun: bool = False) -> Iterator[str]:
    """A line for each step of a branch."""
    for number, step in enumerate(steps):
        match step:
            case Take(variable):
                yield f"join {variable}" if number or begun else f"begin with {variable}"
            case Rename(variable, new):
                yield f"{variable} as {new}"
            case FilterStep(condition):
                yield f"where {condition}"
            case JoinCheck(check, ways):
                kind = "without" if isinstance(check, Absent) else "with"
                texts = (", ".join(join_lines(way, begun=True)) for way in ways)
                yield f"{kind} {check.part}: {' or '.join(texts)}"


# Steps without choices: one list for each way through the branches of ORs and optional parts.

MOST = 64
"""More ways than these would make a plan that nobody can read and Spark cannot optimise in time."""


def alternatives(steps: Sequence[PlanStep]) -> tuple[tuple[PlanStep, ...], ...]:
    """The lists of steps, none with a `when`; inside a check, choices made around it are settled, its own
    are not.

    >>> takes = (Take("a", "A", when=(("m", 0),)), Take("b", "B", when=(("m", 1),)))
    >>> steps = (Choose("m", 2), *takes)
    >>> [[step.variable for step in way] for way in alternatives(steps)]
    [['a'], ['b']]
    """
    lists = []
    for made in _ways(steps):
        # Choices made around a check were settled when its steps were: all marks here are its own.
        chosen = tuple(
            _settled(step, made) for step in steps if not isinstance(step, Choose) and _meets(step, made)
        )
        bound = {step.variable for step in chosen if isinstance(step, Take)}
        if all(bound & set(step.variables) for step in chosen if isinstance(step, AnyBound)):
            lists.append(tuple(step for step in chosen if not isinstance(step, AnyBound)))
    return tuple(dict.fromkeys(lists))


def _ways(steps: Sequence[PlanStep]) -> Iterator[dict[str, int]]:
    """The combinations of choices; one that does not apply is made in one way only."""
    choices = [step for step in steps if isinstance(step, Choose)]
    ways: dict[tuple[tuple[str, int], ...], None] = {}
    total = 1
    for choice in choices:
        total *= choice.count
    if total > MOST * MOST:
        raise UnsupportedQuery(f"a pattern with more than {MOST} combinations of branches")
    for numbers in product(*(range(choice.count) for choice in choices)):
        made = dict(zip((choice.mark for choice in choices), numbers, strict=True))
        applying = {c.mark: made[c.mark] for c in choices if all(made.get(m, n) == n for m, n in c.when)}
        ways[tuple(applying.items())] = None
    if len(ways) > MOST:
        raise UnsupportedQuery(f"a pattern with more than {MOST} combinations of branches")
    return (dict(way) for way in ways)


def _meets(step: PlanStep, made: dict[str, int]) -> bool:
    """Whether the step is for these choices; one that does not apply has not been made."""
    return all(made.get(mark) == number for mark, number in step.when)


def _settled(step: PlanStep, made: dict[str, int]) -> PlanStep:
    """The step without choices that are made; in a check, without steps of other branches."""
    left: When = tuple(choice for choice in step.when if choice[0] not in made)
    if isinstance(step, Absent | Present):
        own = {inner.mark for inner in step.steps if isinstance(inner, Choose)}
        inner = tuple(
            _settled(one, made)
            for one in step.steps
            if all(made.get(mark, number) == number for mark, number in one.when if mark not in own)
        )
        return replace(step, steps=inner, when=left)
    return replace(step, when=left)


# What window functions need for a query, where they can say it.
#
# - Contiguity: the events of one instant are put into a list, and the lists of the next instants stand
# beside it. - A single event, and others that must or must not lie near it: these are counted in a frame
# around it.
#
# What is left after that, checks that look further, is done with joins.

MOST_CHAINED = 80
"""A chain of more events is a plan so deep that Spark's optimiser overflows its stack: it fails at 120."""


@dataclass(frozen=True)
class EventChain:
    """Events of instants that follow one another, and the `rest` that joins do."""

    takes: tuple[Take[Expr], ...]
    rest: tuple[JoinStep, ...]

    @property
    def functions(self) -> int:
        return len(self.takes) - 1

    def lines(self) -> Iterator[str]:
        yield f"{', then '.join(str(take.variable) for take in self.takes)}: one instant after the other"


@dataclass(frozen=True)
class NearbyCount:
    """How many events that can play `role` lie from `low` to `high` around an event, by the difference of
    their times, other than itself if it `differs`: some must, or none if they are `absent`."""

    role: str
    low: int | None
    high: int | None
    differs: bool
    absent: bool
    part: str


@dataclass(frozen=True)
class FramedEvent:
    """A single event with `counts` of others around it, and the `rest` that joins do."""

    take: Take[Expr]
    counts: tuple[NearbyCount, ...]
    rest: tuple[JoinStep, ...]

    @property
    def functions(self) -> int:
        return len(self.counts)

    def lines(self) -> Iterator[str]:
        yield f"begin with {self.take.variable}"
        for one in self.counts:
            kind = "without" if one.absent else "with"
            yield f"{kind} {one.part}: count {one.role} from {_shown(one.low)} to {_shown(one.high)}"


@dataclass(frozen=True)
class WindowPlan:
    """Branches for window functions, over the events of `joined`."""

    joined: JoinPlan
    branches: tuple[EventChain | FramedEvent, ...]

    @property
    def shape(self) -> PlanShape:
        joins = sum(joins_of(branch.rest, begun=True) for branch in self.branches)
        return PlanShape(joins, self.joined.numbers + sum(branch.functions for branch in self.branches))

    def lines(self) -> Iterator[str]:
        """The plan for people, a line for each step."""
        for number, branch in enumerate(self.branches, 1):
            yield f"branch {number}" if len(self.branches) > 1 else "steps"
            yield from (f"  {line}" for line in branch.lines())
            yield from (f"  {line}" for line in join_lines(branch.rest, begun=True))


def window_plan(query: Match, keys: tuple[Key, ...], unit: str) -> WindowPlan:
    """The plan of a query for window functions; raises `UnsupportedQuery`.

    >>> from pattern_examples import query
    >>> def shown(text):
    ...     plan = window_plan(query(text), (), "MILLISECOND")
    ...     print(*plan.lines(), plan.shape, sep="\\n")
    >>> shown("SEQ(A a, B b, C c) USING STRICT CONTIGUITY")
    steps
      a, then b, then c: one instant after the other
    PlanShape(joins=0, functions=2)
    >>> shown("SEQ(A a, !B b) WITHIN 9")
    steps
      begin with a
      without !B b: count B from +1 to +9
    PlanShape(joins=0, functions=1)
    """
    contiguous = query.strategy.is_contiguous
    joined = relational_plan(query, keys, unit, contiguous)
    if joined.plan.lasting:
        raise UnsupportedQuery("window functions over events that last")
    refuse_too_many_roles(joined.plan)
    ways = alternatives(joined.plan.steps)
    if not contiguous:
        return WindowPlan(joined, tuple(_framed(steps, joined) for steps in ways))
    if len(ways) > 1 and any(_checks(steps) for steps in ways):
        # Spark 4.3 prunes fields of structs from a list that a semi join over a union still needs, and fails.
        raise UnsupportedQuery("a negation at the beginning or end of a branch, under contiguity,")
    return WindowPlan(joined, tuple(_chain(steps, joined) for steps in ways))


# Contiguity.


def _chain(steps: Sequence[PlanStep], joined: JoinPlan) -> EventChain:
    """Simultaneous events are alternatives (docs/decisions/0011)."""
    takes = tuple(step for step in steps if isinstance(step, Take))
    if any(not is_orderable(column.type) for column in joined.columns):
        raise UnsupportedQuery("a list of events that have maps")
    if len(takes) > MOST_CHAINED:
        raise UnsupportedQuery(f"window functions for a chain of more than {MOST_CHAINED} events")
    rest = [step for step in steps if not isinstance(step, Take) and not _is_vacuous(step, takes)]
    return EventChain(takes, joined_steps(rest, joined, begun=True))


def _checks(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The checks that are more than a look between neighbours."""
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    return [step for step in checks if not _is_vacuous(step, takes)]


def _is_vacuous(step: PlanStep, takes: Sequence[Take[Expr]]) -> bool:
    """Whether a negation looks between two neighbours: there is no event, they would not be neighbours
    else."""
    if not isinstance(step, Absent):
        return False
    neighbours = [(one.variable, other.variable) for one, other in pairwise(takes)]
    return any(
        one in inner.bounds.after and other in inner.bounds.before
        for inner in step.steps
        if isinstance(inner, Take) and not inner.when
        for one, other in neighbours
    )


# One event, and what lies around it.


def _framed(steps: Sequence[PlanStep], joined: JoinPlan) -> FramedEvent:
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    if len(takes) != 1 or not checks:
        raise UnsupportedQuery("window functions for a pattern of several events")
    (take,) = takes
    counts = tuple(_count(take, check, joined) for check in checks)
    rest = [step for step in steps if step not in checks and step is not take]
    return FramedEvent(take, counts, joined_steps(rest, joined, begun=True))


def _count(take: Take[Expr], check: Absent[Expr] | Present[Expr], joined: JoinPlan) -> NearbyCount:
    """How many events a check would find, by the frame of time it looks into."""
    sought = single_take(alternatives(check.steps))
    if sought is None or sought.where or sought.bounds.between or joined.plan.counted:
        raise UnsupportedQuery("window functions for a check that is more than one event near in time")
    low, high = _frame(sought.bounds, take.variable)
    is_absent = isinstance(check, Absent)
    return NearbyCount(sought.role, low, high, bool(sought.differs), is_absent, check.part)


def _frame(bounds: Bounds, variable: EventName) -> tuple[int | None, int | None]:
    """From where to where, seen from the event; None is without a limit.

    >>> from neelc.runtime.program import Within
    >>> _frame(Bounds(before=("c",), within=(Within(("c",), 9),)), "c")
    (-9, -1)
    """
    width = min((window.width for window in bounds.within if window.events == (variable,)), default=None)
    low, high = None if width is None else -width, width
    if variable in bounds.after:
        low = 1
    if variable in bounds.before:
        high = -1
    if width == 0 and (variable in bounds.after or variable in bounds.before):
        raise UnsupportedQuery("a frame that no event fits")
    return low, high


def _shown(offset: int | None) -> str:
    return "anywhere" if offset is None else f"{offset:+}"
