"""The examples for dbt, Declarative Pipelines and Airflow: `--thorough` installs the tools and runs them.

dbt and the packages of `pyspark[pipelines]` are in an environment of their own, build/tools: users of neelc
need none of them.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

import neelc

EXAMPLES = ROOT / "docs" / "examples"
BANK = EXAMPLES / "fraud" / "bank.csv"
TOOLS = ROOT / "build" / "tools"
PACKAGES = ("dbt-core~=1.10.0", "dbt-spark~=1.9", f"pyspark[pipelines]=={version('pyspark')}")


@pytest.fixture(scope="module")
def tools() -> Path:
    """The directory of commands of an environment with dbt and pipelines, made once for this tree."""
    ready = TOOLS / "ready"
    if not ready.exists() or ready.read_text() != "\n".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(TOOLS)], check=True)
        pip = [str(TOOLS / "bin" / "pip"), "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES, "-e", str(ROOT)], check=True)
        ready.write_text("\n".join(PACKAGES))
    return TOOLS / "bin"


def run(tools: Path, directory: Path, *command: str) -> str:
    """What a command of the tools prints; it must succeed."""
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYSPARK_PYTHON": str(tools / "python"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TZ": "UTC",
        "SPARK_TESTING": "1",  # Spark Connect takes any free port, as other tests may have its own
    }
    done = subprocess.run(
        [str(tools / command[0]), *command[1:]],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def alarms(columns: str) -> list[tuple[Any, ...]]:
    """What the local engine finds in the same events."""
    text = (EXAMPLES / "fraud" / "fraud.neel").read_text()
    pattern = text[text.index("PATTERN") : text.index("RETURN")]
    found = neelc.local().sql(f"{pattern} RETURN {columns}", Bank=neelc.stream(str(BANK), type="kind"))
    return sorted(found.collect())


def stored(directory: Path, columns: list[str]) -> list[tuple[Any, ...]]:
    """The rows of a table that Spark has stored in a directory."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(directory, columns=columns)
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.thorough
@pytest.mark.xdist_group("tools")
def test_dbt_builds_its_models(tools: Path, tmp_path: Path) -> None:
    project = tmp_path / "dbt"
    shutil.copytree(EXAMPLES / "dbt", project)
    printed = run(tools, project, "python", "build.py")
    assert "Completed successfully" in printed and "ERROR=0" in printed
    found = stored(project / "spark-warehouse" / "alarms", ["d_account", "total"])
    assert found == alarms("d.account, sum(t[].amount) AS total") and found


@pytest.mark.thorough
@pytest.mark.xdist_group("tools")
def test_a_pipeline_runs(tools: Path, tmp_path: Path) -> None:
    project = tmp_path / "pipelines"
    shutil.copytree(EXAMPLES / "pipelines", project)
    (project / "data").mkdir()
    shutil.copy(BANK, project / "data")
    spec = project / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/neelc-pipelines", str(project / "storage")))
    printed = run(tools, project, "spark-pipelines", "run")
    assert "Run is COMPLETED" in printed
    found = stored(project / "spark-warehouse" / "alarms", ["account", "total"])
    assert found == alarms("d.account, sum(t[].amount) AS total") and found


def test_dbt_and_fraud_have_the_same_events() -> None:
    assert (EXAMPLES / "dbt" / "seeds" / "events.csv").read_text() == BANK.read_text()


def test_what_airflow_starts_is_there() -> None:
    """Airflow itself is not installed here: the file is Python, and names a job and columns that exist."""
    source = (EXAMPLES / "airflow" / "fraud_dag.py").read_text()
    constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    texts = [one for one in constants if isinstance(one, str)]
    assert "/opt/jobs/fraud/job.py" in texts and (EXAMPLES / "fraud" / "job.py").exists()
    (query,) = (text for text in texts if text.startswith("PATTERN"))
    found = neelc.local().sql((EXAMPLES / "fraud" / "fraud.neel").read_text(), Bank=str(BANK))
    alarms = neelc.stream(found, timestamp="alarm")
    assert neelc.local().sql(query, Alarms=alarms).count() == found.count() > 0
