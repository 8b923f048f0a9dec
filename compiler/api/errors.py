"""Exceptions and warnings of the library: the query is wrong, its run failed, or it might not be meant."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from neelc.errors import CATALOGUE, Diagnostic, NeelError, render
from neelc.files import CallError
from neelc.runtime.failures import AGGREGATE, PACKAGE, SKIP, STATE, parse_failure, window_text
from neelc.runtime.values.datetime_patterns import EXAMPLE
from neelc.source import Source, Span

# What Spark's exceptions report about files and workers, in a sentence that says what to do.

MOST = 400
"""Characters of a sentence of Spark's: it may hold a whole record."""

_FILE = re.compile(r"Encountered error while reading file (?:file:(?://)?)?(.+?)\.(?=\s)")
_FIELD = re.compile(r"Cannot parse the value '(.*?)' of the field `(.*?)` as target spark data type (\w+)")
_MALFORMED = re.compile(r"\[MALFORMED_\w*RECORD")
_ABSENT = re.compile(r"No module named '(neelc|numpy|pyarrow|pandas)\b|\[PACKAGE_NOT_INSTALLED\] (\w+)")
_OTHER_PYTHON = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\].*?different version: (\S+) than that in driver: (\S+?),"
)
_NO_PYTHON = re.compile(r'Cannot run program "(.*?)"(?=.*PythonWorkerFactory)', re.DOTALL)

_CAUSE = re.compile(r"^Caused by: .*(?:\n(?!\s+at |\s+\.\.\. |Caused by: ).*)*", re.MULTILINE)
"""In a stack of Java's; some messages have several lines."""
_HEADER = re.compile(
    r"Header length: (\d+), schema size: (\d+)|^Expected: (.*) but found: (.*)$", re.MULTILINE
)

_INSTALL = "install {} there, or name a Python that has it in PYSPARK_PYTHON before Spark starts"
_SHIP = "neelc.ship(spark), or neelc run --ship, puts it there for the session; or "
_MESSAGES = {
    "Python worker exited unexpectedly": (
        "a Python worker of Spark ended in the middle of its work: it was killed, or there was not enough "
        "memory for it; with fewer tasks at a time, as in local[1], there is more for each"
    ),
    "No space left on device": (
        "no space left on a disk: that of the output, of the checkpoint, or of temporary files "
        "(spark.local.dir on Spark, TMPDIR on the local engine)"
    ),
}

_TYPES = {"LongType": "BIGINT", "IntegerType": "INT", "ShortType": "SMALLINT", "ByteType": "TINYINT"}


class Cause(NamedTuple):
    code: str
    message: str


def cause_of(text: str) -> Cause | None:
    """The problem with a file or the workers in the text of an exception; None if it is about neither."""
    if file := _FILE.search(text):
        return _unreadable(text, file[1])
    if absent := _ABSENT.search(text):
        return _absent((absent[1] or absent[2]).lower())
    if program := _NO_PYTHON.search(text):
        way_out = _INSTALL.format("neelc")
        return Cause("NEEL5101", f"the Python of Spark's workers, {program[1]}, cannot be started: {way_out}")
    if other := _OTHER_PYTHON.search(text):
        return Cause("NEEL5103", other_python(other[1], other[2]))
    return next((Cause("NEEL5101", message) for words, message in _MESSAGES.items() if words in text), None)


def _absent(package: str) -> Cause:
    """
    >>> _absent("numpy").message.partition(" there")[0]
    "the Python of Spark's workers has no numpy: install numpy"
    """
    way_out = (_SHIP if package == "neelc" else "") + _INSTALL.format(package)
    return Cause("NEEL5102", f"the Python of Spark's workers has no {package}: {way_out}")


def other_python(there: str, here: str) -> str:
    """Spark sends functions between equal versions of Python only."""
    way_out = f"name a Python {here} in PYSPARK_PYTHON before Spark starts, or come with a Python {there}"
    return f"Spark's workers have Python {there}, and here is {here}: {way_out}"


