"""A streaming query whose processes are killed: whatever happens, its files have every match once.

    PYTHONPATH=tests python -m stream_faults --kills 10 --seed 1

A process of its own runs the query over files of events, one in each micro-batch, into files of matches. It
is killed (SIGKILL: Python, Java and all) at a random moment of a micro-batch, and started again from its
checkpoint. With `--workers`, Python workers of it are killed, too: Spark tries their tasks again.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bench.memory import descendants
from repository import ROOT

import neelc
from neelc.api.query import run_source
from neelc.api.spark_session import session

SCHEMA = "ts BIGINT, kind STRING, id INT"
QUERY = """CREATE STREAM Events (ts BIGINT, kind STRING, id INT)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind WATERMARK 50 MILLISECONDS;
PATTERN SEQ(A a, !C c, B b) WHERE [id] WITHIN 300 MILLISECONDS RETURN a.id, a.ts AS first, b.ts AS last;"""
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
MOST_SECONDS = 8.0
"""Between the first micro-batch of a process and its end: the first takes seconds, others less than one."""
DISORDER, FAR = 40, 1_000_000
"""Milliseconds: less than the watermark waits, so that no event is late; and when the last event comes."""


def write_events(directory: Path, files: int, size: int = 400, seed: int = 1) -> None:
    """Files of events, which a stream reads one after the other. The last has one event, after which all
    matches are sure."""
    chance = Random(seed)
    events = [(time, chance.choice("AABBC"), chance.randrange(40)) for time in range(files * size)]
    events.sort(key=lambda event: event[0] + chance.uniform(0, DISORDER))
    directory.mkdir(parents=True)
    batches = [events[first : first + size] for first in range(0, len(events), size)]
    for number, batch in enumerate([*batches, [(FAR, "X", 0)]]):
        write_file(directory, number, batch)


def write_file(directory: Path, number: int, events: Sequence[tuple[int, str, int]]) -> None:
    """A file of a stream; a higher number is read later."""
    times, kinds, keys = zip(*events, strict=True)
    columns = {"ts": pa.array(times, pa.int64()), "kind": pa.array(kinds), "id": pa.array(keys, pa.int32())}
    path = directory / f"{number:03}.parquet"
    pq.write_table(pa.table(columns), path)
    os.utime(path, (number + 1, number + 1))


@dataclass(frozen=True)
class QueryDirectories:
    """Where a query reads, writes, and has its checkpoint."""

    root: Path

    @property
    def events(self) -> Path:
        return self.root / "events"

    @property
    def matches(self) -> Path:
        return self.root / "matches"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def notes(self) -> Path:
        """A file for each worker that has killed itself."""
        return self.root / "notes"

    def start(
        self, spark: Any, alter: Callable[[str], str] = lambda source: source, format: str = "parquet"
    ) -> Any:
        """The query, which runs until it has read all files. `alter` changes its source."""
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).option("mode", "FAILFAST")
        frame = reader.load(str(self.events), format=format)
        compiled = neelc.Session(spark).compile(QUERY, Events=frame, buckets=4)
        result = run_source(alter(compiled.source), spark, {"Events": frame})
        writer = result.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(availableNow=True).start(str(self.matches))

    def found(self, spark: Any) -> Counter[Any]:
        """The matches that have been written: Spark shows only files of complete micro-batches."""
        return Counter(map(tuple, spark.read.parquet(str(self.matches)).collect()))

    def expected(self, spark: Any) -> Counter[Any]:
        """What the query gives over the same events at once."""
        frame = spark.read.parquet(str(self.events))
        return Counter(map(tuple, neelc.sql(spark, QUERY, Events=frame).collect()))

    def last_number(self, log: str) -> int:
        """Of the micro-batches that were begun (`offsets`) or are complete (`commits`)."""
        names = [path.name for path in (self.checkpoint / log).glob("[0-9]*")]
        return max(map(int, names), default=-1)


# What is done to a query: its source is changed.

ALTERED = """

def altered(make):
    def made(program):
        call = make(program)
        def run(key, frames, state):
{body}
        return run
    return made
