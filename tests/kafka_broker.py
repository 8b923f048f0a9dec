"""Real parts for tests of streams: a Kafka broker on loopback, and the jars that Spark needs for Kafka, Avro
and Delta. `python tests/kafka_broker.py PORT TOPIC...` starts one with these topics, and `--jars kafka`
prints the jars for Spark.

The jars of `jars.txt` are fetched from Maven Central into build/jars, once. Where they, Java or the Python
client cannot be had, `Unavailable` says why, and tests are skipped with that reason.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository import ROOT

LIST = Path(__file__).parent / "jars.txt"
CENTRAL = "https://repo.maven.apache.org/maven2"
JARS = ROOT / "build" / "jars"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
START_LIMIT = 60.0

PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={directory}/logs
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class Unavailable(Exception):
    """A part cannot be had on this machine; the text says why."""


# Jars.


def jars(*groups: str) -> list[Path]:
    """The jars of these groups of `jars.txt`, fetched if they are not there yet."""
    listed = _listed()
    return [_fetched(one) for group in groups for one in listed[group]]


def _listed() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    group: list[str] = []
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            group = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            group.append(line)
    return found


def _fetched(coordinates: str) -> Path:
    organisation, name, version = coordinates.split(":")
    path = JARS / f"{name}-{version}.jar"
    if not path.exists():
        JARS.mkdir(parents=True, exist_ok=True)
        url = f"{CENTRAL}/{organisation.replace('.', '/')}/{name}/{version}/{path.name}"
        unfinished = path.with_suffix(f".{os.getpid()}")  # another process may fetch it, too
        try:
            with urllib.request.urlopen(url, timeout=60) as answer, unfinished.open("wb") as file:
                shutil.copyfileobj(answer, file)
        except (urllib.error.URLError, OSError) as error:
            unfinished.unlink(missing_ok=True)
            raise Unavailable(f"{url} cannot be fetched: {error}") from None
        unfinished.rename(path)
    return path


def spark_jars(*groups: str) -> str:
    """`spark.jars` for a session."""
    return ",".join(map(str, jars(*groups)))


# The broker.


@dataclass(frozen=True)
class Broker:
    """A running broker: `address` is host:port."""

    address: str

    def url(self, topic: str) -> str:
        return f"kafka://{self.address}/{topic}"

    def create(self, topic: str, partitions: int = 1) -> None:
        from kafka import KafkaAdminClient
        from kafka.admin import NewTopic

        client = KafkaAdminClient(bootstrap_servers=self.address)
        try:
            client.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
        finally:
            client.close()

    def produce(self, topic: str, values: Iterable[Any], partition: int | None = None) -> None:
        """Send records: bytes as they are, None as a tombstone, all else as JSON."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.address)
        try:
            for value in values:
                data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
                producer.send(topic, key=None if data else b"key", value=data, partition=partition)
            producer.flush(30)
        finally:
            producer.close()

    def consume(self, topic: str, seconds: float = 2) -> list[Any]:
        """The values of all records, read as JSON, until none has come for a while."""
        from kafka import KafkaConsumer

        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=self.address,
            auto_offset_reset="earliest",
            consumer_timeout_ms=int(seconds * 1000),
            group_id=None,
        )
        try:
            return [json.loads(record.value) for record in consumer]
        finally:
            consumer.close()


@contextmanager
def broker(port: int | None = None) -> Iterator[Broker]:
    """A broker in KRaft mode, on a free port if none is given, gone afterwards; raises `Unavailable`."""
    java = shutil.which("java")
    if java is None:
        raise Unavailable("there is no Java")
    try:
        import kafka  # noqa: F401
    except ImportError:
        raise Unavailable("the Python package kafka-python is not installed") from None
    path = os.pathsep.join(map(str, jars("broker")))
    command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path]
    with (
        tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as directory,
        (Path(directory) / "broker.log").open("w+") as log,
    ):
        port, controller = port or _free_port(), _free_port()
        settings = Path(directory) / "server.properties"
        settings.write_text(PROPERTIES.format(port=port, controller=controller, directory=directory))
        storage = [*command, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)]
        subprocess.run(storage, stdout=log, stderr=log, check=True)
        process = subprocess.Popen([*command, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        try:
            _await(port, process, log.name)
            yield Broker(f"127.0.0.1:{port}")
        finally:
            process.kill()  # nothing of it is kept
            process.wait(20)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes], log: str) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the broker did not start: {Path(log).read_text()[-2000:]}")


def main(port: str, *topics: str) -> None:
    """A broker with these topics, until Ctrl-C or SIGTERM; or, with `--jars`, the jars of these groups."""
    if port == "--jars":
        print(spark_jars(*topics))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with broker(int(port)) as found, suppress(KeyboardInterrupt):
        for topic in topics:
            found.create(topic)
        print(f"Kafka at {found.address}, topics: {', '.join(topics)}; Ctrl-C stops it", flush=True)
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
