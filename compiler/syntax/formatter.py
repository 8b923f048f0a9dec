"""A script in canonical form, with its comments.

Comments that stand before, after or behind a statement stay there. A statement with comments inside is left
as it is written: the syntax tree has no place for them, and a guess might move them to the wrong line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir.script import Script, Statement
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax.host import host_statements
from neelc.syntax.parser import tokens_of
from neelc.syntax.printer import format_script


@dataclass(frozen=True)
class FormattedText:
    """The text, and the lines of statements that were left as they are."""

    text: str
    untouched: tuple[int, ...] = ()


def canonical(source: Source) -> FormattedText:
    r"""The script in canonical form; raises `NeelError` if it is not one.

    >>> print(canonical(Source("-- stocks\npattern seq(A a,B b);  -- two\n")).text, end="")
    -- stocks
    PATTERN SEQ(A a, B b);  -- two
    """
    whole = Source(source.text.replace("\r\n", "\n"), source.name)
    source, hosts = _with_stand_ins(whole)
    found = _canonical(source)
    text = found.text
    for stand_in, written in hosts.items():
        text = text.replace(f"{stand_in};", written if written.endswith(";") else f"{written};", 1)
    return FormattedText(text, found.untouched)


def _with_stand_ins(source: Source) -> tuple[Source, dict[str, str]]:
    """The script with statements that stand in for queries of Spark's, which stay as they are written, and
    what they stand for. Queries that our own grammar reads are formatted like all others.

    >>> text = "SELECT a.*, 1::INT FROM t MATCH_RECOGNIZE (PATTERN (A)) AS a;"
    >>> found, hosts = _with_stand_ins(Source(text))
    >>> found.text.rstrip(), list(hosts.values()) == [text]
    ('PATTERN spark_query_1 spark;', True)
    """
    text, hosts = source.text, {}
    for number, statement in reversed(list(enumerate(host_statements(source.text), 1))):
        start, end = statement.whole.start, statement.whole.end
        written = text[start:end]
        if _is_ours(written):
            continue
        stand_in = f"PATTERN spark_query_{number} spark"
        hosts[stand_in] = written
        # As many lines as before: errors in other statements have their places.
        text = text[:start] + f"{stand_in};" + "\n" * written.count("\n") + text[end:]
    return Source(text, source.name), hosts


def _is_ours(text: str) -> bool:
    try:
        parse.script(text)
    except NeelError:
        return False
    return True


def _canonical(source: Source) -> FormattedText:
    script = parse.script(source)
    comments = [Span(t.start, t.stop + 1) for t in tokens_of(source.text) if _is_comment(t)]
    if not comments:
        return FormattedText(format_script(script))
    layout = _Layout(source, comments)
    for statement in script.statements:
        layout.add(statement)
    text = layout.finish()
    again = parse.script(Source(text))
    assert again == script, "the canonical form does not mean the same"
    return FormattedText(text, tuple(layout.untouched))


def _is_comment(token: Any) -> bool:
    return bool(token.channel != 0)


class _Layout:
    """Puts the text together, statement by statement; `comments` are those not taken over yet."""

    def __init__(self, source: Source, comments: Sequence[Span]) -> None:
        self.source = source
        self.comments = list(comments)
        self.blocks: list[str] = []
        self.untouched: list[int] = []

    def add(self, statement: Statement) -> None:
        assert statement.span is not None
        before = self._standing(self._taken(statement.span.start), statement.span.start)
        end = self._end(statement.span.end)
        if self._taken(end):
            body = self.source.text[statement.span.start : end]
            self.untouched.append(self.source.position(statement.span.start).line)
        else:
            body = format_script(Script((statement,))).rstrip("\n")
        behind = "".join(f"  {self._text(comment)}" for comment in self._behind(end))
        self.blocks.append(before + (body if body.endswith(";") else body + ";") + behind)

    def finish(self) -> str:
        rest = self._standing(self._taken(len(self.source.text)), None)
        return "\n\n".join([*self.blocks, *([rest] if rest else [])]) + "\n"

    def _end(self, end: int) -> int:
        """The place after the statement's semicolon, past comments before it; `end` if it has none."""
        at = end
        for comment in [c for c in self.comments if c.start >= end]:
            if self.source.text[at : comment.start].strip():
                break
            at = comment.end
        rest = self.source.text[at:]
        return at + rest.index(";") + 1 if rest.lstrip().startswith(";") else end

    def _taken(self, end: int) -> list[Span]:
        """The comments up to `end` that were not taken yet."""
        taken = [c for c in self.comments if c.start < end]
        self.comments = self.comments[len(taken) :]
        return taken

    def _behind(self, end: int) -> list[Span]:
        """The comments on the rest of the statement's last line, if nothing else is there."""
        line_end = self.source.text.find("\n", end)
        line_end = len(self.source.text) if line_end < 0 else line_end
        found = [c for c in self.comments if c.start < line_end]
        at = end
        for comment in found:
            if self.source.text[at : comment.start].strip():
                return []
            at = comment.end
        # What follows a block comment that ends on a later line, or on this one, begins anew below it.
        following = self.source.text[at:].split("\n", 1)[0] if found else ""
        if following.strip():
            return []
        self.comments = self.comments[len(found) :]
        return found

    def _standing(self, comments: Sequence[Span], end: int | None) -> str:
        """Comments on lines of their own before what begins at `end`; of empty lines between, one stays."""
        text = ""
        nexts = [*(comment.start for comment in comments[1:]), end]
        for comment, after in zip(comments, nexts, strict=False):
            has_gap = after is not None and self.source.text.count("\n", comment.end, after) > 1
            text += self._text(comment) + ("" if after is None else "\n\n" if has_gap else "\n")
        return text

    def _text(self, comment: Span) -> str:
        return self.source.text[comment.start : comment.end].rstrip()
