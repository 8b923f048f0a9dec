"""Relations as PySpark source: one function `query(spark, streams)` that builds a DataFrame."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from neelc.emit.literals import identifier
from neelc.emit.relations import (
    Aggregate,
    Extend,
    Items,
    Join,
    Kernel,
    Let,
    Read,
    Relation,
    Relations,
    Select,
    Sorted,
    Union,
    Where,
)
from neelc.emit.values import names_in_source, source_of

HEADER = '''"""{title}

Compiled by neelc. `query` builds a DataFrame and runs nothing.
`streams` maps the names of streams to DataFrames.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession{functions}
{runtime}
'''
RUNTIME = """
from neelc.runtime.bridge import kernel
from neelc.runtime.program import {names}
"""


def python_source(relations: Relations, title: str) -> str:
    """The source of a plan. What users write appears in it as text between quotes only."""
    kernels = [(let.name, let.relation) for let in relations.lets if isinstance(let.relation, Kernel)]
    names = {name for _, one in kernels for name in names_in_source(one.program)}
    runtime = RUNTIME.format(names=", ".join(sorted(names))) if kernels else ""
    body = "\n".join(_statement(let) for let in relations.lets)
    functions = "\nfrom pyspark.sql import functions as F" if "F.expr(" in body else ""
    programs = "".join(f"{_constant(name)} = {source_of(one.program)}\n\n" for name, one in kernels)
    header = HEADER.format(title=_plain(title), functions=functions, runtime=runtime)
    signature = "def query(spark: SparkSession, streams: Mapping[str, DataFrame]) -> DataFrame:"
    last = relations.lets[-1].name
    return f"{header}{programs}\n{signature}\n{textwrap.indent(body, '    ')}\n    return {last}\n"


def _plain(text: str) -> str:
    """The text for a docstring: nothing in it ends the docstring or is an escape."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip('"')


def _constant(name: str) -> str:
    return f"{name.upper()}_PROGRAM"


def _statement(let: Let) -> str:
    comment = "".join(f"# {line}\n" for line in textwrap.wrap(let.comment, 100))
    first, *calls = _chain(let.relation, let.name)
    flat = first + "".join(calls)
    if len(flat) + len(let.name) < 100 and "\n" not in flat:
        return f"{comment}{let.name} = {flat}"
    inner = textwrap.indent("\n".join([first, *calls]), "    ")
    return f"{comment}{let.name} = (\n{inner}\n)"


def _chain(relation: Relation, name: str) -> Iterator[str]:
    """A DataFrame, and the methods called on it one after the other."""
    match relation:
        case Read():
            yield _read(relation)
        case Select(source, items, where, having, distinct):
            yield source
            if where:
                yield f".where({where!r})"
            yield _call("selectExpr", map(repr, _aliased(items)))
            if having:
                yield f".where({having!r})"
            if distinct:
                yield ".distinct()"
        case Extend(source, items):
            yield source
            yield _call("selectExpr", map(repr, ("*", *_aliased(items))))
        case Where(source, condition):
            yield source
            yield f".where({condition!r})"
        case Union(sources):
            yield sources[0]
            yield from (f".unionByName({other})" for other in sources[1:])
        case Join((left, one), (right, other), on, kind, items):
            yield f"{left}.alias({one!r})"
            how = repr(kind.lower().replace(" ", "_"))
            yield _call("join", (f"{right}.alias({other!r})", f"F.expr({on!r})", how))
            if items:
                yield _call("selectExpr", map(repr, _aliased(items)))
        case Aggregate(source, groups, items):
            yield source
            yield _call("groupBy", _columns(groups))
            yield _call("agg", _columns(items)) if items else ".distinct()"
        case Sorted(source, keys, order):
            yield source
            yield f".repartition({', '.join(map(repr, keys)) or 1})"
            yield f".sortWithinPartitions({', '.join(map(repr, order))})"
        case Kernel(source, _, schema, most):
            limit = "" if most is None else f", most_matches={most}"
            yield source
            yield _call("mapInArrow", (f"kernel({_constant(name)}{limit})", repr(schema)))


def _aliased(items: Items) -> Iterator[str]:
    for text, name in items:
        yield text if text == identifier(name) else f"{text} AS {identifier(name)}"


def _columns(items: Items) -> Iterator[str]:
    return (f"F.expr({text!r}).alias({name!r})" for text, name in items)


def _call(method: str, arguments: Iterable[str]) -> str:
    listed = list(arguments)
    flat = f".{method}({', '.join(listed)})"
    if len(flat) <= 90:
        return flat
    return f".{method}(\n" + "".join(f"    {argument},\n" for argument in listed) + ")"


def _read(relation: Read) -> str:
    given = f"streams[{relation.stream!r}]"
    if relation.path is None:
        return given
    options = "".join(f".option({key!r}, {value!r})" for key, value in relation.options)
    schema = f".schema({relation.schema!r})" if relation.schema else ""
    files = f"spark.read.format({relation.format!r}){options}{schema}.load({relation.path!r})"
    return f"{given} if {relation.stream!r} in streams else {files}"
