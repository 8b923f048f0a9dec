"""The kernel alone, without Spark around it: what an algorithm costs, not what starting a job costs."""

from __future__ import annotations

from dataclasses import replace
from operator import gt, lt
from typing import Any

import numpy as np
from bench.baselines import baseline_plan, iterative, judged_last
from bench.data import Recipe, table

from neelc import syntax as parse
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.expressions import Attribute, Binary, Cast, Expr, Literal
from neelc.ir.program import Match
from neelc.pattern.cost.choose import Alternative, choose
from neelc.pattern.plan.kernel_plan import KernelPlan, RoleCut, kernel_plan
from neelc.pattern.rules.driver import forms
from neelc.program import bind
from neelc.runtime.coding import condition_columns
from neelc.runtime.kernels.events import KernelEvents, NullableArray
from neelc.runtime.kernels.matching import matches
from neelc.source import Source

STREAM = """CREATE STREAM Events (ts BIGINT, kind STRING, id BIGINT, amount INT)
  TIMESTAMP BY ts UNIT MICROSECONDS TYPE BY kind;
"""
COMPARISONS = {"<": lt, ">": gt}


def bound(query: str) -> Match:
    source = Source(STREAM + query)
    return bind(parse.read(source), source, (), {}).queries[0].match


def optimised(query: str, shortcut: str = "") -> KernelPlan:
    """The plan that is chosen without statistics. With a `shortcut`, whatever the statistics say of it."""
    chosen = _chosen(query)
    taken = tuple(one.shortcut for one in chosen.shortcuts if str(one.shortcut) == shortcut)
    return kernel_plan(chosen.form.rewriting.query, (), "MICROSECOND", taken)


def late(query: str) -> KernelPlan:
    """The same, with conditions judged on complete matches."""
    return baseline_plan(_chosen(query).form.rewriting.query, (), "MICROSECOND", judged_last)


def _chosen(query: str) -> Alternative:
    match = bound(query)
    return choose(match, forms(match), Statistics(), compare=False).chosen


def nested(query: str) -> KernelPlan:
    return baseline_plan(bound(query), (), "MICROSECOND", iterative, nested=True)


def events(recipe: Recipe, planned: KernelPlan) -> KernelEvents:
    """The stream of a recipe as the kernel reads it: Spark judges the conditions of roles, and computes the
    columns of conditions, before it. No event has NULL."""
    rows: Any = table(recipe)
    start = rows["ts"].cast("int64").to_numpy()
    kinds = np.char.lower(rows["kind"].cast("string").to_numpy(zero_copy_only=False).astype(str))
    roles = {}
    for role in planned.plan.roles:
        judged = [value(condition, rows) for condition in role.conditions]
        roles[role.name] = np.flatnonzero(np.logical_and.reduce([kinds == role.type.lower(), *judged]))
    asked = condition_columns(planned.program)
    columns = {c.name: NullableArray(value(c.expression, rows)) for c in planned.columns if c.name in asked}
    everything = (np.array([-(2**62)]), np.array([2**62]))
    return KernelEvents(start, start, np.zeros(len(start), np.int64), roles, columns, everything)


def value(expression: Expr, rows: Any) -> Any:
    """The value of an expression about each event: as much of the language as the benchmarks' queries use."""
    match expression:
        case Attribute(name=name):
            return rows[name].to_numpy()
        case Literal(value=constant):
            return constant
        case Cast(operand):
            return value(operand, rows)
        case Binary(operation, left, right):
            return COMPARISONS[operation](value(left, rows), value(right, rows))
    raise NotImplementedError(str(expression))


def cut(stream: KernelEvents, by: RoleCut) -> KernelEvents:
    """What the join of a shortcut leaves: no event has the outer role whose value no inner event has."""
    outer = stream.roles[by.outer]
    met = stream.columns[by.inner_column].values[stream.roles[by.inner]]
    kept = np.isin(stream.columns[by.outer_column].values[outer], met)
    return replace(stream, roles={**stream.roles, by.outer: outer[kept]})


def cut_in_window(stream: KernelEvents, by: RoleCut, window: int) -> KernelEvents:
    """What NEEL+'s cache leaves: it forgets values whose last event is more than a window ago."""
    outer, inner = stream.roles[by.outer], stream.roles[by.inner]
    times = stream.start - stream.start[0] + window
    # One number for a value and a time: events of one value are together, and in the order of time.
    base = times[-1] + 1
    met = np.sort(stream.columns[by.inner_column].values[inner] * base + times[inner])
    asked = stream.columns[by.outer_column].values[outer] * base + times[outer]
    kept = np.searchsorted(met, asked) > np.searchsorted(met, asked - window)
    return replace(stream, roles={**stream.roles, by.outer: outer[kept]})


def count(planned: KernelPlan, stream: KernelEvents) -> int:
    """How many matches there are."""
    pieces = matches(planned.program, stream)
    return sum(len(next(iter(piece.values()))) for piece in pieces)
