"""Where the rows of a run go: to standard output, to a file or to a directory; whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neelc.files import CallError, not_writable

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".txt": "table", ".parquet": "parquet"}


def format_of(output: str | None) -> str:
    """The format that the ending of a file tells.

    >>> format_of("alarms.csv"), format_of(None), format_of("alarms.parquet")
    ('csv', 'table', 'parquet')
    """
    if output is None or not Path(output).suffix:
        return "table"
    ending = Path(output).suffix.lower()
    if ending not in FORMATS:
        known = ", ".join(FORMATS)
        raise CallError(f"run --out {output}: its ending tells no format; say --format, or use {known}")
    return FORMATS[ending]


def is_url(path: str) -> bool:
    """
    >>> is_url("s3://bucket/alarms"), is_url("alarms.parquet")
    (True, False)
    """
    return "://" in path


def check_output(output: str | None, kind: str, overwrite: bool) -> None:
    """Refuse before anything runs what cannot be written after it."""
    if output is None:
        if kind == "parquet":
            raise CallError("run --format parquet: say where: --out PATH")
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
