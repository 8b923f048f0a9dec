"""Functions of strings and binaries, of values that are not NULL."""

from __future__ import annotations

from collections.abc import Callable

from neelc.runtime.reference.patterns import replaced, split

Text = str | bytes
Function = Callable[..., object]

# The longest array Java makes; Spark refuses to build a longer string.
LONGEST = 2**31 - 16


def substring(text: Text, position: int, length: int | None = None) -> Text:
    """Positions are counted from 1, negative ones from the end; what lies before the text counts as empty.

    >>> substring("abc", 2), substring("abc", -2, 1), substring("abc", -5, 3)
    ('bc', 'b', 'a')
    """
    begin = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def left(text: Text, length: int) -> Text:
    return text[: max(length, 0)]


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _pad(at_left: bool) -> Function:
    def pad(text: Text, length: int, filler: Text | None = None) -> Text:
        if filler is None:
            filler = " " if isinstance(text, str) else b"\0"
        length = max(length, 0)
        missing = length - len(text)
        if missing <= 0 or not filler:
            return text[:length]
        if length > LONGEST:
            raise OverflowError
        padding = (filler * (missing // len(filler) + 1))[:missing]
        return padding + text if at_left else text + padding  # type: ignore[operator]

    return pad


def repeat(text: str, times: int) -> str:
    if len(text) * times > LONGEST:
        raise OverflowError
    return text * times


def locate(part: str, text: str, start: int = 1) -> int:
    """Where `part` is found at or after `start`, counted from 1; 0 if it is not.

    >>> locate("b", "abcb", 3), locate("", "abc", 5), locate("b", "abc", 0)
    (4, 1, 0)
    """
    if start < 1:
        return 0
    if not part:
        return 1
    return text.find(part, start - 1) + 1


def _trim(strip: Callable[[str, str], str]) -> Function:
    """One argument: spaces are trimmed; two: the characters of the first are trimmed from the second."""
    return lambda first, text=None: (
        strip(first, " ") if text is None else strip(text, first) if first else text
    )


def concat(*values: object) -> object:
    """Strings, binaries or arrays, one after the other."""
    first, *rest = values
    for value in rest:
        first = [*first, *value] if isinstance(first, list | tuple) else first + value  # type: ignore[operator, misc]
    return first


def concat_ws(separator: str | None, *values: object) -> str | None:
    """Strings, and arrays of strings, with a separator between them; NULLs are left out."""
    if separator is None:
        return None
    words: list[str] = []
    for value in values:
        items = value if isinstance(value, list | tuple) else [value]
        words.extend(str(item) for item in items if item is not None)
    return separator.join(words)


TEXTS: dict[str, Function] = {
    "char_length": len,
    "concat": concat,
    "contains": lambda text, part: part in text,
    "endswith": lambda text, part: text.endswith(part),
    "instr": lambda text, part: locate(part, text),
    "lcase": str.lower,
    "left": left,
    "length": len,
    "locate": locate,
    "lower": str.lower,
    "lpad": _pad(at_left=True),
    "ltrim": _trim(str.lstrip),
    "position": locate,
    "regexp_replace": lambda text, pattern, by, start=1: replaced(text, pattern, by, start),
    "repeat": repeat,
    "replace": lambda text, part, by="": text.replace(part, by) if part else text,
    "reverse": lambda value: value[::-1],
    "right": right,
    "rpad": _pad(at_left=False),
    "rtrim": _trim(str.rstrip),
    "split": lambda text, pattern, limit=-1: split(text, pattern, limit),
    "startswith": lambda text, part: text.startswith(part),
    "substr": substring,
    "substring": substring,
    "trim": _trim(str.strip),
    "ucase": str.upper,
    "upper": str.upper,
}
