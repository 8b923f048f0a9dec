"""Generated programs use the public DataFrame API only: they also run on Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SHARE = "56"
LEAST = {"kernel": 6, "join": 2}


def printed(program: str, *arguments: str) -> Any:
    """What a program prints at last, as JSON."""
    pytest.importorskip("grpc", reason="notyet: Spark Connect requires grpcio")
    pytest.importorskip("google.rpc", reason="notyet: Spark Connect requires googleapis-common-protos")
    path = Path(__file__).parent / program
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(path.parent.parent)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.thorough
def test_a_query_over_a_stream(tmp_path: Path) -> None:
    """Workers have neelc installed here: Spark Connect does not give streaming queries what was shipped."""
    assert printed("connect_stream.py", str(tmp_path)) == [["bob", 2]]


def test_a_share_of_the_cases() -> None:
    found = printed("connect_share.py", SHARE, *LEAST)
    assert found["session"] == "pyspark.sql.connect.session"
    assert all("neelc_runtime-" in place for place in found["shipped"]), "it was installed there"
    assert found["match_recognize"] == [[2, 2.0, "{}"]]
    assert found["notes"] == ["no event is of type `Tranfser`; did you mean `Transfer`?"]
    of_stream = {"events": 8, "seconds": 7.0, "types": {"A": {"events": 4}, "B": {"events": 4}}}
    assert found["counted"] == [{"streams": {"E": of_stream}, "queries": {"query 1": {"rows": 4}}}, [4, 4]]
    for strategy, least in LEAST.items():
        assert found[strategy]["problems"] == []
        assert found[strategy]["answered"] >= least
