"""Diagnostics: what is wrong, where, and what to do about it; and all codes."""

from __future__ import annotations

import re
import string
import traceback
import unicodedata
from collections.abc import Iterable
from html import escape
from pathlib import Path

from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

# The codes of all diagnostics, each with its title.
#
# 1xxx syntax, 2xxx names and types, 3xxx pattern semantics, 4xxx planning, 5xxx data and runs, 6xxx
# warnings, 9xxx our own bugs. A new code needs a line here, a case in tests/cases/errors, for a warning in
# tests/cases/lints, and an entry in docs/reference/errors.md; a test compares the three.

CATALOGUE: dict[str, str] = {
    # 1xxx: syntax
    "NEEL1001": "the text is not a query",
    "NEEL1002": "a character that means nothing, or a quote that is not closed",
    "NEEL1003": "nested too deeply",
    "NEEL1004": "a clause is given twice",
    "NEEL1005": "a malformed constant, unit or type",
    "NEEL1006": "a malformed temporal pattern",
    "NEEL1007": "a list variable without a repetition, or a repetition without one",
    # 20xx: names
    "NEEL2001": "an unknown variable",
    "NEEL2002": "a name that several components without a variable have",
    "NEEL2003": "an unknown attribute",
    "NEEL2004": "an unknown stream",
    "NEEL2005": "an unknown type",
    "NEEL2006": "a parameter without a value",
    "NEEL2007": "a value that no parameter can have",
    "NEEL2008": "a variable is declared twice",
    "NEEL2009": "two columns of a result with one name",
    "NEEL2010": "a property of complete matches outside RETURN",
    "NEEL2011": "an attribute whose type differs between streams",
    "NEEL2012": "a type that no stream in FROM can have",
    "NEEL2013": "a column without a type",
    "NEEL2014": "a field or an element of a value that has none",
    "NEEL2015": "an attribute that not all events concerned have",
    "NEEL2016": "an attribute that cannot be compared between types",
    "NEEL2050": "a measure is named where it is not known",
    "NEEL2051": "a subquery with several columns where one is expected",
    # 21xx: types and functions
    "NEEL2101": "types that do not go together",
    "NEEL2102": "an operator that is not defined for a type",
    "NEEL2103": "a condition that is not BOOLEAN",
    "NEEL2104": "an unknown function",
    "NEEL2105": "a wrong number of arguments",
    "NEEL2106": "an argument that does not fit",
    "NEEL2107": "a constant that stands for nothing",
    "NEEL2108": "a cast that cannot be made",
    "NEEL2109": "an aggregate out of place",
    "NEEL2110": "a registered aggregate of what is no list",
    # 22xx: scripts
    "NEEL2201": "a name is declared twice",
    "NEEL2202": "a column is declared twice",
    "NEEL2203": "a stream without a timestamp",
    "NEEL2204": "a clause names a column that the stream does not have",
    "NEEL2205": "a column whose type does not fit its role",
    "NEEL2206": "a unit that timestamps cannot have",
    "NEEL2207": "imprecise timestamps that are not integers",
    "NEEL2208": "a type that contains itself",
    "NEEL2209": "a stream without columns",
    "NEEL2210": "an unknown member of a type",
    "NEEL2212": "a query without times used as a stream",
    "NEEL2213": "a query whose columns hide its times used as a stream",
    "NEEL2214": "a stream stands twice in FROM",
    "NEEL2215": "imprecise timestamps with an end",
    "NEEL2216": "a statistic that no stream can have",
    "NEEL2217": "a statistic is given twice",
    "NEEL2218": "a statistic of a type in a stream without types",
    "NEEL2219": "a selectivity of several conditions at once",
    "NEEL2220": "a source of MATCH_RECOGNIZE whose columns are not known",
    "NEEL2070": "a FORMAT that is no pattern of times",
    "NEEL2071": "a FORMAT of what is no text",
    "NEEL2221": "Spark refuses the query around MATCH_RECOGNIZE",
    "NEEL2222": "two columns of one name",
    "NEEL2230": "a query around MATCH_RECOGNIZE is read as events, and declares no times",
    "NEEL2231": "times are declared for a query that has its own",
    "NEEL2232": "a FORMAT of times for a query",
    "NEEL2240": "a watermark that is no length of time",
    "NEEL2250": "an order of events whose times are imprecise",
    "NEEL2251": "streams of a query whose THEN BY do not go together",
    "NEEL2260": "a hierarchy of what is no relation",
    "NEEL2261": "an unknown hierarchy, or a level that it does not have",
    "NEEL2262": "a level or a concept of what has none",
    "NEEL2270": "a declaration of a function that neelc has already",
    "NEEL2271": "a declaration of a function that does not fit",
    "NEEL2263": "a level that is finer than the attribute",
    # 30xx: the meaning of patterns
    "NEEL3001": "a list without a positive part",
    "NEEL3002": "a positive part that speaks of a negative one",
    "NEEL3003": "a condition on two negative parts",
    "NEEL3004": "a negative part without bounds",
    "NEEL3005": "a negation out of place",
    "NEEL3006": "a negative part of AND_NEG that is not between positive ones",
    "NEEL3007": "EXISTS drops what is not there",
    "NEEL3008": "EXISTS drops everything",
    "NEEL3009": "a variable that EXISTS drops",
    "NEEL3010": "a variable of a closure, seen from the wrong side",
    "NEEL3011": "a list without an index",
    "NEEL3012": "an index on what is no list",
    "NEEL3013": "the index i in RETURN",
    "NEEL3014": "the index i over two lists",
    "NEEL3015": "an index that no list has",
    "NEEL3016": "a repetition that cannot be",
    "NEEL3017": "a repetition of what can be empty",
    "NEEL3018": "an aggregate over all matches in a condition",
    "NEEL3019": "an aggregate inside an aggregate",
    "NEEL3020": "an aggregate over all matches mixed with single ones",
    "NEEL3021": "an equality of all events inside another condition",
    "NEEL3022": "a strategy where it is not defined",
    "NEEL3023": "PARTITION CONTIGUITY without a partition",
    "NEEL3025": "COLLAPSED with the closure of a composite",
    "NEEL3026": "a window that is no length",
    "NEEL3027": "a window without a unit",
    "NEEL3028": "a window of a unit that is not always equally long",
    "NEEL3029": "a confidence that is no probability",
    "NEEL3030": "a variable of a negative part in RETURN",
    "NEEL3031": "a construct of another kind of query",
    "NEEL3032": "partial matches where they are not defined",
    "NEEL3033": "a choice of matches where it is not defined",
    "NEEL3034": "WHEN COMPLETE where it is not defined",
    "NEEL3035": "an order of rows, or a number of them, where it has no meaning",
    "NEEL3040": "NEXT, STRICT, EACH, UNTIL or WITHOUT where it has no meaning",
    "NEEL3041": "a strategy that is no word for parts",
    "NEEL3060": "a roll-up or a drill-down of what is no PATTERN",
    "NEEL3061": "a step that leads in another direction",
    "NEEL3062": "a step that changes nothing",
    "NEEL3063": "a level compared with what is of another one",
    "NEEL3070": "a relation of what are no two events, or of times that cannot be compared",
    "NEEL3080": "a ? that stands between two symbols",
    "NEEL3036": "an end of the data that is no time of the streams",
    "NEEL3081": "aggregates of events that last for one instant only",
    "NEEL3090": "a repetition with too many elements",
    "NEEL3201": "a column that several sources have",
    "NEEL3202": "a variable that the row pattern does not have",
    "NEEL3203": "a variable of a row pattern is defined twice",
    "NEEL3204": "a measure without a name",
    "NEEL3205": "an exclusion where all rows are requested",
    "NEEL3206": "a function of row patterns out of place",
    "NEEL3207": "a column that is neither grouped nor aggregated",
    "NEEL3208": "PARTITION BY what cannot divide rows",
    "NEEL3209": "WITHIN without a time in ORDER BY",
    "NEEL3210": "symbols that depend on each other in a circle",
    "NEEL3211": "a symbol that depends on one that is not there",
    "NEEL3212": "a temporal pattern that nothing satisfies",
    "NEEL3213": "two relations between the same two symbols",
    "NEEL3214": "a relation between two symbols that do not occur",
    "NEEL3215": "a value of a symbol that is no value of one event",
    "NEEL3216": "a measure of a symbol that never occurs",
    "NEEL3217": "a duration that a symbol cannot have",
    "NEEL3301": "a relation out of place",
    "NEEL3302": "a window that is no whole number of instants",
    "NEEL3303": "an order or a limit for a stream",
    "NEEL3304": "a column called as the valid time",
    "NEEL3305": "an aggregate that snapshots do not have",
    "NEEL3306": "an agent that is not there, or reads another number of streams",
    "NEEL3307": "imprecise times in a SELECT",
    "NEEL3308": "SELECTs that UNION or EXCEPT cannot combine",
    # 4xxx: not supported yet
    "NEEL4001": "not supported yet",
    "NEEL4090": "a statement that is too long",
    "NEEL4002": "a result that is larger than allowed",
    "NEEL4050": "a window function where there is none",
    "NEEL4051": "ORDER BY inside an aggregate",
    "NEEL4052": "FILTER where it is not supported",
    "NEEL4053": "a query inside an expression where it is not supported",
    "NEEL4054": "a subquery of MATCH_RECOGNIZE that cannot be computed before it",
    "NEEL4060": "MATCH_RECOGNIZE in a statement that is no query",
    "NEEL4061": "a file, in untrusted text",
    "NEEL4062": "a table that was not given, in untrusted text",
    "NEEL4063": "a function that untrusted text may not call",
    "NEEL4064": "what untrusted text may not do",
    "NEEL4130": "a stream without end",
    "NEEL4131": "state that grows without bound",
    "NEEL4132": "rows that are never complete",
    "NEEL4138": "a query over a stream without end that cannot read another one",
    "NEEL4140": "a stream without end that has no watermark",
    "NEEL4141": "a watermark on another column than the timestamp",
    "NEEL4142": "two watermarks of one stream",
    "NEEL4143": "streaming and bounded data in one query",
    "NEEL4144": "a function that a query over a stream without end cannot call",
    "NEEL4150": "a query that the local engine cannot execute",
    "NEEL4136": "a SELECT that cannot run over streams without end",
    "NEEL4134": "rows of a stream that are not in the order of time",
    "NEEL4135": "the end of a stream without end",
    # 5xxx: data and runs
    "NEEL5001": "a data file cannot be read",
    "NEEL5002": "the data have no such column",
    "NEEL5003": "a value does not fit its column's type",
    "NEEL5004": "malformed data",
    "NEEL5005": "no data for a stream",
    "NEEL5006": "an unknown format, or an unknown option of one",
    "NEEL5007": "more work than the reference interpreter is made for",
    "NEEL5008": "a registered aggregate failed",
    "NEEL5009": "AFTER MATCH SKIP leads nowhere",
    "NEEL5010": "an agent failed",
    "NEEL5060": "a value of a finer level with several values of a coarser one",
    "NEEL5070": "a time that cannot be computed with",
    "NEEL5071": "a row of a stream without an event time",
    "NEEL5090": "a record of a stream that cannot be read",
    "NEEL5091": "a checkpoint that another query, or another version of neelc, has written",
    "NEEL5093": "functions of geometries require shapely, which is not installed",
    "NEEL5101": "a run failed",
    "NEEL5102": "Spark's workers lack a package",
    "NEEL5103": "Spark's workers have another version of Python or of neelc",
    "NEEL5050": "a subquery with several rows where one value is expected",
    # 6xxx: warnings; the query is right, but most likely not what is meant
    "NEEL6001": "a leading variable that every event fits",
    "NEEL6002": "a repetition without a limit that every event fits",
    "NEEL6003": "a pattern without a window",
    "NEEL6004": "a condition that is always or never TRUE",
    "NEEL6005": "an order or a window that no events fit",
    "NEEL6006": "events that meet only at equal times",
    "NEEL6007": "a relation that its events cannot have",
    "NEEL6010": "a repetition that every row fits",
    "NEEL6011": "a value of a row that no match has",
    "NEEL6130": "a negation after a list that does not cover the list",
    "NEEL6131": "a type that no event has",
    # 9xxx: our own bugs
    "NEEL9001": "a bug in neelc",
}

