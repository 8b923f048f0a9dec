"""The kernel alone, without Spark around it: what an algorithm costs, not what starting a job costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from bench.data import Recipe, table

from neelc import parse
from neelc.bind import bind
from neelc.cost.choose import choose
from neelc.cost.statistics import Statistics
from neelc.ir.logical import Match
from neelc.plan.baselines import iterative
from neelc.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.runtime.kernels.events import Events
from neelc.runtime.kernels.matching import matches
from neelc.source import Source

STREAM = "CREATE STREAM Events (ts BIGINT, kind STRING) TIMESTAMP BY ts UNIT MICROSECONDS TYPE BY kind;\n"


def bound(query: str) -> Match:
    source = Source(STREAM + query)
    return bind(parse.read(source), source, (), {}).queries[0].match


def optimised(query: str) -> KernelPlan:
    chosen = choose(bound(query), Statistics(), compare=False).chosen
    return kernel_plan(chosen.form.rewriting.query, (), "MICROSECOND")


def nested(query: str) -> KernelPlan:
    return kernel_plan(bound(query), (), "MICROSECOND", iterative, nested=True)


def events(recipe: Recipe, planned: KernelPlan) -> Events:
    """The stream of a recipe as the kernel reads it; roles by type alone."""
    rows: Any = table(recipe)
    start = rows["ts"].cast("int64").to_numpy()
    kinds = np.char.lower(rows["kind"].cast("string").to_numpy(zero_copy_only=False).astype(str))
    roles = {role.name: np.flatnonzero(kinds == role.type.lower()) for role in planned.plan.roles}
    everything = (np.array([-(2**62)]), np.array([2**62]))
    return Events(start, start, np.zeros(len(start), np.int64), roles, {}, everything)


def count(planned: KernelPlan, stream: Events) -> int:
    """How many matches there are."""
    pieces = matches(planned.program, stream)
    return sum(len(next(iter(piece.values()))) for piece in pieces)
