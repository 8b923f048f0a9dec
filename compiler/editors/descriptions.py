"""What an editor shows of a thing, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neelc.bind.catalog import Catalog, Entry
from neelc.bind.event_types import KnownType, resolve_type
from neelc.bind.findings import Findings
from neelc.bind.row_names import FORMS
from neelc.bind.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SAID, SCALAR_SIGNATURES
from neelc.editors.known import Known
from neelc.editors.pattern_names import attributes
from neelc.editors.select_names import entry_columns
from neelc.ir.logical import Column
from neelc.ir.names import bare, find, written
from neelc.source import Source, Span


def of_columns(columns: Sequence[Column]) -> str:
    """
    >>> from neelc.ir.types import INT
    >>> print(of_columns([Column("unit price", INT)]))
    ```neel
    `unit price` INT
    ```
    """
    lines = "\n".join(f"{written(column.name)} {column.type}" for column in columns)
    return f"```neel\n{lines}\n```" if columns else ""


def of_variable(known: Known) -> str:
    """A variable, or a source of a SELECT."""
    inner = [f"`{one.name}`: {one.title}" for one in known.inner]
    return paragraphs(
        f"`{known.name}`: {known.title}", _listed([*known.scope, *inner]), of_columns(known.columns)
    )


def of_attribute(column: Column, owner: str) -> str:
    return f"`{owner}.{written(column.name)}`: {column.type}"


def of_function(name: str) -> str | None:
    """The form of a function and what it gives.

    >>> print(of_function("LPAD"))
    ```neel
    lpad(text, INT [, text]) -> text
    ```
    """
    key = name.lower()
    forms = [
        f"{signature.text} -> {_said(signature.result)}"
        for table in (SCALAR_SIGNATURES, AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES)
        if (signature := table.get(key)) is not None
    ]
    forms += [FORMS[key]] if key in FORMS else []
    return "```neel\n" + "\n".join(forms) + "\n```" if forms else None


def _said(result: str) -> str:
    """A result as people say it: most are numbers that depend on the arguments."""
    said = SAID | dict.fromkeys(("average", "ceiling", "remainder", "rounded", "sum"), "number")
    return re.sub(r"[a-z_]+", lambda kind: said.get(kind[0], kind[0]), result)


def of_type(name: str, catalog: Catalog) -> str | None:
    """A type of a pattern: a stream, a query, a concept, or a value of type columns."""
    entry = catalog.entry(name)
    if entry is not None:
        return of_entry(entry)
    known = known_type(name, catalog)
    if known is None:
        return None
    concept = catalog.concept(name)
    if concept is not None:
        title = f"type `{concept.name}`: one of {', '.join(f'`{leaf}`' for leaf in catalog.flattened(name))}"
    else:
        title = f"type `{name}`: " + ", ".join(_where(entry, name) for entry in known.entries)
    return paragraphs(title, of_columns(attributes(known)))


def known_type(name: str, catalog: Catalog) -> KnownType | None:
    """The type, if the declared streams have it."""
    silent = Findings(Source(""))
    return resolve_type(name, catalog, list(catalog.entries.values()), False, Span(0, 0), silent)


def _where(entry: Entry, name: str) -> str:
    column = entry.stream.type_column if entry.stream is not None else None
    return f"events of `{entry.name}` where `{column}` is '{bare(name)}'"


def of_entry(entry: Entry) -> str:
    """A stream, a relation or a named query."""
    title = f"{entry.kind} `{entry.name}`"
    stream = entry.stream
    notes = []
    if stream is not None and stream.query is None:
        end = f" to `{stream.end}`" if stream.end else ""
        notes.append(f"time: `{stream.start}`{end}, {entry.clock}")
    if stream is not None and stream.type_column:
        notes.append(f"types of events: `{stream.type_column}`")
    if stream is not None and stream.path:
        notes.append(f"data: `{stream.path}`")
    return paragraphs(title, _listed(notes), of_columns(entry_columns(entry)))


def of_shared(name: str, several: Iterable[Known]) -> str | None:
    """A column that is named without its owner: the types it has."""
    lines = [
        of_attribute(column, one.name)
        for one in several
        for column in one.columns
        if find(name, [written(column.name)])
    ]
    return _listed(lines) or None


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
