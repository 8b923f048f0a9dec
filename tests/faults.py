"""Things that go wrong on purpose: workers that are killed, a disk without room, a Python without neelc."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCHEMA = "ts BIGINT, sym STRING, room INT"
ROOMS = [(time, "AB"[time % 2], time % 5) for time in range(400)]
PAIRS = "PATTERN SEQ(A a, B b) WHERE a.room = b.room WITHIN 20 SECONDS RETURN a.ts AS a, b.ts AS b"
FOUND = [
    (a, b) for a in range(0, 400, 2) for b in range(a + 1, min(a + 21, 400), 2) if (b - a) % 5 == 0
]  # fmt: skip
"""What the query finds in these rooms."""

# A kernel whose worker is killed, as by a machine without memory, after its first rows; once if there is a
# place for a note about it.
KILLED = """

def killed(search, note={note!r}):
    def run(batches):
        import os, signal
        for found in search(batches):
            yield found
            if note is None or not os.path.exists(note):
                if note is not None:
                    open(note, "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
    return run
"""

# A session that tries each task three times, and a kernel whose worker is killed the first time.
RETRIED = """
import json, sys
import neelc
from faults import PAIRS, ROOMS, SCHEMA, killing
from neelc.api.spark_session import session
from neelc.api.query import run_source

with session("local[2,3]", None, {"spark.sql.shuffle.partitions": "2"}) as spark:
    frame = spark.createDataFrame(ROOMS, SCHEMA)
    query = neelc.Session(spark).compile(
        PAIRS, strategy="kernel", Rooms=neelc.stream(frame, type="sym", unit="s")
    )
    found = run_source(killing(query.source, sys.argv[1]), spark, {"Rooms": frame}).collect()
print(json.dumps(sorted(map(tuple, found))))
"""


def killing(source: str, note: str | None = None) -> str:
    """The source of a query, with workers that are killed."""
    plain = "kernel(MATCHES_PROGRAM)"
    assert source.count(plain) == 1
    return source.replace(plain, f"killed({plain})") + KILLED.format(note=note)


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    """A file system of that size; the test is skipped where none may be mounted."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "neelc-test", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("never: there is no command mount here")
    if done.returncode:
        pytest.skip(f"never: a file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def resize_disk(place: Path, size: str) -> None:
    """Give a file system of `small_disk` another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


def python_without_neelc(place: Path) -> Path:
    """A Python with the packages of this one, but no neelc: links of editable packages are not followed."""
    packages = sysconfig.get_paths()["purelib"]
    place.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n')
    place.chmod(0o755)
    return place
