"""What `make quick` runs: a part of every test, and no other process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest
from quick import NoProcesses, quick_tests


def functions(items: Iterable[pytest.Item]) -> set[str]:
    """The tests without their parameters."""
    return {item.nodeid.partition("[")[0] for item in items}


def is_left_out(item: pytest.Item) -> bool:
    marks = (item.get_closest_marker(name) for name in ("long", "thorough"))
    return "spark" in item.path.parts or any(marks)


def test_every_test_takes_part_with_some_of_its_parameters(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    chosen = list(quick_tests(items))
    assert functions(chosen) == functions(item for item in items if not is_left_out(item))
    assert list(quick_tests(items)) == chosen, "the same in every run"


@pytest.mark.parametrize("start", [lambda: subprocess.Popen([sys.executable, "-c", ""]), os.fork])
def test_a_test_that_starts_a_process_is_left_out(start: Callable[[], object]) -> None:
    watching = NoProcesses()
    watching.is_running = True
    try:
        with pytest.raises(pytest.skip.Exception, match="it starts a process"):
            start()
    finally:
        watching.is_running = False
