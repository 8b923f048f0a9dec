"""`make cluster`: the fraud job on a standalone Spark cluster of three hosts, while one of them is lost.

    PYTHONPATH=tests python -m cluster.run build/cluster [SCENARIO ...]

The job runs by spark-submit, as a stream and by Spark Connect. In each, a host is killed while it runs a
task; in another run its cable is pulled until Spark has given the host up, and is then plugged in again.
Each run must give the rows of the local engine, each once. A fault that hits nothing fails: Spark's log
must show lost tasks.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from cluster.hosts import Host, Unavailable, require
from cluster.standalone import WORKERS, Cluster, Failed, Running, cluster, get, worker_python
from repository import ROOT

FRAUD = ROOT / "docs" / "examples" / "fraud"
ACCOUNTS = 40_000
PARTITIONS = 24
STREAM_PARTITIONS = 8
FILES = 10  # and so many micro-batches, as each reads one file
MINUTES = 20

BATCH = {
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",  # many small tasks, to be lost among
}
STREAM = {"spark.sql.shuffle.partitions": str(STREAM_PARTITIONS)}

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Kind:
    """A way to run the job. A host is lost in a stage with so many partitions, when so many of its tasks and
    of the micro-batches are done."""

    start: Callable[[Cluster, str, Path], Running]
    driver: Callable[[Cluster], Host]
    partitions: int
    tasks_done: range
    batches_done: int = 0


def submit(nodes: Cluster, name: str, alarms: Path) -> Running:
    program = FRAUD / "job.py"
    return nodes.submit(name, program, str(nodes.shared / "bank.parquet"), str(alarms), settings=BATCH)


def connect(nodes: Cluster, name: str, alarms: Path) -> Running:
    return nodes.connect(name, FRAUD / "job.py", str(nodes.shared / "bank.parquet"), str(alarms))


def stream(nodes: Cluster, name: str, alarms: Path) -> Running:
    directories = (str(nodes.shared / "incoming"), str(state_of(alarms)), str(alarms))
    return nodes.submit(name, FRAUD / "watch.py", *directories, settings=STREAM)


def state_of(alarms: Path) -> Path:
    """The checkpoint of a stream."""
    return alarms.with_name(f"{alarms.name}-state")


BATCH_TASKS = range(4, PARTITIONS * 3 // 4)

KINDS = {
    "submit": Kind(submit, lambda nodes: nodes.desk, PARTITIONS, BATCH_TASKS),
    "stream": Kind(stream, lambda nodes: nodes.desk, STREAM_PARTITIONS, range(STREAM_PARTITIONS), 3),
    "connect": Kind(connect, lambda nodes: nodes.head, PARTITIONS, BATCH_TASKS),
}
FAULTS = ("killed", "cut off")
SCENARIOS = [(kind, fault) for kind in KINDS for fault in FAULTS]


def main(directory: Path, chosen: list[str]) -> int:
    try:
        require()
    except Unavailable as reason:
        print(f"== no cluster was tried: {reason}")
        return 0
    scenarios = [(kind, fault) for kind, fault in SCENARIOS if not chosen or kind in chosen]
    say(f"hosts: a desk with neelc, a head, {WORKERS} workers of 1 core and 1 GB; no neelc on the last four")
    try:
        with cluster(directory, worker_python(directory)) as nodes:
            prepare(nodes)
            for kind, fault in scenarios:
                run(nodes, kind, fault)
    except Failed as failure:
        print(f"== failed: {failure}")
        return 1
    say(f"{len(scenarios)} runs, a host lost in each: all rows are there, none twice")
    return 0


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def prepare(nodes: Cluster) -> None:
    """Events on the shared directory, and a cluster that is up, whose workers have no neelc."""
    generate = example("generate")
    rows = generate.events(ACCOUNTS)
    generate.write(rows, nodes.shared / "bank.parquet")
    for number in range(FILES):
        part = rows[number * len(rows) // FILES : (number + 1) * len(rows) // FILES]
        generate.write(part, nodes.shared / "incoming" / f"{number:02}.parquet")
        time.sleep(0.02)  # a file source reads files in the order of their times
    alarms = len(expected(nodes))
    say(f"{len(rows):,} events of {ACCOUNTS:,} accounts; the local engine finds {alarms:,} alarms")
    nodes.start_master()
    for host in nodes.workers:
        log = nodes.logs / f"{host.name}-python.log"
        process = host.start([nodes.worker_python, "-c", "import pandas, pyarrow, neelc"], log)
        if not process.wait(60) or "No module named 'neelc'" not in log.read_text():
            raise Failed(f"{host.name} has neelc, or no Python: {log.read_text()}")
        nodes.start_worker(host)
    nodes.await_workers(WORKERS)
    say(f"the cluster is up: {nodes.master}, {', '.join(host.address for host in nodes.workers)}")


def example(name: str) -> ModuleType:
    """A program of the fraud example."""
    spec = importlib.util.spec_from_file_location(f"fraud_{name}", FRAUD / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(nodes: Cluster, name: str, fault: str) -> None:
    """One run in which a host is lost."""
    kind = KINDS[name]
    if name == "connect" and not (nodes.logs / "connect.log").exists():
        nodes.start_connect(BATCH)
    alarms = nodes.shared / f"alarms-{name}-{fault.replace(' ', '-')}"
    begin, clock = time.monotonic(), time.time()
    running = kind.start(nodes, alarms.name, alarms)
    watch = Watch(nodes, kind)
    victim, where = watch.moment(running, state_of(alarms))
    if fault == "killed":
        victim.kill()
    else:
        victim.pull_the_cable()
    say(f"{name}: {victim.name} is {fault}, {where}")
    lost_at = time.monotonic()
    if fault == "cut off":
        watch.await_loss(victim, running)
        say(f"{name}: given up after {time.monotonic() - lost_at:.0f} s; the cable is plugged in again")
        victim.plug_in()
    running.finish(MINUTES * 60)
    told = evidence(event_log(nodes), victim.address, clock)
    found = committed(alarms)
    compare(found, expected(nodes))
    seconds = time.monotonic() - begin
    say(f"{name}: {len(found):,} alarms, the same rows, none twice; {seconds:.0f} s; {told}")
    if fault == "killed":
        nodes.start_worker(victim)
    nodes.await_workers(WORKERS)


@dataclass
class Watch:
    """What Spark's own pages say about a run, as they are at its driver."""

    nodes: Cluster
    kind: Kind

    def _ask(self, path: str = "") -> Any:
        driver = self.kind.driver(self.nodes)
        applications = f"http://{driver.address}:4040/api/v1/applications"
        try:
            found = get(driver, applications)
            return get(driver, f"{applications}/{found[0]['id']}/{path}") if found else []
        except OSError:
            return []

    def moment(self, running: Running, state: Path) -> tuple[Host, str]:
        """Wait until the run is in the middle: a host that runs a task now, and how far the run is."""
        end = time.monotonic() + MINUTES * 60
        while time.monotonic() < end:
            if running.process.poll() is not None:
                raise Failed(f"it ended before a host was lost\n{running.tail()}")
            if found := self._middle(state):
                return found
            time.sleep(0.05)
        raise Failed(f"it did not get to its middle\n{running.tail()}")

    def _middle(self, state: Path) -> tuple[Host, str] | None:
        batches = len([path for path in (state / "commits").glob("*") if path.name.isdigit()])
        if batches < self.kind.batches_done:
            return None
        for stage in self._ask("stages?status=active"):
            done, tasks = stage["numCompleteTasks"], stage["numTasks"]
            if tasks != self.kind.partitions or done not in self.kind.tasks_done:
                continue
            listed = self._ask(f"stages/{stage['stageId']}/{stage['attemptId']}/taskList?status=running")
            for host in self.nodes.workers:
                if any(task["host"] in (host.address, host.name) for task in listed):
                    after = f"after {batches} micro-batches and " if batches else "after "
                    return host, f"{after}{done} of {tasks} tasks, while it runs another"
        return None

    def await_loss(self, victim: Host, running: Running) -> None:
        """Wait until Spark has given this host up."""
        while any(
            one["isActive"] and one["hostPort"].startswith(f"{victim.address}:")
            for one in self._ask("allexecutors")
        ):
            if running.process.poll() is not None:
                break
            time.sleep(0.2)


