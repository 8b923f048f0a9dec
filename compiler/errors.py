"""Diagnostics: what is wrong, where, and what to do about it. `neelc.codes` has the codes."""

from __future__ import annotations

import json
import re
import string
import traceback
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from neelc.codes import CATALOGUE, SQL_STATES
from neelc.source import Source, Span

ALPHANUMERIC = string.ascii_letters + string.digits + "_"

# A word of a message that nobody reads to its end: a number of a thousand digits, a name as long as a page.
_LONG_WORD = re.compile(r"(\S{60})\S{140,}(?<=(\S\S))")

# Wider lines than this are cut when they are shown.
MAX_LINE = 120

# JupyterLab's own colours, which follow its theme; elsewhere ones that can be read on white and on black.
_COLOURS = {"error": "var(--jp-error-color1, #d5433c)", "warning": "var(--jp-warn-color1, #b8860b)"}
# The code at the start, and the lines of carets: those of the source begin with a number.
_MARKED = re.compile(r"(\A|^ +\| )((?:error|warning)\[\w+\]|[ \t]*\^+$)", re.MULTILINE)
_QUOTED_TWICE = re.compile("``([^`]+)``")
_PRE = "white-space: pre; overflow-x: auto; color: inherit; background: none; margin: 0.4em 0"


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning, with the place it was found at and, where one can be given, a way out.

    Names in messages stand between backticks, those that the text quotes, too:

    >>> Diagnostic("NEEL2203", "stream ``my trades`` has no timestamp", Span(0, 1)).message
    'stream `my trades` has no timestamp'
    """

    code: str
    message: str
    span: Span
    hint: str | None = None

    def __post_init__(self) -> None:
        assert self.code in CATALOGUE, f"{self.code} is not in the catalogue"
        message = _QUOTED_TWICE.sub(r"`\1`", self.message)
        object.__setattr__(self, "message", _LONG_WORD.sub(_cut, message))

    @property
    def severity(self) -> str:
        """`warning` for a query that can be run as it is, else `error`."""
        return "warning" if self.code.startswith("NEEL6") else "error"


def _cut(word: re.Match[str]) -> str:
    """The beginning of a long word, with the marks that close it."""
    return word[1] + "..." + word[2].lstrip(ALPHANUMERIC)


class NeelError(Exception):
    """One or more diagnostics about one source text. The getters are those of PySpark's exceptions."""

    is_shown = False
    """Whether a notebook shows the diagnostics already."""

    def __init__(self, diagnostics: Iterable[Diagnostic], source: Source) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: (d.span, d.code, d.message)))
        self.source = source
        super().__init__(render_all(self.diagnostics, source))

    def getCondition(self) -> str:
        """The code of the first diagnostic, as PySpark's exceptions tell theirs."""
        return self.diagnostics[0].code

    def getSqlState(self) -> str:
        """SQLSTATE: what kind of error it is, in SQL's own terms."""
        return SQL_STATES[self.getCondition()[4]]

    def getMessageParameters(self) -> dict[str, str]:
        """The record of the first diagnostic, as `as_record` has it, in texts."""
        record = as_record(self.diagnostics[0], self.source)
        return {key: str(value) for key, value in record.items() if value is not None}

    def getMessage(self) -> str:
        """All diagnostics as text."""
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of the stack: the lines of the caller, and what is wrong."""
        if self.is_shown:
            return [f"{type(self).__name__}: {str(self).splitlines()[0]}"]
        callers = [one for one in traceback.extract_tb(self.__traceback__) if not _is_inside(one.filename)]
        lines = [f"line {one.lineno}: {one.line}" for one in callers]
        return [*lines, *str(self).splitlines()]


def _is_inside(file: str) -> bool:
    """Whether a file is one of neelc, of Python or of an installed package, not one of the caller's."""
    places = (Path(__file__).parent, Path(traceback.__file__).parent)
    return any(place in Path(file).parents for place in places) or "site-packages" in Path(file).parts


