"""Exceptions and warnings of the library: the query is wrong, its run failed, or it might not be meant."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from neelc.api.causes import cause_of, cut, shortened
from neelc.codes import CATALOGUE
from neelc.errors import Diagnostic, NeelError, render
from neelc.files import CallError
from neelc.ir.datetime_patterns import EXAMPLE
from neelc.runtime.failures import AGGREGATE, SKIP, parse_failure, window_text
from neelc.source import Source, Span

_CODES = {AGGREGATE: "NEEL5008", SKIP: "NEEL5009"}

# What an expression says that refuses a value, in whatever Spark wraps around it.
_SAID = re.compile(r"\b(NEEL5\d{3}): (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)

# The files of neelc: a warning points at the first line outside of them.
_INSIDE = str(Path(__file__).parents[1])

# What was warned of and need not be told again, unless a filter of Python's asks for it.
_told: set[tuple[str, str]] = set()


class NeelWarning(UserWarning):
    """A query that is valid, but probably not intended. `code` is the code, `diagnostic` all that is known,
    `source` the text of the query; the warning's own text shows the place in it."""

    def __init__(self, diagnostic: Diagnostic, source: Source) -> None:
        super().__init__(render(diagnostic, source))
        self.diagnostic, self.source = diagnostic, source

    @property
    def code(self) -> str:
        return self.diagnostic.code


def warn_of(diagnostics: Iterable[Diagnostic], source: Source) -> None:
    """Warn the caller of neelc, through Python's `warnings`, of each once for the same text."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    module = str(frame.f_globals.get("__name__", "<unknown>"))
    for diagnostic in diagnostics:
        warning = NeelWarning(diagnostic, source)
        key = (str(warning), source.text)
        action = _action(str(warning), module, frame.f_lineno)
        # Python forgets what it has shown whenever somebody changes a filter, as many packages do in passing:
        # it would tell the same in each turn of a loop.
        if key in _told and action not in ("always", "all", "error"):
            continue
        if action != "ignore":
            _told.add(key)
        warnings.warn_explicit(warning, NeelWarning, frame.f_code.co_filename, frame.f_lineno, module, {})


def _action(text: str, module: str, line: int) -> str:
    """What the filters of Python's say of such a warning."""
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
    """The query is wrong, or does not fit its data: found before anything runs."""


class NeelRunError(NeelError):
    """A run failed. `kind` tells a worker's failure for programs, `part` is the part of the pattern, `key`
    the key's columns and values, `window` which window of it, `number` what was reached where `limit` is
    allowed; None where they are not known. Spark's own exception is the `__cause__`."""

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
        said = {name: text for name, text in known.items() if text}
        return {"message": self.diagnostics[0].message, **said}

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
    """What the compiler raises, as the library tells it: wrong queries, and wrong calls as `ValueError`."""
    try:
        yield
    except NeelRunError:
        raise
    except NeelError as error:
        raise NeelQueryError(error.diagnostics, error.source) from None
    except CallError as error:
        raise ValueError(str(error)) from None


def explain_failure(exception: BaseException) -> NeelRunError | None:
    """What went wrong in a pattern, in its data or in a worker, if `exception`, raised by an action of Spark,
    tells of it.

    A query's DataFrame is one of Spark's: what fails when it runs raises Spark's exception, with a stack of
    all that was between. This finds the sentence of neelc in it.
    """
    text = str(exception)
    facts = parse_failure(text)
    said = _SAID.search(text)
    if facts is not None:
        found = _worker_failure(facts)
    elif said is not None and said[1] in CATALOGUE:
        found = NeelRunError(cut(said[2].rstrip()) + _way_out(said[2]), said[1])
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


def run_error(exception: Exception) -> NeelRunError | None:
    """What failed, of neelc's or of Spark's, in a few words; None if neither of them raised the exception."""
    found = explain_failure(exception)
    if found is None and type(exception).__module__.split(".")[0] in ("pyspark", "py4j"):
        found = NeelRunError(shortened(str(exception)))
        found.__cause__ = exception
    return found
