"""Functions stay small enough to be read in one go. Files have no cap: a file holds one whole subject."""

from __future__ import annotations

import ast

from repository import ROOT, is_generated, modules

FUNCTION_LINES = 60

MODULES = {name: path for name, path in modules().items() if not is_generated(name)}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}
