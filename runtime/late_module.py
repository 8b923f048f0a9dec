"""Modules that are loaded when something of them is first asked for.

NumPy takes a tenth of a second to load. Who only compiles or explains a query needs none of it, and yet
imports the tables of functions, some of which compute with NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module.

    >>> text = LateModule("textwrap")
    >>> text.fill("loaded now", 6)
    'loaded\\nnow'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
