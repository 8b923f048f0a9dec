"""What a cell of a notebook asks: which session, with which arguments."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.api.active import active_session
from neelc.api.errors import translated
from neelc.api.session import Session, parameters
from neelc.files import CallError
from neelc.host.inputs import used_parameters
from neelc.host.script import host_script
from neelc.parse import read
from neelc.source import Source

USUAL = "neel"
"""The variable whose session is taken, if it has one and the cell names none."""


def session_of(variables: Mapping[str, object], name: str | None) -> Session:
    """The session of a variable, else one of the active Spark session without any streams of its own.

    >>> session_of({"spark": 1, "trades": 2}, "trades")
    Traceback (most recent call last):
    neelc.files.CallError: -s trades: no neelc.Session, but of type int
    """
    found = variables.get(name or USUAL)
    if isinstance(found, Session):
        return found
    if name is not None:
        is_there = f"no neelc.Session, but of type {type(found).__name__}"
        raise CallError(f"-s {name}: {is_there if name in variables else 'no such variable'}")
    spark = active_session() or variables.get("spark")
    if spark is None:
        raise CallError("no Spark session is active: begin with spark = SparkSession.builder.getOrCreate()")
    return Session(spark)


def arguments(text: str, variables: Mapping[str, object]) -> dict[str, object]:
    """The values of the script's parameters, from variables of the same names; what has none is left out.

    >>> arguments("PATTERN A a WHERE a.x > :least WITHIN :w", {"least": 3, "other": 4})
    {'least': 3}
    """
    source = Source(text)
    with translated():
        script = host_script(source)
        if script is not None and script.is_last:
            names = list(used_parameters(script))
        else:
            names = parameters(read(script.own if script else source))
    return {name: variables[name] for name in names if name in variables}
