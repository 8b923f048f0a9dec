"""The commands of the tutorial on Kafka, run as they stand: with a broker on another port, and with jars for
Kafka that are here, since not every registry has those of the installed Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kafka_broker import Unavailable, broker, spark_jars
from repository import ROOT
from snippets import blocks

pytest.importorskip("pyspark.sql")

PAGE = ROOT / "docs" / "tutorial" / "streaming.md"


def test_the_page_shows_the_script_of_the_example() -> None:
    (shown,) = (block.text for block in blocks(PAGE) if block.language == "neel")
    assert shown in (ROOT / "docs" / "examples" / "kafka" / "alerts.neel").read_text()


@pytest.mark.thorough
def test_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    try:
        jars = spark_jars("kafka")
        with broker() as kafka:
            for topic in ("bank", "alerts"):
                kafka.create(topic)
            _run_page(tmp_path, kafka.address, jars)
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")


def _run_page(directory: Path, address: str, jars: str) -> None:
    shutil.copytree(ROOT / "docs" / "examples", directory / "docs" / "examples")
    programs = directory / "bin"
    programs.mkdir()
    for name, module in (("neelc", "-m neelc"), ("python", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    here = directory
    found = [block for block in blocks(PAGE) if block.language == "sh" and block.not_run is None]
    assert len(found) == 6
    for block in found:
        text = block.text.replace("localhost:9092", address)
        text = text.replace("neelc stream", f"neelc stream --master 'local[1]' --conf 'spark.jars={jars}'")
        command = ["bash", "-ec", f"{text}\npwd >&3"]
        read, write = os.pipe()
        done = subprocess.run(
            ["bash", "-c", f'exec 3>&{write}; exec "$0" "$@"', *command],
            cwd=here, env=environment, capture_output=True, text=True, pass_fds=[write],
        )  # fmt: skip
        os.close(write)
        assert done.returncode == 0, f"{block.place}\n{done.stderr}"
        with os.fdopen(read) as places:
            here = Path(places.read().strip())  # `cd` lasts
        assert done.stdout.splitlines()[-_height(block.output) :] == (block.output or "").splitlines()


def _height(output: str | None) -> int:
    """A block prints what the page shows at its end: the page leaves out what was shown before."""
    return len((output or "").splitlines())
