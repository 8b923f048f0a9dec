"""Hosts on one machine, for tests of clusters: Linux namespaces, made with `ip netns` and `unshare`.

Each host has its own network interface, address and name, its own processes and its own view of the file
system: a Python environment of its own and a directory that all hosts share. A host with its own Python
cannot see this repository. A bridge connects the hosts. It is in a namespace without any other interface,
so no traffic can leave the machine, and the machine's own network is not touched.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from repository import ROOT

T = TypeVar("T")

CLONE_NEWNET = 0x40000000

# What a host's first process does before it becomes the command: bind what the host may see, hide this tree.
BEGIN = """set -e
mount --make-rprivate /
mount --bind "$HOST_DIRECTORY/local" "$PLACE/local"
if [ -n "$HOST_PYTHON" ]; then mount --bind "$HOST_PYTHON" "$PLACE/python"; fi
mount --bind "$PLACE/hosts" /etc/hosts
if [ -n "$HIDDEN" ]; then mount -t tmpfs -o ro neelc-hidden "$HIDDEN"; fi
hostname "$HOST_NAME"
exec "$@"
"""


class Unavailable(Exception):
    """Hosts cannot be made on this machine; the text says why."""


def require() -> None:
    """Raise `Unavailable` where hosts cannot be made."""
    if os.geteuid() != 0:
        raise Unavailable("network namespaces require root, and this user is not root")
    for command, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("mount", "mount")):
        if shutil.which(command) is None:
            raise Unavailable(f"the command {command} is missing (Debian's package {package})")
    probe = f"neelc{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode:
        raise Unavailable(f"a network namespace cannot be made here: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "del", probe], check=True)


@dataclass
class Host:
    """A host: `namespace` is the name of its network, `port` its end of the cable in the switch."""

    name: str
    address: str
    namespace: str
    network: Network
    port: str
    python: Path | None
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, command: Sequence[str], log: Path, more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command on this host; it ends with all its processes when it is killed."""
        own = self.network.scratch / self.name
        (own / "local").mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.network.place / "local"),
            "TMPDIR": str(self.network.place / "local"),
            "LANG": "C.UTF-8",
            **({"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}),
            "HOST_NAME": self.name,
            "HOST_DIRECTORY": str(own),
            "HOST_PYTHON": str(self.python or ""),
            "HIDDEN": str(ROOT) if self.python else "",
            "PLACE": str(self.network.place),
            **(more or {}),
        }
        spaces = ["--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with log.open("ab") as output:
            process = subprocess.Popen(
                [
                    "ip",
                    "netns",
                    "exec",
                    self.namespace,
                    "unshare",
                    *spaces,
                    "sh",
                    "-c",
                    BEGIN,
                    "sh",
                    *command,
                ],
                env=environment,
                cwd=self.network.place / "shared",
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def kill(self) -> None:
        """End all processes of this host at once, as if it lost power."""
        for process in self.running:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait(20)
        self.running.clear()

    def pull_the_cable(self) -> None:
        """Nothing gets to this host any more, or from it; its processes go on and are told nothing."""
        ip("-n", self.network.switch, "link", "set", self.port, "down")

    def plug_in(self) -> None:
        ip("-n", self.network.switch, "link", "set", self.port, "up")

    def inside(self, function: Callable[[], T]) -> T:
        """What a function returns that opens its sockets in the network of this host."""
        found: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:  # a namespace belongs to a thread, so this thread must end with it
            try:
                with open(f"/run/netns/{self.namespace}") as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), f"no way into {self.namespace}")
                found.append(function())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return found[0]


@dataclass
class Network:
    """A switch with hosts. The directory `place` has the same name on all of them: `place/shared` is the same
    directory, `place/python` and `place/local` are different ones."""

    switch: str
    place: Path
    scratch: Path
    hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def shared(self) -> Path:
        return self.place / "shared"

    def add(self, name: str, number: int, python: Path | None) -> Host:
        """A host at 10.77.0.`number`. Without a Python of its own, it sees this repository and its Python."""
        namespace, port = f"{self.switch}-{number}", f"port{number}"
        host = Host(name, f"10.77.0.{number}", namespace, self, port, python)
        ip("netns", "add", namespace)
        self.hosts[name] = host
        ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("-n", self.switch, "link", "set", port, "master", "bridge", "up")
        ip("-n", namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
        for interface in ("lo", "eth0"):
            ip("-n", namespace, "link", "set", interface, "up")
        names = [f"{one.address} {one.name}" for one in self.hosts.values()]
        (self.place / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        return host


@contextmanager
def network(scratch: Path) -> Iterator[Network]:
    """A switch, to add hosts to. Afterwards its processes are killed and its namespaces are gone."""
    require()
    switch = f"neelc{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="neelc-cluster-", ignore_cleanup_errors=True) as made:
        place = Path(made)
        place.chmod(0o755)
        for name in ("shared", "python", "local"):
            (place / name).mkdir()
        found = Network(switch, place, scratch.resolve())
        ip("netns", "add", switch)
        try:
            ip("-n", switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", switch, "link", "set", "bridge", "up")
            yield found
        finally:
            for host in found.hosts.values():
                host.kill()
                ip("netns", "del", host.namespace)
            ip("netns", "del", switch)


def ip(*arguments: str) -> None:
    """Run the command of iproute2."""
    subprocess.run(["ip", *arguments], check=True)
