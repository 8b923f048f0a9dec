"""Files: reading texts and writing whole ones."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from neelc.source import Source


class CallError(Exception):
    """The call is wrong, not the query: exit code 2 and one plain sentence."""


def read_bytes(path: Path, name: str) -> bytes:
    """What the file holds. `name` is how the caller called it, for the sentence when that fails."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CallError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise CallError(f"{name}: a directory, not a file") from None
    except OSError as error:
        raise CallError(f"{name}: cannot be read: {error.strerror}") from None


def decode(content: bytes, name: str) -> str:
    """UTF-8, with or without a byte order mark.

    >>> decode(b"\\xef\\xbb\\xbfPATTERN", "query.neel")
    'PATTERN'
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CallError(f"{name}: not UTF-8 text (byte {error.start + 1})") from None


def read_source(name: str) -> Source:
    """The text of a file; `-` is standard input."""
    if name == "-":
        return Source(decode(sys.stdin.buffer.read(), "standard input"), "<stdin>")
    return Source(decode(read_bytes(Path(name), name), name), name)


def write_whole(path: Path, text: str) -> None:
    """Write the file at once or not at all: no reader sees half of it, and a failure leaves the old one."""
    try:
        with whole_file(path) as file:
            file.write(text)
    except OSError as error:
        raise CallError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file to write to, which takes its place at the end; an exception leaves what was there."""
    target = path.resolve()  # through symbolic links: the link stays, what it points to is replaced
    try:
        if target.exists() and not target.is_file():  # a pipe or a device: nothing to replace
            temporary, handle = None, os.open(target, os.O_WRONLY)
        else:
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise CallError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
        if temporary is not None:
            os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
            os.replace(temporary, target)
    except BaseException:
        if temporary is not None:
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