def _unreadable(text: str, file: str) -> Cause:
    r"""
    >>> begin = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///data/x.json.  \n"
    >>> value = "the value 'much' of the field `price` as target spark data type DoubleType"
    >>> _unreadable(f"{begin}Caused by: a.B: [C] Cannot parse {value} from", "/data/x.json").message
    '`much` is not of type DOUBLE (column `price` of /data/x.json)'
    >>> _unreadable(begin + "Caused by: a.B: page is bad", "/data/x.json").message
    '/data/x.json cannot be read: page is bad'
    >>> number = "Caused by: a.B: Number of column in CSV header\n Header length: 3, schema size: 5"
    >>> _unreadable(begin + number, "/data/x.csv").message
    'the header of /data/x.csv does not have the columns of the stream: 3 instead of 5'
    >>> other = "Caused by: a.B: CSV header does not conform\n Header: a\nExpected: kind but found: type"
    >>> _unreadable(begin + other, "/data/x.csv").message.partition(": ")[2]
    '`type` where `kind` is declared'
    """
    if field := _FIELD.search(text):
        value, column, type = field.groups()
        expected = _TYPES.get(type, type.removesuffix("Type").upper())
        return Cause("NEEL5003", f"`{cut(value)}` is not of type {expected} (column `{column}` of {file})")
    if "CSV header" in text and (header := _HEADER.search(text)):
        found, declared, expected, instead = header.groups()
        differ = (
            f"`{instead}` where `{expected}` is declared" if expected else f"{found} instead of {declared}"
        )
        return Cause("NEEL5001", f"the header of {file} does not have the columns of the stream: {differ}")
    causes = [cut(plain(cause)) for cause in causes_in(text)]
    why = causes[-1] if causes else ""
    code = "NEEL5004" if _MALFORMED.search(text) else "NEEL5001"
    return Cause(code, why if file in why else f"{file} cannot be read{': ' if why else ''}{why}")


def causes_in(text: str) -> list[str]:
    """What the causes of one of Java's exceptions say, the first cause last."""
    return re.findall(r"^Caused by: [\w.$]+: (.*)$", text, re.MULTILINE)


def with_causes(exception: BaseException) -> str:
    """What an exception says, and what its causes in Java say: those of a streaming query are not in its text
    unless spark.sql.pyspark.jvmStacktrace.enabled is set."""
    text = without_plan(str(exception))
    causes: list[str] = []
    known: BaseException | None = exception
    while known is not None:
        stack = getattr(known, "_stackTrace", None) or ""
        causes += [cause for cause in _CAUSE.findall(stack) if cause not in text and cause not in causes]
        known = getattr(known, "_cause", None)
    return "\n".join([text, *causes])


def without_plan(text: str) -> str:
    r"""What a streaming query failed with, without its plan, which has the messages of all that might fail.

    >>> without_plan("no\n=== Streaming Query ===\n raise_error(NEEL5090: x)\n\nJVM stacktrace:\na.B: y")
    'no\n\nJVM stacktrace:\na.B: y'
    """
    return re.sub(r"\n=== Streaming Query ===\n.*?(?=\n\nJVM stacktrace:|\Z)", "", text, flags=re.DOTALL)


def plain(text: str) -> str:
    """The sentence without the class and the state that Spark puts around it.

    >>> plain("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: /x.'
    """
    sentence = re.sub(r" SQLSTATE: \w+", "", re.sub(r"^\[[A-Z_.0-9]+\] ", "", text.strip()))
    return re.sub(r"\bfile:(//)?(?=/)", "", sentence)


