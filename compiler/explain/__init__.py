"""How a query is executed, and why: values first, then one renderer for each format."""

from __future__ import annotations
