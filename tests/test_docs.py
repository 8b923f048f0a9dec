"""What the documentation says is run: docstrings, `neel` snippets, links."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import PACKAGES, ROOT, documents, is_generated, modules

MODULES = [name for name in modules() if not is_generated(name) and not name.endswith("__main__")]

FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def snippets(language: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of `language` in all documents, each after its place, `file:line`."""
    for document in documents():
        text = document.read_text()
        for found in FENCE.finditer(text):
            if found[2] == language:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{document.relative_to(ROOT)}:{line}", found[3]


def test_the_installed_names_are_the_tree() -> None:
    installed = set(PACKAGES)
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        installed |= {found.name for found in pkgutil.walk_packages(paths, package + ".")}
    assert installed == set(modules())


# By installed name: --doctest-modules would import every module a second time, as `compiler.x`.
@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


NEEL = dict(snippets("neel"))


@pytest.mark.parametrize("place", NEEL)
def test_neel_snippets_parse(place: str) -> None:
    from neelc.parse import script
    from neelc.source import Source

    script(Source(NEEL[place], place))


CASES = dict(snippets("case"))


@pytest.mark.parametrize("place", CASES)
def test_case_snippets_pass(place: str) -> None:
    from neelc.cases import run_case
    from neelc.cases.file import parse

    outcome = run_case(parse(CASES[place], ROOT / place))
    assert outcome.passed, outcome.diff


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    text = FENCE.sub("", document.read_text())
    targets = [target.partition("#")[0] for target in LINK.findall(text) if "://" not in target]
    assert [target for target in targets if target and not (document.parent / target).exists()] == []
