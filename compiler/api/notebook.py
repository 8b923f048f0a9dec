"""Notebooks: `%load_ext neelc` and the cells of `%%neel`. IPython is imported by this package alone."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from neelc.api.errors import failing_as_runs_do, translated
from neelc.api.local import LocalSession, local
from neelc.api.local_frame import LocalFrame
from neelc.api.query import DisplayText, Query
from neelc.api.schemas import clock_of, type_of, value_of
from neelc.api.session import Session
from neelc.api.streams import Frame
from neelc.arguments import Options
from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned
from neelc.engines.local.given import UnreadableData
from neelc.errors import NeelError, as_html, render_all
from neelc.explain.html import escape, tag
from neelc.files import CallError
from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.parameters import parameters_of
from neelc.source import Source
from neelc.syntax import read

# The Spark session that is there already.


def active_session() -> Frame | None:
    """The active session, classic or Connect; None if nobody has started one. This starts none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


# What a cell of a notebook asks: which session, with which arguments.

USUAL = "neel"
"""The variable whose session is taken, if it has one and the cell names none."""


def session_of(variables: Mapping[str, object], name: str | None) -> Session:
    """The session of a variable, else one of the active Spark session without any streams of its own, else a
    local one. Queries of a local session find streams among the variables.

    >>> session_of({"spark": 1, "trades": 2}, "trades")
    Traceback (most recent call last):
    neelc.files.CallError: -s trades: no neelc.Session, but of type int
    """
    found = variables.get(name or USUAL)
    if isinstance(found, Session):
        return found.reading(variables) if isinstance(found, LocalSession) else found
    if name is not None:
        is_there = f"no neelc.Session, but of type {type(found).__name__}"
        raise CallError(f"-s {name}: {is_there if name in variables else 'no such variable'}")
    spark: Any = active_session() or variables.get("spark")
    return _local_session().reading(variables) if spark is None else Session(spark)


@cache
def _local_session() -> LocalSession:
    """One for all cells: processes that work on large data are started once."""
    return local()


def arguments(text: str, variables: Mapping[str, object]) -> dict[str, object]:
    """The values of the script's parameters, from variables of the same names; what has none is left out.

    >>> arguments("PATTERN A a WHERE a.x > :least WITHIN :w", {"least": 3, "other": 4})
    {'least': 3}
    """
    source = Source(text)
    with translated():
        names = parameters_of(read(source))
    return {name: variables[name] for name in names if name in variables}


# The options of a cell of `%%neel`.

LIMIT = 20

DESCRIPTION = """Run a script and show the first rows of its last query.

It reads the tables and views of Spark and the streams of a session: that of the variable `neel`, if there is
one. Where no session of Spark is active, the local engine runs it, and streams are files or variables of the
notebook: tables of pandas, polars, Arrow or DuckDB. Its parameters, `:name`, are variables of the notebook.
`%neel QUERY` runs one line."""


class MagicParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CallError(message)


def parser() -> MagicParser:
    shape = argparse.RawDescriptionHelpFormatter
    made = MagicParser("%%neel", description=DESCRIPTION, formatter_class=shape, add_help=False)
    made.add_argument("-v", "--view", metavar="VIEW", help="register the result as a temporary view of Spark")
    made.add_argument("-o", "--output", metavar="VAR", help="put the whole result into a variable")
    made.add_argument(
        "-l", "--limit", type=int, default=LIMIT, help=f"rows to show ({LIMIT}); 0: run nothing"
    )
    made.add_argument("-s", "--session", metavar="VAR", help="the session whose streams are read")
    made.add_argument("--explain", action="store_true", help="show how and why it is executed; run nothing")
    return made


def usage() -> str:
    return parser().format_help()


def options_of(line: str) -> argparse.Namespace:
    """What stands behind `%%neel`; `CallError` if it is wrong.

    >>> options_of("-o found --limit 3").limit
    3
    >>> options_of("-o 1x")
    Traceback (most recent call last):
    neelc.files.CallError: -o 1x: no name of a variable
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CallError(f"{line.strip()}: {error}") from None
    options = parser().parse_args(words)
    if options.limit < 0:
        raise CallError(f"-l {options.limit}: a number of rows, 0 or more")
    if options.output is not None and not options.output.isidentifier():
        raise CallError(f"-o {options.output}: no name of a variable")
    return options


# The first rows of a DataFrame, as a notebook shows them.

NULL = "null"


@dataclass(frozen=True, repr=False)
class ResultPreview:
    """Cells as text under the names of their columns; `is_all` if there are no more. `frame` has all."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    is_all: bool
    frame: Frame = field(compare=False, default=None)

    @property
    def count(self) -> str:
        """
        >>> ResultPreview(("a",), (("1",),), True).count, ResultPreview(("a",), (("1",), ("2",)), False).count
        ('1 row', 'the first 2 rows; -l shows more')
        """
        rows = f"{len(self.cells)} row{'' if len(self.cells) == 1 else 's'}"
        return rows if self.is_all else f"the first {rows}; -l shows more"

    def __repr__(self) -> str:
        """
        >>> ResultPreview(("a", "b"), (("10", "x"),), True)
        a   b
        10  x
        (1 row)
        """
        return "\n".join([*aligned([self.names, *self.cells]), f"({self.count})"])

    def _repr_html_(self) -> str:
        """
        >>> ResultPreview(("a",), (("<b>",),), True)._repr_html_().partition("<tbody>")[2]
        '<tr><td>&lt;b&gt;</td></tr></tbody></table><p>1 row</p>'
        """
        head = tag("thead", tag("tr", *(tag("th", escape(name)) for name in self.names)))
        body = (tag("tr", *map(_cell, row)) for row in self.cells)
        return tag("table", head, tag("tbody", *body)) + tag("p", escape(self.count))


