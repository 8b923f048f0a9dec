"""Units of time and of windows."""

from __future__ import annotations

import difflib
from typing import Any

from neelc.ir.names import bare
from neelc.ir.units import TIME_UNITS
from neelc.parse.problem import fail

# What people write for short; Spark does not read these either.
_SHORT = {
    "NS": "NANOSECOND",
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "S": "SECOND",
    "H": "HOUR",
    "D": "DAY",
}


def unit(text: str, place: Any, also: tuple[str, ...] = ()) -> str:
    """The unit in singular and upper case: `seconds` is SECOND."""
    word = bare(text).upper()
    allowed = (*TIME_UNITS, *also)
    for candidate in (word, word.removesuffix("S")):
        if candidate in allowed:
            return candidate
    if word in _SHORT:
        fail("NEEL1005", f"`{text}` is not a unit", place, f"did you mean {_SHORT[word]}S?")
    close = difflib.get_close_matches(word, [*allowed, *(u + "S" for u in allowed)], 1)
    hint = f"did you mean {close[0]}?" if close else "units: " + ", ".join(u + "S" for u in allowed)
    fail("NEEL1005", f"`{text}` is not a unit", place, hint)
