"""Rules that run in one pass: those with the same key read the same events in the same order, so they are
scanned, shuffled, sorted and judged once, and one call of the worker runs all of them.

A rule is planned for the kernel as if it were alone. Then its columns, roles and types get the names that
the set has for them, its variables canonical ones, and rules that differ only in the roles that they ask for
share one program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    Cast,
    EventTime,
    Expr,
    IsNull,
    Literal,
    SameAttributes,
    WholeEvent,
    conjoin,
    conjuncts,
    names_in,
)
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Or, targets
from neelc.ir.program import CompleteColumn, EventType, Match, with_all_derived
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import VOID
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.selectivity import truth
from neelc.pattern.plan.blocks import renamed as with_variable
from neelc.pattern.plan.canonical import canonical_program
from neelc.pattern.plan.columns import EVENT, LONGEST, NUMBERED, PLAIN, RESERVED, EventColumn, wish
from neelc.pattern.plan.emission import streamed_pattern
from neelc.pattern.plan.kernel_plan import START, KernelPlan, KeyColumn
from neelc.pattern.plan.plan import Role
from neelc.pattern.plan.rule_keys import (
    KeyChoice,
    RulePlan,
    joined_passes,
    key_signature,
    pass_signature,
    planned_by,
)
from neelc.pattern.plan.rule_orders import rule_orders
from neelc.pattern.plan.rule_trees import RuleSteps, rule_trees
from neelc.pattern.plan.strategies import WINDOWS
from neelc.pattern.plan.value_tests import tested_value
from neelc.runtime.kernels.rules.program import (
    BITS,
    PART,
    RULE,
    JudgedRole,
    RuleEntry,
    RuleSet,
    RuleTiming,
    StreamedRules,
    ValueTest,
    role_name,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    CHUNK,
    EventName,
    ImpreciseProgram,
    PatternProgram,
    ScopeEnd,
    StreamedPattern,
    VariableOutput,
    columns_of_value,
    conditions,
    folds,
)
from neelc.scalar.spark.expressions import GRAIN
from neelc.scalar.type_of import type_of
from neelc.sharing.sharing import ExpressionGroup, Sharing

JUDGED_BY_SPARK = BITS
"""Up to so many roles, Spark judges all conditions on single events; of more, the worker tests values."""


@dataclass(frozen=True)
class RulePart:
    """The rules of a set over streams that have one key. The events that are read for them come in rows of
    their own: no other rule of the set reads these. `everything`: events without a role count, too. Rows that
    differ in the columns `together` have no match in common."""

    events: Match
    keys: tuple[KeyColumn, ...]
    everything: bool
    together: tuple[str, ...]


@dataclass(frozen=True)
class RuleSetPlan:
    """Rules that are executed together. `events` stands for what is read: the streams and types of all rules.
    `plans` are those of the rules, with the names that the set has for columns, structs and fields. `judged`:
    the worker tests values of columns; else Spark judges all conditions on single events. `sharing` are the
    groups that the plan finder has made of the rules; `role_texts` are what explanations call the roles of
    the program. Over streams without end, what is read has `parts`, and `timings` say of each rule when its
    matches are sure. `choices`: which rules have a finer key than the set, or could be in another set."""

    events: Match
    unit: str
    roles: tuple[Role, ...]
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...]
    plans: tuple[RulePlan, ...]
    program: RuleSet
    role_texts: tuple[str, ...]
    judged: bool = False
    sharing: Sharing = field(default_factory=lambda: Sharing(()))
    parts: tuple[RulePart, ...] = ()
    timings: tuple[RuleTiming, ...] = ()
    choices: tuple[KeyChoice, ...] = ()

    @property
    def streamed(self) -> StreamedRules:
        """The program for streams without end."""
        return StreamedRules(self.program, self.timings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules, each once."""
        return tuple(dict.fromkeys(rule.name for rule in self.plans))


