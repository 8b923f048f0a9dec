"""JSON read with care: whatever is not as expected is told with its place in the file."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NoReturn

from neelc.files import CallError


class JsonFile:
    """A file called `name`. Every question gives up, with a `CallError`, at the first place that is wrong."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, place: str, message: str) -> NoReturn:
        raise CallError(f"{self.name}: {place + ': ' if place else ''}{message}")

    def load(self, text: str) -> object:
        try:
            return json.loads(
                text,
                parse_int=Decimal,
                parse_float=Decimal,
                parse_constant=lambda word: self.fail("", f"{word} is not a number"),
                object_pairs_hook=self._once,
            )
        except json.JSONDecodeError as error:
            self.fail("", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
        except RecursionError:
            self.fail("", "nested too deeply")

    def _once(self, pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                self.fail("", f"the key {json.dumps(key)} stands twice in one object")
            found[key] = value
        return found

    def entries(self, place: str, value: object, keys: Sequence[str] = ()) -> dict[str, object]:
        """The value, which must be an object; with these keys only, if they are given."""
        if not isinstance(value, dict):
            self.fail(place, f"an object is expected, found {_shown(value)}")
        for key in value if keys else ():
            if key not in keys:
                close = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean {close[0]}?" if close else f"keys: {', '.join(keys)}"
                self.fail(place, f"no key {json.dumps(key)} belongs here; {hint}")
        return value

    def number(self, place: str, value: object) -> Decimal:
        if not isinstance(value, Decimal):
            self.fail(place, f"a number is expected, found {_shown(value)}")
        if not math.isfinite(float(value)):
            self.fail(place, f"{_shown(value)} is too large")
        return value


def _shown(value: object) -> str:
    """What stands in the file, cut if it is long.

    >>> _shown("many"), _shown({"a": Decimal(1)})
    ('"many"', 'an object')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."
