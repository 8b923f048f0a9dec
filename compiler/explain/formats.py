"""The formats of explanations, each with its writer. The modules are imported when first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.explain.explanation import Report

MODES = ("simple", "rewrite", "cost", "nfa", "all")

# The module and the function of each format.
FORMATS = {
    "text": ("text", "as_text"),
    "json": ("page", "as_json"),
    "html": ("page", "as_html"),
    "dot": ("graphs", "as_dot"),
    "mermaid": ("graphs", "as_mermaid"),
}


def renderer(kind: str) -> Callable[[Report, str], str]:
    """What makes a text of a report in a mode."""
    module, function = FORMATS[kind]
    found: Callable[[Report, str], str] = getattr(import_module(f"neelc.explain.{module}"), function)
    return found
