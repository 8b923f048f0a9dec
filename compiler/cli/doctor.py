"""`neelc doctor`: can Spark run here, and if not, what is to be done?"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import Any

from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Bounds, PatternProgram, Take, VariableOutput
from neelc.versions import numbers, required

DESCRIPTION = """Check everything that neelc needs to run queries on Spark, including a small pattern on a
worker, and say how to fix what is missing. The exit code is 0 if all is well, otherwise 3."""

EXAMPLES = """examples:
  neelc doctor
  neelc doctor --json
"""

PYTHON = (3, 11)
PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy")


MISSING, TOO_OLD, FAILED = "missing", "too old", "failed"
"""What can be wrong."""


@dataclass(frozen=True)
class DoctorCheck:
    """What was looked at, what is wrong with it, if anything is, what was found, and what to do about it."""

    name: str
    problem: str | None
    found: str
    advice: str | None = None
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        return self.problem is None


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    found: list[DoctorCheck] = []
    for check in checks():
        found.append(check)
        if not options.json:
            print(*lines(check), sep="\n", flush=True)
    fine = all(check.fine for check in found)
    if options.json:
        print(
            json.dumps(
                {"fine": fine, "checks": [asdict(check) | {"fine": check.fine} for check in found]}, indent=2
            )
        )
    else:
        print("all is well" if fine else "something is not as it must be: see above", file=sys.stderr)
    return 0 if fine else 3


def lines(check: DoctorCheck) -> Iterator[str]:
    """
    >>> print(*lines(DoctorCheck("Java", MISSING, "none found", "install Java 17", 0.01)), sep="\\n")
    Java      MISSING  none found
                       install Java 17
    """
    took = f" ({check.seconds:.1f} s)" if check.seconds >= 0.1 else ""
    state = "fine" if check.problem is None else check.problem.upper()
    yield f"{check.name:<9} {state:<8} {check.found}{took}"
    if check.advice and not check.fine:
        yield f"{'':<18} {check.advice}"


def checks() -> Iterator[DoctorCheck]:
    """One after the other: what cannot be without the former is not tried."""
    first = [_timed(_python), _timed(_java), *(_timed(partial(_package, name)) for name in PACKAGES)]
    yield from first
    if all(check.fine for check in first):
        yield from _spark()
    else:
        yield DoctorCheck("Spark", "skipped", "not tried", "put the above right first")


def _timed(check: Callable[[], DoctorCheck]) -> DoctorCheck:
    start = time.perf_counter()
    found = check()
    return DoctorCheck(found.name, found.problem, found.found, found.advice, time.perf_counter() - start)


def _python() -> DoctorCheck:
    found = ".".join(map(str, sys.version_info[:3]))
    minimum = ".".join(map(str, PYTHON))
    advice = f"install Python {minimum} or later, and neelc in it"
    return _version("Python", sys.version_info >= PYTHON, found, minimum, advice)


def _version(name: str, fits: bool, found: str, minimum: str, advice: str) -> DoctorCheck:
    """What there is, and what is needed where that is not enough.

    >>> print(*lines(_version("pyspark", False, "3.5.5", "4.0", "pip install 'pyspark>=4.0'")), sep="\\n")
    pyspark   TOO OLD  3.5.5 was found, 4.0 or later is required
                       pip install 'pyspark>=4.0'
    """
    if fits:
        return DoctorCheck(name, None, found, advice)
    return DoctorCheck(name, TOO_OLD, f"{found} was found, {minimum} or later is required", advice)


def _java() -> DoctorCheck:
    from neelc.api.spark_session import JAVA, java, java_version

    advice = (
        f"install Java {JAVA} or later (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME to it"
    )
    path, found = java(), java_version()
    if path is None or found is None:
        missing = "none found" if path is None else f"{path} does not run"
        return DoctorCheck("Java", MISSING if path is None else FAILED, missing, advice)
    # Java 8 called itself 1.8.
    number = re.match(r"(?:1\.)?(\d+)", found)
    fits = number is not None and int(number[1]) >= JAVA
    return _version("Java", fits, f"{found}, {path}" if fits else f"{found} ({path})", str(JAVA), advice)


def _package(name: str) -> DoctorCheck:
    from importlib.metadata import PackageNotFoundError, version

    minimum = required(name)
    advice = f"pip install '{name}{f'>={minimum}' if minimum else ''}'"
    try:
        found = version(name)
        import_module(name)
    except PackageNotFoundError:
        return DoctorCheck(name, MISSING, "not installed", advice)
    except Exception as error:  # a broken installation fails in any way it likes
        return DoctorCheck(name, FAILED, f"{found} was found, but cannot be imported: {error}", advice)
    return _version(name, numbers(found) >= numbers(minimum), found, minimum or "", advice)


def _spark() -> Iterator[DoctorCheck]:
    from neelc.api.spark_session import NoSpark, session

    start = time.perf_counter()
    is_started = False
    advice = "see the lines above; SPARK_LOCAL_IP=127.0.0.1 helps where the name of this machine is not known"
    try:
        with session("local[2]") as spark:
            is_started = True
            yield DoctorCheck(
                "Spark", None, f"{spark.version}, local session", None, time.perf_counter() - start
            )
            yield _timed(lambda: _worker(spark))
    except NoSpark as error:
        yield DoctorCheck(
            "Spark", None if is_started else FAILED, str(error), advice, time.perf_counter() - start
        )


def _worker(spark: object) -> DoctorCheck:
    """A pattern that a worker finds: Python, Arrow and the kernel work together there."""
    from neelc.api.errors import run_error

    advice = "workers need the same Python with neelc, numpy and pyarrow: PYSPARK_PYTHON names it"
    try:
        rows = found_by_a_worker(spark)
    except Exception as error:
        return DoctorCheck("workers", FAILED, str(run_error(error) or error), advice)
    fine = rows == [(1, 2)]
    return DoctorCheck(
        "workers", None if fine else FAILED, "a small pattern was found" if fine else f"found {rows}", advice
    )


# The pattern that `neelc doctor` has a worker find.

PROGRAM = PatternProgram(
    steps=(Take("a", "A"), Take("b", "B", Bounds(after=("a",)))),
    outputs=(
        VariableOutput("a", "a", (("start", "start"),)),
        VariableOutput("b", "b", (("start", "start"),)),
    ),
    roles=("A", "B"),
)
RESULT = "a STRUCT<start: BIGINT>, b STRUCT<start: BIGINT>, match_start BIGINT, match_end BIGINT"


def found_by_a_worker(spark: Any) -> list[tuple[int, int]]:
    """`SEQ(A a, B b)` over an A at 1 and a B at 2: their times."""
    events = spark.range(1, 3, 1, 1).selectExpr("id AS start", "id AS roles")
    return [(row.a.start, row.b.start) for row in events.mapInArrow(kernel(PROGRAM), RESULT).collect()]
