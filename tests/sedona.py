"""SedonaDB, Apache Sedona's engine for one machine, in an environment of its own: `build/sedona`.

It is fetched from PyPI, once. Sedona 1.8.0 for Spark 4.0 does not load into Spark 4.3: it needs a class of
Catalyst that is no longer there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from repository import ROOT

DIRECTORY = ROOT / "build" / "sedona"
VERSION = "0.5.0"
PACKAGES = (f"sedonadb=={VERSION}", "geoarrow-pyarrow", "pyarrow")
LIMIT = 600

SIDE = """
import json, sys, time, warnings

warnings.simplefilter("ignore")
import pyarrow.parquet
import sedonadb

query, tables, result = json.loads(sys.argv[1])
session = sedonadb.connect()
for name, path in tables.items():
    session.read_parquet(path).to_view(name)
begin = time.perf_counter()
found = session.sql(query).to_arrow_table()
print(time.perf_counter() - begin)
pyarrow.parquet.write_table(found, result)
"""


class Unavailable(Exception):
    """SedonaDB cannot be had on this machine; the text says why."""


def python() -> Path:
    """The interpreter of the environment, which is made if it is not there."""
    found, done = DIRECTORY / "bin" / "python", DIRECTORY / f"ready-{VERSION}"
    if not done.exists():
        for command in (
            [sys.executable, "-m", "venv", str(DIRECTORY)],
            [str(found), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES],
        ):
            made = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
            if made.returncode:
                raise Unavailable(f"{' '.join(PACKAGES)} cannot be installed: {made.stderr.strip()[-200:]}")
        done.touch()
    return found


def ask(query: str, tables: dict[str, Path], result: Path) -> float:
    """Write what a query finds in files of Parquet to another one; gives the seconds that it took."""
    what = json.dumps([query, {name: str(path) for name, path in tables.items()}, str(result)])
    asked = subprocess.run([str(python()), "-c", SIDE, what], capture_output=True, text=True, timeout=LIMIT)
    if asked.returncode:
        raise RuntimeError(asked.stderr[-2000:])
    return float(asked.stdout.split()[-1])
