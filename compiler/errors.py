"""Diagnostics: what is wrong, where, and what to do about it; and all codes."""

from __future__ import annotations

import re
import string
import sys
import traceback
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from neelc.runtime.late_dataclass import dataclass
from neelc.source import Position, Source, Span

# The codes of all diagnostics, each with its title.
#
# 1xxx syntax, 2xxx names and types, 3xxx pattern semantics, 4xxx planning, 5xxx data and runs, 6xxx
# warnings, 9xxx our own bugs. A new code needs a line here, a case in tests/cases/errors, for a warning in
# tests/cases/lints, and an entry in docs/reference/errors.md; a test compares the three.

CATALOGUE: dict[str, str] = {
    # 1xxx: syntax
    "NEEL1001": "the text is not a valid query",
    "NEEL1002": "unexpected character, or unclosed quote",
    "NEEL1003": "nesting too deep",
    "NEEL1004": "duplicate clause",
    "NEEL1005": "malformed constant, unit or type",
    "NEEL1006": "malformed temporal pattern",
    "NEEL1007": "list variable without a repetition, or repetition without a list variable",
    # 20xx: names
    "NEEL2001": "unknown variable",
    "NEEL2002": "ambiguous name: several unnamed components have this attribute",
    "NEEL2003": "unknown attribute",
    "NEEL2004": "unknown stream",
    "NEEL2005": "unknown type",
    "NEEL2006": "parameter without a value",
    "NEEL2007": "value not allowed for a parameter",
    "NEEL2008": "variable declared twice",
    "NEEL2009": "duplicate column name in a result",
    "NEEL2010": "property of complete matches used outside RETURN",
    "NEEL2011": "attribute with different types in different streams",
    "NEEL2012": "type that no stream in FROM can have",
    "NEEL2013": "column without a type",
    "NEEL2014": "field or element access on a value that has none",
    "NEEL2015": "attribute missing from some of the events",
    "NEEL2016": "attribute not comparable between types",
    "NEEL2050": "measure used where it is not available",
    "NEEL2051": "subquery with several columns where one is expected",
    # 21xx: types and functions
    "NEEL2101": "incompatible types",
    "NEEL2102": "operator not defined for a type",
    "NEEL2103": "condition that is not BOOLEAN",
    "NEEL2104": "unknown function",
    "NEEL2105": "wrong number of arguments",
    "NEEL2106": "unsuitable argument",
    "NEEL2107": "invalid constant",
    "NEEL2108": "impossible cast",
    "NEEL2109": "misplaced aggregate",
    "NEEL2110": "registered aggregate applied to something that is not a list",
    # 22xx: scripts
    "NEEL2201": "name declared twice",
    "NEEL2202": "column declared twice",
    "NEEL2203": "stream without a timestamp",
    "NEEL2204": "clause that names a column the stream does not have",
    "NEEL2205": "column type unsuitable for its role",
    "NEEL2206": "invalid unit for timestamps",
    "NEEL2207": "imprecise timestamps that are not integers",
    "NEEL2208": "type that contains itself",
    "NEEL2209": "stream without columns",
    "NEEL2210": "unknown member of a type",
    "NEEL2212": "query without times used as a stream",
    "NEEL2213": "query whose columns hide its times used as a stream",
    "NEEL2214": "stream listed twice in FROM",
    "NEEL2215": "imprecise timestamps combined with an end",
    "NEEL2216": "impossible statistic",
    "NEEL2217": "duplicate statistic",
    "NEEL2218": "statistic of a type for a stream without types",
    "NEEL2219": "selectivity of several conditions at once",
    "NEEL2220": "source of MATCH_RECOGNIZE with unknown columns",
    "NEEL2070": "FORMAT that is not a datetime pattern",
    "NEEL2071": "FORMAT for a column that is not text",
    "NEEL2221": "query around MATCH_RECOGNIZE rejected by Spark",
    "NEEL2222": "two columns with the same name",
    "NEEL2230": "query around MATCH_RECOGNIZE read as events without declared times",
    "NEEL2231": "times declared for a query that has its own",
    "NEEL2232": "datetime FORMAT for a query",
    "NEEL2240": "watermark that is not a duration",
    "NEEL2250": "THEN BY with imprecise times",
    "NEEL2251": "incompatible THEN BY in the streams of a query",
    "NEEL2260": "hierarchy over something that is not a relation",
    "NEEL2261": "unknown hierarchy or level",
    "NEEL2262": "level or concept of something that has none",
    "NEEL2270": "declaration of a built-in function",
    "NEEL2271": "function declaration that does not fit its function",
    "NEEL2263": "level finer than the attribute",
    # 30xx: the meaning of patterns
    "NEEL3001": "list without a positive part",
    "NEEL3002": "positive part that refers to a negative one",
    "NEEL3003": "condition on two negative parts",
    "NEEL3004": "unbounded negative part",
    "NEEL3005": "misplaced negation",
    "NEEL3006": "negative part of AND_NEG that is not between positive parts",
    "NEEL3007": "EXISTS with an unknown variable",
    "NEEL3008": "EXISTS that drops every variable",
    "NEEL3009": "reference to a variable dropped by EXISTS",
    "NEEL3010": "reference to a closure's variable from outside of the closure",
    "NEEL3011": "list without an index",
    "NEEL3012": "index on something that is not a list",
    "NEEL3013": "index i in RETURN",
    "NEEL3014": "index i over two lists",
    "NEEL3015": "index out of range for every list",
    "NEEL3016": "impossible repetition",
    "NEEL3017": "repetition of a part that can be empty",
    "NEEL3018": "aggregate over all matches in a condition",
    "NEEL3019": "aggregate inside an aggregate",
    "NEEL3020": "aggregates over all matches mixed with values of single matches",
    "NEEL3021": "equality of all events inside another condition",
    "NEEL3022": "selection strategy not defined for this pattern",
    "NEEL3023": "PARTITION CONTIGUITY without a partition",
    "NEEL3025": "COLLAPSED with the closure of a composite",
    "NEEL3026": "window that is not a duration or a number of events",
    "NEEL3027": "window without a unit",
    "NEEL3028": "window in a unit of varying length",
    "NEEL3029": "confidence that is not a probability",
    "NEEL3030": "variable of a negative part in RETURN",
    "NEEL3031": "construct that belongs to another kind of query",
    "NEEL3032": "WITH PARTIAL MATCHES not defined for this query",
    "NEEL3033": "AFTER MATCH SKIP, ONE MATCH PER or SUPPRESS not defined for this query",
    "NEEL3034": "WHEN COMPLETE not defined for this query",
    "NEEL3035": "ORDER BY or LIMIT without meaning for this query",
    "NEEL3040": "NEXT, STRICT, EACH, UNTIL or WITHOUT without meaning in this place",
    "NEEL3041": "query-wide strategy used before a part",
    "NEEL3060": "roll-up or drill-down of something that is not a PATTERN",
    "NEEL3061": "roll-up or drill-down in the wrong direction",
    "NEEL3062": "roll-up or drill-down that changes nothing",
    "NEEL3063": "comparison between different levels",
    "NEEL3070": "relation between values that are not two events with comparable times",
    "NEEL3080": "? between two symbols",
    "NEEL3036": "end of the data that is not a time of the streams",
    "NEEL3081": "aggregate over events that last only one instant",
    "NEEL3090": "repetition with too many elements",
    "NEEL3201": "ambiguous column: several sources have it",
    "NEEL3202": "variable unknown to the row pattern",
    "NEEL3203": "variable of a row pattern defined twice",
    "NEEL3204": "measure without a name",
    "NEEL3205": "exclusion combined with WITH UNMATCHED ROWS",
    "NEEL3206": "misplaced row pattern function",
    "NEEL3207": "column neither grouped nor aggregated",
    "NEEL3208": "PARTITION BY with an expression that cannot divide rows",
    "NEEL3209": "WITHIN without a time in ORDER BY",
    "NEEL3210": "symbols with circular dependencies",
    "NEEL3211": "symbol that depends on a symbol missing from this alternative",
    "NEEL3212": "unsatisfiable temporal pattern",
    "NEEL3213": "two relations between the same two symbols",
    "NEEL3214": "relation between symbols that do not occur",
    "NEEL3215": "value of a symbol that is not a value of one event",
    "NEEL3216": "measure of a symbol that never occurs",
    "NEEL3217": "duration that a symbol cannot have",
    "NEEL3301": "misplaced relation",
    "NEEL3302": "window that is not a whole number of instants",
    "NEEL3303": "ORDER BY or LIMIT on a stream",
    "NEEL3304": "column with the name of a valid-time column",
    "NEEL3305": "aggregate not available on snapshots",
    "NEEL3306": "unknown agent, or agent with another number of streams",
    "NEEL3307": "imprecise times in a SELECT",
    "NEEL3308": "UNION or EXCEPT of incompatible SELECTs",
    # 4xxx: not supported yet
    "NEEL4001": "not supported yet",
    "NEEL4090": "statement too long",
    "NEEL4002": "expected result larger than allowed",
    "NEEL4050": "window function not allowed here",
    "NEEL4051": "ORDER BY inside an aggregate",
    "NEEL4052": "FILTER not supported here",
    "NEEL4053": "subquery not supported in this expression",
    "NEEL4054": "subquery in MATCH_RECOGNIZE that cannot be computed in advance",
    "NEEL4060": "MATCH_RECOGNIZE in a statement that is not a query",
    "NEEL4061": "file access in untrusted text",
    "NEEL4062": "table not given to untrusted text",
    "NEEL4063": "function not allowed in untrusted text",
    "NEEL4064": "operation not allowed in untrusted text",
    "NEEL4130": "unbounded stream not supported here",
    "NEEL4131": "unbounded state",
    "NEEL4132": "rows that are never complete",
    "NEEL4138": "query over an unbounded stream that cannot read another query",
    "NEEL4140": "unbounded stream without a watermark",
    "NEEL4141": "watermark on a column other than the timestamp",
    "NEEL4142": "two watermarks for one stream",
    "NEEL4143": "streaming and bounded data in one query",
    "NEEL4144": "function not available over unbounded streams",
    "NEEL4150": "not supported by the local engine",
    "NEEL4136": "SELECT not supported over unbounded streams",
    "NEEL4134": "rows of a stream not in the order of time",
    "NEEL4135": "condition on the end of an unbounded stream",
    # 5xxx: data and runs
    "NEEL5001": "unreadable data file",
    "NEEL5002": "column missing from the data",
    "NEEL5003": "value that does not fit its column's type",
    "NEEL5004": "malformed data",
    "NEEL5005": "stream without data",
    "NEEL5006": "unknown format or format option",
    "NEEL5007": "too much work for the reference interpreter",
    "NEEL5008": "function of the user failed",
    "NEEL5009": "AFTER MATCH SKIP to a row that does not exist",
    "NEEL5010": "agent failed",
    "NEEL5060": "value with several parents in a hierarchy",
    "NEEL5070": "time outside of the range that can be computed with",
    "NEEL5071": "row of a stream without an event time",
    "NEEL5090": "unreadable record of a stream",
    "NEEL5091": "checkpoint written by another query or another version of neelc",
    "NEEL5093": "shapely not installed",
    "NEEL5101": "run failed",
    "NEEL5102": "package missing on Spark's workers",
    "NEEL5103": "different version of Python or neelc on Spark's workers",
    "NEEL5050": "subquery with several rows where one value is expected",
    # 6xxx: warnings; the query is right, but most likely not what is meant
    "NEEL6001": "leading variable that matches every event",
    "NEEL6002": "unlimited repetition that matches every event",
    "NEEL6003": "pattern without a window",
    "NEEL6004": "condition that is always or never TRUE",
    "NEEL6005": "order or window that no events can satisfy",
    "NEEL6006": "join of events that meet only at equal times",
    "NEEL6007": "relation that these events cannot have",
    "NEEL6010": "repetition that matches every row",
    "NEEL6011": "value of a row that is part of no match",
    "NEEL6130": "negation after a list that does not cover the list",
    "NEEL6131": "type that no event has",
    # 9xxx: our own bugs
    "NEEL9001": "bug in neelc",
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
    position: Position | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        assert self.code in CATALOGUE, f"{self.code} is not in the catalogue"
        message = _QUOTED_TWICE.sub(r"`\1`", self.message)
        object.__setattr__(self, "message", _LONG_WORD.sub(_cut, message))

    @property
    def severity(self) -> str:
        """`warning` for a query that can be run as it is, else `error`."""
        return "warning" if self.code.startswith("NEEL6") else "error"

    @property
    def line(self) -> int | None:
        """The line of the query, from 1; None for a failure that has no place in a text."""
        return None if self.position is None else self.position.line

    @property
    def column(self) -> int | None:
        """The column in that line, from 1; None for a failure that has no place in a text."""
        return None if self.position is None else self.position.column

    def placed(self, source: Source) -> Diagnostic:
        """The same with its line and column in a text."""
        return replace(self, position=source.position(min(self.span.start, len(source.text))))


def diagnostic(code: str, message: str, span: Span, hint: Hint | str | None = None) -> Diagnostic:
    """The diagnostic with what its hint proposes."""
    if not isinstance(hint, Hint):
        return Diagnostic(code, message, span, hint)
    fixes = tuple(Fix(hint.place or span, text) for text in hint.replacements)
    return Diagnostic(code, message, span, hint.words, fixes)


def _cut(word: re.Match[str]) -> str:
    """The beginning of a long word, with the marks that close it."""
    return word[1] + "..." + word[2].lstrip(ALPHANUMERIC)


class ContextType(Enum):
    """What stands for PySpark's `QueryContextType` where PySpark is not loaded."""

    SQL = 0


@dataclass(frozen=True)
class QueryPlace:
    """The place of a diagnostic in its query, with the methods of PySpark's `QueryContext`."""

    source: Source
    span: Span
    text: str

    def contextType(self) -> Any:
        """`QueryContextType.SQL`: the place is in a text."""
        return getattr(sys.modules.get("pyspark.errors"), "QueryContextType", ContextType).SQL

    def objectType(self) -> str:
        """Empty, as the text is no view."""
        return ""

    def objectName(self) -> str:
        """Empty, as the text is no view."""
        return ""

    def startIndex(self) -> int:
        """The index of the first character in the text, from 0."""
        return self.span.start

    def stopIndex(self) -> int:
        """The index of the last character in the text, from 0."""
        return max(self.span.start, self.span.end - 1)

    def fragment(self) -> str:
        """What the query says there."""
        return self.source.text[self.span.start : self.span.end]

    def callSite(self) -> str:
        """Empty, as the place is in a text, not in Python."""
        return ""

    def summary(self) -> str:
        """The diagnostic as text, with the line of the query and a caret."""
        return self.text


class BaseOfErrors(Exception):
    """In place of `PySparkException` where PySpark is not loaded: a class that has a base of its own can be
    given another one."""


class NeelError(BaseOfErrors):
    """What is wrong with a query or with its run. Catch it to catch both `NeelQueryError` and `NeelRunError`.

    Where PySpark is loaded, it is a `PySparkException`: `except PySparkException` catches it, too. It has the
    getters of these: `getCondition`, `getSqlState`, `getMessageParameters`, `getMessage` and
    `getQueryContext`.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        All that was found, in the order of the text. Each has `code`, `message`, `severity`, `line`,
        `column`, `span`, `hint` and `fixes`.
    source : Source
        The text that they are about: `source.text` and `source.name`.

    Examples
    --------
    >>> import neelc
    >>> try:
    ...     neelc.local().sql("PATTERN SEQ(Login a, Login b) WHERE c.ts > 1", Login=[{"ts": 1}])
    ... except neelc.NeelError as error:
    ...     found = error.diagnostics[0]
    >>> found.code, found.message, found.line, found.column, found.hint
    ('NEEL2001', 'unknown pattern variable `c`', 1, 37, 'variables in scope: a, b')
    """

    is_shown = False
    """Whether a notebook shows the diagnostics already."""

    def __new__(cls, *_: object, **__: object) -> NeelError:
        join_pyspark()
        return super().__new__(cls)

    def __init__(self, diagnostics: Iterable[Diagnostic], source: Source) -> None:
        found = sorted(diagnostics, key=lambda d: (d.span, d.code, d.message))
        self.diagnostics = tuple(one.placed(source) for one in found)
        self.source = source
        Exception.__init__(self, render_all(self.diagnostics, source))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return Exception.__str__(self)

    def getCondition(self) -> str:
        """The code of the first diagnostic, such as `NEEL2001`."""
        return self.diagnostics[0].code

    def getSqlState(self) -> str:
        """The SQLSTATE of the first diagnostic: `42601` syntax, `42000` names, types and patterns, `0A000`
        not supported, `22000` data and runs."""
        return SQL_STATES[self.getCondition()[4]]

    def getMessageParameters(self) -> dict[str, str]:
        """What is known of the first diagnostic, as texts: `message`, `hint`, `line`, `column` and more."""
        record = as_record(self.diagnostics[0], self.source)
        return {key: str(value) for key, value in record.items() if isinstance(value, str | int)}

    def getMessage(self) -> str:
        """All diagnostics as text, each with the line of the query and a caret."""
        return str(self)

    def getQueryContext(self) -> list[QueryPlace]:
        """The places of the diagnostics in the query, one for each: `fragment()`, `startIndex()`,
        `stopIndex()`, `summary()`. Empty for a failed run."""
        return [
            QueryPlace(self.source, one.span, render(one, self.source))
            for one in self.diagnostics
            if one.position is not None
        ]

    def getBreakingChangeInfo(self) -> None:
        """None, as no error of neelc is about a change in Spark."""
        return None

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of the stack: the lines of the caller, and what is wrong."""
        if self.is_shown:
            return [f"{type(self).__name__}: {str(self).splitlines()[0]}"]
        callers = [one for one in traceback.extract_tb(self.__traceback__) if not _is_inside(one.filename)]
        lines = [f"line {one.lineno}: {one.line}" for one in callers]
        return [*lines, *str(self).splitlines()]


def _unpickled(kind: type[NeelError], args: tuple[object, ...], state: Mapping[str, object]) -> NeelError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


def join_pyspark() -> None:
    """Make `NeelError` a `PySparkException` if PySpark is loaded: nobody else can catch it as one.

    `except` looks at the bases that a class has, so that a virtual subclass would not do. And nothing here
    imports PySpark, which takes longer than a query on the local engine.
    """
    errors = sys.modules.get("pyspark.errors")
    base, context = getattr(errors, "PySparkException", None), getattr(errors, "QueryContext", None)
    if base is None or context is None or issubclass(NeelError, base):
        return
    # An error must be reported even where Python refuses this.
    with suppress(TypeError):
        NeelError.__bases__ = (base,)
        context.register(QueryPlace)


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
    from html import escape  # it loads the names of all characters

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