def branches_of(query: Match) -> tuple[Match, ...]:
    """The branches of an OR as queries of their own, whose matches together are those of the query; the query
    itself if it is none, or if its branches cannot be told apart.

    >>> from pattern_examples import query
    >>> for branch in branches_of(query("OR(SEQ(A a, B b), C c) WHERE [id] WITHIN 9 RETURN a.x, c.x")):
    ...     print(branch.pattern, [str(output.expression) for output in branch.outputs])
    SEQ(A a, B b WHERE [id]) ['a.x', 'CAST(NULL AS DOUBLE)']
    (C c : [id]) ['CAST(NULL AS DOUBLE)', 'c.x']

    Branches that name the same variable can have the same match, which is one:

    >>> len(branches_of(query("SEQ(A a, !SEQ(B b, C c), D d) WHERE [id] WITHIN 9")))
    1

    Nor can one be alone whose conditions name a variable of another, which is NULL in its matches:

    >>> len(branches_of(query("OR(A a, SEQ(B b, C c WHERE b.id = a.id)) WITHIN 9")))
    1
    """
    pattern = query.pattern
    whole = query.collapsed or query.distinct or query.aggregated or query.partial is not None
    whole = whole or query.kept is not None
    if not isinstance(pattern, Or) or pattern.within is not None or whole:
        return (query,)
    if query.strategy != SelectionStrategy.ANY_MATCH or query.is_imprecise:
        return (query,)
    names = [name for branch in pattern.parts for name in targets(branch)]
    conditions = conjuncts(pattern.where)
    if len(set(names)) < len(names) or not all(isinstance(one, SameAttributes) for one in conditions):
        return (query,)
    if any(names_in(branch) & (set(names) - set(targets(branch))) for branch in pattern.parts):
        return (query,)
    found = []
    for branch in pattern.parts:
        own = replace(branch, where=conjoin([*conjuncts(branch.where), *conditions]))
        foreign = set(names) - set(targets(branch))
        outputs = tuple(
            replace(one, expression=_without_variables(one.expression, foreign)) for one in query.outputs
        )
        found.append(replace(query, pattern=own, outputs=outputs))
    return tuple(found)


def _without_variables(expression: Expr, names: set[str]) -> Expr:
    """The expression where these variables have no event."""

    def change(node: Node) -> Node:
        if isinstance(node, Attribute | EventTime | WholeEvent | Aggregate) and names_in(node) & names:
            if isinstance(node, Aggregate):
                return _empty(node)
            return Cast(Literal(None, VOID), type_of(node))
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def _empty(aggregate: Aggregate) -> Expr:
    """An aggregate over a list that is not there."""
    return Cast(Literal(None, VOID), type_of(aggregate))


def why_alone(plan: KernelPlan) -> str | None:
    """Why a rule is not executed together with others; None if it can be."""
    query = plan.query
    if isinstance(plan.program, ImpreciseProgram):
        return "times are imprecise"
    if query.aggregated:
        return "it aggregates over all matches"
    if any(isinstance(one, CompleteColumn) for stream in query.streams for one in stream.derived):
        return "WHEN COMPLETE looks for the end of its own data first"
    if query.numbered is not None:
        return "match_number is about its own matches"
    if query.order is not None:
        return "ORDER BY and LIMIT are about its own rows"
    if query.distinct:
        return "RETURN DISTINCT compares all of its rows"
    if query.kept is not None:
        return f"{query.kept} compares all of its matches"
    computed = (*plan.residual, *(output.expression for output in query.outputs))
    nodes = (node for one in computed for node in walk(one))
    if any(isinstance(node, Aggregate) and node.function is not None for node in nodes):
        return "Python computes an aggregate of its complete matches"
    return None


def rule_sets(
    rules: Sequence[RulePlan], shares: bool = True, statistics: Statistics | None = None
) -> list[RuleSetPlan]:
    """The rules in sets: those with the same key, unit of time and clock, and those whose key is finer, where
    that pays; those that look at all events of their streams only with others that look at the same. With
    `shares`, steps that rules have in common are taken once."""
    groups: dict[object, list[RulePlan]] = {}
    for rule in rules:
        groups.setdefault(pass_signature(rule), []).append(rule)
    known = statistics or Statistics()
    passes = joined_passes(groups.values(), known)
    return [replace(_made(one.rules, shares, known), choices=one.choices) for one in passes]


