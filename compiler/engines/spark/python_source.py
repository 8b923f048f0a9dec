"""Relations as PySpark source: one function `query(spark, streams)` that builds a DataFrame."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from neelc.engines.runners import RUNNERS
from neelc.engines.spark.relations import (
    AgentCall,
    AggregateRows,
    AnyProgram,
    BesideRow,
    CalledFunctions,
    Extend,
    Items,
    Join,
    Kernel,
    KernelOnStream,
    Let,
    LookUp,
    Observed,
    Ordered,
    Read,
    Relation,
    Relations,
    SelectColumns,
    Sorted,
    StreamedProgram,
    Union,
    Watermark,
    WatermarkCheck,
    Where,
    functions_of,
    functions_on_stream,
)
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.kernels.rows.program import RowProgram, StreamedRows
from neelc.runtime.program import (
    NetworkProgram,
)
from neelc.scalar.spark.trees import identifier, with_alias

# Values as Python source: frozen dataclasses written as the calls that make them.


def source_of(value: object, indent: int = 0) -> str:
    """Python source for a value, what is by default left out; over several lines where it is long.

    >>> from neelc.runtime.program import Take, Bounds
    >>> print(source_of((Take("b", "B", Bounds(after=("a",))),)))
    (Take("b", "B", bounds=Bounds(after=("a",))),)
    """
    flat = _flat(value)
    if len(flat) + indent <= WIDTH or not _is_nested(value):
        return flat
    inner = " " * (indent + 4)
    pieces = [f"{inner}{name}{source_of(part, indent + 4)},\n" for name, part in _parts(value)]
    opening, closing = (f"{type(value).__name__}(", ")") if is_dataclass(value) else ("(", ")")
    return f"{opening}\n{''.join(pieces)}{' ' * indent}{closing}"


def classes_in_source(value: object) -> set[tuple[str, str]]:
    """The classes that the source of a value names, each with its module.

    >>> from neelc.runtime.program import ColumnValue
    >>> classes_in_source((ColumnValue("a", "x"), ColumnValue("b", "x")))
    {('neelc.runtime.program', 'ColumnValue')}
    """
    if isinstance(value, tuple):
        return {found for item in value for found in classes_in_source(item)}
    own = (type(value).__module__, type(value).__name__)
    if isinstance(value, Enum):
        return {own}
    if not is_dataclass(value):
        return set()
    return {own} | {found for _, part in _parts(value) for found in classes_in_source(part)}


def _is_nested(value: object) -> bool:
    return is_dataclass(value) or (isinstance(value, tuple) and bool(value))


def _flat(value: object) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_flat(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if is_dataclass(value):
        return f"{type(value).__name__}({', '.join(name + _flat(part) for name, part in _parts(value))})"
    if isinstance(value, Enum):
        return str(f"{type(value).__name__}.{value.name}")
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f'float("{value}")'
    if isinstance(value, str) and '"' not in value and "'" not in value:
        return f'"{repr(value)[1:-1]}"'
    return repr(value)


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """What stands between the parentheses: the first fields by place, the others by name."""
    if isinstance(value, tuple):
        yield from (("", item) for item in value)
        return
    by_place = True
    for slot in fields(value):
        part = getattr(value, slot.name)
        if _is_default(slot, part):
            by_place = False
            continue
        by_place = by_place and slot.default is MISSING and slot.default_factory is MISSING
        yield "" if by_place else f"{slot.name}=", part


def _is_default(slot: Field[Any], value: object) -> bool:
    if slot.default_factory is not MISSING:
        return bool(value == slot.default_factory())
    return slot.default is not MISSING and type(value) is type(slot.default) and bool(value == slot.default)


WIDTH = 100

HEADER = '''"""{title}

Compiled by neelc. `query` builds a DataFrame and runs nothing.
`streams` maps the names of streams to DataFrames.{given}
"""

from __future__ import annotations

from collections.abc import {mapping}

from pyspark.sql import DataFrame, {observation}SparkSession{functions}
{runtime}
'''
GIVEN = """
`aggregates` maps the names of aggregates to Python functions, which Spark carries to its workers: {names}.
Each takes the list of an argument's values, with None for NULL, and gives a value of its type or None."""
TIME_ZONE = 'spark.conf.get("spark.sql.session.timeZone")'

