from hypothesis import given, settings, HealthCheck
from generate import scripts, patterns, streams
from neelc.bind import examine
from neelc.ir.check import check
from neelc.ir.script import RunQuery, Script
from neelc.source import Source
from neelc import parse
from neelc.errors import render_all
COUNT={"ok":0,"bad":0,"codes":{}}
@settings(max_examples=1500, deadline=None, derandomize=False, suppress_health_check=list(HealthCheck))
@given(scripts.scripts())
def test_any(script):
    b = examine(script, Source(""))
    assert (b.program is None) == bool(b.diagnostics)
    if b.program:
        for q in b.program.queries: check(q.match)
@settings(max_examples=1500, deadline=None, derandomize=False, suppress_health_check=list(HealthCheck))
@given(patterns.queries())
def test_meaning(query):
    sc = streams.script_of(query)
    b = examine(sc, Source(""))
    if b.program:
        COUNT["ok"]+=1
        for q in b.program.queries: check(q.match)
    else:
        COUNT["bad"]+=1
        for d in b.diagnostics:
            key=(d.code,d.message)
            if key not in COUNT["codes"]: COUNT["codes"][key]=str(query)
def test_z():
    print(COUNT["ok"],COUNT["bad"])
    for k,v in COUNT["codes"].items(): print(k, v)
