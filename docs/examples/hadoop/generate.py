"""Logs of a Hadoop cluster: `python generate.py DIRECTORY` writes jobs, shuffle and ganglia there.

Jobs of three workloads run side by side. Mappers write data; reducers start late, pull the data, work on them
and end. Some reducers take much longer than others (stragglers), some drive the load of their node up (hogs).
The same events on every machine, and no two at the same time: every line has its own millisecond.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

START = 1_709_280_000_000
"""The first of March 2024, 8 o'clock, in milliseconds."""
SECOND = 1000
POLL = 15 * SECOND
"""Ganglia reads the load this often (SASE++, section 2.3)."""
WORKLOADS = ("twitter", "worldcup_u", "worldcup_s")
OUTPUT = np.array([6000.0, 350.0, 2800.0])
"""What the mappers of a job write, in MB, for each workload: in proportion to SASE++, section 6.5."""
MAPPER_SECONDS = np.array([80.0, 30.0, 40.0])
STRAGGLERS, SLOWER = 0.08, 3.5
"""The share of reducers that straggle, and how many times as long they take."""
HOGS, GROWTH, MOST_GROWTH = 0.08, 1.25, 9.0
"""The share of reducers that are hogs; by which factor the load grows from reading to reading, and in all."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Size:
    """How much there is; mappers and reducers are those of the largest job."""

    jobs: int
    nodes: int = 20
    mappers: int = 20
    reducers: int = 8


@dataclass(frozen=True)
class Tasks:
    """All mappers, or all reducers, in the order of their jobs; times in milliseconds."""

    job: Array
    name: Array
    node: Array
    start: Array
    end: Array

    def table(self, kind: str, time: Array, **columns: Array) -> pa.Table:
        """One event of each task."""
        names = {"job_id": job_names(self.job), "task_id": self.name, "node": node_names(self.node)}
        return events(kind, time, **names, **columns)

    def seconds(self) -> Array:
        return np.round((self.end - self.start) / SECOND, 1)


class Random:
    """Evenly spread numbers, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def between(self, low: float, high: float, count: int) -> Array:
        return low + (high - low) * self.generator.random(count)

    def milliseconds(self, low: float, high: float, count: int) -> Array:
        """From `low` to `high` seconds."""
        return (self.between(low, high, count) * SECOND).astype(np.int64)

    def whole(self, low: int, high: int, count: int) -> Array:
        return self.generator.integers(low, high + 1, count)


