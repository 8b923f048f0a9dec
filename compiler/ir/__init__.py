"""The compiler's values: trees of immutable nodes."""

from __future__ import annotations
