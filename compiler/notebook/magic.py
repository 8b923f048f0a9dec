"""`%%neel`: a cell of a notebook that is a script."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from neelc.api.compiling import Settings
from neelc.api.errors import run_error
from neelc.api.host import HostQuery
from neelc.api.query import Query, Text
from neelc.api.streams import Frame
from neelc.errors import NeelError, as_html, render_all
from neelc.files import CallError
from neelc.notebook.asking import arguments, session_of
from neelc.notebook.options import options_of, usage
from neelc.notebook.rows import Rows, first_rows


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext neelc` calls."""
    shell.register_magic_function(NeelMagic(shell), "line_cell", "neel")


@dataclass(frozen=True, repr=False)
class Explained:
    """An explanation: a page where there is HTML, else text."""

    text: Text
    page: Text

    def __repr__(self) -> str:
        return str(self.text)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


class NeelMagic:
    """What `%%neel` and `%neel` call."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.__doc__ = usage()  # `%%neel?` shows it

    def __call__(self, line: str, cell: str | None = None) -> Rows | Explained | None:
        with _told():
            # A line has no options: quotes of the query would be taken for those of a shell.
            return self._run(line if cell is None else cell, options_of(line if cell is not None else ""))

    def _run(self, text: str, options: argparse.Namespace) -> Rows | Explained | None:
        variables = self.shell.user_ns
        session = session_of(variables, options.session)
        # A text that is not trusted could read every variable of the notebook as a parameter.
        visible = {} if session.untrusted else variables
        query = session._compiled(text, arguments(text, visible), Settings(), {})
        frame = query.to_df()
        if not options.explain:  # an explanation has the warnings itself
            _warn(query)
        if options.view:
            frame.createOrReplaceTempView(options.view)
        if options.output:
            self.shell.push({options.output: frame})
        if options.explain:
            return _explained(query)
        return _ran(frame, options.limit) if options.limit else None


@contextmanager
def _told() -> Iterator[None]:
    """Diagnostics are shown as such, and the cell has failed: those behind it do not run."""
    try:
        yield
    except NeelError as error:
        display({"text/html": error._repr_html_(), "text/plain": str(error)}, raw=True)
        error.is_shown = True
        raise
    except (CallError, ValueError) as error:
        raise UsageError(str(error)) from None


def _warn(query: Query | HostQuery) -> None:
    if query.warnings:
        text = render_all(query.warnings, query.text)
        display({"text/html": as_html(text), "text/plain": text}, raw=True)


def _explained(query: Query | HostQuery) -> Explained:
    text = query.explain()
    return Explained(text, query.explain(format="html") if isinstance(query, Query) else text)


def _ran(frame: Frame, most: int) -> Rows:
    """The rows; what fails on the way is told in a sentence, without the stack of all that was between."""
    try:
        return first_rows(frame, most)
    except Exception as error:
        failure = None if isinstance(error, NeelError) else run_error(error)
        if failure is None:
            raise
        raise failure from error
