"""Failures that belong to a row: whoever has the columns adds its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from neelc.runtime.failures import Facts, KernelFailure


class RowFailure(KernelFailure):
    """A failure in the partition of a row."""

    def __init__(self, facts: Facts, row: int) -> None:
        super().__init__(facts)
        self.row = row


def key_text(keys: Sequence[str], columns: Mapping[str, pa.Array], row: int) -> dict[str, str | None]:
    """The key of a row, for messages.

    >>> key_text(["room"], {"room": pa.array(["4b", None]), "x": pa.array([1, 2])}, 1)
    {'room': None}
    """
    values = {key: columns[key][row].as_py() for key in keys}
    return {key: None if value is None else str(value)[:200] for key, value in values.items()}
