"""MATCH_RECOGNIZE over streams without end: Spark computes what depends on one row, one stateful operator
finds the matches, and Spark computes the measures, and the query around the clause."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.engines.spark.relations import Extend, Items, KernelOnStream, Let, SelectColumns, WatermarkCheck
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
    if planned.bound.reads is None:
        first = plan.query.order[0].expression
        assert isinstance(first, Attribute), "rows are ordered by a column"
        checked = free("checked", taken)
        yield Let(
            checked, WatermarkCheck(source, bare(first.name)), "Rows come in the order of the watermark."
        )
        source = checked
    writer = RowRelations(plan, source, name, taken)
    lets = list(clause_inputs(planned, writer, plan.keys, buckets, observed=planned.bound.reads or name))
    yield from lets
    matches = free("matches", taken)
    on_stream = KernelOnStream(
        lets[-1].name,
        streamed,
        writer.schema(),
        LENGTHS[time_unit(plan.query)],
        (*clause_identity(planned, ""), ("buckets", str(buckets if plan.keys else 1))),
        METRICS,
        buckets,
    )
    yield Let(matches, on_stream, f"Matches of {plan.query.pattern}, as soon as they are decided.")
    yield from writer.measures(matches)


def clause_inputs(
    planned: ClausePlan,
    writer: RowRelations,
    keys: tuple[str, ...],
    buckets: int,
    more: Items = (),
    observed: str | None = None,
) -> Iterator[Let]:
    """What the kernel of a clause reads: of each row the columns that are used, its bucket by some keys, and
    `more` items. If the rows are `observed`, they are counted under a name."""
    plan, streamed = planned.plan, planned.streamed
    assert streamed is not None, "the clause is planned for streams"
    first = plan.query.order[0].expression
    assert isinstance(first, Attribute), "rows are ordered by a column"
    needed = set(streamed.columns)
    items = [(text, column) for column, text in writer.columns() if column in needed]
    time = identifier(bare(first.name))
    start = f"IF({time} IS NULL, raise_error({literal(NO_TIME, STRING)}), {writer.time(time)})"
    items += [(start, "start")] + ([(writer.bits(), "bits")] if plan.program.flagged else [])
    rows = free("rows", writer.taken)
    counted = None if observed is None else f"{OBSERVED}{observed}"
    yield Let(rows, SelectColumns(writer.source, tuple(items), observed=counted), "What is used of each row.")
    by = tuple(map(identifier, keys))
    bucketed = free("bucketed", writer.taken)
    yield Let(bucketed, Extend(rows, ((bucket(by, buckets), "bucket"), *more)), bucket_comment(by))


def clause_identity(planned: ClausePlan, whose: str) -> Iterator[tuple[str, str]]:
    """What the state of a clause depends on; `whose` it is, if it is one of several queries."""
    plan, query = planned.plan, planned.plan.query
    assert planned.streamed is not None
    yield f"pattern{whose}", str(query.pattern)
    yield f"conditions{whose}", "; ".join(f"{one.variable} AS {one.condition}" for one in query.definitions)
    yield f"partition{whose}", ", ".join(query.partition)
    yield f"order{whose}", ", ".join(map(str, query.order))
    yield f"after a match{whose}", " ".join((query.skip.kind, *query.skip.variables))
    yield f"rows{whose}", query.all_rows or "one for each match"
    yield f"window{whose}", str(query.within or "none")
    types = {name: str(type_of(expression)) for name, expression in plan.columns.items()}
    kept = sorted(column for column in planned.streamed.columns if column in types)
    yield f"columns{whose}", ", ".join(f"{column} {types[column]}" for column in kept)
