"""Values for a script's parameters, from the text of `--arg name=value` and of case files."""

from __future__ import annotations

import decimal
import re

_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def argument(text: str) -> tuple[str, object]:
    """The name and the value of `name=value`; `ValueError` if it is not of that form.

    >>> argument("n=10"), argument("share=0.5"), argument("w=10 SECONDS"), argument("id='10'")
    (('n', 10), ('share', Decimal('0.5')), ('w', '10 SECONDS'), ('id', '10'))
    """
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name.strip()):
        raise ValueError(f"{text!r} is not of the form name=value")
    return name.strip(), argument_value(value.strip())


def argument_value(text: str) -> object:
    """A number, true, false, null or a string; quotes make a string of anything.

    >>> argument_value("1e3"), argument_value("TRUE"), argument_value("it's"), argument_value("'it''s'")
    (1000.0, True, "it's", "it's")
    """
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)", text):
        return decimal.Decimal(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+", text):
        return float(text)
    if re.fullmatch(r"'([^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    return _WORDS.get(text.lower(), text)
