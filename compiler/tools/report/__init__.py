"""Pictures of results: events and matches on a time line, in one HTML file that works offline."""

from __future__ import annotations
