"""Users' own agents: functions from DataFrames to a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.emit.algebra_stage import FOREVER, Emitting, Stage, key_of, named
from neelc.emit.literals import identifier, literal, spark_type
from neelc.emit.relations import AgentCall, Items, Select
from neelc.emit.times import as_number, as_time
from neelc.ir.algebra import END, START, Agent
from neelc.ir.names import bare
from neelc.ir.types import STRING


def emit_agent(emitting: Emitting, agent: Agent, stages: Sequence[Stage]) -> Stage:
    """What the function makes of its inputs: each has the columns of its payload, then `ts` and `te`."""
    clock = agent.clock
    given = []
    for operator, stage in zip(agent.inputs, stages, strict=True):
        items: Items = (
            *((identifier(stage.columns[key_of(one)]), bare(one.name)) for one in operator.payload),
            (as_time("start", emitting.unit, clock, emitting.clock), START),
            (f"IF(`end` = {FOREVER}, NULL, {as_time('`end`', emitting.unit, clock, emitting.clock)})", END),
        )
        given.append(emitting.let("given", Select(stage.relation, items), f"What {agent.name} is given."))
    made = emitting.let("made", AgentCall(agent.name, tuple(given)), f"The agent {agent.name}.")
    columns = named(agent.payload)
    start, end = (
        as_number(name, clock.type, clock.unit or "", emitting.unit, emitting.clock) for name in (START, END)
    )
    wrong = f"the agent {agent.name} gave an event that is valid at no instant"
    checked = f"IF({START} IS NULL OR {END} <= {START}, raise_error({literal(wrong, STRING)}), {start})"
    items = (
        *(
            (f"CAST({identifier(column.name)} AS {spark_type(column.type)})", name)
            for column, name in zip(agent.columns, columns.values(), strict=True)
        ),
        (f"CAST({checked} AS BIGINT)", "start"),
        (f"coalesce({end}, {FOREVER})", "end"),
    )
    return Stage(emitting.let("found", Select(made, items), "Its events."), columns)
