"""Imprecise timestamps: how likely a list of events is a match. Read `confidence.py` first."""

from __future__ import annotations
