"""CREATE HIERARCHY: which columns of a relation are levels, and what levels of what a query may ask for."""

from __future__ import annotations

from neelc.catalog.catalog import Catalog, Hierarchy, is_integer
from neelc.findings import Findings, did_you_mean, listing
from neelc.ir.expressions import LevelName
from neelc.ir.names import bare, find
from neelc.ir.program import Stream
from neelc.ir.script import CreateHierarchy
from neelc.ir.types import BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType


def declared_hierarchy(statement: CreateHierarchy, catalog: Catalog, findings: Findings) -> Hierarchy:
    """The hierarchy; without its relation if something in the declaration was reported."""
    before = len(findings.diagnostics)
    relation = _relation(statement, catalog, findings)
    found = (
        [] if relation is None else [_level(one, relation, statement, findings) for one in statement.levels]
    )
    levels = tuple(dict.fromkeys(level for level in found if level is not None))
    if len(findings.diagnostics) == before and len(levels) < len(found):
        twice = next(one for place, one in enumerate(statement.levels) if find(one, statement.levels[:place]))
        message = f"level `{bare(twice)}` is declared twice"
        findings.report("NEEL2202", message, findings.at(twice, statement), "leave one of them out")
    elif relation is not None and len(found) < 2:
        message = f"hierarchy `{bare(statement.name)}` has one level: nothing is coarser"
        hint = "list its levels from the finest to the coarsest: (street, city, country)"
        findings.report("NEEL2261", message, findings.at(statement.name, statement), hint)
    is_whole = len(findings.diagnostics) == before
    return Hierarchy(bare(statement.name), relation if is_whole else None, levels)


def _level(name: str, relation: Stream, statement: CreateHierarchy, findings: Findings) -> str | None:
    """The column that is a level; None after a report."""
    names = [column.name for column in relation.columns]
    found = find(name, names)
    if found is None:
        message = f"relation `{relation.name}` has no column `{bare(name)}`"
        place = findings.at(name, statement)
        findings.report("NEEL2204", message, place, did_you_mean(name, names, f"columns of {relation.name}"))
    elif not can_be_level(_type(relation, found)):
        message = f"column `{found}` is of type {_type(relation, found)}; a level is compared for equality"
        hint = "levels are of type STRING, BOOLEAN, DATE, TIMESTAMP or integers"
        findings.report("NEEL2205", message, findings.at(name, statement), hint)
        return None
    return found


def can_be_level(type: DataType) -> bool:
    """Whether equality of values of the type is the same for every engine: of fractions it is not."""
    return is_integer(type) or type in (STRING, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ)


def is_comparable(attribute: DataType, level: DataType) -> bool:
    """Whether values of an attribute can be values of a level."""
    return attribute == level or (is_integer(attribute) and is_integer(level))


def _type(relation: Stream, name: str) -> DataType:
    return next(column.type for column in relation.columns if column.name == name)


def _relation(statement: CreateHierarchy, catalog: Catalog, findings: Findings) -> Stream | None:
    entry = catalog.entry(statement.relation)
    if entry is not None and (entry.relation is not None or entry.kind == "relation"):
        return entry.relation
    span = findings.at(statement.relation, statement)
    relations = [one.name for one in catalog.entries.values() if one.relation is not None]
    if entry is not None:
        message = (
            f"`{bare(statement.relation)}` is a {entry.kind}; the levels of a hierarchy are in a relation"
        )
        hint = listing("relations", relations) or "declare it without times: CREATE RELATION"
        findings.report("NEEL2260", message, span, hint)
        return None
    declare = f"declare it before: CREATE RELATION {statement.relation} ({', '.join(statement.levels)})"
    close = did_you_mean(statement.relation, relations, "relations")
    findings.report("NEEL2260", f"unknown relation `{bare(statement.relation)}`", span, close or declare)
    return None


def known_level(name: LevelName, catalog: Catalog, findings: Findings) -> tuple[Hierarchy, str] | None:
    """The hierarchy and the level of `Place.city`; None after a report."""
    hierarchy = catalog.hierarchy(name.hierarchy)
    if hierarchy is None:
        hint = did_you_mean(name.hierarchy, catalog.hierarchies, "hierarchies")
        message = f"unknown hierarchy `{bare(name.hierarchy)}`"
        declare = "declare one: CREATE HIERARCHY Place (street, city) FROM Places"
        findings.report("NEEL2261", message, findings.at(name.hierarchy, name), hint or declare)
        return None
    if hierarchy.relation is None:
        return None
    level = hierarchy.level(name.level)
    if level is None:
        hint = did_you_mean(name.level, hierarchy.levels, f"levels of {hierarchy.name}")
        message = f"hierarchy `{hierarchy.name}` has no level `{bare(name.level)}`"
        findings.report("NEEL2261", message, findings.at(name.level, name), hint)
        return None
    return hierarchy, level
