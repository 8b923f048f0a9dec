"""Generated programs use the public DataFrame API only: they also run on Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARE = "14"
LEAST = {"kernel": 25, "join": 8}


def test_a_share_of_the_cases() -> None:
    pytest.importorskip("grpc", reason="notyet: Spark Connect requires grpcio")
    pytest.importorskip("google.rpc", reason="notyet: Spark Connect requires googleapis-common-protos")
    program = Path(__file__).parent / "connect_share.py"
    done = subprocess.run(
        [sys.executable, str(program), SHARE, *LEAST],
        env={**os.environ, "PYTHONPATH": str(program.parent.parent)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["session"] == "pyspark.sql.connect.session"
    assert all("neelc_runtime-" in place for place in found["shipped"]), "it was installed there"
    assert found["match_recognize"] == [[2, 2.0, "{}"]]
    assert found["notes"] == ["no event is of type `Tranfser`; did you mean `Transfer`?"]
    for strategy, least in LEAST.items():
        assert found[strategy]["problems"] == []
        assert found[strategy]["answered"] >= least
