"""The command line: `check`, `fmt`, `test`, `run`, `stream`, `why`, `explain`, `compile`, `lsp` and `doctor`.

Exit codes: 0 fine, 1 the query is wrong (or a test failed), 2 the call is wrong, 3 the run failed.
Data go to standard output, messages to standard error.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from neelc.cli.internal import internal_error
from neelc.errors import NeelError
from neelc.files import CallError

DESCRIPTION = "Find patterns in streams of events, on a laptop or on Spark."

EPILOG = """examples:
  neelc check hospital.neel           check a script for errors
  neelc fmt --write hospital.neel     format it
  neelc test tests/cases              run case files
  neelc run hospital.neel             print its matches
  neelc run rules/                    run every rule in a directory and print one table
  neelc stream fraud.neel --stream Bank=kafka://localhost:9092/bank --out alerts --checkpoint state
                                      find matches as events arrive
  neelc why hospital.neel --key 7     why does this key match, or not?
  neelc explain hospital.neel         how its queries will run, and why
  neelc compile hospital.neel         print the PySpark source of a query
  neelc lsp                           start the language server for editors
  neelc doctor                        check that Spark can run here

`neelc COMMAND --help` describes a command.
exit codes: 0 success, 1 error in the query, 2 error in the command line, 3 the run failed
"""

# The module of each command, and its line in the list. Modules import what they need when they run.
COMMANDS = {
    "check": ("check", "check scripts for errors"),
    "fmt": ("format", "format scripts"),
    "test": ("test", "run case files"),
    "run": ("run", "run a script and print its matches"),
    "stream": ("stream", "run a script over unbounded streams"),
    "why": ("why", "explain why an event starts a match, or does not"),
    "explain": ("explain", "explain how queries will run, and why"),
    "compile": ("compile", "print the generated code: PySpark, SQL or DuckDB queries"),
    "rules": ("rules_report", "report the cost and the matches of each rule"),
    "lsp": ("lsp", "start the language server: errors as you type, completion, hover"),
    "doctor": ("doctor", "check that Spark can run here"),
}


class _HelpFormat(argparse.RawDescriptionHelpFormatter):
    """Descriptions are filled, lists of examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def parser(selected: str | None = None) -> argparse.ArgumentParser:
    """The command line, with the options of the command `selected`: no module of another is loaded."""
    shape = _HelpFormat
    top = argparse.ArgumentParser("neelc", description=DESCRIPTION, epilog=EPILOG, formatter_class=shape)
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(metavar="COMMAND", dest="command")
    for name, (module, line) in COMMANDS.items():
        if name != selected:
            commands.add_parser(name, help=line)
            continue
        command = import_module(f"neelc.cli.{module}")
        sub = commands.add_parser(
            name, help=line, description=command.DESCRIPTION, epilog=command.EXAMPLES, formatter_class=shape
        )
        command.add(sub)
        sub.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None, own_process: bool = False) -> int:
    """Run one command; gives its exit code. `own_process`: the process ends with it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a narrow terminal must not end a run
    try:
        given = sys.argv[1:] if arguments is None else arguments
        options = parser(next((one for one in given if not one.startswith("-")), None)).parse_args(given)
        if options.version:
            print(f"neelc {version()}")
            return 0
        if options.command is None:
            parser().print_help(sys.stderr)
            return 2
        options.own_process = own_process
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except CallError as error:
        print(f"neelc: {error}", file=sys.stderr)
        return 2
    except NeelError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has left, `| head` for one.
        turn_away_output()
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        what = f"{error.filename}: cannot be written" if error.filename else "cannot write the output"
        print(f"neelc: {what}: {error.strerror}", file=sys.stderr)
        turn_away_output()
        return 3
    except Exception as error:
        print(internal_error(error), file=sys.stderr)
        return 3


def command() -> NoReturn:
    """What the `neelc` of a shell is: run one command, and end the process at once.

    Python would first free all modules and objects one by one, which takes longer than to find the matches of
    a small script.
    """
    # To load neelc and to compile a script makes 200,000 objects, most of which stay: with a threshold of
    # 50,000, the collector goes through them three times, 15 ms each.
    gc.set_threshold(300_000)
    status = main(own_process=True)
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def turn_away_output() -> None:
    """Python would complain again when it flushes standard output at its end."""
    with suppress(OSError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def version() -> str:
    from importlib.metadata import version as installed

    return installed("neelc")


if __name__ == "__main__":
    command()
