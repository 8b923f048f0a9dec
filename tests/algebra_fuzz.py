"""Random networks of the event algebra: rewriting changes nothing, a subquery is what it is by its name, and
the kernels find what is defined.

python -m algebra_fuzz --networks 2000 --seed 1
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Any

import pyarrow as pa
from fuzz_runner import findings_of, fuzz_parser, outcome, seen_table
from generate.networks import Network, networks

from neelc.algebra.cost.network import chosen_network
from neelc.algebra.plan.aggregates import folded_of
from neelc.algebra.rules.optimise import FILTERS, rewritten_network
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import algebra as a
from neelc.ir.expressions import Aggregate
from neelc.ir.node import walk
from neelc.ir.program import Program
from neelc.ir.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType
from neelc.runtime.kernels.snapshots.kernel import snapshots
from neelc.runtime.kernels.snapshots.program import FOREVER, SnapshotProgram
from neelc.runtime.reference import run
from neelc.runtime.reference.algebra import events
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import ValidPayload
from neelc.runtime.reference.results import valid_of
from neelc.runtime.reference.snapshots import differences
from neelc.scalar.type_of import type_of

TYPES: dict[DataType, pa.DataType] = {
    INT: pa.int32(), BIGINT: pa.int64(), DOUBLE: pa.float64(), STRING: pa.string(), BOOLEAN: pa.bool_(),
}  # fmt: skip


def rewritten(network: Network, fired: Counter[str]) -> Iterator[str]:
    """What differs after each rule that fired."""
    queries = list(network.program.queries)
    expected = run(network.program, network.tables)[-1][1].rows
    query = queries[-1].query
    assert isinstance(query, a.Algebra)
    for step in chosen_network(rewritten_network(query.root), Statistics()).steps:
        fired[step.rule] += 1
        changed = replace(queries[-1], query=replace(query, root=step.root))
        program = Program(network.program.streams, (*queries[:-1], changed))
        found = run(program, network.tables)[-1][1].rows
        for time, one, other in differences(expected, found):
            where = f"{network.text}\n{network.tables}\n{step.root}"
            yield f"{step.rule}: at {time}: {one}, then {other}\n{where}"
            return


def named(network: Network, fired: Counter[str]) -> Iterator[str]:
    """Where a network has other rows if each of its subqueries has a name: the same events, not only the same
    snapshots; also as rewriting makes them."""
    other = network.by_name
    if len(other.program.queries) == len(network.program.queries):
        return
    fired["named"] += 1
    for one in (network.program, executed(network.program)):
        rows = [table_of(run(program, network.tables)[-1][1].rows) for program in (one, other.program)]
        if not same_rows(*rows):
            yield f"named: {network.text}\n{network.tables}\n{rows[1]} by name, not {rows[0]}"
            return


def executed(program: Program) -> Program:
    """The program with each network as it is executed where its events are read."""
    found = []
    for one in program.queries:
        assert isinstance(one.query, a.Algebra)
        root = chosen_network(rewritten_network(one.query.root, is_read=True), Statistics()).root
        found.append(replace(one, query=replace(one.query, root=root)))
    return Program(program.streams, tuple(found))


def table_of(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """The rows in an order that depends on their values."""
    return sorted(map(tuple, rows), key=shown)


def same_rows(left: Sequence[Sequence[object]], right: Sequence[Sequence[object]]) -> bool:
    """Whether tables have the same rows; the last digits of floating point numbers do not count.

    >>> same_rows([(0.1 + 0.2, None)], [(0.3, None)]), same_rows([(1, 1)], [(1, 1), (1, 1)])
    (True, False)
    """
    return list(map(shown, left)) == list(map(shown, right))


def shown(row: Sequence[object]) -> tuple[str, ...]:
    """The values of a row as texts, numbers without their last digits."""
    return tuple(f"{value + 0.0:.9g}" if isinstance(value, float) else repr(value) for value in row)


def aggregated(network: Network, random: Random, fired: Counter[str]) -> Iterator[str]:
    """Where the kernel does not find what an aggregator is defined to be."""
    query = network.program.queries[-1].query
    if len(network.program.queries) > 1 or not isinstance(query, a.Algebra):
        return
    clock = query.clock

    def read(source: a.StreamSource | a.RelationSource) -> list[ValidPayload]:
        return valid_of(source, network.tables, {}, clock)

    for node in walk(query.root):
        if isinstance(node, a.Aggregator):
            fired["kernel"] += 1
            below = events(node.input, read, clock)
            expected = [
                (*one.binding[node.variable].attributes.values(), one.start, _end(one))
                for one in events(node, read, clock)
            ]
            for time, one, other in differences(expected, list(in_kernel(node, below, random))):
                yield f"kernel: {network.text}\n{network.tables}\nat {time}: {one} expected, {other} found"
                return


def in_kernel(node: a.Aggregator, below: list[ValidPayload], random: Random) -> Iterator[tuple[Any, ...]]:
    """The rows that the kernel makes of events."""
    aggregates = [one.expression for one in node.aggregates]
    if not below or not all(isinstance(one, Aggregate) for one in aggregates):
        return
    arguments: list[tuple[str, DataType, list[object]]] = []
    folds = []
    for number, one in enumerate(aggregates):
        assert isinstance(one, Aggregate)
        column = None
        if one.argument is not None:
            column = f"v{number}"
            values = [evaluate(one.argument, event.context) for event in below]
            arguments.append((column, type_of(one.argument), values))
        folds.append(folded_of(one, column, f"r{number}"))
    for number, group in enumerate(node.groups):
        values = [evaluate(group.expression, event.context) for event in below]
        arguments.append((f"k{number}", group.type, values))
    grouped = [values for name, _, values in arguments if name.startswith("k")]
    order = sorted(
        range(len(below)), key=lambda n: (*(repr(values[n]) for values in grouped), below[n].start)
    )
    columns = {name: pa.array([values[n] for n in order], TYPES[type]) for name, type, values in arguments}
    columns["start"] = pa.array([int(below[n].start) for n in order])
    columns["end"] = pa.array([FOREVER if math.isinf(below[n].end) else int(below[n].end) for n in order])
    table = pa.RecordBatch.from_pydict(columns)
    keys = tuple(f"k{number}" for number in range(len(node.groups)))
    size = random.randint(1, 5)
    batches = (table.slice(first, size) for first in range(0, len(below), size))
    for batch in snapshots(SnapshotProgram(keys, tuple(folds)), random.randint(1, 9))(batches):
        for row in batch.to_pylist():
            values = [*(row[key] for key in keys), *(row[fold.name] for fold in folds)]
            yield (*values, row["start"], None if row["end"] == FOREVER else row["end"])


def _end(event: ValidPayload) -> object:
    return None if math.isinf(event.end) else event.end


def laws(network: Network, random: Random, fired: Counter[str]) -> Iterator[str]:
    """What is wrong with a network."""
    yield from rewritten(network, fired)
    yield from named(network, fired)
    yield from aggregated(network, random, fired)


def check(number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the network of a number."""
    random = Random(number)
    for network in networks(random, 1):
        seen["networks"] += 1
        yield from laws(network, random, seen)


def main() -> int:
    options, begin = fuzz_parser("algebra_fuzz", 2000, "networks").parse_args(), monotonic()
    findings = findings_of(check, options, "networks")
    silent = [rule.__name__ for rule in FILTERS.parts if not findings.seen[rule.__name__]]
    if silent and options.count >= 500:
        findings.broken.append(f"rules that never fired: {', '.join(silent)}")
    return outcome(seen_table(findings.seen, monotonic() - begin), findings.broken)


if __name__ == "__main__":
    sys.exit(main())
