"""Docstrings are run, and the names that are installed are those of the tree. The pages: test_pages.py."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from docstrings import asks_spark, examples
from repository import PACKAGES, is_generated, modules

MODULES = [name for name in modules() if not is_generated(name) and not name.endswith("__main__")]
EXAMPLES = [
    "lint_examples",
    "materials",
    "network_examples",
    "normal_forms",
    "pattern_examples",
    "quick",
    "versions",
]
"""What examples in docstrings import from here, and what has some itself."""


def test_the_installed_names_are_the_tree() -> None:
    installed = set(PACKAGES)
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        installed |= {found.name for found in pkgutil.walk_packages(paths, package + ".")}
    assert installed == set(modules())


# By installed name: --doctest-modules would import every module a second time, as `compiler.x`. Examples that
# ask Spark run in tests/spark/test_docstrings_on_spark.py.
@pytest.mark.parametrize("module", [*MODULES, *EXAMPLES])
def test_docstrings(module: str) -> None:
    runner = doctest.DocTestRunner()
    for found in examples(module):
        if not asks_spark(found):
            runner.run(found)
    assert runner.failures == 0
