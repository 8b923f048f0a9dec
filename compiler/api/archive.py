"""What workers need of neelc, as one zip file that Python can import from."""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

# Whole packages, and modules of `neelc` itself. The reference interpreter, which judges the odd condition of
# a row pattern, reads `neelc.ir`; no parser, optimiser or emitter comes with it.
PACKAGES = ("neelc.ir", "neelc.runtime")
MODULES = ("__init__.py", "codes.py", "errors.py", "source.py")

# Python finds the version of an archive by this file.
METADATA = "neelc-{version}.dist-info/METADATA"


@cache
def archive() -> Path:
    """The file, made once. It stays until Python ends: Spark fetches it when a worker is started."""
    content = archived()
    directory = Path(tempfile.mkdtemp(prefix="neelc-ship-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    # Spark refuses another file of the same name: the name tells the content.
    stamp = hashlib.sha256(content).hexdigest()[:12]
    path = directory / f"neelc_runtime-{version('neelc')}-{stamp}.zip"
    path.write_bytes(content)
    return path


def archived() -> bytes:
    """The content of the file: the same bytes for the same sources.

    >>> archived() == archived()
    True
    >>> names = zipfile.ZipFile(io.BytesIO(archived())).namelist()
    >>> "neelc/runtime/bridge.py" in names, any(name.startswith("neelc/parse") for name in names)
    (True, False)
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in sorted(_members()):
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    for name in MODULES:
        yield f"neelc/{name}", files("neelc").joinpath(name).read_bytes()
    for package in PACKAGES:
        yield from _modules(files(package), package.replace(".", "/"))
    told = distribution("neelc").read_text("METADATA") or distribution("neelc").read_text("PKG-INFO")
    assert told is not None, "an installed package has metadata"
    yield METADATA.format(version=version("neelc")), told.encode()


def _modules(directory: Traversable, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{place}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{place}/{entry.name}", entry.read_bytes()
