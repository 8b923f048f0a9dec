"""Cases whose query is Spark's, around MATCH_RECOGNIZE: the reference interpreter runs the simple ones."""

from __future__ import annotations

from neelc.cases.file import Case
from neelc.host.inputs import HostInputs, declarations, host_inputs
from neelc.host.script import host_script


def host_prepared(case: Case, backwards: bool = False) -> HostInputs | None:
    """What is run; None if the query is ours. Raises `NeelError` if a declaration is wrong."""
    script = host_script(case.query)
    if script is None or not script.is_last:
        return None
    own = declarations(script)
    given = [events.given(own, backwards) for events in case.events]
    return host_inputs(script, given, case.path.parent, case.arguments, case.untrusted)