def streamed_rule_set(
    rules: Sequence[RulePlan], shares: bool = True, statistics: Statistics | None = None
) -> RuleSetPlan:
    """The rules as one set for streams without end, whatever their keys: Spark runs one operator with state
    of this kind in a query. What would be several sets are its parts. All rules count time in one unit, and
    are such that `streamed_pattern` does not refuse."""
    groups: dict[object, list[RulePlan]] = {}
    for rule in rules:
        # What keeps nothing needs no key to be spread over buckets.
        is_free = not rule.planned.keys and streamed_pattern(rule.planned).single
        groups.setdefault((pass_signature(rule), is_free), []).append(rule)
    known = statistics or Statistics()
    ordered = [_ordered(group, known) if shares else (group, Sharing(())) for group in groups.values()]
    made = _RuleSetMaker([group for group, _ in ordered], shares, known, streaming=True).made()
    shared: list[ExpressionGroup] = []
    first = 0
    for group, sharing in ordered:
        shared += (_numbered_from(first, one) for one in sharing.groups)
        first += len(group)
    return replace(made, sharing=Sharing(tuple(shared)))


def _numbered_from(first: int, group: ExpressionGroup) -> ExpressionGroup:
    """The group, if other rules of the set come before those that it is of."""
    members = (replace(member, number=first + member.number) for member in group.members)
    return replace(group, members=tuple(members))


def _made(rules: Sequence[RulePlan], shares: bool, statistics: Statistics) -> RuleSetPlan:
    if not shares:
        return _RuleSetMaker([rules], False, statistics).made()
    ordered, sharing = _ordered(rules, statistics)
    return replace(_RuleSetMaker([ordered], True, statistics).made(), sharing=sharing)


def _ordered(rules: Sequence[RulePlan], statistics: Statistics) -> tuple[list[RulePlan], Sharing]:
    """The rules, each taking first what it shares with others."""
    orders = rule_orders([rule.query for rule in rules], [rule.planned for rule in rules], statistics)
    ordered = [
        reordered(rule, orders.first[number]) if number in orders.first else rule
        for number, rule in enumerate(rules)
    ]
    return ordered, orders.sharing


def reordered(rule: RulePlan, first: tuple[str, ...]) -> RulePlan:
    """A rule that takes the events of some variables first. If the kernel cannot, it stays as it is."""
    found = planned_by(rule, rule.keys, first)
    if found is None:
        return rule
    program = replace(found.planned.program, keys=rule.planned.program.keys, chunk=rule.planned.program.chunk)
    return replace(found, planned=replace(found.planned, program=program))


