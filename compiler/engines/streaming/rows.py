"""MATCH_RECOGNIZE over streams without end: Spark computes what depends on one row, one stateful operator
finds the matches, and Spark computes the measures, and the query around the clause."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.engines.spark.relations import Extend, KernelOnStream, Let, SelectColumns, WatermarkCheck
from neelc.engines.spark.rows import RowRelations
from neelc.engines.spark.scans import OBSERVED, free
from neelc.engines.streaming.pattern import METRICS, bucket, bucket_comment
from neelc.ir.expressions import Attribute
from neelc.ir.names import bare
from neelc.ir.types import LENGTHS, STRING
from neelc.rows.plan.plan import ClausePlan, time_unit
from neelc.scalar.spark.trees import identifier, literal
from neelc.scalar.type_of import type_of

NO_TIME = "NEEL5071: a row of a stream has no event time; leave such rows out with WHERE"


def row_stream_relations(
    planned: ClausePlan, source: str, name: str, taken: set[str], buckets: int
) -> Iterator[Let]:
    """The relations of a clause over the streaming relation `source`; the last of them is called `name`."""
    plan, streamed = planned.plan, planned.streamed
    assert streamed is not None, "the clause is planned for streams"
    first = plan.query.order[0].expression
    assert isinstance(first, Attribute), "rows are ordered by a column"
    if planned.bound.reads is None:
        checked = free("checked", taken)
        yield Let(
            checked, WatermarkCheck(source, bare(first.name)), "Rows come in the order of the watermark."
        )
        source = checked
    writer = RowRelations(plan, source, name, taken)
    needed = set(streamed.columns)
    items = [(text, column) for column, text in writer.columns() if column in needed]
    time = identifier(bare(first.name))
    start = f"IF({time} IS NULL, raise_error({literal(NO_TIME, STRING)}), {writer.time(time)})"
    items += [(start, "start")] + ([(writer.bits(), "bits")] if plan.program.flagged else [])
    rows = free("rows", taken)
    yield Let(
        rows,
        SelectColumns(source, tuple(items), observed=f"{OBSERVED}{planned.bound.reads or name}"),
        "What is used of each row.",
    )
    keys = tuple(map(identifier, plan.keys))
    buckets = buckets if keys else 1
    bucketed = free("bucketed", taken)
    yield Let(bucketed, Extend(rows, ((bucket(keys, buckets), "bucket"),)), bucket_comment(keys))
    matches = free("matches", taken)
    on_stream = KernelOnStream(
        bucketed,
        streamed,
        writer.schema(),
        LENGTHS[time_unit(plan.query)],
        tuple(_identity(planned, buckets)),
        METRICS,
        buckets,
    )
    yield Let(matches, on_stream, f"Matches of {plan.query.pattern}, as soon as they are decided.")
    yield from writer.measures(matches)


def _identity(planned: ClausePlan, buckets: int) -> Iterator[tuple[str, str]]:
    """What the state of a clause depends on."""
    plan, query = planned.plan, planned.plan.query
    assert planned.streamed is not None
    yield "pattern", str(query.pattern)
    yield "conditions", "; ".join(f"{one.variable} AS {one.condition}" for one in query.definitions)
    yield "partition", ", ".join(query.partition)
    yield "order", ", ".join(map(str, query.order))
    yield "after a match", " ".join((query.skip.kind, *query.skip.variables))
    yield "rows", query.all_rows or "one for each match"
    yield "window", str(query.within)
    types = {name: str(type_of(expression)) for name, expression in plan.columns.items()}
    kept = sorted(column for column in planned.streamed.columns if column in types)
    yield "columns", ", ".join(f"{column} {types[column]}" for column in kept)
    yield "buckets", str(buckets)
