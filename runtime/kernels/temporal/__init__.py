"""MATCH_RECOGNIZE_TEMPORAL on the worker: runs of events, and joins of them by the order of their ends."""

from __future__ import annotations
