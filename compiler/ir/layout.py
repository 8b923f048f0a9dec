"""Text that is written on one line where it fits, and broken at its joints where it does not.

Lines are made here and never cut again: a string literal may hold a newline of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

WIDTH = 100
INDENT = "  "


@dataclass(frozen=True)
class Block:
    """`head`, the parts with a space between them, `tail`; broken, each part stands on its own line.

    Parts are indented under the head, if there is one. A tail that begins with `)` gets its own line when
    the block is broken. `always` blocks are broken even where they fit.
    """

    head: Doc
    parts: tuple[Doc, ...]
    tail: str = ""
    always: bool = False


Doc = str | Block


def wrap(before: str, doc: Doc, after: str = "") -> Doc:
    """The same joints, with more text around them.

    >>> print(flat(wrap("!", Block("SEQ(", ("A a,", "B b"), ")"), "+")))
    !SEQ(A a, B b)+
    """
    if isinstance(doc, str):
        return before + doc + after
    return replace(doc, head=wrap(before, doc.head), tail=doc.tail + after)


def commas(docs: Sequence[Doc]) -> tuple[Doc, ...]:
    """
    >>> commas(["a", "b", "c"])
    ('a,', 'b,', 'c')
    """
    return (*(wrap("", doc, ",") for doc in docs[:-1]), *docs[-1:])


def clause(keyword: str, docs: Sequence[Doc]) -> Doc:
    """`keyword a, b, c`.

    >>> print(flat(clause("RETURN", ["a.x", "b.y"])))
    RETURN a.x, b.y
    """
    if len(docs) == 1:
        return wrap(f"{keyword} ", docs[0])
    return Block(f"{keyword} ", commas(docs))


def flat(doc: Doc) -> str:
    """The text on one line."""
    if isinstance(doc, str):
        return doc
    return flat(doc.head) + " ".join(map(flat, doc.parts)) + doc.tail


def render(doc: Doc, indent: str = "") -> str:
    """The text, broken where it must be or would be wider than `WIDTH`; the first line is not indented.

    >>> inner = Block("SEQ(", ("B b,", "C c" * 40), ")+ k[],")
    >>> print(render(Block("PATTERN SEQ(", ("A a,", inner, "D d"), ")")))  # doctest: +ELLIPSIS
    PATTERN SEQ(
      A a,
      SEQ(
        B b,
        C cC c...
      )+ k[],
      D d
    )
    """
    if isinstance(doc, str):
        return doc
    if not _must_break(doc) and len(indent) + len(line := flat(doc)) <= WIDTH:
        return line
    inner = indent + INDENT if doc.head else indent
    lines = [inner + render(part, inner) for part in doc.parts]
    if doc.head:
        lines.insert(0, render(doc.head, indent).rstrip())
    else:
        lines[0] = lines[0][len(inner) :]
    if doc.tail.startswith(")"):
        lines.append(indent + doc.tail)
    else:
        lines[-1] += doc.tail
    return "\n".join(lines)


def _must_break(doc: Doc) -> bool:
    return isinstance(doc, Block) and (doc.always or any(map(_must_break, doc.parts)))
