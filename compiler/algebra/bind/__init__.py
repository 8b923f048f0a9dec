"""Binding of SELECT: from the query as written to a network of operators. Read `select.py` first."""

from __future__ import annotations