def cut(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + " ..."


def shortened(text: str) -> str:
    r"""The line of Spark's exception that says what is wrong: the last one of a Python stack, the first cause
    of one of Java's, else the first line.

    >>> shortened("Traceback (most recent call last):\n  File 'x.py'\nKeyError: 'a'\n\n\tat org.apache.spark")
    "KeyError: 'a'"
    >>> shortened("An error occurred while calling o1.load.\n: a.B: it\n\tat C\nCaused by: d.E: why\n\tat F")
    'why'
    """
    causes = re.findall(r"^(?:Caused by)?: [\w.$]+: (.*)$", text, re.MULTILINE)
    if text.startswith("An error occurred while calling") and causes:
        text = causes[-1]
    stack = text.partition("Traceback (most recent call last):")[2].partition("\n\tat ")[0]
    lines = [line for line in (stack or text).splitlines() if line.strip()]
    flush = [line for line in lines if line[0] not in " \t"] or lines or ["unknown"]
    return cut(plain(flush[-1 if stack else 0]))


_CODES = {AGGREGATE: "NEEL5008", PACKAGE: "NEEL5093", SKIP: "NEEL5009", STATE: "NEEL5091"}

# The message of an expression that refuses a value, in whatever Spark wraps around it.
_REFUSAL = re.compile(r"\b(NEEL5\d{3}): (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)

# The files of neelc: a warning points at the first line outside of them.
_INSIDE = str(Path(__file__).parents[1])

# Warnings already shown: not repeated, unless one of Python's filters requests it.
_shown: set[tuple[str, str]] = set()


class NeelWarning(UserWarning):
    """A query that is valid, but probably not intended. The text of the warning shows the place in the query.

    Attributes
    ----------
    code : str
        The code, such as `NEEL6003`.
    diagnostic : Diagnostic
        All that is known: `message`, `line`, `column`, `hint`, `fixes`.
    source : Source
        The text of the query.

    Examples
    --------
    >>> import neelc
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always", neelc.NeelWarning)
    ...     matches = neelc.local().sql("PATTERN SEQ(Login a, Login b)", Login=[{"ts": 1}])
    >>> sorted({one.message.code for one in found})
    ['NEEL6001', 'NEEL6003']
    """

    def __init__(self, diagnostic: Diagnostic, source: Source) -> None:
        super().__init__(render(diagnostic, source))
        self.diagnostic, self.source = diagnostic.placed(source), source

    def __reduce__(self) -> tuple[object, ...]:
        return NeelWarning, (self.diagnostic, self.source)

    @property
    def code(self) -> str:
        """The code, such as `NEEL6003`."""
        return self.diagnostic.code


def warn_of(diagnostics: Iterable[Diagnostic], source: Source) -> None:
    """Warn the caller of neelc, through Python's `warnings`, of each once for the same text."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame):
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__", "<unknown>"))
    for diagnostic in diagnostics:
        warning = NeelWarning(diagnostic, source)
        key = (str(warning), source.text)
        action = _action(str(warning), module, frame.f_lineno)
        # Python forgets what it has shown whenever somebody changes a filter, as many packages do in passing:
        # it would repeat the warning in each turn of a loop.
        if key in _shown and action not in ("always", "all", "error"):
            continue
        if action != "ignore":
            _shown.add(key)
        warnings.warn_explicit(warning, NeelWarning, frame.f_code.co_filename, frame.f_lineno, module, {})


def _is_between(frame: FrameType) -> bool:
    """Whether a call is one of neelc, or of a DataFrame that calls what it was given: `transform`, `pipe`."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return frame.f_code.co_filename.startswith(_INSIDE) or package in ("pyspark", "pandas", "polars")


def _action(text: str, module: str, line: int) -> str:
    """The action that Python's filters choose for such a warning."""
    for action, message, category, where, number in warnings.filters:
        if (
            issubclass(NeelWarning, category)
            and (message is None or _matches(message, text))
            and (where is None or _matches(where, module))
            and number in (0, line)
        ):
            return action
    return "default"


def _matches(pattern: str | re.Pattern[str], text: str) -> bool:
    return re.match(pattern, text) is not None


def _way_out(message: str) -> str:
    """How times are written, where a text is none."""
    is_time = " is not of type TIMESTAMP (" in message
    return f"; if it is a time, say how it is written: TIMESTAMP BY ... FORMAT '{EXAMPLE}'" if is_time else ""


class NeelQueryError(NeelError):
    """The query is wrong, or does not fit its data: found before anything runs. See `NeelError`.

    Examples
    --------
    >>> import neelc
    >>> try:
    ...     neelc.local().sql("PATTERN SQE(Login a)", Login=[{"ts": 1}])
    ... except neelc.NeelQueryError as error:
    ...     print(error.getCondition(), error.getSqlState(), error.diagnostics[0].column)
    NEEL1001 42601 9
    """


class NeelRunError(NeelError):
    """A run failed, or the data of a stream cannot be read. See `NeelError`.

    Attributes
    ----------
    kind : str or None
        The kind of a worker's failure, such as `MEMORY`, for programs.
    part : str or None
        The part of the pattern.
    key : dict
        The columns of the key and their values; empty where they are not known.
    window : str or None
        Which window of it.
    number, limit : int or None
        What was reached, and what is allowed.
    __cause__ : BaseException or None
        The exception of Spark or DuckDB.

    Examples
    --------
    >>> import neelc
    >>> @neelc.aggregate(returns="INT")
    ... def broken(values):
    ...     return values[7]
    >>> local = neelc.local()
    >>> local.register_aggregate("broken", broken)
    >>> text = "PATTERN SEQ(Login a, Login{2} b[]) WITHIN 1 HOUR RETURN broken(b[].ts) AS b"
    >>> try:
    ...     local.sql(text, Login=[{"ts": 1}, {"ts": 2}, {"ts": 3}]).collect()
    ... except neelc.NeelRunError as error:
    ...     print(error.getCondition(), error.getSqlState(), type(error.__cause__).__name__)
    NEEL5008 22000 AggregateFailure
    """

    def __init__(
        self,
        message: str,
        code: str = "NEEL5101",
        kind: str | None = None,
        part: str | None = None,
        key: Mapping[str, str | None] | None = None,
        window: str | None = None,
        number: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.kind, self.part, self.key = kind, part, dict(key or {})
        self.window, self.number, self.limit = window, number, limit
        self.diagnostics = (Diagnostic(code, message, Span(0, 1)),)
        self.source = Source("", "run")
        Exception.__init__(self, "\n".join([f"error[{code}]: {message}", *self._places()]))

    def getMessageParameters(self) -> dict[str, str]:
        """What is known of the failure: `message`, `kind`, `part`, `key`, `window`, `number` and `limit`."""
        known = {"kind": self.kind, "part": self.part, "key": self._key_text(), "window": self.window}
        known |= {name: None if n is None else str(n) for name, n in self._numbers()}
        given = {name: text for name, text in known.items() if text}
        return {"message": self.diagnostics[0].message, **given}

    def _places(self) -> Iterator[str]:
        """Where that was, for people."""
        if self.part:
            yield f"  = part: {self.part}"
        if self.key:
            yield f"  = key: {self._key_text()}"
        if self.window:
            yield f"  = window: {self.window}"

    def _numbers(self) -> tuple[tuple[str, int | None], ...]:
        return ("number", self.number), ("limit", self.limit)

    def _key_text(self) -> str:
        pairs = (f"{name} = {'NULL' if text is None else text}" for name, text in self.key.items())
        return ", ".join(pairs)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the compiler's errors as the library's: wrong queries, and wrong calls as `ValueError`."""
    try:
        yield
    except NeelRunError:
        raise
    except NeelError as error:
        found = NeelQueryError(error.diagnostics, error.source)
        found.args = error.args  # which has the errors of all rules
        raise found from None
    except CallError as error:
        raise ValueError(str(error)) from None


def explain_failure(exception: BaseException) -> NeelRunError | None:
    """What went wrong in a pattern, in its data or in a worker: the cause of an exception of Spark.

    A query's DataFrame is one of Spark's: what fails when it runs raises Spark's exception, with a stack of
    all that was between. This finds the sentence of neelc in it.

    Parameters
    ----------
    exception : BaseException
        What an action of Spark has raised.

    Returns
    -------
    NeelRunError or None
        The failure, with the kind, the part of the pattern and the key, as far as they are known; None if the
        exception is about something else.

    Examples
    --------
    >>> import neelc
    >>> print(neelc.explain_failure(RuntimeError("java.io.IOException: No space left on device")))
    error[NEEL5101]: no space left on a disk: that of the output, of the checkpoint, or of temporary files \
(spark.local.dir on Spark, TMPDIR on the local engine)
    >>> neelc.explain_failure(KeyError("user")) is None
    True
    """
    text = with_causes(exception)
    facts = parse_failure(text)
    reported = _REFUSAL.search(text)
    if facts is not None:
        found = _worker_failure(facts)
    elif reported is not None and reported[1] in CATALOGUE:
        found = NeelRunError(cut(reported[2].rstrip()) + _way_out(reported[2]), reported[1])
    elif cause := cause_of(text):
        found = NeelRunError(cause.message, cause.code)
    else:
        return None
    found.__cause__ = exception
    return found


def _worker_failure(facts: Mapping[str, object]) -> NeelRunError:
    """
    >>> print(_worker_failure({"kind": "MEMORY", "message": "too little memory", "part": "A+ a[]"}))
    error[NEEL5101]: too little memory
      = part: A+ a[]
    """
    part, key = facts.get("part"), facts.get("key")
    window, start, number, limit = map(facts.get, ("window", "start", "number", "limit"))
    clock = facts.get("clock")
    return NeelRunError(
        str(facts["message"]),
        _CODES.get(str(facts["kind"]), "NEEL5101"),
        kind=str(facts["kind"]),
        part=None if part is None else str(part),
        key=key if isinstance(key, Mapping) else None,
        window=window_text(_whole(window), _whole(start), None if clock is None else str(clock)),
        number=_whole(number),
        limit=_whole(limit),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


@contextmanager
def reading(stream: str) -> Iterator[None]:
    """What Spark cannot read, as an error that names the stream."""
    try:
        yield
    except Exception as error:
        failure = None if isinstance(error, NeelError) else run_error(error)
        if failure is None:
            raise
        known = failure.getCondition()
        code = "NEEL5001" if known == "NEEL5101" else known
        raise NeelRunError(f"stream `{stream}`: {failure.diagnostics[0].message}", code) from error


@contextmanager
def failing_as_runs_do() -> Iterator[None]:
    """What Spark raises inside, as the error of a run where it is one."""
    try:
        yield
    except Exception as error:
        failure = None if isinstance(error, NeelError) else run_error(error)
        if failure is None:
            raise
        raise failure from error


def run_error(exception: Exception) -> NeelRunError | None:
    """What failed, of neelc's or of Spark's, in a few words; None if neither of them raised the exception."""
    found = explain_failure(exception)
    if found is None and type(exception).__module__.split(".")[0] in ("pyspark", "py4j"):
        found = NeelRunError(shortened(without_plan(str(exception))))
        found.__cause__ = exception
    return found