# Syntax, names and types, patterns, what is not supported, data and runs, warnings, our own bugs.
SQL_STATES = {
    "1": "42601",
    "2": "42000",
    "3": "42000",
    "4": "0A000",
    "5": "22000",
    "6": "01000",
    "9": "XX000",
}

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
class Fix:
    """A change of the source that might solve a problem: `text` in place of what stands at `span`."""

    span: Span
    text: str

    @property
    def title(self) -> str:
        return f"write {self.text}"


@dataclass(frozen=True)
class Hint:
    """A way out in words, and what could be written instead: at `place`, or at that of the problem."""

    words: str
    replacements: tuple[str, ...] = ()
    place: Span | None = None

    def __str__(self) -> str:
        return self.words


def write(text: str, rest: str = "") -> Hint:
    """The hint to write something else.

    >>> write("b[]", ", as b is a list")
    Hint(words='write b[], as b is a list', replacements=('b[]',), place=None)
    """
    return Hint(f"write {text}{rest}", (text,))


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
    fixes: tuple[Fix, ...] = ()

    def __post_init__(self) -> None:
        assert self.code in CATALOGUE, f"{self.code} is not in the catalogue"
        message = _QUOTED_TWICE.sub(r"`\1`", self.message)
        object.__setattr__(self, "message", _LONG_WORD.sub(_cut, message))

    @property
    def severity(self) -> str:
        """`warning` for a query that can be run as it is, else `error`."""
        return "warning" if self.code.startswith("NEEL6") else "error"


