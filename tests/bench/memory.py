"""How much memory this process, its Java virtual machine and their Python workers needed at most."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType

EVERY = 0.1
"""Seconds between two looks. The system keeps the peak of each process until it ends."""


def peak(pid: int) -> int:
    """The most memory that a process had, in bytes; 0 if there is no such process."""
    return _status(pid, "VmHWM")


def resident(pid: int) -> int:
    """The memory that a process has, in bytes; 0 if there is no such process."""
    return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def descendants(root: int) -> dict[int, str]:
    """The processes below one, with the names of their programs."""
    children: dict[int, list[int]] = defaultdict(list)
    names: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name stands in parentheses, and may have anything in it.
            before, _, after = path.read_text().rpartition(")")
        except OSError:
            continue
        pid = int(path.parent.name)
        names[pid] = before.partition("(")[2]
        children[int(after.split()[1])].append(pid)
    found, waiting = {}, [root]
    while waiting:
        for child in children[waiting.pop()]:
            found[child] = names[child]
            waiting.append(child)
    return found


class Peaks:
    """Watches, while entered, the processes below this one: `java` and the largest `worker`, in bytes."""

    def __init__(self) -> None:
        self.java = 0
        self.worker = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            is_last = self._done.wait(EVERY)
            for pid, name in descendants(os.getpid()).items():
                if name == "java":
                    self.java = max(self.java, peak(pid))
                elif name.startswith("python"):
                    self.worker = max(self.worker, peak(pid))
            if is_last:
                return
