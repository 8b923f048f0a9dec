"""Why a query is executed as it is: values first, then one renderer for each format."""

from __future__ import annotations