def render(diagnostic: Diagnostic, source: Source) -> str:
    """The diagnostic as text, with the source line and a caret.

    >>> found = Diagnostic("NEEL1001", "expected SEQ", Span(8, 11), "try SEQ(A a)")
    >>> print(render(found, Source("PATTERN SQE(A)")))
    error[NEEL1001]: expected SEQ
     --> query:1:9
      |
    1 | PATTERN SQE(A)
      |         ^^^
      = hint: try SEQ(A a)
    """
    place = source.position(min(diagnostic.span.start, len(source.text)))
    before, marked, after = _excerpt(source.line(place.line), place.column - 1, diagnostic.span)
    gutter = " " * len(str(place.line))
    # Tabs stay tabs under the line, so that the caret stands where the eye expects it.
    indent = "".join("\t" if c == "\t" else " " * _width(c) for c in before)
    lines = [
        f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}",
        f"{gutter}--> {source.name}:{place.line}:{place.column}",
        f"{gutter} |",
        f"{place.line} | {before}{marked}{after}",
        f"{gutter} | {indent}{'^' * max(1, sum(map(_width, marked)))}",
    ]
    if diagnostic.hint:
        lines.append(f"{gutter} = hint: {diagnostic.hint}")
    return "\n".join(lines)


def render_line(diagnostic: Diagnostic, source: Source) -> str:
    """The diagnostic in one line.

    >>> render_line(Diagnostic("NEEL6003", "nothing bounds this pattern", Span(8, 21)), Source("PATTERN ..."))
    'query:1:9: warning[NEEL6003]: nothing bounds this pattern'
    """
    place = source.position(min(diagnostic.span.start, len(source.text)))
    head = f"{source.name}:{place.line}:{place.column}"
    return f"{head}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"


def _width(character: str) -> int:
    """How many columns of a terminal a character takes.

    >>> [_width(c) for c in ("a", "\u00e9", "\u6f22", "\u200b")]
    [1, 1, 2, 0]
    """
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _excerpt(line: str, start: int, span: Span) -> tuple[str, str, str]:
    """The line before, in and after the span; a line that is too long to read is cut around it.

    >>> before, marked, after = _excerpt("x" * 400, 200, Span(200, 203))
    >>> len(before), marked, len(after), before[:4]
    (60, 'xxx', 60, '...x')
    """
    end = start + span.end - span.start
    before, marked, after = line[:start], line[start:end], line[end:]
    if len(line) > MAX_LINE:
        room = MAX_LINE // 2
        before = "..." + before[3 - room :] if len(before) > room else before
        marked = marked[:room]
        after = after[: room - 3] + "..." if len(after) > room else after
    return before, marked, after


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """All diagnostics as text, with an empty line between them."""
    return "\n\n".join(render(d, source) for d in diagnostics)


def as_html(text: str) -> str:
    """Rendered diagnostics for notebooks: codes and carets in colour, and nothing in them taken for HTML.

    >>> text = render(Diagnostic("NEEL1001", "expected SEQ", Span(8, 11)), Source("PATTERN <b>(A)"))
    >>> print(as_html(text))  # doctest: +ELLIPSIS
    <pre style="..."><b style="...">error[NEEL1001]</b>: expected SEQ
     --&gt; query:1:9
      |
    1 | PATTERN &lt;b&gt;(A)
      | <b style="...">        ^^^</b></pre>
    """
    return "".join(map(_block, re.split(r"\n\n(?=error\[|warning\[)", text)))


def _block(text: str) -> str:
    colour = _COLOURS["warning" if text.startswith("warning") else "error"]
    marked = _MARKED.sub(rf'\1<b style="color: {colour}">\2</b>', escape(text, quote=False))
    return f'<pre style="{_PRE}">{marked}</pre>'


def as_record(diagnostic: Diagnostic, source: Source) -> dict[str, object]:
    """The diagnostic as plain values, for JSON."""
    place = source.position(min(diagnostic.span.start, len(source.text)))
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": source.name,
        "line": place.line,
        "column": place.column,
        "length": max(1, diagnostic.span.end - diagnostic.span.start),
        "source": source.line(place.line),
        "hint": diagnostic.hint,
    }


def as_json(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """All diagnostics as a JSON array."""
    return json.dumps([as_record(d, source) for d in diagnostics], indent=2, ensure_ascii=False)
