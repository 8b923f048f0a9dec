"""Many rules over streams without end: Spark reads the events of the rules with one key once and groups them
into buckets; one stateful operator finds the matches of all rules; Spark computes what each of them returns.

Spark allows one operator of this kind in a streaming query. So rules with different keys share it, too: what
is read for those with one key is a part of the rows, with the number of the part as the first of their keys.
A rule that would need an operator of its own is refused, unless it is the only one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

from neelc.engines.spark.relations import Extend, Items, KernelOnStream, Let, SelectColumns, Union
from neelc.engines.spark.rules import named_rules, rule_set_results, rule_set_schema
from neelc.engines.spark.scans import ScanRequest, StreamRelations, free, scans
from neelc.engines.streaming.pattern import METRICS, bucket, bucket_comment
from neelc.ir.program import Match
from neelc.ir.types import LENGTHS, DataType
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.kernels.rules.program import PART
from neelc.scalar.spark.trees import identifier, spark_type

MOST_TEXTS = 20
"""Up to so many rules, the state of a set has their texts; of more, it has a digest of each."""


def rule_stream_relations(
    plan: RuleSetPlan,
    sources: StreamRelations,
    taken: set[str],
    most_matches: int | None,
    buckets: int,
    times: DataType | None = None,
) -> Iterator[Let]:
    """The relations of rules that one operator runs; the last one has their rows."""
    parts: list[str] = []
    for number in range(len(plan.parts)):
        lets = list(_part_relations(plan, number, sources, taken, buckets))
        yield from lets
        parts.append(lets[-1].name)
    if len(parts) > 1:
        united = free("all_parts", taken)
        yield Let(united, Union(tuple(parts)), "The events of all parts, each with its own key.")
        parts = [united]
    matched = free("matches", taken)
    found = KernelOnStream(
        parts[0],
        plan.streamed,
        rule_set_schema(plan),
        LENGTHS[plan.unit],
        tuple(rules_identity(plan, buckets)),
        METRICS,
        buckets,
        most_matches,
    )
    comment = f"Matches of {named_rules(plan.names)}, in one operator, each as soon as it is sure."
    yield Let(matched, found, comment)
    yield from rule_set_results(plan, matched, taken, times)


def _part_relations(
    plan: RuleSetPlan, number: int, sources: StreamRelations, taken: set[str], buckets: int
) -> Iterator[Let]:
    """What is read for the rules of a part. Its rows have the columns of all parts: what is of others is
    NULL."""
    part = plan.parts[number]
    request = ScanRequest(
        part.events,
        plan.unit,
        plan.roles,
        plan.columns,
        part.keys,
        plan.program.events.lasting,
        part.everything,
        observed=True,
    )
    lets = list(scans(request, sources, taken))
    yield from lets
    keys = tuple(map(identifier, part.together))
    items: Items = ((bucket(keys, buckets), "bucket"),)
    if len(plan.parts) > 1:
        items += ((str(number), PART),)
    foreign = (key for other in plan.parts if other is not part for key in other.keys)
    items += tuple(
        (f"CAST(NULL AS {spark_type(key.type)})", key.name) for key in foreign if not key.is_column
    )
    yield Let(free("bucketed", taken), Extend(lets[-1].name, items), bucket_comment(keys))


def rules_identity(plan: RuleSetPlan, buckets: int) -> Iterator[tuple[str, str]]:
    """What the state of a set depends on: its rules, the columns that are kept, and the number of buckets. A
    set that keeps nothing depends on nothing."""
    if all(timing.single for timing in plan.timings):
        return
    for rule in plan.plans:
        text = _text(rule.query)
        is_long = len(plan.plans) > MOST_TEXTS
        yield f"rule {rule.label}", sha256(text.encode()).hexdigest()[:12] if is_long else text
    types = {column.name: str(column.type) for column in plan.columns}
    types |= {key.name: str(key.type) for part in plan.parts for key in part.keys}
    if plan.events.order_types:
        yield "then by", ", ".join(map(str, plan.events.order_types))
    yield "columns", ", ".join(f"{name} {types[name]}" for name in sorted(types))
    yield "buckets", str(buckets)


def _text(query: Match) -> str:
    return f"{query.pattern} WITHIN {query.within or 'none'}, {query.strategy}"


def counted_apart(lets: Iterable[Let]) -> Iterator[Let]:
    """The relations, with the events of each stream counted under its name where it is read first, and under
    others where it is read again: Spark refuses two numbers of one name."""
    seen = dict[str, int]()
    for let in lets:
        relation = let.relation
        if isinstance(relation, SelectColumns) and relation.observed is not None:
            name = relation.observed
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                let = replace(let, relation=replace(relation, observed=f"again {seen[name]}: {name}"))
        yield let
