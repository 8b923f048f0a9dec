"""Syntax trees to the logical plan: every name resolved, every condition in its place."""

from __future__ import annotations

from neelc.bind.script import Bound, bind, examine

__all__ = ["Bound", "bind", "examine"]
