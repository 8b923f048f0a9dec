"""`neelc.ship`: the runtime on the workers of a cluster, and the proof that it works there."""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import distribution, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.api.errors import NeelRunError, failing_as_runs_do
from neelc.api.streams import Frame
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.probe import PACKAGES as WORKER_PACKAGES
from neelc.runtime.probe import SCHEMA, report_versions
from neelc.versions import numbers, required

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What workers need of neelc, as one zip file that Python can import from.

# The runtime, but for the reference interpreter: that reads the compiler's trees, and no worker needs it.
PACKAGE, REFERENCE = "neelc.runtime", "reference"

# Python finds the version of an archive by this file.
METADATA = "neelc-{version}.dist-info/METADATA"


@cache
def archive() -> Path:
    """The file, made once. It stays until Python ends: Spark fetches it when a worker is started."""
    content = archived()
    directory = Path(tempfile.mkdtemp(prefix="neelc-ship-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    # Spark refuses another file of the same name: the name identifies the content.
    stamp = hashlib.sha256(content).hexdigest()[:12]
    path = directory / f"neelc_runtime-{version('neelc')}-{stamp}.zip"
    path.write_bytes(content)
    return path


def archived() -> bytes:
    """The content of the file: the same bytes for the same sources.

    >>> archived() == archived()
    True
    >>> names = zipfile.ZipFile(io.BytesIO(archived())).namelist()
    >>> "neelc/runtime/program.py" in names, any(name.startswith("neelc/runtime/reference") for name in names)
    (True, False)
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in sorted(_members()):
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    yield "neelc/__init__.py", files("neelc").joinpath("__init__.py").read_bytes()
    yield from _modules(files(PACKAGE), PACKAGE.replace(".", "/"))
    metadata = distribution("neelc").read_text("METADATA") or distribution("neelc").read_text("PKG-INFO")
    assert metadata is not None, "an installed package has metadata"
    yield METADATA.format(version=version("neelc")), metadata.encode()


def _modules(directory: Traversable, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in directory.iterdir():
        if entry.is_dir() and entry.name != REFERENCE:
            yield from _modules(entry, f"{place}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{place}/{entry.name}", entry.read_bytes()


_RESTART = "a worker that had loaded it before keeps it: stop the session, start another one and ship first"


@dataclass(frozen=True)
class Worker:
    """What the workers of one kind have: the machine, where neelc is, versions; `tasks` is their number."""

    host: str
    place: str
    python: str
    neelc: str | None
    numpy: str | None
    pyarrow: str | None
    pandas: str | None
    tasks: int = 1


@dataclass(frozen=True, repr=False)
class Shipment:
    """The archive that is on the workers now, and what they reported about themselves."""

    archive: str
    workers: tuple[Worker, ...]

    def __repr__(self) -> str:
        return "\n".join([self.archive, *map(_line, self.workers)])


def ship(spark: SparkSession) -> Shipment:
    """Put neelc's runtime on the workers of a session, and ask them whether they have it.

    NumPy, PyArrow and pandas must be installed there. A small job checks as many tasks as Spark takes at once
    by itself.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect.

    Returns
    -------
    Shipment
        `archive` is the name of the file that was sent; `workers` has the host and the versions of each kind
        of worker.

    Raises
    ------
    NeelRunError
        A worker lacks a package, or has another version: NEEL5102, NEEL5103.

    Examples
    --------
    >>> shipment = neelc.ship(spark)
    >>> shipment.workers[0].neelc == neelc.__version__
    True
    """
    file = archive()
    with failing_as_runs_do():
        spark.addArtifacts(str(file), pyfile=True)
        rows = spark.range(2**10).mapInArrow(report_versions, SCHEMA).collect()
    kinds = sorted(Counter(map(tuple, rows)).items(), key=str)
    workers = tuple(replace(Worker(*row), tasks=count) for row, count in kinds)
    if problems := [problem for worker in workers for problem in misfits(worker)]:
        code, message = problems[0]
        raise NeelRunError(message, code)
    return Shipment(file.name, workers)


@contextmanager
def shipped(starting: AbstractContextManager[Frame]) -> Iterator[Frame]:
    """A session whose workers have the runtime."""
    with starting as spark:
        ship(spark)
        yield spark


def misfits(worker: Worker) -> Iterator[tuple[str, str]]:
    """The code and the sentence of everything that a worker has too little of, or in another version.
    Another Python is no matter of this: Spark itself refuses to send it anything.

    >>> fine = Worker("a", "", "3.11.7", version("neelc"), "2.1", "19.0", "2.2")
    >>> list(misfits(fine)), [code for code, _ in misfits(replace(fine, pyarrow="1.0", neelc="0.0.1"))]
    ([], ['NEEL5103', 'NEEL5102'])
    """
    if worker.neelc != version("neelc"):
        known = f"neelc {worker.neelc}, from {worker.place}; here is {version('neelc')}"
        yield "NEEL5103", f"worker {worker.host} has {known}: {_RESTART}"
    for name in WORKER_PACKAGES[1:]:
        found, least = getattr(worker, name), required(name)
        if found is None or numbers(found) < numbers(least):
            has = f"{name} {found}" if found else f"no {name}"
            yield "NEEL5102", f"worker {worker.host} has {has}: install {name} {least} or later there"


def _line(worker: Worker) -> str:
    """
    >>> print(_line(Worker("a", "", "3.11.7", "1.2", "2.1", "19.0", None, 2)))
    a: Python 3.11.7, neelc 1.2, numpy 2.1, pyarrow 19.0, no pandas (2 tasks)
    """
    known: Sequence[tuple[str, str | None]] = [(name, getattr(worker, name)) for name in WORKER_PACKAGES]
    has = [f"{name} {found}" if found else f"no {name}" for name, found in known]
    tasks = f"{worker.tasks} task{'s' if worker.tasks > 1 else ''}"
    return f"{worker.host}: {', '.join([f'Python {worker.python}', *has])} ({tasks})"
