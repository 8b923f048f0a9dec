"""Exceptions of the library: the query is wrong, or its run failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from neelc.errors import CATALOGUE, Diagnostic, NeelError
from neelc.files import CallError
from neelc.runtime.failures import parse_failure
from neelc.source import Source, Span

# What an expression says that refuses a value, in whatever Spark wraps around it.
_ABSENT = "ModuleNotFoundError: No module named 'neelc"
_SAID = re.compile(r"\b(NEEL5\d{3}): (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


class NeelQueryError(NeelError):
    """The query is wrong, or does not fit its data: found before anything runs."""


class NeelRunError(NeelError):
    """A run failed. `kind` tells a worker's failure for programs, `part` is the part of the pattern and `key`
    the key's columns and values; None where they are not known. Spark's own exception is the `__cause__`."""

    def __init__(
        self,
        message: str,
        code: str = "NEEL5101",
        kind: str | None = None,
        part: str | None = None,
        key: Mapping[str, str | None] | None = None,
    ) -> None:
        self.kind, self.part, self.key = kind, part, dict(key or {})
        self.diagnostics = (Diagnostic(code, message, Span(0, 1)),)
        self.source = Source("", "run")
        Exception.__init__(self, "\n".join([f"error[{code}]: {message}", *self._places()]))

    def getMessageParameters(self) -> dict[str, str]:
        """What is known of the failure: `message`, `kind`, `part` and `key`."""
        known = {"kind": self.kind, "part": self.part, "key": self._key_text()}
        said = {name: text for name, text in known.items() if text}
        return {"message": self.diagnostics[0].message, **said}

    def _places(self) -> Iterator[str]:
        """Where that was, for people."""
        if self.part:
            yield f"  = part: {self.part}"
        if self.key:
            yield f"  = key: {self._key_text()}"

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
    """What went wrong in a pattern, if `exception`, raised by an action of Spark, tells of such a failure.

    A query's DataFrame is one of Spark's: what fails when it runs raises Spark's exception, with a stack of
    all that was between. This finds the sentence of neelc in it.
    """
    text = str(exception)
    facts = parse_failure(text)
    said = _SAID.search(text)
    if facts is not None:
        found = _worker_failure(facts)
    elif said is not None and said[1] in CATALOGUE:
        found = NeelRunError(said[2].rstrip(), said[1])
    elif _ABSENT in text:
        found = NeelRunError(
            "the Python of Spark's workers has no neelc: install it there, or name one that has it in "
            "PYSPARK_PYTHON before Spark starts"
        )
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
    return NeelRunError(
        str(facts["message"]),
        kind=str(facts["kind"]),
        part=None if part is None else str(part),
        key=key if isinstance(key, Mapping) else None,
    )


def run_error(exception: Exception) -> NeelRunError | None:
    """What failed, of neelc's or of Spark's, in a few words; None if neither of them raised the exception."""
    found = explain_failure(exception)
    if found is None and type(exception).__module__.split(".")[0] in ("pyspark", "py4j"):
        found = NeelRunError(shortened(str(exception)))
        found.__cause__ = exception
    return found


def shortened(text: str) -> str:
    r"""The line of Spark's exception that says what is wrong: the last one of a Python stack, the first cause
    of one of Java's, else the first line.

    >>> shortened("Traceback (most recent call last):\n  File 'x.py'\nKeyError: 'a'\n\n\tat org.apache.spark")
    "KeyError: 'a'"
    >>> shortened("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: file:/x.'
    >>> shortened("An error occurred while calling o1.load.\n: a.B: it\n\tat C\nCaused by: d.E: why\n\tat F")
    'why'
    """
    causes = re.findall(r"^(?:Caused by)?: [\w.$]+: (.*)$", text, re.MULTILINE)
    if text.startswith("An error occurred while calling") and causes:
        text = causes[-1]
    stack = text.partition("Traceback (most recent call last):")[2].partition("\n\tat ")[0]
    lines = [line for line in (stack or text).splitlines() if line.strip()]
    plain = [line for line in lines if line[0] not in " \t"] or lines or ["unknown"]
    said = re.sub(r" SQLSTATE: \w+", "", re.sub(r"^\[[A-Z_.0-9]+\] ", "", plain[-1 if stack else 0].strip()))
    return said if len(said) <= 400 else said[:400] + " ..."
