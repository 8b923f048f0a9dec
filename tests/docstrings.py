"""The examples of docstrings, and which of them need a session of Spark."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Mapping
from typing import Any


def examples(module: str, given: Mapping[str, Any] | None = None) -> list[doctest.DocTest]:
    """The examples in the docstrings of a module; `given` are names that they may use."""
    return doctest.DocTestFinder().find(importlib.import_module(module), module, extraglobs=dict(given or {}))


def asks_spark(test: doctest.DocTest) -> bool:
    """Whether the examples use a session that somebody else has made, called `spark`."""
    source = "".join(example.source for example in test.examples)
    return bool(re.search(r"(?<![.\w])spark\b", source)) and "spark =" not in source
