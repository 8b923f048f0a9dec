"""`make versions`: a part of the tests with other versions of Spark, Python, pandas and NumPy, each in an
environment of its own, and a page that says what was run and what passed.

    PYTHONPATH=tests python -m versions build/versions [NAME ...]
    PYTHONPATH=tests python -m versions --install build/versions [NAME ...]     only make the environments

An environment is made once; its Python is looked for among python3.x of the PATH and those of pyenv. The
results of environments that are not named stay on the page as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from repository import ROOT, configuration

PAGE = ROOT / "docs" / "reference" / "versions.md"
RESULTS = ROOT / "tests" / "versions.json"

# What tests import beside neelc's own requirements; the versions of tests/versions.txt, where they fit.
TOOLS = (
    "grpcio grpcio-status googleapis-common-protos hypothesis ipykernel ipython kafka-python lsprotocol "
    "nbclient polars pygls pygments pytest pytest-xdist railroad-diagrams shapely zstandard"
).split()

SHOWN = ("pyspark", "pandas", "numpy", "pyarrow", "duckdb")

ON_SPARK = (
    "tests/spark/test_api.py",
    "tests/spark/test_fraud_example.py",
    "tests/spark/test_recognize_on_spark.py",
    "tests/spark/test_rows_on_spark.py",
    "tests/spark/test_streaming_frames.py",
    "tests/spark/test_lake_tables.py",
)
SPARK, NO_SPARK = "on Spark", "without Spark"
PARTS = {SPARK: ON_SPARK, NO_SPARK: ("--quick",)}
"""The tests of an environment, in two runs: the second needs no Java."""


@dataclass(frozen=True)
class Environment:
    """A Python, the versions that are installed into it, and the parts of the tests that it runs."""

    name: str
    python: str
    pins: Mapping[str, str]
    parts: tuple[str, ...] = (SPARK,)
    ignored: tuple[str, ...] = ()
    """Warnings that pytest is not to take for errors."""


PANDAS_2, PANDAS_3 = "2.3.3", "3.1.1"

ENVIRONMENTS = (
    Environment("spark-4.3", "3.11", {"pyspark": "4.3.0", "pandas": PANDAS_2}),
    Environment("spark-4.2", "3.11", {"pyspark": "4.2.1", "pandas": PANDAS_2}),
    Environment("spark-4.1", "3.11", {"pyspark": "4.1.4", "pandas": PANDAS_2}),
    Environment("spark-4.0", "3.11", {"pyspark": "4.0.5", "pandas": PANDAS_2}),
    Environment("spark-3.5", "3.11", {"pyspark": "3.5.9", "pandas": PANDAS_2, "numpy": "1.26.4"}),
    Environment(
        "pandas-3",
        "3.11",
        {"pyspark": "4.3.0", "pandas": PANDAS_3},
        (SPARK, NO_SPARK),
        ("ignore:PySpark does not yet fully support pandas:FutureWarning",),
    ),
    Environment("python-3.12", "3.12", {"pyspark": "4.3.0", "pandas": PANDAS_2}, (SPARK, NO_SPARK)),
    Environment("python-3.13", "3.13", {"pyspark": "4.3.0", "pandas": PANDAS_2}, (SPARK, NO_SPARK)),
)


class Unavailable(Exception):
    """An environment cannot be made here; the text says why."""


@dataclass
class Result:
    """What the tests of an environment came to, and what was installed."""

    day: str
    installed: dict[str, str]
    seconds: float = 0.0
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def failures(self) -> int:
        return len(self.failed)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="versions")
    parser.add_argument("--install", action="store_true", help="make the environments, run nothing")
    parser.add_argument("--part", choices=PARTS, help="run only this part of the tests")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args(arguments)
    for environment in ENVIRONMENTS:
        if options.names and environment.name not in options.names:
            continue
        try:
            python = installed(environment, options.directory)
        except Unavailable as reason:
            print(f"== {environment.name}: not run: {reason}", flush=True)
            continue
        for part in environment.parts:
            if not options.install and options.part in (None, part):
                result = tried(environment, part, python, options.directory)
                print(f"== {environment.name}, {part}: {told(result)}", flush=True)
                keep(f"{environment.name} {part}", result)
    return 0


def kept_results() -> dict[str, Result]:
    return {name: Result(**kept) for name, kept in json.loads(RESULTS.read_text()).items()}


def keep(name: str, result: Result) -> None:
    """Write the result of an environment, and the page; another process may have written others."""
    results = {**kept_results(), name: result}
    RESULTS.write_text(json.dumps({one: vars(kept) for one, kept in results.items()}, indent=1) + "\n")
    PAGE.write_text(page(results))


def told(result: Result) -> str:
    """
    >>> told(Result("2026-01-31", {"pyspark": "4.1.4"}, 12.3, 5, 1, ["a"]))
    '5 passed, 1 skipped, 1 failed in 12 s; pyspark 4.1.4'
    """
    counts = f"{result.passed} passed, {result.skipped} skipped, {result.failures} failed"
    packages = ", ".join(f"{name} {version}" for name, version in result.installed.items())
    return f"{counts} in {result.seconds:.0f} s; {packages}"


# Environments.


def installed(environment: Environment, directory: Path) -> Path:
    """The Python of an environment, which is made if it is not there or has other pins."""
    place = (directory / environment.name).resolve()
    python, ready = place / "bin" / "python", place / "ready"
    wanted = "\n".join([environment.python, *requirements(environment)])
    if ready.exists() and ready.read_text() == wanted:
        return python
    base = interpreter(environment.python)
    print(
        f"== {environment.name}: installing {', '.join(map('=='.join, environment.pins.items()))}", flush=True
    )
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    # Not "neelc" itself with what it requires: Spark 3.5 is tried, too, which it does not allow.
    for command in (
        [base, "-m", "venv", str(place)],
        [*pip, "--find-links", str(directory / "wheels"), *requirements(environment)],
        [*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    ready.write_text(wanted)
    return python


def interpreter(version: str) -> str:
    """A Python of this version on this machine."""
    if found := shutil.which(f"python{version}"):
        done = subprocess.run([found, "--version"], capture_output=True, text=True)
        if done.stdout.startswith(f"Python {version}."):  # a shim of pyenv may be for another
            return found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in sorted(pyenv.glob(f"{version}.*/bin/python")):
        return str(path)
    raise Unavailable(f"there is no Python {version} on this machine")


def requirements(environment: Environment) -> list[str]:
    """What pip is asked for: neelc's requirements and the tools, but the pins where there is one."""
    lines = [line for line in configuration()["options"]["install_requires"].split("\n") if line]
    lines += ["setuptools>=77"]  # builds neelc
    lines += [f"{tool}=={version}" if (version := PINNED.get(tool)) else tool for tool in TOOLS]
    named = {re.split(r"[ <>=]", line)[0]: line for line in lines}
    return sorted({**named, **{name: f"{name}=={pin}" for name, pin in environment.pins.items()}}.values())


