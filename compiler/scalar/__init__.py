"""The expression language: signatures, types, coercion, and how Spark spells it (`spark/`). Read `typing.py`
first.

May import the IR only; every language and every engine uses it.
"""

from __future__ import annotations