@dataclass
class _RuleSetMaker:
    """The names of a set, in the making. Each of the `groups` is a part of it; in a batch there is one. Types
    belong to a part, and so do roles, which are of a type, and key columns; other columns are those of all
    parts."""

    groups: Sequence[Sequence[RulePlan]]
    shares: bool
    statistics: Statistics
    streaming: bool = False
    part: int = 0
    types: dict[object, str] = field(default_factory=dict)
    known_types: dict[str, EventType] = field(default_factory=dict)
    type_parts: dict[str, int] = field(default_factory=dict)
    columns: dict[tuple[Expr, str, int | None], EventColumn] = field(default_factory=dict)
    column_names: set[str] = field(default_factory=lambda: {*RESERVED, RULE, PART})
    roles: dict[tuple[str, frozenset[Expr]], int] = field(default_factory=dict)
    role_conditions: list[tuple[str, tuple[Expr, ...]]] = field(default_factory=list)
    role_sizes: list[float] = field(default_factory=list)
    ledgers: dict[int, Ledger] = field(default_factory=dict)
    bits: dict[tuple[str, frozenset[Expr]], int] = field(default_factory=dict)
    bit_roles: list[Role] = field(default_factory=list)

    def made(self) -> RuleSetPlan:
        keys, plans = list[tuple[KeyColumn, ...]](), list[_MadeRule]()
        for number, group in enumerate(self.groups):
            self.part = number
            keys.append(self._keys(group))
            plans += [self._rule(rule, keys[-1]) for rule in group]
        judged = len(self.roles) > JUDGED_BY_SPARK
        roles = tuple(self._judged(*one, judged) for one in self.role_conditions)
        programs: dict[PatternProgram, int] = {}
        shapes: dict[object, int] = {}
        rules: list[RuleEntry] = []
        for one in plans:
            number = programs.setdefault(one.program, len(programs))
            rules.append(RuleEntry(one.plan.label, number, one.roles))
        for program in programs:
            shapes.setdefault(program.outputs, len(shapes))
        found = RuleSet(
            self._events([one.program for one in plans], [key.name for own in keys for key in own]),
            self._columns_read(programs, roles),
            roles,
            tuple(programs),
            tuple(rules),
            tuple(shapes[program.outputs] for program in programs),
        )
        if self.shares:
            steps = [RuleSteps(number, one.program, one.roles) for number, one in enumerate(plans)]
            found = replace(found, trees=rule_trees(steps, self._wider))
        rules_read = [rule for group in self.groups for rule in group]
        return RuleSetPlan(
            _events_read(rules_read, self.known_types.values()),
            rules_read[0].planned.plan.unit,
            tuple(self.bit_roles),
            tuple(self.columns.values()),
            keys[0] if len(keys) == 1 else (),
            tuple(one.plan for one in plans),
            found,
            tuple(_role_text(*one) for one in self.role_conditions),
            judged,
            parts=tuple(self._parts(keys)) if self.streaming else (),
            timings=tuple(one.timing for one in plans if one.timing is not None),
        )

    def _parts(self, keys: Sequence[tuple[KeyColumn, ...]]) -> Iterator[RulePart]:
        for number, group in enumerate(self.groups):
            types = [known for name, known in self.known_types.items() if self.type_parts[name] == number]
            names = tuple(key.name for key in keys[number])
            is_free = all(streamed_pattern(rule.planned).single for rule in group)
            yield RulePart(
                _events_read(group, types),
                keys[number],
                any(rule.planned.program.everything for rule in group),
                names or ((START,) if is_free else ()),
            )

    # Names.

    def _type(self, name: str, query: Match) -> str:
        """The set's name for a type of a query: the same type may have other members in another query."""
        known = next(one for one in query.types if one.name == name)
        # A concept with one member is that member, whatever it is called.
        key = (self.part, known.members)
        if key not in self.types:
            free, number = name, 1
            while free in self.known_types:
                number += 1
                free = f"{name} {number}"
            self.types[key] = free
            self.known_types[free] = replace(known, name=free)
            self.type_parts[free] = self.part
        return self.types[key]

    def _column(self, column: EventColumn, query: Match) -> EventColumn:
        types = tuple(self._type(name, query) for name in column.types)
        return self._known_column(column.expression, column.form, types, column.name, self.part)

    def _known_column(
        self, expression: Expr, form: str, types: tuple[str, ...], name: str, part: int
    ) -> EventColumn:
        """A column that events of these types have, in a part: its key, if that has this value."""
        is_key = (expression, form, part) in self.columns
        place = (expression, form, part if is_key else None)
        found = self.columns.get(place)
        if found is None:
            found = EventColumn(self._free(name), expression, form, types)
        else:
            found = replace(found, types=tuple(dict.fromkeys((*found.types, *types))))
        self.columns[place] = found
        return found

    def _free(self, name: str) -> str:
        free, number = name, 1
        while free.casefold() in self.column_names or NUMBERED.match(free):
            number += 1
            free = f"{name}_{number}"
        self.column_names.add(free.casefold())
        return free

    def _keys(self, rules: Sequence[RulePlan]) -> tuple[KeyColumn, ...]:
        """The columns that the rules of a part are partitioned by, in one order."""
        first = rules[0]
        keys = []
        for key in sorted(first.planned.keys, key=lambda one: str(key_signature(one))):
            terms: dict[Expr, tuple[str, ...]] = {}
            for rule in rules:
                same = next(k for k in rule.planned.keys if key_signature(k) == key_signature(key))
                for term, types in same.terms:
                    names = (self._type(name, rule.query) for name in types)
                    terms[term] = tuple(dict.fromkeys((*terms.get(term, ()), *names)))
            if key.is_column:
                ((term, types),) = terms.items()
                column = EventColumn(self._free(key.name), term, PLAIN, types)
                self.columns[term, PLAIN, self.part] = column
                keys.append(KeyColumn(column.name, key.type, tuple(terms.items()), is_column=True))
            else:
                keys.append(KeyColumn(self._free(key.name), key.type, tuple(terms.items())))
        return tuple(keys)

    # Rules.

    def _rule(self, rule: RulePlan, keys: tuple[KeyColumn, ...]) -> _MadeRule:
        """A rule with the names of the set."""
        planned, query = rule.planned, rule.query
        own = {column.name: self._column(column, query) for column in planned.columns}
        columns = {name: column.name for name, column in own.items()}
        numbers = {role.name: self._role(role, query) for role in planned.plan.roles}
        used = tuple(dict.fromkeys(numbers.values()))
        names = {number: f"r{place + 1}" for place, number in enumerate(used)}
        roles = {name: names[number] for name, number in numbers.items()}
        program = canonical_program(planned.program, roles, columns)
        program = replace(program, roles=tuple(names.values()))
        outputs = tuple(
            _named_output(one, f"e{place}", columns) for place, one in enumerate(planned.program.outputs, 1)
        )
        renamed_plan = replace(
            planned,
            program=replace(planned.program, outputs=outputs),
            columns=tuple(own.values()),
            keys=keys,
        )
        # The canonical outputs have their fields already, but their structs are called as the set does.
        named = (_named_output(one, f"e{place}", {}) for place, one in enumerate(program.outputs, 1))
        program = replace(program, outputs=tuple(named))
        timing = None
        if self.streaming:
            variables = _variables(planned.program.outputs, program.outputs)
            timing = rule_timing(streamed_pattern(planned), variables, self.part)
        return _MadeRule(replace(rule, planned=renamed_plan), used, program, timing)

    def _role(self, role: Role, query: Match) -> int:
        """The number of a role of a rule in the set."""
        type = self._type(role.type, query)
        conditions = tuple(dict.fromkeys(with_variable(one, role.variable, EVENT) for one in role.conditions))
        key = (type, frozenset(conditions))
        if key not in self.roles:
            self.roles[key] = len(self.roles)
            self.role_conditions.append((type, conditions))
            self.role_sizes.append(self._size(role, query))
        return self.roles[key]

    def _size(self, role: Role, query: Match) -> float:
        """How many events of a role are expected in a second."""
        ledger = self.ledgers.setdefault(id(query), Ledger(query, self.statistics))
        share = prod(truth(condition, ledger).true for condition in role.conditions)
        return ledger.rate(role.type) * share

    def _wider(self, narrow: int) -> Mapping[int, float]:
        """The roles that include a role: those of no other types, with no other conditions. With many roles,
        only itself: the shares are not worth the search."""
        if len(self.role_conditions) > JUDGED_BY_SPARK:
            return {narrow: 1.0}
        type, conditions = self.role_conditions[narrow]
        members = set(self.known_types[type].members)
        size = self.role_sizes[narrow]
        return {
            wide: 1.0 if wide == narrow else size / max(self.role_sizes[wide], size, 1e-300)
            for wide, (other, fewer) in enumerate(self.role_conditions)
            if self.type_parts[type] == self.type_parts[other]
            and set(fewer) <= set(conditions)
            and members <= set(self.known_types[other].members)
        }

    def _judged(self, type: str, conditions: tuple[Expr, ...], judged: bool) -> JudgedRole:
        """How a role is judged: by Spark, or by tests of the worker as far as these can."""
        tests: list[ValueTest] = []
        others: list[Expr] = []
        for condition in conditions:
            found = tested_value(condition) if judged else None
            if found is None:
                others.append(condition)
            else:
                column = self._tested_column(found.expression, type)
                tests.append(ValueTest(column.name, found.ranges))
        key = (type, frozenset(others))
        if key not in self.bits:
            self.bits[key] = len(self.bits)
            self.bit_roles.append(Role(role_name(self.bits[key]), type, EVENT, tuple(others)))
        return JudgedRole(self.bits[key], tuple(tests))

    def _tested_column(self, expression: Expr, type: str) -> EventColumn:
        name = wish(expression, PLAIN)
        return self._known_column(expression, PLAIN, (type,), name, self.type_parts[type])

    # What all have in common.

    def _events(self, programs: Sequence[PatternProgram], keys: Sequence[str]) -> PatternProgram:
        """How events come: with the widest window, and all that some rule needs."""
        reaches = [program.reach for program in programs]
        known = [reach for reach in reaches if reach is not None]
        reach = max(known) if len(known) == len(reaches) else None
        names = (PART, *keys) if len(self.groups) > 1 else tuple(keys)
        chunked = not names or any(rule.chunked for group in self.groups for rule in group)
        events = PatternProgram(
            (),
            (),
            ("events",),
            names,
            lasting=any(program.lasting for program in programs),
            counted=any(program.counted for program in programs),
            everything=any(program.everything for program in programs),
            reach=reach,
            looks_back=any(program.looks_back for program in programs),
            order=programs[0].order,
            clock=programs[0].clock,
        )
        if self.streaming:
            return events
        if reach is not None and chunked:
            width = min(WINDOWS * max(1, reach), LONGEST)
            return replace(events, keys=(*names, CHUNK), chunk=width)
        if names and (reach is None or min(known) >= GRAIN):
            return replace(events, grain=GRAIN)
        return events

    def _columns_read(
        self, programs: Iterable[PatternProgram], roles: Iterable[JudgedRole]
    ) -> tuple[str, ...]:
        """The columns that programs and tests read."""
        tested = (test.column for role in roles for test in role.tests)
        read = (name for program in programs for name in columns_of_program(program))
        return tuple(dict.fromkeys((*read, *tested)))