"""
KILLED = """
            import os, signal
            before = state.exists
            yield from call(key, frames, state)
            if before and len(os.listdir({notes!r})) < {times}:
                open(os.path.join({notes!r}, str(os.getpid())), "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
"""
OTHER_FORMAT = """
            from neelc.runtime import streaming
            known, streaming.FORMAT = streaming.FORMAT, 1
            try:
                yield from call(key, frames, state)
            finally:
                streaming.FORMAT = known
"""


def altered(source: str, body: str) -> str:
    """The source of a query, in which calls for a bucket do something else."""
    plain = "bucket_function(StreamProgram("
    assert source.count(plain) == 1
    return source.replace(plain, f"altered({plain.replace('(', ')(', 1)}") + ALTERED.format(body=body)


def killing_workers(source: str, notes: Path, times: int) -> str:
    """Workers are killed so many times, after they have read and written state, with a file in `notes` for
    each."""
    notes.mkdir(exist_ok=True)
    return altered(source, KILLED.format(notes=str(notes), times=times))


# A process of its own, which is killed.


@contextmanager
def running(files: QueryDirectories, dying: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """The query in a process of its own, in a group of processes of its own; `dying` workers of it kill
    themselves."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-m", "stream_faults", "--run", str(files.root), "--dying", str(dying)]
    log = files.root / "log"
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run_until_killed(files: QueryDirectories, after: float) -> str:
    """Run the query, and kill it so many seconds after its first micro-batch has begun: "in mid-batch" if one
    had begun and was not complete then, "between batches" if not, "done" if the query was done before."""
    with running(files) as process:
        begun = files.last_number("commits")
        while process.poll() is None and files.last_number("offsets") <= begun:
            time.sleep(0.02)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        if process.returncode is not None:
            check_end(files, process.returncode)
            return "done"
        os.killpg(process.pid, signal.SIGKILL)
    is_complete = files.last_number("offsets") == files.last_number("commits")
    return "between batches" if is_complete else "in mid-batch"


def run_to_end(
    files: QueryDirectories, workers: int = 0, chance: Random | None = None, dying: int = 0
) -> int:
    """Run the query until it has read all files, and kill up to so many of its Python workers, each in a
    micro-batch of its own: a task is tried four times only. Gives how many were killed."""
    chance = chance or Random(1)
    killed: set[int] = set()
    with running(files, dying) as process:
        while process.poll() is None:
            time.sleep(chance.uniform(0, 0.5))
            number = files.last_number("offsets")
            is_due = len(killed) < workers and number not in {*killed, files.last_number("commits")}
            if is_due and kill_worker(process.pid, chance):
                killed.add(number)
    check_end(files, process.returncode)
    return len(killed)


def kill_worker(root: int, chance: Random) -> bool:
    """Kill one of the Python workers below a process; False if there are none."""
    found = descendants(root)
    java = [pid for pid, name in found.items() if name == "java"]
    daemons = [pid for one in java for pid, name in descendants(one).items() if name.startswith("python")]
    workers = sorted(pid for one in daemons for pid in descendants(one)) or daemons
    with suppress(ProcessLookupError, IndexError):
        os.kill(chance.choice(workers), signal.SIGKILL)
        return True
    return False


def check_end(files: QueryDirectories, status: int) -> None:
    assert status == 0, (files.root / "log").read_text()[-3000:]


def run(files: QueryDirectories, dying: int) -> None:
    """What the process does. A task is tried four times."""
    with session("local[2,4]", None, SETTINGS) as spark:
        files.start(spark, lambda source: killing_workers(source, files.notes, dying)).awaitTermination()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="stream_faults", description="kill a streaming query")
    parser.add_argument("--kills", type=int, default=10, help="of the whole process")
    parser.add_argument("--workers", type=int, default=5, help="killed in the last run, one after the other")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dying", type=int, default=0, help="workers that kill themselves, with --run")
    parser.add_argument("--run", type=Path, help="(for this program itself)")
    options = parser.parse_args(arguments)
    if options.run is not None:
        run(QueryDirectories(options.run), options.dying)
        return 0
    chance, start = Random(options.seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="neelc-faults-") as place:
        files = QueryDirectories(Path(place))
        write_events(files.events, files=3 * options.kills + 10, seed=options.seed)
        ends = Counter(run_until_killed(files, chance.uniform(0, MOST_SECONDS)) for _ in range(options.kills))
        workers = run_to_end(files, options.workers, chance)
        with session("local[2]", None, SETTINGS) as spark:
            found, expected = files.found(spark), files.expected(spark)
    lost, added = (expected - found).total(), (found - expected).total()
    print(f"killed: {dict(ends)}, and {workers} workers")
    print(f"{expected.total():,} matches: {lost} lost, {added} added, {time.monotonic() - start:.0f} seconds")
    return bool(lost or added)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