IDENTITY = "IDENTITY"
STREAMING = "neelc.runtime.streaming"
STREAMED = (
    "CALLED",
    "KEPT",
    "METRICS",
    "PACKED",
    "StreamProgram",
    "WATERMARKED",
    "bucket_function",
    "pack",
    "unpack",
)
"""What the source of a query over streams uses."""

DECLARING_SPACE = ("neelc.runtime.space_columns", "declare_space")
DECLARING = ("neelc.runtime.vector_columns", "declare_functions")
AGGREGATING = ("neelc.runtime.user_calls", "aggregated")

GIVEN_AGENTS = """
`agents` maps the names of agents to functions of DataFrames that give one: {names}; and those of
aggregates to theirs."""
GIVEN_OBSERVATIONS = """
`observations` has an observation of Spark's for each of: {names}."""
PARAMETERS = ("spark: SparkSession", "streams: Mapping[str, DataFrame]")
AGGREGATES = "aggregates: Mapping[str, Callable[[list[object]], object]]"
AGENTS = "agents: Mapping[str, Callable[..., Any]]"
OBSERVATIONS = "observations: Mapping[str, Observation]"


def python_source(relations: Relations, title: str) -> str:
    """The source of a plan. What users write appears in it as text between quotes only."""
    kernels = [
        (let.name, let.relation)
        for let in relations.lets
        if isinstance(let.relation, Kernel | KernelOnStream)
    ]
    others = [AGGREGATING] if any(isinstance(let.relation, CalledFunctions) for let in relations.lets) else []
    if any(isinstance(one, KernelOnStream) for _, one in kernels):
        others += [(STREAMING, name) for name in STREAMED]
    if any(isinstance(let.relation, WatermarkCheck) for let in relations.lets):
        others.append((STREAMING, "watermarked"))
    if relations.in_python:
        others.append(DECLARING)
    if relations.spatial:
        others.append(DECLARING_SPACE)
    runtime = _imports([one.program for _, one in kernels], others)
    body = "\n".join((*_declarations(relations), *(_statement(let) for let in relations.lets)))
    functions = "\nfrom pyspark.sql import functions as F" if re.search(r"\bF\.\w+", body) else ""
    programs = "".join(_constants(name, one) for name, one in kernels)
    names, agents = relations.functions, relations.agents
    given = GIVEN.format(names=", ".join(names)) if names else ""
    given += GIVEN_AGENTS.format(names=", ".join(agents)) if agents else ""
    observed = relations.observations
    given += GIVEN_OBSERVATIONS.format(names=_plain(", ".join(observed))) if observed else ""
    mapping = "Callable, Mapping" if names or agents else "Mapping"
    if agents:
        mapping += "\nfrom typing import Any"
        body = f"aggregates = agents\n{body}" if names else body
    header = HEADER.format(
        title=_plain(title),
        given=given,
        mapping=mapping,
        observation="Observation, " if observed else "",
        functions=functions,
        runtime=runtime,
    )
    own = [AGENTS] if agents else [AGGREGATES] if names else []
    signature = _signature([*PARAMETERS, *own, *([OBSERVATIONS] if observed else [])])
    last = relations.lets[-1].name
    return f"{header}{programs}\n{signature}\n{textwrap.indent(body, '    ')}\n    return {last}\n"


def _declarations(relations: Relations) -> Iterator[str]:
    """The functions of users, for the session."""
    if relations.spatial:
        names = ", ".join(map(_string, relations.spatial))
        yield _block("declare_space(", ["spark", "F.arrow_udf", f"[{names}]"])
    calls = [
        f"({_string(one.name)}, {_string(one.spelled)}, {tuple(map(str, one.takes))!r}, "
        f"{_string(str(one.returns))})"
        for one in relations.in_python
    ]
    if calls:
        yield _block("declare_functions(", ["spark", "F.arrow_udf", f"[{', '.join(calls)}]", "aggregates"])