def counted(counts: Array) -> tuple[Array, Array]:
    """For each of the `counts[j]` things of j: its j, and its number among those of j.

    >>> [part.tolist() for part in counted(np.array([2, 3]))]
    [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]]
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - firsts(counts)[owner]


def firsts(counts: Array) -> Array:
    return np.cumsum(counts) - counts


def job_names(job: Array) -> Array:
    return np.char.add("job_", np.char.zfill((job + 1).astype(str), 4))


def node_names(node: Array) -> Array:
    return np.char.add("node-", (node + 1).astype(str))


def task_names(job: Array, letter: str, number: Array) -> Array:
    tail = np.char.zfill((number + 1).astype(str), 2)
    return np.char.add(np.char.add(np.char.zfill((job + 1).astype(str), 4), f"_{letter}_"), tail)


def events(kind: str, time: Array, **columns: Array) -> pa.Table:
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(time), np.int8)), [kind]).cast(pa.string())
    return pa.table({"ts": time, "kind": kinds} | {name: pa.array(each) for name, each in columns.items()})


def cluster(size: Size, seed: int) -> dict[str, pa.Table]:
    """The three logs, each in order of time."""
    random = Random(seed)
    workload = np.arange(size.jobs) % len(WORKLOADS)
    start = START + np.arange(size.jobs) * (480 * SECOND // size.nodes)
    start += random.milliseconds(0, 10, size.jobs)
    maps = random.whole(size.mappers // 2 + 1, size.mappers, size.jobs)
    reduces = random.whole(size.reducers // 2 + 1, size.reducers, size.jobs)

    mappers = map_tasks(random, size, start, maps, workload)
    output = OUTPUT[workload] / maps
    written = np.round(output[mappers.job] * random.between(0.7, 1.3, len(mappers.job)), 1)
    reducers, pulls = reduce_tasks(random, size, start, maps, reduces, mappers, written)
    end = np.maximum.reduceat(reducers.end, firsts(reduces)) + random.milliseconds(1, 4, size.jobs)
    names = job_names(np.arange(size.jobs))
    jobs = [
        events("JobStart", start, job_id=names, workload=np.array(WORKLOADS)[workload]),
        mappers.table("MapperStart", mappers.start),
        mappers.table("MapperEnd", mappers.end, period=mappers.seconds(), size=written),
        reducers.table("ReducerStart", reducers.start),
        reducers.table("ReducerEnd", reducers.end, period=reducers.seconds()),
        events("JobEnd", end, job_id=names, period=np.round((end - start) / SECOND, 1)),
    ]
    logs = {"jobs": jobs, "shuffle": [pulls], "ganglia": readings(random, size, reducers)}
    tables = {name: pa.concat_tables(log, promote_options="default") for name, log in logs.items()}
    return in_order(tables)


def map_tasks(random: Random, size: Size, start: Array, maps: Array, workload: Array) -> Tasks:
    job, number = counted(maps)
    begin = start[job] + random.milliseconds(1, 40, len(job))
    period = random.milliseconds(0.6, 1.4, len(job)) * MAPPER_SECONDS[workload[job]]
    node = random.whole(0, size.nodes - 1, len(job))
    return Tasks(job, task_names(job, "m", number), node, begin, begin + period.astype(np.int64))


def reduce_tasks(
    random: Random, size: Size, start: Array, maps: Array, reduces: Array, mappers: Tasks, written: Array
) -> tuple[Tasks, pa.Table]:
    """Reducers start when most mappers are done, and pull their part of what each one has written."""
    job, number = counted(reduces)
    slower = np.where(random.between(0, 1, len(job)) < STRAGGLERS, SLOWER, 1.0)
    mapped = np.maximum.reduceat(mappers.end, firsts(maps)) - start
    begin = start[job] + (mapped[job] * 0.6).astype(np.int64) + random.milliseconds(0, 4, len(job))
    part = random.between(0.6, 1.4, len(job))
    part /= np.bincount(job, part)[job]

    reducer, which = counted(maps[job])
    mapper = firsts(maps)[job[reducer]] + which
    period = (random.milliseconds(2, 30, len(reducer)) * slower[reducer]).astype(np.int64)
    pulled = np.maximum(begin[reducer], mappers.end[mapper]) + period
    work = (random.milliseconds(50, 100, len(job)) * slower).astype(np.int64)
    end = np.maximum.reduceat(pulled, firsts(maps[job])) + work
    node = random.whole(0, size.nodes - 1, len(job))
    reducers = Tasks(job, task_names(job, "r", number), node, begin, end)
    pulls = events(
        "Pull",
        pulled,
        job_id=job_names(job[reducer]),
        task_id=reducers.name[reducer],
        node=node_names(node[reducer]),
        period=np.round(period / SECOND, 1),
        size=np.round(written[mapper] * part[reducer], 1),
    )
    return reducers, pulls


def readings(random: Random, size: Size, reducers: Tasks) -> list[pa.Table]:
    """The load of each node, and for each reducer that runs how uneven the nodes are that serve it.

    Both wander about a level, and grow as long as a hog runs.
    """
    is_hog = random.between(0, 1, len(reducers.job)) < HOGS
    reducer, number = counted((reducers.end - reducers.start) // POLL)
    time = reducers.start[reducer] + number * POLL + POLL // 2
    growing = 0.2 * np.minimum(GROWTH**number, MOST_GROWTH) + 0.001 * number
    uneven = np.where(is_hog[reducer], growing, random.between(0.15, 0.5, len(reducer)))
    uneven_loads = events("LoadStd", time, task_id=reducers.name[reducer], val=np.round(uneven, 3))

    polls = int(reducers.end.max() - START) // POLL + 1
    load = random.between(0.85, 1.15, polls * size.nodes).reshape(polls, size.nodes)
    for hog in np.flatnonzero(is_hog):
        first, last = (int(time[hog] - START) // POLL + 1 for time in (reducers.start, reducers.end))
        growth = np.minimum(GROWTH ** np.arange(last - first), MOST_GROWTH)
        load[first:last, reducers.node[hog]] *= growth
    poll, node = np.divmod(np.arange(load.size), size.nodes)
    loads = events("Load", START + poll * POLL, node=node_names(node), val=np.round(load.reshape(-1), 2))
    return [loads, uneven_loads]


def in_order(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Sorted, and no two events of all tables at the same time: the later ones wait for a millisecond."""
    times = np.concatenate([table["ts"].to_numpy() for table in tables.values()])
    order = np.argsort(times, kind="stable")
    line = np.arange(len(times))
    times[order] = np.maximum.accumulate(times[order] - line) + line
    ends = np.cumsum([table.num_rows for table in tables.values()])
    found = {}
    for (name, table), mine in zip(tables.items(), np.split(times, ends[:-1]), strict=True):
        ts = pa.array(mine).cast(pa.timestamp("ms", tz="UTC"))
        found[name] = table.set_column(0, "ts", ts).take(pa.array(np.argsort(mine)))
    return found


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=100_000)
    else:
        # Without a zone: a time in a CSV file is UTC anyway.
        plain = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("ms")))
        pa.csv.write_csv(plain, path, pa.csv.WriteOptions(quoting_style="none", quoting_header="none"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Logs of a Hadoop cluster.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--jobs", type=int, default=5000, help="how many jobs (5000)")
    parser.add_argument(
        "--nodes", type=int, default=20, help="nodes of the cluster (20); more run more at a time"
    )
    parser.add_argument("--mappers", type=int, default=20, help="mappers of the largest job (20)")
    parser.add_argument("--reducers", type=int, default=8, help="reducers of the largest job (8)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["csv", "parquet"], default="parquet")
    chosen = parser.parse_args(arguments)
    chosen.directory.mkdir(parents=True, exist_ok=True)
    size = Size(chosen.jobs, chosen.nodes, chosen.mappers, chosen.reducers)
    for name, table in cluster(size, chosen.seed).items():
        path = chosen.directory / f"{name}.{chosen.format}"
        write(table, path)
        print(f"{path}: {table.num_rows:,} events")


if __name__ == "__main__":
    main()