def _cell(text: str) -> str:
    # A text that says null is quoted by `cells.render`, so this one is none.
    return tag("td", tag("i", NULL), style="opacity: 0.5") if text == NULL else tag("td", escape(text))


def first_rows(frame: Frame | LocalFrame, most: int, session: Frame) -> ResultPreview:
    """Up to `most` rows, by the clock of a session: what is needed for them runs, and for one more to know
    whether it exists."""
    some = frame.limit(most + 1)
    with clock_of(session):
        texts = _local_texts(some) if isinstance(some, LocalFrame) else _spark_texts(some)
    return ResultPreview(tuple(frame.columns), tuple(texts[:most]), len(texts) <= most, frame)


def _local_texts(frame: LocalFrame) -> list[tuple[str, ...]]:
    types = list(frame.types.values())
    return [tuple(map(cells.render, row, types)) for row in frame.rows()]


def _spark_texts(frame: Frame) -> list[tuple[str, ...]]:
    types = [type_of(field["type"]) for field in frame.schema.jsonValue()["fields"]]
    return [tuple(map(_text, row, types)) for row in frame.collect()]


def _text(value: object, type: DataType | None) -> str:
    """As case files and `neelc run` write it; a type that only Spark has, as Python does.

    >>> _text(None, None), _text((1, 2), None)
    ('null', '(1, 2)')
    """
    if type is None:
        return NULL if value is None else str(value)
    return cells.render(value_of(value, type), type)


# `%%neel`: a cell of a notebook that is a script.


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext neelc` calls."""
    shell.register_magic_function(NeelMagic(shell), "line_cell", "neel")


@dataclass(frozen=True, repr=False)
class NotebookExplanation:
    """An explanation: a page where there is HTML, else text."""

    text: DisplayText
    page: DisplayText

    def __repr__(self) -> str:
        return str(self.text)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


class NeelMagic:
    """What `%%neel` and `%neel` call."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.__doc__ = usage()  # `%%neel?` shows it

    def __call__(self, line: str, cell: str | None = None) -> ResultPreview | NotebookExplanation | None:
        with _errors_shown():
            # A line has no options: quotes of the query would be taken for those of a shell.
            return self._run(line if cell is None else cell, options_of(line if cell is not None else ""))

    def _run(self, text: str, options: argparse.Namespace) -> ResultPreview | NotebookExplanation | None:
        variables = self.shell.user_ns
        session = session_of(variables, options.session)
        # A text that is not trusted could read every variable of the notebook as a parameter.
        visible = {} if session.untrusted else variables
        is_local = isinstance(session, LocalSession)
        if options.view and is_local:
            raise CallError(
                f"-v {options.view}: the local engine has no views; -o {options.view} keeps the result in a "
                f"variable, which other cells can read as a stream"
            )
        query = session._compiled(Source(text), arguments(text, visible), Options(), {})
        frame = query.to_df()
        if not options.explain:  # an explanation has the warnings itself
            _warn(query)
        if options.view:
            frame.createOrReplaceTempView(options.view)
        if options.output:
            self.shell.push({options.output: frame})
        if options.explain:
            return _explained(query)
        if options.limit and not is_local and frame.isStreaming:
            raise CallError(
                "the result is a streaming DataFrame, which has no first rows: keep it with "
                "%%neel -o found -l 0, and start found.writeStream"
            )
        return _ran(frame, options.limit, session.spark) if options.limit else None


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Diagnostics are shown as such, and the cell has failed: those behind it do not run."""
    try:
        yield
    except NeelError as error:
        display({"text/html": error._repr_html_(), "text/plain": str(error)}, raw=True)
        error.is_shown = True
        raise
    except (CallError, ValueError, UnreadableData) as error:
        raise UsageError(str(error)) from None


def _warn(query: Query) -> None:
    if query.warnings:
        text = render_all(query.warnings, query.text)
        display({"text/html": as_html(text), "text/plain": text}, raw=True)


def _explained(query: Query) -> NotebookExplanation:
    text = query.explain()
    return NotebookExplanation(text, query.explain(format="html"))


def _ran(frame: Frame, most: int, session: Frame) -> ResultPreview:
    """The rows; a failure is reported in a sentence, without the stack of all that was between."""
    with failing_as_runs_do():
        return first_rows(frame, most, session)
