"""neelc: find patterns in events with SQL-style queries, on a laptop or on Spark."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.api.errors import NeelQueryError, NeelRunError, NeelWarning, explain_failure
    from neelc.api.funnel import funnel
    from neelc.api.local import LocalSession, local
    from neelc.api.local_frame import LocalFrame
    from neelc.api.query import Query
    from neelc.api.recognize import match_recognize
    from neelc.api.replay import replay
    from neelc.api.rules import Rules, rules
    from neelc.api.session import Session, sql
    from neelc.api.shipping import ship
    from neelc.api.streams import stream
    from neelc.api.table_function import register_udtf
    from neelc.api.timeline import Timeline, timeline
    from neelc.api.transform import pattern
    from neelc.api.why import why
    from neelc.arguments import agent, aggregate, function
    from neelc.errors import NeelError

    __version__: str

__all__ = [
    "sql",
    "rules",
    "Rules",
    "match_recognize",
    "pattern",
    "funnel",
    "local",
    "LocalSession",
    "LocalFrame",
    "Session",
    "Query",
    "stream",
    "replay",
    "timeline",
    "Timeline",
    "aggregate",
    "agent",
    "function",
    "why",
    "register_udtf",
    "ship",
    "NeelError",
    "NeelQueryError",
    "NeelRunError",
    "NeelWarning",
    "explain_failure",
    "__version__",
]

# Where each name is. They are imported when they are asked for: importing neelc stays free, and Spark's
# workers load neelc.runtime without the compiler.
_PLACES = {
    "sql": "neelc.api.session",
    "rules": "neelc.api.rules",
    "Rules": "neelc.api.rules",
    "match_recognize": "neelc.api.recognize",
    "pattern": "neelc.api.transform",
    "funnel": "neelc.api.funnel",
    "local": "neelc.api.local",
    "LocalSession": "neelc.api.local",
    "LocalFrame": "neelc.api.local_frame",
    "Session": "neelc.api.session",
    "Query": "neelc.api.query",
    "stream": "neelc.api.streams",
    "replay": "neelc.api.replay",
    "timeline": "neelc.api.timeline",
    "Timeline": "neelc.api.timeline",
    "aggregate": "neelc.arguments",
    "agent": "neelc.arguments",
    "function": "neelc.arguments",
    "why": "neelc.api.why",
    "register_udtf": "neelc.api.table_function",
    "ship": "neelc.api.shipping",
    "load_ipython_extension": "neelc.api.notebook",
    "NeelError": "neelc.errors",
    "NeelQueryError": "neelc.api.errors",
    "NeelRunError": "neelc.api.errors",
    "NeelWarning": "neelc.api.errors",
    "explain_failure": "neelc.api.errors",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("neelc")
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """This module, in which `pattern` is the function that users call.

    The compiler has a package of that name, `neelc.pattern`, which Python would put in its place as soon as a
    module of it is imported. All imports of the package name it in full, and need no attribute.
    """

    @property
    def pattern(self) -> object:
        return __getattr__("pattern")

    @pattern.setter
    def pattern(self, _: ModuleType) -> None:
        pass


sys.modules[__name__].__class__ = _Package
