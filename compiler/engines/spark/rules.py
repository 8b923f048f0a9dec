"""Many rules as relations: sets of rules that are executed together, rules that are executed alone, and the
one table of all their rows.

A row has the rule's name, the key and the times of the match, and the rule's own columns. The last of these,
and the key, differ from rule to rule: they are VARIANTs, so that the table has the same columns whatever the
rules are. A rule can be added without a change of the table that alarms are written to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from neelc.algebra.plan.network import MatcherSetPlan, NetworkPlan
from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.algebra import MatchTexts, matcher_set_relations, times_of_match
from neelc.engines.spark.kernel import column_types, in_kernel_order, output_type
from neelc.engines.spark.relations import Extend, Items, Kernel, Let, SelectColumns, Union, Where
from neelc.engines.spark.results import MatchRelation
from neelc.engines.spark.scans import ScanRequest, StreamRelations, free, scans
from neelc.ir.program import Column, OutputColumn
from neelc.ir.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VARIANT, DataType
from neelc.pattern.analysis.rule_columns import MATCH_TIMES, RuleQuery, rule_query_of
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.kernels.rules.program import RULE, shape_name, shape_outputs
from neelc.runtime.kernels.sequential.program import MEMBER
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.trees import alias, identifier, literal, spark_type
from neelc.scalar.variants import is_storable

RULE_COLUMNS = (RULE, "key", *MATCH_TIMES, "columns")
"""The columns of the table of all rules."""


def combined_columns(times: DataType) -> tuple[Column, ...]:
    """The columns of the table of all rules, whose times are of this type."""
    kinds = (STRING, VARIANT, times, times, VARIANT)
    return tuple(Column(name, kind) for name, kind in zip(RULE_COLUMNS, kinds, strict=True))


def common_time(kinds: Iterable[DataType]) -> DataType | None:
    """The type that the times of all rules can have; None if there is none: numbers are no instants."""
    found = list(dict.fromkeys(kinds))
    if len(found) == 1:
        return found[0]
    instants = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
    if all(kind in instants for kind in found):
        return TIMESTAMP
    return None if any(kind in instants for kind in found) else BIGINT


# Texts.


def as_object(fields: Sequence[tuple[str, str, DataType]]) -> str:
    """Named values as a VARIANT; NULL if there are none."""
    if not fields:
        return "CAST(NULL AS VARIANT)"
    parts, names = [], set[str]()
    for name, text, kind in fields:
        free_name, number = name, 1
        while free_name in names:
            number += 1
            free_name = f"{name}_{number}"
        names.add(free_name)
        parts.append(f"{literal(free_name, STRING)}, {_storable(text, kind)}")
    return f"to_variant_object(named_struct({', '.join(parts)}))"


def _storable(text: str, kind: DataType) -> str:
    """A value of a type that a VARIANT can hold; any other is a text."""
    return text if is_storable(kind) else f"CAST({text} AS STRING)"


def by_rule(texts: Mapping[int, str], otherwise: str) -> str:
    """What is to be computed for each of some rules, by number: rules with the same text share it.

    >>> by_rule({0: "a.x", 1: "b.y", 2: "a.x"}, "NULL")
    'CASE WHEN rule IN (0, 2) THEN a.x WHEN rule = 1 THEN b.y ELSE NULL END'
    >>> by_rule({0: "a.x", 1: "a.x"}, "NULL")
    'a.x'
    """
    distinct = set(texts.values())
    return distinct.pop() if len(distinct) == 1 else _cases(texts, otherwise)


def _cases(texts: Mapping[int, str], otherwise: str) -> str:
    numbers: dict[str, list[int]] = {}
    for number, text in texts.items():
        numbers.setdefault(text, []).append(number)
    whens = [f"WHEN {_is_one_of(of)} THEN {text}" for text, of in numbers.items()]
    return f"CASE {' '.join(whens)} ELSE {otherwise} END"


def _is_one_of(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{RULE} = {numbers[0]}"
    return f"{RULE} IN ({', '.join(map(str, numbers))})"


# Rows of the table, from matches of all rules that have the number of their rule.


@dataclass(frozen=True)
class RuleTexts:
    """What a rule makes of a match, as texts; without a `condition`, each match is a row."""

    name: str
    key: str
    times: tuple[str, str]
    columns: str
    condition: str = ""


def table_rows(rules: Sequence[RuleTexts], matches: str, taken: set[str]) -> Iterator[Let]:
    """The relations from the matches of rules to the rows of the table."""
    conditions = {number: one.condition for number, one in enumerate(rules) if one.condition}
    if conditions:
        source = free("complete", taken)
        condition = _cases(conditions, "TRUE")
        yield Let(source, Where(matches, condition), "Conditions on complete matches, of each rule.")
        matches = source
    names = ", ".join(literal(one.name, STRING) for one in rules)
    items: Items = (
        (f"get(array({names}), {RULE})", RULE),
        (_of_each([one.key for one in rules]), "key"),
        *((_of_each([one.times[n] for one in rules]), name) for n, name in enumerate(MATCH_TIMES)),
        (_of_each([one.columns for one in rules]), "columns"),
    )
    yield Let(free("rows", taken), SelectColumns(matches, items), "What each rule returns.")


def _of_each(texts: Sequence[str]) -> str:
    return by_rule(dict(enumerate(texts)), "NULL")


# Sets of rules.


def rule_set_relations(
    plan: RuleSetPlan,
    sources: StreamRelations,
    taken: set[str],
    most_matches: int | None = None,
    times: DataType | None = None,
) -> Iterator[Let]:
    """The relations of rules that are executed together; the last one has their rows."""
    events = plan.program.events
    request = ScanRequest(
        plan.events,
        plan.unit,
        plan.roles,
        plan.columns,
        plan.keys,
        events.lasting,
        events.everything,
        events.chunk is not None,
    )
    lets = [*scans(request, sources, taken)]
    lets += in_kernel_order(lets[-1].name, events, taken)
    yield from lets
    matched = free("matches", taken)
    kernel = Kernel(lets[-1].name, plan.program, rule_set_schema(plan), most_matches)
    yield Let(matched, kernel, f"Matches of {named_rules(plan.names)}, in one pass.")
    yield from rule_set_results(plan, matched, taken, times)


def rule_set_results(
    plan: RuleSetPlan,
    matched: str,
    taken: set[str],
    times: DataType | None = None,
) -> Iterator[Let]:
    """The relations from the matches of a set to the rows of the table."""
    rules = [_rule_texts(plan, number, rule, matched, times) for number, rule in enumerate(plan.plans)]
    return table_rows(rules, matched, taken)


def _rule_texts(
    plan: RuleSetPlan, number: int, rule: RulePlan, matched: str, times: DataType | None
) -> RuleTexts:
    found, text = rule_query_of(rule.query), _matches(plan, number, rule, matched).sql
    of_key = zip(found.keys, found.key_outputs, strict=True)
    start, end = (_as_time(text(one.expression), one.type, times) for one in found.match.outputs[-2:])
    return RuleTexts(
        rule.name,
        as_object([(name, text(one.expression), one.type) for name, one in of_key]),
        (start, end),
        as_object([(one.name, text(one.expression), one.type) for one in found.own]),
        " AND ".join(f"({text(one)})" for one in rule.planned.residual),
    )


def own_rows(sets: Iterable[tuple[RuleSetPlan, str]], name: str, taken: set[str]) -> Iterator[Let]:
    """The relations from the matches of sets, each with the relation of these, to the rows of one rule, with
    the rule's own columns; the last one has them. A rule that is an OR may have several branches in a set,
    and may be in several sets."""
    names = []
    branches = (
        (plan, number, rule, matched)
        for plan, matched in sets
        for number, rule in enumerate(plan.plans)
        if rule.name == name
    )
    for plan, number, rule, matched in branches:
        found, text = rule_query_of(rule.query), _matches(plan, number, rule, matched).sql
        tests = [f"{RULE} = {number}", *(f"({text(one)})" for one in rule.planned.residual)]
        items = tuple((text(one.expression), one.name) for one in found.own)
        names.append(free("own", taken))
        yield Let(names[-1], SelectColumns(matched, items, " AND ".join(tests)), f"The rows of {name}.")
    if len(names) > 1:
        yield Let(free("own", taken), Union(tuple(names)), f"The rows of {name}.")


def _as_time(text: str, kind: DataType, times: DataType | None) -> str:
    return text if times is None or times == kind else f"CAST({text} AS {spark_type(times)})"


def named_rules(names: Sequence[str]) -> str:
    """Some of the names of rules."""
    listed = ", ".join(names[:5])
    return listed if len(names) <= 5 else f"{len(names)} rules: {listed}, ..."


def _matches(plan: RuleSetPlan, number: int, rule: RulePlan, matched: str) -> MatchRelation:
    planned, program = rule.planned, plan.program
    shape = shape_name(program.shapes[program.rules[number].program])
    return MatchRelation(
        matched,
        planned.query,
        plan.unit,
        planned.struct,
        planned.field,
        frozenset(may_be_absent(planned.plan.steps)),
        planned.inner,
        match=shape,
        has_own_times=True,
    )


def rule_set_schema(plan: RuleSetPlan) -> str:
    """The columns that the kernel gives back, as Spark writes a schema."""
    types = column_types(plan.columns)
    shapes = []
    for shape, outputs in shape_outputs(plan.program).items():
        fields = [f"{alias(one.name)}: {output_type(one, types)}" for one in outputs if one.name]
        shapes.append(f"{shape_name(shape)} STRUCT<{', '.join(fields)}>")
    return ", ".join([f"{RULE} INT", *shapes, "match_start BIGINT", "match_end BIGINT"])


# Sets of matchers.


def matcher_set_rows(
    plan: MatcherSetPlan, sources: StreamRelations, taken: set[str], times: DataType
) -> Iterator[Let]:
    """The relations of rules that are the matches of matchers; the last one has their rows."""
    found = matcher_set_relations(plan, sources, taken)
    yield from found.lets
    rules_of: dict[int, list[int]] = {}
    for number, one in enumerate(found.texts.values()):
        rules_of.setdefault(one.member, []).append(number)
    numbered = free("of_rules", taken)
    items: Items = ((rule_of_member(rules_of), RULE),)
    yield Let(numbered, Extend(found.lets[-1].name, items), "The rules of each match, by number.")
    rules = [_matcher_texts(name, one, found.texts[name], times) for name, one in plan.rules.items()]
    yield from table_rows(rules, numbered, taken)


def rule_of_member(rules: Mapping[int, Sequence[int]]) -> str:
    """The number of a match's rule, by that of its matcher. Equal rules have one matcher, and a row each.

    >>> rule_of_member({0: [0], 1: [1]})
    'member'
    >>> rule_of_member({0: [0, 2], 1: [1]})
    'explode(get(array(array(0, 2), array(1)), member))'
    """
    if all([member] == list(numbers) for member, numbers in rules.items()):
        return MEMBER
    arrays = (f"array({', '.join(map(str, numbers))})" for _, numbers in sorted(rules.items()))
    return f"explode(get(array({', '.join(arrays)}), {MEMBER}))"


def _matcher_texts(name: str, plan: NetworkPlan, texts: MatchTexts, times: DataType) -> RuleTexts:
    query = plan.query
    own = [
        (column.name, texts.values[place_of(attribute)], column.type)
        for column, attribute in zip(query.columns, query.root.payload, strict=False)
    ]
    start, end = (_as_time(text, query.clock.type, times) for text in times_of_match(plan))
    return RuleTexts(name, as_object([]), (start, end), as_object(own), " AND ".join(texts.conditions))


# Rules that are executed alone, and all together.


@dataclass(frozen=True)
class LoneRule:
    """A rule whose rows are the relation `source`, with these columns: the rule's own, and of its `times` the
    names of two. Without columns, all of what the relation has is the rule's own."""

    name: str
    source: str
    own: tuple[OutputColumn | Column, ...] | None
    keys: tuple[tuple[str, OutputColumn], ...] = ()
    times: tuple[str, str] | None = None
    time: DataType | None = None