def event_log(nodes: Cluster) -> str:
    """What Spark wrote about the newest run; a Connect server has one log for all of its runs."""
    newest = max((nodes.shared / "events").iterdir(), key=lambda path: path.stat().st_mtime)
    return newest.read_text()


def evidence(log: str, address: str, begin: float) -> str:
    """What an event log tells, from this time on, of the loss of a host; `Failed` if no task was lost."""
    told = [json.loads(line) for line in log.splitlines() if line.endswith("}")]
    hosts = {
        one["Executor ID"]: one["Executor Info"]["Host"]
        for one in told
        if one["Event"] == "SparkListenerExecutorAdded"
    }
    removed = [
        one["Removed Reason"]
        for one in told
        if one["Event"] == "SparkListenerExecutorRemoved" and one["Timestamp"] >= begin * 1000
        if hosts[one["Executor ID"]] == address
    ]
    ended = [
        one["Task End Reason"]
        for one in told
        if one["Event"] == "SparkListenerTaskEnd" and one["Task Info"]["Finish Time"] >= begin * 1000
    ]
    lost = [one["Reason"] for one in ended if one["Reason"] != "Success"]
    # A job may end before Spark gives up a host whose results it has computed again.
    not_reached = any(one.get("Block Manager Address", {}).get("Host") == address for one in ended)
    if not lost or not (removed or not_reached):
        raise Failed(f"the fault hit nothing: executors removed: {removed}, tasks: {lost}")
    counted = ", ".join(f"{lost.count(reason)} {reason}" for reason in sorted(set(lost)))
    of_host = removed[-1].splitlines()[0] if removed else "its results could not be fetched"
    return f"of {len(ended)} tasks {len(lost)} were lost ({counted}); Spark: {of_host}"


