"""The physical plan for people and for programs: its relations one by one."""

from __future__ import annotations

import json
import textwrap
from dataclasses import fields, is_dataclass
from typing import Any

from neelc.emit.relations import Let, Relations

WIDTH = 100


def plan_text(relations: Relations, strategies: tuple[tuple[str, str], ...]) -> str:
    """Each relation with what it is for and what it is made of."""
    head = [f"strategy: {strategy}{f' for {name}' if name else ''}" for name, strategy in strategies]
    return "\n".join([*head, *map(_paragraph, relations.lets)])


def _paragraph(let: Let) -> str:
    lines = [f"\n{let.name}: {type(let.relation).__name__}"]
    if let.comment:
        lines += textwrap.wrap(let.comment, WIDTH, initial_indent="    -- ", subsequent_indent="    -- ")
    for name, value in _record(let.relation).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += textwrap.wrap(
            f"{name}: {text}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
        )
    return "\n".join(lines)


def plan_json(relations: Relations, strategies: tuple[tuple[str, str], ...]) -> str:
    """The same as JSON."""
    record = {
        "strategies": [{"query": name or None, "strategy": strategy} for name, strategy in strategies],
        "relations": [
            {
                "name": let.name,
                "kind": type(let.relation).__name__,
                "for": let.comment,
                **_record(let.relation),
            }
            for let in relations.lets
        ],
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


def _record(value: Any) -> Any:
    """A value as JSON has it; what is not said is left out."""
    if is_dataclass(value):
        pairs = ((slot.name, _record(getattr(value, slot.name))) for slot in fields(value))
        return {name: part for name, part in pairs if part not in (None, (), [], "", False, {})}
    if isinstance(value, tuple):
        return [_named(item) for item in value]
    return value


def _named(item: object) -> Any:
    """A dataclass in a list, with its kind."""
    record = _record(item)
    return {type(item).__name__: record} if is_dataclass(item) else record
