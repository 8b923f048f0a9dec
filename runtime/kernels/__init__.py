"""Kernels: programs executed on columns of events, with NumPy."""

from __future__ import annotations
