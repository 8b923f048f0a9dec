"""Agents that users register, on the reference interpreter: functions from lists of rows to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.ir import algebra as a
from neelc.ir.logical import Clock
from neelc.ir.names import bare
from neelc.runtime.reference.times import moment, nanoseconds
from neelc.runtime.reference.valid import ALWAYS, FOREVER, Time, Valid, named, steady


class AgentFailure(RuntimeError):
    """An agent has raised, or has given what it must not. `name` is that of the agent."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def agent_rows(agent: a.Agent, inputs: Sequence[Sequence[Valid]], clock: Clock) -> list[Valid]:
    """What the agent makes of the rows of its inputs, each with the payload's columns, `ts` and `te`. `clock`
    is that of the whole SELECT."""
    if agent.rows is None:
        message = f"the agent {agent.name} is a function of DataFrames: it can run on Spark only"
        raise AgentFailure(agent.name, message)
    given = [[_row(event, agent, clock) for event in sorted(input, key=steady)] for input in inputs]
    try:
        made = list(agent.rows(*given))
    except Exception as error:
        message = f"the agent {agent.name} failed: {type(error).__name__}: {error}"
        raise AgentFailure(agent.name, message) from error
    return [_valid(row, agent, clock) for row in made]


def _row(event: Valid, agent: a.Agent, clock: Clock) -> dict[str, object]:
    (of,) = event.binding.values()
    start, end = (
        None if time in (ALWAYS, FOREVER) else moment(int(time), agent.clock, clock) for time in _times(event)
    )
    return {**of.attributes, a.START: start, a.END: end}


def _times(event: Valid) -> tuple[Time, Time]:
    return event.start, event.end


def _valid(row: object, agent: a.Agent, clock: Clock) -> Valid:
    names = [bare(column.name) for column in agent.columns]
    if not isinstance(row, Mapping) or any(name not in row for name in (*names, a.START, a.END)):
        wanted = ", ".join((*names, a.START, a.END))
        raise AgentFailure(agent.name, f"the agent {agent.name} gave {row!r}, which has no {wanted}")
    unit = agent.clock.unit or "MILLISECOND"
    start, end = (nanoseconds(row[name], unit, clock) for name in (a.START, a.END))
    if start is None or (end is not None and end <= start):
        raise AgentFailure(agent.name, f"the agent {agent.name} gave {row!r}, which is valid at no instant")
    values = {name: row[name] for name in names}
    return Valid(named(agent.variable, values), start, FOREVER if end is None else end)
