"""A bound script and its data files: where Spark finds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.commands.writing import is_url
from neelc.data.inputs import Inputs, location_of, no_data
from neelc.data.location import Location, kind_of
from neelc.ir.logical import Program, Stream
from neelc.ir.node import Node, transform

if TYPE_CHECKING:
    from neelc.api.observed import Observed


def located(program: Program, directory: Path) -> Program:
    """The program with paths as they are from here: those of a script are relative to its directory."""

    def moved(node: Node) -> Node | None:
        if not isinstance(node, Stream) or node.path is None or is_url(node.path):
            return None
        return replace(node, path=str(directory / node.path))

    found = transform(program, moved)
    assert isinstance(found, Program)
    return found


def check_data(inputs: Inputs, streams: Mapping[str, Stream]) -> None:
    """Raises `NeelError` if a stream has no data, or its file is not there: Spark is not started for that."""
    for name in streams:
        location = location_of(inputs, name)
        if location is None:
            raise no_data(inputs, name)
        if not is_url(location.name) and not location.path.exists():
            location.fail("NEEL5001", f"no such file: {location.name}")
        location.check_files()


def frames_of(
    spark: Any, inputs: Inputs, streams: Mapping[str, Stream], observed: Observed | None = None
) -> dict[str, Any]:
    """The DataFrames of the streams, from the files that the call or the script names. Texts are `observed`:
    no condition is pushed into them, so that it costs next to nothing."""
    from neelc.api.errors import reading
    from neelc.api.fitting import fitted
    from neelc.api.reading import read_path, text_columns

    frames = {}
    for name, stream in streams.items():
        location = location_of(inputs, name)
        if location is not None:
            path = location.name if is_url(location.name) else literal(str(location.path.resolve()))
            kind = _kind(location)
            with reading(name):
                looked_at = _looking(observed, stream, location)
                columns = text_columns(stream)
                frame = read_path(spark, path, kind, location.options, columns, name, looked_at)
                frames[name] = fitted(frame, stream)
    return frames


def _looking(observed: Observed | None, stream: Stream, location: Location) -> Callable[[Any], Any]:
    """What looks at the texts of a stream. Directories below may be partitions, of which conditions choose
    some: then nothing does."""
    if observed is None or is_url(location.name):
        return lambda frame: frame
    if location.path.is_dir() and any(path.is_dir() for path in location.path.iterdir()):
        return lambda frame: frame
    return lambda frame: observed.on(frame, stream)


def literal(path: str) -> str:
    """A path that stands for one file, although Spark takes it for a pattern of files.

    >>> print(literal("day [1].csv"))
    day \\[1\\].csv
    """
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", path)


def _kind(location: Location) -> str:
    """The format of a file, or of the first file of a directory."""
    kind = kind_of(location.path, location.format)
    if not kind and location.path.is_dir():
        files = sorted(p for p in location.path.iterdir() if p.is_file() and p.name[0] not in "._")
        kind = kind_of(files[0], None) if files else ""
    if kind not in ("csv", "json", "parquet"):
        location.fail("NEEL5006", f"the format of {location.name} is not known", "say it: format=csv")
    return kind
