"""Operations on values: on columns with NumPy, and on single values."""

from __future__ import annotations
