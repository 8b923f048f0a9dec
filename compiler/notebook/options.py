"""The options of a cell of `%%neel`."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from neelc.files import CallError

LIMIT = 20

DESCRIPTION = """Run a script and show the first rows of its last query.

It reads the tables and views of Spark and the streams of a neelc.Session: that of the variable `neel`, if
there is one. Its parameters, `:name`, are variables of the notebook. `%neel QUERY` runs one line."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CallError(message)


def parser() -> Parser:
    shape = argparse.RawDescriptionHelpFormatter
    made = Parser("%%neel", description=DESCRIPTION, formatter_class=shape, add_help=False)
    made.add_argument("-v", "--view", metavar="VIEW", help="register the result as a temporary view")
    made.add_argument("-o", "--output", metavar="VAR", help="put its DataFrame into a variable")
    made.add_argument(
        "-l", "--limit", type=int, default=LIMIT, help=f"rows to show ({LIMIT}); 0: run nothing"
    )
    made.add_argument("-s", "--session", metavar="VAR", help="the neelc.Session whose streams are read")
    made.add_argument("--explain", action="store_true", help="show why it is executed as it is; run nothing")
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
