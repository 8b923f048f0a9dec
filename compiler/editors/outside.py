"""What a script is given from outside, and what its files say of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from neelc.arguments import Agent, Aggregate
from neelc.bind import Bound, examine
from neelc.data.inputs import Given, complete
from neelc.ir.names import same, written
from neelc.ir.script import CreateStream, Script, Statement
from neelc.source import Source

Stamp = tuple[CreateStream, Path, int, int]


@dataclass(frozen=True)
class Outside:
    """The streams, arguments, aggregates and agents that a call gives. Columns that were read from a file
    are remembered in `known` until the file changes: a script is judged at every key. `untrusted`: scripts
    may name no files and no agents."""

    given: Sequence[Given] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    untrusted: bool = False
    known: dict[Stamp, CreateStream] = field(default_factory=dict)

    def bound(self, script: Script, source: Source, directory: Path) -> Bound:
        """The script with its names resolved; raises `NeelError` if a file that is needed cannot be read."""
        if self.untrusted:
            from neelc.host.untrusted import refuse_files_and_agents

            refuse_files_and_agents(script, source)
        statements = tuple(self._completed(s, source, directory) for s in script.statements)
        inputs = complete(replace(script, statements=statements), source, self.given, directory)
        return examine(inputs.script, source, inputs.streams, self.arguments, self.aggregates, self.agents)

    def _completed(self, statement: Statement, source: Source, directory: Path) -> Statement:
        if not isinstance(statement, CreateStream) or statement.columns or statement.path is None:
            return statement
        if any(same(written(one.name), statement.name) for one in self.given):
            return statement
        path = directory / statement.path
        if not path.exists():
            return statement  # the error will tell
        state = path.stat()
        stamp = (statement, path, state.st_mtime_ns, state.st_size)
        if stamp not in self.known:
            [found] = complete(Script((statement,)), source, (), directory).script.statements
            assert isinstance(found, CreateStream)
            self.known[stamp] = found
        found = self.known[stamp]
        # The statement may have moved since: places are those of today.
        columns = tuple(replace(column, span=statement.span) for column in found.columns)
        return replace(statement, columns=columns, timestamp=statement.timestamp or found.timestamp)


def remembered(given: Given) -> Given:
    """The stream, whose file is read once only."""
    return replace(given, open=cache(given.open))