def diagnostic(code: str, message: str, span: Span, hint: Hint | str | None = None) -> Diagnostic:
    """The diagnostic with what its hint proposes."""
    if not isinstance(hint, Hint):
        return Diagnostic(code, message, span, hint)
    fixes = tuple(Fix(hint.place or span, text) for text in hint.replacements)
    return Diagnostic(code, message, span, hint.words, fixes)


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
        """The code of the first diagnostic, as PySpark's exceptions do."""
        return self.diagnostics[0].code

    def getSqlState(self) -> str:
        """SQLSTATE: what kind of error it is, in SQL's own terms."""
        return SQL_STATES[self.getCondition()[4]]

    def getMessageParameters(self) -> dict[str, str]:
        """The record of the first diagnostic, as `as_record` has it, in texts."""
        record = as_record(self.diagnostics[0], self.source)
        return {key: str(value) for key, value in record.items() if isinstance(value, str | int)}

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
    >>> _excerpt("x" * 400, 0, Span(0, 300))[2]
    '...'
    """
    end = start + span.end - span.start
    before, marked, after = line[:start], line[start:end], line[end:]
    if len(line) > MAX_LINE:
        room = MAX_LINE // 2
        before = "..." + before[3 - room :] if len(before) > room else before
        after = "..." if len(marked) > room else after
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
        "fixes": [_fix_record(fix, source) for fix in diagnostic.fixes],
    }


def _fix_record(fix: Fix, source: Source) -> dict[str, object]:
    place = source.position(fix.span.start)
    return {
        "title": fix.title,
        "line": place.line,
        "column": place.column,
        "length": fix.span.end - fix.span.start,
        "text": fix.text,
    }
