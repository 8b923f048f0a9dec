"""Arrow without pandas, in processes that are neelc's own.

Arrow loads pandas when it first turns an array into one of NumPy, to recognize pandas' types: 0.2 s of a run
that takes 0.7 s. The local engine makes none of these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _HiddenModule:
    """A finder that says of one module that it is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def hidden_pandas() -> Iterator[None]:
    """Let nothing inside load pandas, unless it is there already. Arrow remembers that it found none: this is
    for a process that ends afterwards."""
    finder = _HiddenModule("pandas")
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