def _signature(parameters: list[str]) -> str:
    flat = f"def query({', '.join(parameters)}) -> DataFrame:"
    if len(flat) <= WIDTH:
        return flat
    return "def query(\n" + "".join(f"    {one},\n" for one in parameters) + ") -> DataFrame:"


def _imports(programs: list[AnyProgram | StreamedProgram], others: list[tuple[str, str]]) -> str:
    names: dict[str, set[str]] = {}
    for module, name in others:
        names.setdefault(module, set()).add(name)
    for program in programs:
        for module, name in (RUNNERS[type(program)], *classes_in_source(program)):
            names.setdefault(module, set()).add(name)
    lines = [_import(module, sorted(found)) for module, found in sorted(names.items())]
    return "".join(["\n", *lines]) if lines else ""


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH:
        return line
    return "".join([f"from {module} import (\n", *(f"    {name},\n" for name in names), ")\n"])


def _plain(text: str) -> str:
    """The text for a docstring: nothing in it ends the docstring or is an escape."""
    return _visible(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip('"')


def _visible(text: str) -> str:
    r"""Escapes for what cannot be seen: Python refuses some of it, and some turns the direction of a line.

    >>> print(_visible("a\0 \u202e"))
    a\x00 \u202e
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _constant(name: str, what: str = "PROGRAM") -> str:
    return f"{name.upper()}_{what}"


def _constants(name: str, kernel: Kernel | KernelOnStream) -> str:
    """What a kernel runs; on a stream, also what its state depends on."""
    program = f"{_constant(name)} = {source_of(kernel.program)}\n\n"
    if not isinstance(kernel, KernelOnStream):
        return program
    return f"{program}{_constant(name, IDENTITY)} = {source_of(kernel.identity)}\n\n"


def _statement(let: Let) -> str:
    comment = "".join(f"# {line}\n" for line in textwrap.wrap(_visible(let.comment), WIDTH))
    first, *calls = _chain(let.relation, let.name)
    flat = first + "".join(calls)
    if isinstance(let.relation, SparkQuery):
        return f"{comment}{let.name} = {flat}"
    if (len(flat) + len(let.name) < WIDTH - 10 and "\n" not in flat) or (
        len(calls) == 1 and "(" not in first
    ):
        return f"{comment}{let.name} = {flat}"
    if "(" not in first:
        first, calls = first + calls[0], calls[1:]
    inner = textwrap.indent("\n".join([first, *calls]), "    ")
    return f"{comment}{let.name} = (\n{inner}\n)"


def quoted(text: str) -> str:
    r"""A string of Python; a long one in several pieces, one below the other.

    >>> print(quoted("x = 'a'"), quoted('say "a"'), quoted("a\\b"))
    "x = 'a'" 'say "a"' "a\\b"
    """
    pieces = textwrap.wrap(
        text, WIDTH - 15, drop_whitespace=False, replace_whitespace=False, break_long_words=False,
        break_on_hyphens=False, expand_tabs=False,
    )  # fmt: skip
    # Wrapping must not lose a character: a string of blanks, or with line ends, stays in one piece.
    whole = len(pieces) < 2 or "".join(pieces) != text
    return _string(text) if whole else "\n".join(map(_string, pieces))


def _string(text: str) -> str:
    shown = repr(text)
    return shown if '"' in text or shown[0] == '"' else '"' + shown[1:-1].replace("\\'", "'") + '"'


def _ordered(relation: Ordered) -> Iterator[str]:
    yield relation.source
    yield _call("orderBy", (f"{_expression(text)}.{_method(way)}()" for text, way in relation.order))
    if relation.limit is not None:
        yield f".limit({relation.limit})"


def _looked_up(relation: LookUp) -> Iterator[str]:
    yield f"{relation.source}.alias({quoted('event')})"
    values = f"F.broadcast({relation.values}.alias({quoted('known')}))"
    on = _expression(f"{identifier(relation.column, 'event')} = known.key")
    yield _call("join", (values, on, quoted("left_outer")))
    yield _call("selectExpr", map(quoted, ("event.*", with_alias("known.value", relation.name))))


def _chain(relation: Relation, name: str) -> Iterator[str]:
    """A DataFrame, and the methods called on it one after the other."""
    match relation:
        case Read():
            yield _read(relation)
        case SelectColumns():
            yield from _selected(relation)
        case Extend(source, items):
            yield source
            yield _call("selectExpr", map(quoted, ("*", *_aliased(items))))
        case Where(source, condition):
            yield source
            yield _call("where", [quoted(condition)])
        case Union(sources):
            yield sources[0]
            yield from (f".unionByName({other})" for other in sources[1:])
        case Join((left, one), (right, other), on, kind, items):
            yield f"{left}.alias({quoted(one)})"
            how = quoted(kind.lower().replace(" ", "_"))
            yield _call("join", (f"{right}.alias({quoted(other)})", _expression(on), how))
            if items:
                yield _call("selectExpr", map(quoted, _aliased(items)))
        case LookUp():
            yield from _looked_up(relation)
        case BesideRow(source, row):
            yield source
            yield _call("crossJoin", (f"F.broadcast({row})",))
        case AggregateRows(source, groups, items):
            yield source
            yield _call("groupBy", _columns(groups))
            yield _call("agg", _columns(items)) if items else ".agg()"
        case Ordered():
            yield from _ordered(relation)
        case Sorted(source, keys, order):
            yield source
            yield f".repartition({', '.join(map(_by, keys)) or 1})"
            if order:
                yield _call("sortWithinPartitions", map(_by, order))
        case CalledFunctions():
            yield _called(relation)
        case AgentCall(agent, sources):
            yield f"agents[{_string(agent)}]({', '.join(sources)})"
        case SparkQuery():
            yield _spark_query(relation)
        case Observed():
            yield from _observed(relation)
        case KernelOnStream():
            yield from _on_stream(relation, name)
        case WatermarkCheck(source, column):
            yield f"watermarked({source}, {_string(column)})"
        case Watermark(source, time, delay, event_time):
            yield source
            if event_time is not None:
                yield _call("withColumn", (quoted(time), _expression(event_time)))
            yield _call("withWatermark", (quoted(time), quoted(delay)))
        case Kernel(source, _, schema):
            yield source
            yield _call("mapInArrow", (_kernel(relation, name), quoted(schema)))


def _observed(relation: Observed) -> Iterator[str]:
    yield relation.source
    yield _call("observe", (f"observations[{_string(relation.key)}]", *_columns(relation.items)))
    if relation.dropped is not None:
        yield _call("where", [quoted(f"{identifier(relation.dropped)} IS NULL")])
        yield f".drop({_string(relation.dropped)})"


def _selected(relation: SelectColumns) -> Iterator[str]:
    yield relation.source
    if relation.where:
        yield _call("where", [quoted(relation.where)])
    yield _call("selectExpr", map(quoted, _aliased(relation.items)))
    if relation.observed:
        yield f'.observe({_string(relation.observed)}, F.expr("count(*) AS events"))'
    if relation.having:
        yield _call("where", [quoted(relation.having)])
    if relation.distinct:
        yield ".distinct()"


def _kernel(relation: Kernel, name: str) -> str:
    """The function that runs a program."""
    program = relation.program
    given = "" if relation.most_matches is None else f", most_matches={relation.most_matches}"
    given += ", aggregates=aggregates" if functions_of(program) else ""
    given += f", time_zone={TIME_ZONE}" if isinstance(program, RowProgram) and program.zoned else ""
    given += ", measured=True" if relation.measured else ""
    _, run = RUNNERS[type(program)]
    return f"{run}({_constant(name)}{given})"


def _is_zoned(program: StreamedProgram) -> bool:
    """Whether a worker computes with the clock of the session."""
    if isinstance(program, StreamedRows):
        return program.program.zoned
    return isinstance(program, NetworkProgram) and program.zoned


def _on_stream(relation: KernelOnStream, name: str) -> Iterator[str]:
    """Events as bytes, a call for each bucket, and results as rows again: see `neelc.runtime.streaming`."""
    _, run = RUNNERS[type(relation.program)]
    given = "" if relation.most_matches is None else f", most_matches={relation.most_matches}"
    given += ", aggregates=aggregates" if functions_on_stream(relation.program) else ""
    given += f", time_zone={TIME_ZONE}" if _is_zoned(relation.program) else ""
    kernel = f"{run}({_constant(name)}{given})"
    program = f"StreamProgram({kernel}, {relation.nanos}, {_constant(name, IDENTITY)})"
    function = f"bucket_function({program})"
    yield relation.source
    packed = f".mapInArrow(pack({relation.buckets}), PACKED)"
    yield packed
    yield from (_call("union", (f"{other}{packed}",)) for other in relation.others)
    yield '.withMetadata("until", WATERMARKED)'
    yield '.groupBy("bucket")'
    yield _call("applyInPandasWithState", (function, "CALLED", "KEPT", '"append"', '"EventTimeTimeout"'))
    yield f".observe({_string(relation.metrics)}, *map(F.expr, METRICS))"
    yield '.where("data IS NOT NULL")'
    yield _call("mapInArrow", ("unpack", quoted(relation.schema)))


def _spark_query(relation: SparkQuery) -> str:
    """What the user wrote goes to Spark line by line."""
    lines = "\n".join(_string(line) for line in relation.text.splitlines(keepends=True))
    values = [f"{_string(name)}: {_expression(text)}" for text, name in relation.arguments]
    arguments = [_block("args={", values)[:-1] + "}"] if values else []
    return _block("spark.sql(", [lines, *arguments, *(f"{name}={name}" for name in relation.names)])


def _called(relation: CalledFunctions) -> str:
    calls = [
        f"({', '.join(map(_string, (call.function, call.values, call.name, call.type)))})"
        for call in relation.calls
    ]
    return _block("aggregated(", [relation.source, f"[{', '.join(calls)}]", "aggregates"])


def _method(direction: str) -> str:
    return direction.lower().replace(" ", "_")


def _by(text: str) -> str:
    """What to sort by: a column's name, which a direction may follow, or an expression."""
    directed = re.fullmatch(r"(.*?)( DESC)?( NULLS (FIRST|LAST))?", text, re.DOTALL)
    if directed and (directed[2] or directed[3]):
        nulls = (directed[4] or ("LAST" if directed[2] else "FIRST")).lower()
        return f"F.{'desc' if directed[2] else 'asc'}_nulls_{nulls}({quoted(directed[1])})"
    return _expression(text) if "(" in text else quoted(text)


def _aliased(items: Items) -> Iterator[str]:
    return (with_alias(text, name) for text, name in items)


def _columns(items: Items) -> Iterator[str]:
    return (f"{_expression(text)}.alias({quoted(name)})" for text, name in items)


def _expression(text: str) -> str:
    return _block("F.expr(", [quoted(text)])


def _call(method: str, arguments: Iterable[str]) -> str:
    return _block(f".{method}(", list(arguments))


def _block(opening: str, arguments: list[str]) -> str:
    """A call: in one line if that is short, else each argument on lines of its own."""
    flat = f"{opening}{', '.join(arguments)})"
    if len(flat) <= WIDTH - 10 and "\n" not in flat:
        return flat
    return f"{opening}\n" + "".join(textwrap.indent(f"{one},\n", "    ") for one in arguments) + ")"


def _read(relation: Read) -> str:
    given = f"streams[{_string(relation.stream)}]"
    if relation.path is None:
        return given
    calls = [f".format({_string(relation.format or '')})"]
    calls += [f".option({_string(key)}, {_string(value)})" for key, value in relation.options]
    calls += [_call("schema", [quoted(relation.schema)])] if relation.schema else []
    calls.append(f".load({_string(relation.path)})")
    if relation.items:
        calls.append(_call("selectExpr", map(quoted, _aliased(relation.items))))
    files = textwrap.indent("\n".join(calls), "    ").lstrip()
    reader = "readStream" if relation.is_streaming else "read"
    return f"{given}\nif {_string(relation.stream)} in streams\nelse (\n    spark.{reader}{files}\n)"
