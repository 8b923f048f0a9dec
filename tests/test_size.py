"""Functions stay small enough to be read in one go. Files have no cap: a file holds one whole subject."""

from __future__ import annotations

import ast

from repository import ROOT, is_generated, modules

FUNCTION_LINES = 60

MODULES = {name: path for name, path in modules().items() if not is_generated(name)}


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    r"""The lines of a function without its docstring: that is what `help` shows, with all parameters.

    >>> length(ast.parse("def f():\n    '''One\n    two.'''\n    return 1").body[0])
    2
    """
    first = function.body[0]
    has_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    text = (first.end_lineno or 0) - first.lineno + 1 if has_text else 0
    return (function.end_lineno or 0) - function.lineno + 1 - text


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": length(node)
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}