def _role_text(type: str, conditions: tuple[Expr, ...]) -> str:
    """What an event must be, in a few words; that its key has a value goes without saying.

    >>> from network_examples import condition
    >>> from neelc.pattern.plan.blocks import renamed
    >>> _role_text("Login", (renamed(condition("s.x > 1"), "s", EVENT),))
    'Login where x > 1'
    """
    texts = [str(one) for one in conditions if not isinstance(one, IsNull)]
    shown = [re.sub(r"(?<![\w`])\.(?=[A-Za-z_`])", "", text) for text in texts]
    return f"{type} where {' AND '.join(shown)}" if shown else type


@dataclass(frozen=True)
class _MadeRule:
    """A rule with the names of a set: its plan, the roles that it asks for, its program, and over streams
    when its matches are sure."""

    plan: RulePlan
    roles: tuple[int, ...]
    program: PatternProgram
    timing: RuleTiming | None = None


def _events_read(rules: Sequence[RulePlan], types: Iterable[EventType]) -> Match:
    """What is read for rules: the streams of all of them."""
    streams = with_all_derived(stream for rule in rules for stream in rule.query.streams)
    return replace(rules[0].query, streams=tuple(streams.values()), types=tuple(types))


def _variables(
    own: Sequence[VariableOutput], canonical: Sequence[VariableOutput]
) -> Mapping[EventName, EventName]:
    """What a canonical program calls the variables of a rule's matches."""
    return {
        name: other
        for one, named in zip(own, canonical, strict=True)
        for (name, _), (other, _) in zip(one.bound, named.bound, strict=True)
    }


