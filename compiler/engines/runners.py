"""Which function of the runtime runs a program of each kind: its module and its name, for all engines."""

from __future__ import annotations

from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.kernels.rows.program import RowProgram, StreamedRows
from neelc.runtime.kernels.rules.program import RuleSet, StreamedRules
from neelc.runtime.kernels.sequential.program import GroupMember, SequentialGroup, SequentialProgram
from neelc.runtime.kernels.snapshots.program import CoalesceProgram, SnapshotNetwork, SnapshotProgram
from neelc.runtime.kernels.temporal.program import TemporalProgram
from neelc.runtime.program import (
    ImpreciseProgram,
    NetworkProgram,
    PatternProgram,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
)

RUNNERS = {
    PatternProgram: ("neelc.runtime.kernels.pattern_kernel", "kernel"),
    CountingProgram: ("neelc.runtime.kernels.counting.kernel", "counting"),
    ImpreciseProgram: ("neelc.runtime.kernels.confidence.kernel", "imprecise"),
    RowProgram: ("neelc.runtime.kernels.rows.kernel", "recognizer"),
    RuleSet: ("neelc.runtime.kernels.rules.kernel", "rules_kernel"),
    SnapshotProgram: ("neelc.runtime.kernels.snapshots.kernel", "snapshots"),
    CoalesceProgram: ("neelc.runtime.kernels.snapshots.kernel", "coalescing"),
    SequentialProgram: ("neelc.runtime.kernels.sequential.kernel", "sequential"),
    SequentialGroup: ("neelc.runtime.kernels.sequential.group", "sequential_group"),
    GroupMember: ("neelc.runtime.kernels.sequential.group", "group_member"),
    TemporalProgram: ("neelc.runtime.kernels.temporal.kernel", "temporal"),
    StreamedPattern: ("neelc.runtime.kernels.pattern_stream", "pattern_stream"),
    StreamedRules: ("neelc.runtime.kernels.rules.stream", "rules_stream"),
    NetworkProgram: ("neelc.runtime.kernels.network_stream", "network_stream"),
    StreamedGroups: ("neelc.runtime.kernels.grouped_stream", "grouped_stream"),
    StreamedImprecise: ("neelc.runtime.kernels.confidence.stream", "imprecise_stream"),
    StreamedRows: ("neelc.runtime.kernels.rows.stream", "RowStream"),
    SnapshotNetwork: ("neelc.runtime.kernels.snapshots.stream", "snapshot_stream"),
}
