"""Where the text of a command goes: to standard output or, whole or not at all, to a file."""

from __future__ import annotations

import sys
from pathlib import Path

from neelc.files import CallError, write_whole

STANDARD = "-"


def check_target(command: str, output: str | None, script: str) -> None:
    """Refuse before the work what cannot, or should not, be written after it."""
    if output is None or output == STANDARD:
        return
    path = Path(output)
    if path.is_dir():
        raise CallError(f"{command} {output}: a directory; this is written to a file")
    if not path.resolve().parent.is_dir():
        raise CallError(f"{output}: cannot be written: No such file or directory")
    if script != STANDARD and path.exists() and Path(script).exists() and path.samefile(script):
        raise CallError(f"{command} {output}: that is the script itself, which would be replaced")


def check_page(command: str, output: str | None, script: str) -> None:
    """The same for a page: what it replaces is one, by its name."""
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise CallError(f"{command} {output}: a page is written to a file that ends in .html")
    check_target(command, output, script)


def put(text: str, output: str | None) -> None:
    """Write a text to where it is wanted."""
    if output is None or output == STANDARD:
        sys.stdout.write(text)
    else:
        write_whole(Path(output), text)
        print(f"{output}: written", file=sys.stderr)