def rule_timing(
    streamed: StreamedPattern, variables: Mapping[EventName, EventName], part: int = 0
) -> RuleTiming:
    """When the matches of a rule are sure, by the names that its canonical program has for variables."""

    def scope(one: ScopeEnd) -> ScopeEnd:
        events = tuple(variables[name] for name in one.events)
        return replace(one, events=events, taken=None if one.taken is None else variables[one.taken])

    emission = replace(streamed.emission, scopes=tuple(map(scope, streamed.emission.scopes)))
    return RuleTiming(emission, streamed.window, streamed.events, streamed.single, part)


def _named_output(output: VariableOutput, name: str, columns: Mapping[str, str]) -> VariableOutput:
    """A variable of the result under the name that a set has for it, with the set's names of columns."""
    fields = ((columns.get(field, field), columns.get(column, column)) for field, column in output.fields)
    inner = (_named_output(one, f"e{place}", columns) for place, one in enumerate(output.inner, 1))
    return replace(output, name=output.name and name, fields=tuple(fields), inner=tuple(inner))


def columns_of_program(program: PatternProgram) -> Iterator[str]:
    """The columns of events that a program reads, but for times, roles and keys."""
    yield from (column.name for value in conditions(program.steps) for column in columns_of_value(value))
    yield from (fold.column for fold in folds(program.steps) if fold.column)
    yield from (column for output in program.outputs if output.name for column in output.columns)
    yield from () if program.furthest is None else sorted(program.furthest.columns)
