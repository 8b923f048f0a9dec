"""Tables of Delta and Iceberg as input and output, where Maven Central has a build for this version of Spark:
`make versions` runs this with those that have one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from kafka_broker import Unavailable, jars

PROGRAM = Path(__file__).parent / "lake_tables.py"
SPARK = ".".join(pyspark.__version__.split(".")[:2])


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_tables_and_streams_of_their_versions(format: str, tmp_path: Path) -> None:
    try:
        jars(f"{format} for Spark {SPARK}")
    except KeyError:
        pytest.skip(f"notyet: {format} has no build for Spark {SPARK}")
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), format, SPARK, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parent.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["wanted"]) >= 6
    for way in ("found", "streamed"):
        assert found[way] == found["wanted"], way
