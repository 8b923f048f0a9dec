"""Generated programs use the public DataFrame API only: they also run on Spark Connect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LEAST = {"kernel": 25, "join": 10}


def test_a_share_of_the_cases() -> None:
    pytest.importorskip("grpc", reason="notyet: Spark Connect requires grpcio")
    pytest.importorskip("google.rpc", reason="notyet: Spark Connect requires googleapis-common-protos")
    share = Path(__file__).parent / "connect_share.py"
    done = subprocess.run(
        [sys.executable, str(share), "0", "14", *LEAST], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["session"] == "pyspark.sql.connect.session"
    for strategy, least in LEAST.items():
        assert found[strategy]["problems"] == []
        assert found[strategy]["answered"] >= least