def committed(alarms: Path) -> Rows:
    """The rows of a directory as Spark reads it: of a stream, the files that its log lists."""
    import pyarrow.parquet

    log = alarms / "_spark_metadata"
    if log.exists():
        entries = [
            line for path in log.iterdir() if path.name[0] != "." for line in path.read_text().splitlines()
        ]
        # A compacted log repeats what it replaces.
        files = sorted({json.loads(line)["path"].rpartition("/")[2] for line in entries if line[0] == "{"})
    else:
        files = sorted(path.name for path in alarms.glob("part-*"))
    tables = [pyarrow.parquet.read_table(alarms / name) for name in files]
    return [plain(row) for table in tables for row in table.to_pylist()]


@cache
def _expected(events: Path) -> Rows:
    import neelc

    query = (FRAUD / "fraud.neel").read_text()
    return [plain(row) for row in neelc.local().sql(query, Bank=str(events)).arrow().to_pylist()]


def expected(nodes: Cluster) -> Rows:
    return _expected(nodes.shared / "bank.parquet")


def plain(row: Mapping[str, object]) -> tuple[object, ...]:
    """The values of a row, times in UTC; those of INT96 columns are pandas', and equal to Python's."""
    return tuple(
        value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value
        for _, value in sorted(row.items())
    )


def compare(found: Rows, wanted: Rows) -> None:
    if Counter(found) != Counter(wanted):
        twice = len(found) - len(set(found))
        missing, more = set(wanted) - set(found), set(found) - set(wanted)
        counts = (
            f"{len(found)} rows, not {len(wanted)}: {twice} twice, {len(missing)} missing, {len(more)} wrong"
        )
        raise Failed(f"{counts}: {sorted(map(repr, [*missing, *more]))[:3]}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
