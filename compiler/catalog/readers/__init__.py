"""Readers of data files for the engines that run without Spark."""

from __future__ import annotations
