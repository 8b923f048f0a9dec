"""Where the text of a command goes: to standard output or, whole or not at all, to a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.files import CallError, write_whole

if TYPE_CHECKING:
    from neelc.data.inputs import Inputs

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


def refuse_inputs(inputs: Inputs, options: argparse.Namespace) -> None:
    """Refuse to write where a script's data, or other files of the call, are read: they would be replaced, or
    read again as data by the next run."""
    for option, output in (("-o", "output"), ("--report", "report")):
        target = getattr(options, output, None)
        if target is None or target == STANDARD:
            continue
        for what, path in _read(inputs, options):
            how = _meets(target, path)
            if how is not None:
                raise CallError(f"{options.command} {option} {target}: {how} {path}, {what}")


def _read(inputs: Inputs, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """What a call reads: what it is, and its path."""
    from neelc.data.inputs import location_of
    from neelc.ir.names import bare
    from neelc.ir.script import CreateStream

    if options.file != STANDARD:
        yield "the script", options.file
    yield from (("which --aggregates reads", path) for path in options.aggregates)
    if getattr(options, "stats", None):
        yield "which --stats reads", options.stats
    declared = [s.name for s in inputs.script.statements if isinstance(s, CreateStream)]
    for name in dict.fromkeys([*(one.name for one in inputs.given), *map(bare, declared)]):
        location = location_of(inputs, name)
        if location is not None:
            is_there = "://" in location.name
            yield f"the data of stream {name}", location.name if is_there else str(location.path)


def _meets(target: str, source: str) -> str | None:
    """How an output and an input meet; None if they do not. Links are followed.

    >>> _meets("data", "data/2024.csv"), _meets("data/new.csv", "data"), _meets("s3://b/x", "s3://b/x/y")
    ('it contains', 'it is inside', 'it contains')
    >>> _meets("data.csv", "data") is _meets("s3://b/x", "s3://b/xy") is None
    True
    """
    written, read = _place(target), _place(source)
    if written == read or _is_same_file(target, source):
        return "it is"
    if written == read[: len(written)]:
        return "it contains"
    return "it is inside" if read == written[: len(read)] else None


def _place(path: str) -> tuple[str, ...]:
    """The steps to a file, from the root or from the bucket on."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path:
        return tuple(part for part in path.split("/") if part)
    return Path(path).resolve().parts


def _is_same_file(left: str, right: str) -> bool:
    """Whether two names lead to one file: by links of all kinds, or where case does not count."""
    try:
        return Path(left).samefile(right)
    except (OSError, ValueError):
        return False


def put(text: str, output: str | None) -> None:
    """Write a text to where it is wanted."""
    if output is None or output == STANDARD:
        sys.stdout.write(text)
    else:
        write_whole(Path(output), text)
        print(f"{output}: written", file=sys.stderr)
