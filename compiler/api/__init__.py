"""neelc as a library: `sql`, `Session` and what they give back."""

from __future__ import annotations