# Tools that are not to be newer than in development: the reasons are in tests/versions.txt.
PINNED = {"pytest": "9.1.1", "pytest-xdist": "3.8.0"}


# Tests.

OUTSIDE = ("SPARK_HOME", "PYTHONPATH")

UNCLOSED = "ignore::pytest.PytestUnraisableExceptionWarning"
"""PySpark before 4.2 leaves sockets open, and pytest reports that as an error of some later test."""


def tried(environment: Environment, part: str, python: Path, directory: Path) -> Result:
    """Run a part of the tests in an environment."""
    result = Result(date.today().isoformat(), packages(python))
    begin = time.monotonic()
    report = directory / f"{environment.name} {part}.xml"
    report.unlink(missing_ok=True)
    pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    warnings = [word for one in (UNCLOSED, *environment.ignored) for word in ("-W", one)]
    command = [*pytest, *warnings, f"--junitxml={report.resolve()}"]
    # Spark finds itself by the package of this Python, whatever is set outside.
    outside = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
    with report.with_suffix(".log").open("w") as log:
        subprocess.run([*command, *PARTS[part]], cwd=ROOT, stdout=log, stderr=log, env=outside)
    counted(result, report, part)
    result.seconds = round(time.monotonic() - begin, 1)
    return result


def packages(python: Path) -> dict[str, str]:
    program = (
        "import json, sys, platform; from importlib.metadata import version as v; "
        "print(json.dumps({'Python': platform.python_version(), **{n: v(n) for n in sys.argv[1:]}}))"
    )
    done = subprocess.run([str(python), "-c", program, *SHOWN], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def counted(result: Result, report: Path, tests: str) -> None:
    """Add what pytest reported; without a report nothing ran, and that is a failure."""
    if not report.exists():
        result.failed.append(f"pytest ended without a report: {tests}")
        return
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(name)
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1


# The page.


HEAD = """# Versions

What was run with which versions. `make versions` makes an environment for each row, runs a part of the tests
in it and writes this page. `make test` runs all tests, with the versions of `tests/versions.txt` only.

neelc {requires} requires Python {python} and {packages}.

| environment | Python | Spark | pandas | NumPy | PyArrow | tests | passed | skipped | failed | run on |
|---|---|---|---|---|---|---|---|---|---|---|
"""

TAIL = """
## What is run

- On Spark, in local mode: {spark}.
- Without Spark: a sample of the tests that start no process (`pytest --quick`).

neelc requires pandas below 3 because PySpark 4.3 still warns, at each first use of pandas 3, that it does not
fully support it. In the environment `pandas-3` that warning is ignored, but tests
that count warnings see one more.

`make versions ONLY="spark-4.1"` repeats one row. Skipped tests are those that run with `--thorough` only, and
those of Delta and Iceberg where Maven Central has no build for that version of Spark.
"""


def page(results: Mapping[str, Result]) -> str:
    """The page as it is to be: a row for each part of an environment that was run."""
    options, rows, notes = configuration()["options"], [], []
    for environment in ENVIRONMENTS:
        for part in environment.parts:
            if one := results.get(f"{environment.name} {part}"):
                versions = [
                    one.installed[name] for name in ("Python", "pyspark", "pandas", "numpy", "pyarrow")
                ]
                counts = [str(count) for count in (one.passed, one.skipped, one.failures)]
                rows.append(f"| {' | '.join([environment.name, *versions, part, *counts, one.day])} |")
                notes += [f"- `{environment.name}`: `{name}`" for name in one.failed[:12]]
                if one.failures > 12:
                    notes.append(f"- `{environment.name}`: and {one.failures - 12} more")
    needed = [line for line in options["install_requires"].split("\n") if line]
    head = HEAD.format(
        requires=configuration()["metadata"]["version"],
        python=options["python_requires"].removeprefix(">="),
        packages=", ".join(f"`{line.replace(' ', '')}`" for line in needed),
    )
    failures = ["", "## What failed", "", *notes] if notes else []
    tail = TAIL.format(spark=", ".join(f"`{test.removeprefix('tests/spark/')}`" for test in ON_SPARK))
    return head + "\n".join([*rows, *failures]) + "\n" + tail


if __name__ == "__main__":
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}", flush=True)
    sys.exit(main(sys.argv[1:]))
