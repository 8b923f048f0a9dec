"""A Flink to compare with: installed into build/bench/flink-venv, asked through a pipe."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.data import BUILD
from bench.sides import Aborted

VERSION = "2.2.1"
# What submitting SQL needs. The other dependencies of apache-flink are for functions written in Python.
PACKAGES = [
    f"apache-flink=={VERSION}",
    f"apache-flink-libraries=={VERSION}",
    "py4j==0.10.9.7",
    "cloudpickle",
    "python-dateutil",
    "pytz",
    "ruamel.yaml",
    "six",
    "typing-extensions",
]
VENV = BUILD / "flink-venv"
READY = VENV / f"ready-{VERSION}"
SIDE = Path(__file__).parent / "flink_side.py"
START_LIMIT = 120.0


def install() -> None:
    """Flink and the little of Python that it needs, once."""
    if not READY.exists():
        print(f"  installing Flink {VERSION} into {VENV.relative_to(BUILD.parent.parent)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        pip = [str(VENV / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, *PACKAGES], check=True)
        READY.touch()


class Flink:
    """A Flink process for the events in some CSV files; `ask` it for what a statement gives."""

    def __init__(self, path: Path, mode: str = "batch", parallelism: int = 2) -> None:
        # No functions in Python, so none of their workers.
        environment = {**os.environ, "_python_worker_execution_mode": "process"}
        environment.pop("PYTHONPATH", None)
        self._log = (BUILD / "flink.log").open("w")
        self._process = subprocess.Popen(
            [VENV / "bin" / "python", SIDE, path, mode, str(parallelism)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Flink:
        self._answer(START_LIMIT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End the process and its Java virtual machine."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
        self._process.wait()
        self._log.close()

    def ask(self, statement: str, limit: float) -> list[Any]:
        """The last row of a statement. After `limit` seconds Flink is ended, and can be asked no more."""
        if self._process.poll() is not None or self._process.stdin is None:
            raise Aborted
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()
        row: list[Any] = self._answer(limit)["row"]
        return row

    def _answer(self, limit: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(limit):
                self.kill()
                raise Aborted
        line = self._process.stdout.readline()
        if not line.startswith("{"):
            self.kill()
            raise RuntimeError(f"Flink failed: see {BUILD / 'flink.log'}")
        answer: dict[str, Any] = json.loads(line)
        return answer
