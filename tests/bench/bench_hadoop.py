"""SASE++'s case study: the six queries over the logs of a Hadoop cluster, in events per second.

The logs are those of docs/examples/hadoop, for more jobs; a query reads all events of the logs that it names.
Beside each query stands what it takes to read these logs alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from bench.data import BUILD, ROOT
from bench.row import Row
from bench.sides import in_turn, numbers
from bench.spark import execute, read, session

HADOOP = ROOT / "docs" / "examples" / "hadoop"
JOBS, NODES = 12_000, 200
LOGS = ("Jobs", "Shuffle", "Ganglia")
HEAD, *STATEMENTS = re.split(r"^(?=CREATE QUERY )", (HADOOP / "hadoop.neel").read_text(), flags=re.MULTILINE)
ASKED = {text.split()[2]: text[: text.index(";") + 1] for text in STATEMENTS}


def logs(scale: float) -> dict[str, Path]:
    """The files of the logs, made the first time."""
    jobs = max(round(JOBS * scale), 10)
    directory = BUILD / "data" / f"hadoop-{jobs}-jobs"
    if not directory.exists():
        unfinished = directory.with_name(f"{directory.name}.unfinished")
        generate = [sys.executable, str(HADOOP / "generate.py"), str(unfinished)]
        subprocess.run([*generate, "--jobs", str(jobs), "--nodes", str(NODES)], check=True, stdout=sys.stderr)
        unfinished.rename(directory)
    return {name: directory / f"{name.lower()}.parquet" for name in LOGS}


def logs_of(name: str) -> list[str]:
    """The logs that a query names.

    >>> logs_of("HotNodes")
    ['Jobs', 'Ganglia']
    """
    found = re.search(r"FROM ([\w, ]+)", ASKED[name])
    assert found is not None, "each query says what it reads"
    return found[1].split(", ")


def measured(name: str, frames: dict[str, Any]) -> list[Row]:
    import neelc

    wanted = {log: frames[log] for log in logs_of(name)}
    head = HEAD if len(wanted) == len(LOGS) else _without(HEAD, set(LOGS) - set(wanted))
    found = neelc.sql(session(), head + ASKED[name], **wanted)
    scan = None
    for frame in wanted.values():
        times = frame.select("ts", "kind", "node")
        scan = times if scan is None else scan.union(times)
    taken = in_turn({"neelc": partial(execute, found), "reading": partial(execute, scan)})
    count = sum(frame.count() for frame in wanted.values())
    speed = count / taken["neelc"].seconds / 1e6
    shown = f"{speed:.2f} million events/s: {count:,} events, {taken['neelc']}, reading {taken['reading']}"
    values = numbers(taken, taken["neelc"].seconds / taken["reading"].seconds) | {"million events/s": speed}
    return [Row(name, shown, numbers=values), Row(f"{name}: rows", f"{found.count():,}")]


def _without(head: str, logs: set[str]) -> str:
    """The declarations without those of some logs."""
    kept = (text for text in head.split(";\n") if not any(f"CREATE STREAM {log} " in text for log in logs))
    return ";\n".join(kept)


def rows(scale: float) -> list[Row]:
    frames = {name: read(path) for name, path in logs(scale).items()}
    return [row for name in ASKED for row in measured(name, frames)]
