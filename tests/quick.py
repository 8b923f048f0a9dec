"""What `make quick` runs: a sample of all tests that no other process is started for, the same in every run.

Nothing is listed by hand: a new test takes part by itself, unless it is marked `long`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from math import isqrt

import pytest

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
"""What Python reports when a program is started: Java, a browser, a command line of its own."""


def sampled(ids: Sequence[str]) -> set[str]:
    """Of the parameters of a test as many as the square root of their number, evenly spread.

    >>> sorted(sampled([f"{n:02}" for n in range(10)]))
    ['00', '02', '05', '07']
    >>> sampled(["only"]), len(sampled([str(n) for n in range(2000)]))
    ({'only'}, 45)
    """
    wanted = isqrt(len(ids) - 1) + 1
    return {ids[place * len(ids) // wanted] for place in range(wanted)}


def quick_tests(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The sample: nothing of `tests/spark`, nothing that is marked `long` or `thorough`, and some of the
    parameters of each other test."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        is_long = any(item.get_closest_marker(name) for name in ("long", "thorough"))
        if not is_long and "spark" not in item.path.parts:
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for some in functions.values():
        chosen = sampled([item.nodeid for item in some])
        yield from (item for item in some if item.nodeid in chosen)


class NoProcesses:
    """A plug-in: a test is left out when it starts a program, and with it all that need Java."""

    def __init__(self) -> None:
        self.is_running = False
        sys.addaudithook(self._started)

    def _started(self, event: str, arguments: object) -> None:
        if self.is_running and event in STARTS:
            pytest.skip("never: it starts a process; make test runs it")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self.is_running = True
        try:
            return (yield)
        finally:
            self.is_running = False
