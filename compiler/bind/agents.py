"""Agents that users register: their names, and the columns of what they make."""

from __future__ import annotations

import re
from collections.abc import Mapping

from neelc.arguments import Agent
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.algebra import END, START
from neelc.ir.logical import Column
from neelc.ir.names import bare
from neelc.ir.script import CreateStream
from neelc.ir.words import RESERVED
from neelc.parse import script
from neelc.source import Source


def registered_agents(agents: Mapping[str, Agent]) -> dict[str, tuple[Agent, tuple[Column, ...]]]:
    """The agents with their columns; `CallError` if one cannot be used.

    >>> [column.name for column in registered_agents({"u": Agent(len, "id INT, `a b` STRING")})["u"][1]]
    ['id', 'a b']
    >>> registered_agents({"u": Agent(len, "id INT, ts BIGINT")})
    Traceback (most recent call last):
    neelc.files.CallError: agent u: ts comes besides, as the valid time; leave it out of columns
    """
    found: dict[str, tuple[Agent, tuple[Column, ...]]] = {}
    for name, agent in agents.items():
        if not isinstance(agent, Agent):
            raise CallError(f"agent {name}: not made by neelc.agent(function, columns=...)")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.upper() in (*RESERVED, "MATCH"):
            raise CallError(f"agent {name}: not a name that a query can call")
        if any(name.lower() == other.lower() for other in found):
            raise CallError(f"agent {name}: given twice; case does not matter")
        found[name] = (agent, _columns(name, agent.columns))
    return found


def _columns(name: str, text: str) -> tuple[Column, ...]:
    try:
        (statement,) = script(Source(f"CREATE RELATION r ({text})")).statements
    except (NeelError, ValueError):
        statement = None
    if not isinstance(statement, CreateStream) or not statement.columns:
        raise CallError(f"agent {name}: columns are not a list such as id BIGINT, n INT: {text!r}")
    columns = tuple(Column(bare(one.name), one.type) for one in statement.columns)
    for column in columns:
        if column.name.lower() in (START, END):
            raise CallError(
                f"agent {name}: {column.name} comes besides, as the valid time; leave it out of columns"
            )
    if len({column.name.lower() for column in columns}) < len(columns):
        raise CallError(f"agent {name}: two columns have one name: {text!r}")
    return columns
