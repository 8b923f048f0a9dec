"""`neelc.ship`: what does not fit is told with a code.

Workers that get what they need: those of Spark Connect in test_connect.py, of a cluster in `make dist`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

import neelc
from neelc.cli import main
from neelc.cli.run import RowTally
from neelc.cli.run_on_spark import Job

MISMATCH = (
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, "
    "PySpark cannot run with different minor versions."
)


class Session:
    """Where `neelc.ship` asks and gets an answer that no session of the tests gives."""

    def __init__(self, *rows: tuple[str | None, ...], failure: Exception | None = None) -> None:
        self.rows, self.failure = rows, failure

    def addArtifacts(self, *paths: str, pyfile: bool) -> None:
        assert pyfile and all(Path(path).exists() for path in paths)

    def range(self, end: int) -> Session:
        return self

    def mapInArrow(self, function: Any, schema: str) -> Session:
        return self

    def collect(self) -> tuple[tuple[str | None, ...], ...]:
        if self.failure is not None:
            raise self.failure
        return self.rows


def told(**changes: str | None) -> tuple[str | None, ...]:
    fine = {"host": "a", "place": "/x/neelc", "python": "3.11.7", "neelc": neelc.__version__}
    return tuple((fine | {"numpy": "2.1.0", "pyarrow": "19.0", "pandas": "2.2"} | changes).values())


@pytest.mark.parametrize(
    "session, code, words",
    [
        (Session(told(), told(host="b", numpy="1.2")), "NEEL5102", "worker b has numpy 1.2: install numpy"),
        (Session(told(pandas=None)), "NEEL5102", "worker a has no pandas: install pandas"),
        (Session(told(neelc="0.0.1")), "NEEL5103", "has neelc 0.0.1, from /x/neelc; here is"),
        (Session(failure=RuntimeError(MISMATCH)), "NEEL5103", "workers have Python 3.10, and here is 3.11"),
        (Session(failure=RuntimeError("No module named 'pyarrow'")), "NEEL5102", "has no pyarrow: install"),
    ],
)
def test_what_does_not_fit_is_told(session: Any, code: str, words: str) -> None:
    with pytest.raises(neelc.NeelRunError) as raised:
        neelc.ship(session)
    assert raised.value.getCondition() == code and words in str(raised.value)


def test_equal_workers_are_one_line() -> None:
    shipment = neelc.ship(cast(Any, Session(told(), told(), told(host="b"))))
    assert [(worker.host, worker.tasks) for worker in shipment.workers] == [("a", 2), ("b", 1)]


def test_neelc_run_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("ts\n1\n")
    (tmp_path / "all.neel").write_text(
        "CREATE STREAM A (ts BIGINT) TIMESTAMP BY ts FROM 'a.csv'; PATTERN A a"
    )
    run = ["run", "--engine", "spark", str(tmp_path / "all.neel")]
    old = Session(told(neelc="0.0.1"))
    monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(old))
    monkeypatch.setattr("neelc.cli.run_on_spark._run", started)
    assert main(run) == 0
    assert main([*run, "--ship"]) == 3
    assert "error[NEEL5103]: worker a has neelc 0.0.1" in capsys.readouterr().err


def started(
    prepare: Callable[[Any], Job], kind: str, options: object, progress: object, starting: Any
) -> tuple[Job, RowTally, float, tuple[str, ...]]:
    """A run that starts its session, and finds nothing."""
    with starting as spark:
        return prepare(spark), RowTally(0), 0.0, ()


def test_any_other_failure_is_left_as_it_is() -> None:
    with pytest.raises(KeyError):
        neelc.ship(cast(Any, Session(failure=KeyError("x"))))
