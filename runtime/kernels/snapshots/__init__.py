"""Aggregates over valid time: for every instant, over all events that are valid then."""

from __future__ import annotations
