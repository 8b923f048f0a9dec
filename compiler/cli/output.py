"""Where the text of a command goes: to standard output or, whole or not at all, to a file."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.catalog.data_files import is_url
from neelc.files import CallError, not_writable, script_files, write_whole
from neelc.ir.names import bare

if TYPE_CHECKING:
    from neelc.catalog.inputs import Inputs

STANDARD = "-"


def check_target(command: str, output: str | None, *scripts: str) -> None:
    """Refuse before the work what cannot, or should not, be written after it."""
    if output is None or output == STANDARD:
        return
    path = Path(output)
    if path.is_dir():
        raise CallError(f"{command} {output}: a directory; this is written to a file")
    if not path.resolve().parent.is_dir():
        raise CallError(f"{output}: cannot be written: No such file or directory")
    for script in scripts:
        if script != STANDARD and path.exists() and Path(script).exists() and path.samefile(script):
            raise CallError(f"{command} {output}: that is the script itself, which would be replaced")


def scripts_of(options: argparse.Namespace) -> list[str]:
    """The files with the script, or the rules, of a call."""
    return list(map(str, script_files(options.files))) if "files" in options else [options.file]


def check_page(command: str, output: str | None, *scripts: str) -> None:
    """The same for a page: what it replaces is one, by its name."""
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise CallError(f"{command} {output}: a page is written to a file that ends in .html")
    check_target(command, output, *scripts)


def refuse_inputs(inputs: Inputs, options: argparse.Namespace) -> None:
    """Refuse to write where a script's data, or other files of the call, are read: they would be replaced, or
    read again as data by the next run."""
    for option, output in (("-o", "output"), ("--report", "report"), ("--stats-out", "stats_out")):
        target = getattr(options, output, None)
        if target is None or target == STANDARD:
            continue
        for what, path in _read(inputs, options):
            how = _meets(target, path)
            # New statistics may take the place of those that the run is planned with.
            is_renewed = output == "stats_out" and path == options.stats
            if how is not None and not is_renewed:
                raise CallError(f"{options.command} {option} {target}: {how} {path}, {what}")


def _read(inputs: Inputs, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """What a call reads: what it is, and its path."""
    from neelc.catalog.inputs import location_of
    from neelc.ir.script import CreateStream

    yield from (("the script", path) for path in scripts_of(options) if path != STANDARD)
    yield from (("which --aggregates reads", path) for path in options.aggregates)
    if getattr(options, "stats", None):
        yield "which --stats reads", options.stats
    declared = [s.name for s in inputs.script.statements if isinstance(s, CreateStream)]
    for name in dict.fromkeys([*(one.name for one in inputs.given), *map(bare, declared)]):
        location = location_of(inputs, name)
        if location is not None:
            path = location.name if location.is_elsewhere else str(location.path)
            yield f"the data of stream {name}", path


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
    """Write a text to a file, or to standard output."""
    if output is None or output == STANDARD:
        sys.stdout.write(text)
    else:
        write_whole(Path(output), text)
        print(f"{output}: written", file=sys.stderr)


# Where the rows of a run go: to standard output, to a file or to a directory; whole or not at all.

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".txt": "table", ".parquet": "parquet"}


def format_of(output: str | None) -> str:
    """The format of a file, by its extension.

    >>> format_of("alarms.csv"), format_of(None), format_of("alarms.parquet")
    ('csv', 'table', 'parquet')
    """
    if output is None or not Path(output).suffix:
        return "table"
    ending = Path(output).suffix.lower()
    if ending not in FORMATS:
        known = ", ".join(FORMATS)
        raise CallError(f"run --out {output}: unknown file extension; pass --format, or use {known}")
    return FORMATS[ending]


def check_output(output: str | None, kind: str, overwrite: bool) -> None:
    """Refuse before anything runs what cannot be written after it."""
    if output is None:
        if kind == "parquet":
            raise CallError("run --format parquet requires --out PATH")
        return
    if is_url(output):
        if kind != "parquet":
            raise CallError(f"run --out {output}: only Parquet is written to a URL; say --format parquet")
        return
    path = Path(output)
    is_special = path.exists() and not path.is_file() and not path.is_dir()  # a device or a pipe
    if path.exists() and not overwrite and not is_special:
        raise CallError(f"run --out {output}: it exists already; --overwrite replaces it")
    if path.is_dir() and kind != "parquet":
        raise CallError(f"run --out {output}: a directory; {kind} is written to a file")
    if not path.resolve().parent.is_dir():
        raise CallError(f"{output}: cannot be written: No such file or directory")


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to write to, not there yet, which takes the place of `path` at the end.

    It grows in a directory beside it, on the same file system: a rename is all that is left to do. An
    exception removes it and leaves what was there.
    """
    target = path.resolve()
    try:
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise not_writable(path, error) from None
    try:
        yield beside / "new"
        if target.exists():
            os.rename(target, beside / "old")
            try:
                os.rename(beside / "new", target)
            except BaseException:
                os.rename(beside / "old", target)
                raise
        else:
            os.rename(beside / "new", target)
    finally:
        with suppress(OSError):
            shutil.rmtree(beside)
