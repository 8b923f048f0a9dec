"""Flink in a Python environment of its own: answers each line of SQL on standard input with a line of JSON.

Only submits SQL: Flink executes it in the Java virtual machine. `python flink_side.py PATH MODE PARALLELISM`.
"""

from __future__ import annotations

import json
import sys
import time

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

SETTINGS = {
    "taskmanager.memory.managed.size": "1g",  # to sort in memory; a local Flink has 128 MB unless told
    # A streaming job counts in large steps: what is compared is finding matches, not updating a count.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "10 min",
    "table.exec.mini-batch.size": "100000000",
}


def main(path: str, mode: str, parallelism: str) -> None:
    configuration = Configuration()
    for name, value in {**SETTINGS, "parallelism.default": parallelism}.items():
        configuration.set_string(name, value)
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    builder = builder.in_batch_mode() if mode == "batch" else builder.in_streaming_mode()
    env = TableEnvironment.create(builder.build())
    env.execute_sql(f"""
        CREATE TABLE everything (ts BIGINT, kind STRING, id BIGINT, amount INT,
          happened AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR happened AS happened)
        WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')""")
    env.execute_sql(
        "CREATE VIEW events AS SELECT * FROM everything WHERE kind IN ('A', 'B', 'C', 'D', 'E', 'F')"
    )
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        with env.execute_sql(json.loads(line)).collect() as answer:
            last = [list(row) for row in answer][-1]  # a streaming job updates its count
        print(json.dumps({"seconds": time.perf_counter() - begin, "row": last}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
