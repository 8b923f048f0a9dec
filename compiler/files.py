"""Files: reading texts and writing whole ones."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from neelc.source import Source

MAX_SCRIPT = 16 * 2**20
"""Bytes of the largest script, case, and file of statistics or of Python that is read. A parser needs a
thousand times as much memory as its text."""


class CallError(Exception):
    """The call is wrong, not the query: exit code 2 and one plain sentence."""


def read_bytes(path: Path, name: str, most: int | None = MAX_SCRIPT) -> bytes:
    """What the file holds, `most` bytes. `name` is how the caller called it, for the sentence when that
    fails. A pipe is read like a file: a shell gives the output of a program so."""
    try:
        with path.open("rb") as file:
            return file.read() if most is None else _read_most(file, name, most)
    except FileNotFoundError:
        raise CallError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise CallError(f"{name}: a directory, not a file") from None
    except OSError as error:
        raise CallError(f"{name}: cannot be read: {error.strerror}") from None


def _read_most(file: BinaryIO, name: str, most: int) -> bytes:
    """What a file holds; `CallError` if that is more than `most`, of which no more is read then."""
    try:
        size = os.fstat(file.fileno()).st_size
    except OSError:  # no file of the system
        size = 0
    content = b"" if size > most else file.read(most + 1)
    if max(size, len(content)) > most:
        raise CallError(f"{name}: larger than MAX_SCRIPT, {most:,} bytes")
    return content


def special_kind(path: Path) -> str | None:
    """What a path leads to if it is no file and no directory; None if it is one, or is not there.

    >>> special_kind(Path("/dev/null")), special_kind(Path("/nowhere")), special_kind(Path("/"))
    ('a device', None, None)
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    kinds = {
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
        stat.S_ISFIFO: "a pipe",
        stat.S_ISSOCK: "a socket",
    }
    return next((kind for is_kind, kind in kinds.items() if is_kind(mode)), None)


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
        content = _read_most(sys.stdin.buffer, "standard input", MAX_SCRIPT)
        return Source(decode(content, "standard input"), "<stdin>")
    return Source(decode(read_bytes(Path(name), name), name), name)


SCRIPTS = "*.neel"


def script_files(paths: Iterable[str | Path]) -> list[Path]:
    """Files, and all scripts below directories, in the order of their names; each once."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        files = sorted(path.rglob(SCRIPTS)) if path.is_dir() else [path]
        if not files:
            raise CallError(f"{path}: no {SCRIPTS} files in this directory")
        found |= dict.fromkeys(files)
    return list(found)


# A disk that is full or broken: the call is right, what it asks for cannot be done.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def not_writable(path: Path, error: OSError) -> Exception:
    """What to raise if a file or a directory cannot be written: the call is wrong, or the run fails."""
    if error.errno in _DISK:
        return OSError(error.errno, error.strerror, str(path))
    return CallError(f"{path}: cannot be written: {error.strerror}")


def write_whole(path: Path, text: str) -> None:
    """Write the file at once or not at all: no reader sees half of it, and a failure leaves the old one."""
    try:
        with whole_file(path) as file:
            file.write(text)
    except OSError as error:
        raise not_writable(path, error) from None


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file to write to, which takes its place at the end; an exception leaves what was there."""
    target = path.resolve()  # through symbolic links: the link stays, what it points to is replaced
    try:
        if target.exists() and not target.is_file():  # a pipe or a device: nothing to replace
            temporary, handle = None, os.open(target, os.O_WRONLY)
        else:
            import tempfile  # it loads `random` and `hashlib`

            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise not_writable(path, error) from None
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
