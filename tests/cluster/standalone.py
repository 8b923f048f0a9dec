"""Spark's standalone cluster on the hosts of `cluster.hosts`: a master, workers, and a desk for programs.

The desk has this repository and its Python. Master and workers have a Python with Spark, NumPy, PyArrow and
pandas, a copy each, and no neelc.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from cluster.hosts import Host, Network, network
from repository import ROOT

WORKERS = 3

# Less to compile, less memory: the machine is small, and carries all hosts.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Spark notices a silent host after two minutes, unless told otherwise.
SILENCE = 30

SETTINGS = {
    "spark.executor.memory": "1g",
    "spark.executor.cores": "1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.network.timeout": f"{SILENCE}s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "3s",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.task.maxFailures": "8",
}


class Failed(Exception):
    """Something on the cluster did not work; the text has the end of its log."""


@dataclass(frozen=True)
class Running:
    """A program on a host, and where its output goes."""

    process: subprocess.Popen[bytes]
    log: Path

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def finish(self, seconds: float) -> str:
        """All it printed, once it has ended well."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {seconds:.0f} s\n{self.tail()}") from None
        if code:
            raise Failed(f"it ended with {code}\n{self.tail()}")
        return self.log.read_text(errors="replace")


@dataclass
class Cluster:
    network: Network
    desk: Host
    head: Host
    workers: list[Host]
    logs: Path

    @property
    def shared(self) -> Path:
        """A directory of all hosts, as HDFS or an object store would be."""
        return self.network.shared

    @property
    def master(self) -> str:
        return f"spark://{self.head.address}:7077"

    @property
    def worker_python(self) -> str:
        return str(self.network.place / "python" / "bin" / "python")

    def start_master(self) -> None:
        command = ["--host", self.head.address, "--port", "7077", "--webui-port", "8080"]
        self._daemon(self.head, "org.apache.spark.deploy.master.Master", command)
        self._await("the master", self._workers_alive, lambda alive: alive is not None)

    def start_worker(self, host: Host) -> None:
        work = str(self.network.place / "local" / "work")
        command = ["--host", host.address, "--cores", "1", "--memory", "1g", "--work-dir", work, self.master]
        self._daemon(host, "org.apache.spark.deploy.worker.Worker", command)

    def await_workers(self, count: int) -> None:
        self._await(f"{count} workers", self._workers_alive, lambda alive: alive == count)

    def _daemon(self, host: Host, name: str, arguments: Sequence[str]) -> None:
        java = f"{JAVA} -Dspark.worker.timeout={SILENCE}"
        more = {**self._bare(host), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": java}
        program = f"{more['SPARK_HOME']}/bin/spark-class"
        host.start([program, name, *arguments], self.logs / f"{host.name}.log", more)

    def _bare(self, host: Host) -> dict[str, str]:
        """The environment of a host without neelc."""
        python = self.network.place / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return {
            "PATH": f"{python}/bin:{os.environ['PATH']}",
            "SPARK_HOME": str(python / "lib" / version / "site-packages" / "pyspark"),
            "SPARK_LOCAL_IP": host.address,
            "SPARK_LOCAL_DIRS": str(self.network.place / "local"),
            "PYSPARK_PYTHON": self.worker_python,
        }

    def _workers_alive(self) -> int | None:
        try:
            told = get(self.head, f"http://{self.head.address}:8080/json/")
        except OSError:
            return None
        workers: list[dict[str, str]] = told["workers"]
        return sum(worker["state"] == "ALIVE" for worker in workers)

    def _await(
        self, what: str, ask: Callable[[], int | None], is_there: Callable[[int | None], bool]
    ) -> None:
        end = time.monotonic() + 180
        while not is_there(ask()):
            if time.monotonic() > end:
                logs = "\n".join(path.read_text(errors="replace")[-1000:] for path in self.logs.iterdir())
                raise Failed(f"{what}: not there\n{logs}")
            time.sleep(0.5)

    def submit(self, name: str, program: Path, *arguments: str, settings: Mapping[str, str]) -> Running:
        """`spark-submit` of a program, on the desk."""
        own = {"spark.driver.host": self.desk.address, "spark.driver.bindAddress": self.desk.address}
        command = ["spark-submit", "--master", self.master, *self._conf({**settings, **own})]
        return self._on_desk(name, [*command, str(program), *arguments], {})

    def connect(self, name: str, program: Path, *arguments: str) -> Running:
        """The same program, as a client of a Connect server."""
        remote = {"SPARK_REMOTE": f"sc://{self.head.address}:15002"}
        return self._on_desk(name, [sys.executable, str(program), *arguments], remote)

    def _on_desk(self, name: str, command: Sequence[str], more: Mapping[str, str]) -> Running:
        log = self.logs / f"{name}.log"
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": self.desk.address,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_PYTHON": self.worker_python,
            **more,
        }
        return Running(self.desk.start(command, log, environment), log)

    def start_connect(self, settings: Mapping[str, str]) -> None:
        """A Connect server beside the master, on a host without neelc."""
        own = {
            "spark.driver.host": self.head.address,
            "spark.driver.bindAddress": self.head.address,
            "spark.connect.grpc.binding.address": self.head.address,
        }
        more = self._bare(self.head)
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        program = f"{more['SPARK_HOME']}/bin/spark-submit"
        command = [program, "--class", server, "--master", self.master, *self._conf({**settings, **own})]
        self.head.start(command, self.logs / "connect.log", more)
        self._await("the Connect server", self._listens, lambda listening: listening == 1)

    def _listens(self) -> int:
        import socket

        def attempt() -> int:
            with socket.socket() as one:
                one.settimeout(2)
                return int(one.connect_ex((self.head.address, 15002)) == 0)

        return self.head.inside(attempt)

    def _conf(self, settings: Mapping[str, str]) -> Iterator[str]:
        log = f"file://{self.shared}/events"
        for name, value in {**SETTINGS, "spark.eventLog.dir": log, **settings}.items():
            yield from ("--conf", f"{name}={value}")


@contextmanager
def cluster(directory: Path, python: Path) -> Iterator[Cluster]:
    """A master and three workers; `python` is the environment that each of them gets a copy of."""
    shutil.rmtree(directory / "hosts", ignore_errors=True)
    logs = directory / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    with network(directory / "hosts") as found:
        (found.shared / "events").mkdir()
        desk = found.add("desk", 2, None)
        names = ["head", *(f"worker-{number}" for number in range(1, WORKERS + 1))]
        hosts = []
        for number, name in zip((1, *range(11, 11 + WORKERS)), names, strict=True):
            own = directory / "hosts" / name / "python"
            own.parent.mkdir(parents=True)
            subprocess.run(["cp", "-al", str(python), str(own)], check=True)
            hosts.append(found.add(name, number, own.resolve()))
        yield Cluster(found, desk, hosts[0], hosts[1:], logs)


def worker_python(directory: Path) -> Path:
    """A Python environment with what workers need, and without neelc; made once."""
    place = directory / "python"
    ready = place / "ready"
    needs = [f"pyspark=={pyspark.__version__}", "numpy", "pandas", "pyarrow"]
    if not ready.exists() or ready.read_text().split() != needs:
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "pip"), "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", str(ROOT / "tests" / "versions.txt"), *needs], check=True)
        ready.write_text("\n".join(needs))
    return place


def get(host: Host, url: str) -> Any:
    """What a page answers a program on this host, as JSON; `OSError` if nothing does."""

    def ask() -> Any:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)

    try:
        return host.inside(ask)
    except (urllib.error.URLError, json.JSONDecodeError) as error:
        raise OSError(str(error)) from None