def lone_rule(name: str, source: str, found: RuleQuery) -> LoneRule:
    """A PATTERN that is executed alone."""
    keys = tuple(zip(found.keys, found.key_outputs, strict=True))
    if not found.has_times:
        return LoneRule(name, source, found.own, keys)
    start, end = found.match.outputs[-2:]
    return LoneRule(name, source, found.own, keys, (start.name, end.name), start.type)


def lone_rows(rule: LoneRule, times: DataType, taken: set[str]) -> Let:
    """The rows of a rule that is executed alone, as rows of the table."""
    null = f"CAST(NULL AS {spark_type(times)})"
    if rule.own is None:
        columns = "to_variant_object(struct(*))"
    else:
        columns = as_object([(one.name, identifier(one.name), one.type) for one in rule.own])
    clock = (null, null)
    if rule.times is not None and rule.time is not None:
        start, end = (_as_time(identifier(name), rule.time, times) for name in rule.times)
        clock = (start, end)
    keys = [(name, identifier(output.name), output.type) for name, output in rule.keys]
    items: Items = (
        (literal(rule.name, STRING), RULE),
        (as_object(keys), "key"),
        (clock[0], "match_start"),
        (clock[1], "match_end"),
        (columns, "columns"),
    )
    return Let(free("rows", taken), SelectColumns(rule.source, items), f"The rows of {rule.name}.")


def all_rows(names: Sequence[str], name: str) -> Let:
    """The table of all rules."""
    if len(names) == 1:
        items = tuple((identifier(column), column) for column in RULE_COLUMNS)
        return Let(name, SelectColumns(names[0], items), "The rows of all rules.")
    return Let(name, Union(tuple(names)), "The rows of all rules.")
