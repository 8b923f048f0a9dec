"""Queries of Spark's in a script that is formatted: they are left as they are written.

Those that our own grammar reads are formatted like all others. For each other one a statement stands in.
"""

from __future__ import annotations

from neelc import parse
from neelc.host.script import host_script
from neelc.ir.script import Unread
from neelc.source import Source


def without_hosts(source: Source) -> tuple[Source, dict[str, str]]:
    """The script with statements that stand in, and what they stand for.

    >>> text = "SELECT a.*, 1::INT FROM t MATCH_RECOGNIZE (PATTERN (A)) AS a;"
    >>> found, hosts = without_hosts(Source(text))
    >>> found.text.rstrip(), list(hosts.values()) == [text]
    ('PATTERN spark_query_1 spark;', True)
    """
    script = host_script(source)
    text, hosts = source.text, {}
    for number, statement in reversed(list(enumerate(script.statements if script else (), 1))):
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
    return not any(isinstance(one, Unread) for one in parse.read(Source(text)).statements)
