"""Versions: what neelc's own installation asks for, and how they compare."""

from __future__ import annotations

import re


def required(name: str) -> str:
    """The least version of a package that neelc's own installation asks for.

    >>> numbers(required("pyspark")) >= (4,)
    True
    """
    from importlib.metadata import requires

    found = (re.match(rf"{name}\s*>=\s*([0-9.]+)", text) for text in requires("neelc") or [])
    return next((match[1] for match in found if match), "")


def numbers(version: str) -> tuple[int, ...]:
    """
    >>> numbers("4.1.0.dev2") > numbers("4.0"), numbers("")
    (True, ())
    """
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
