"""The Kafka broker of the tests: that it is a real one, which keeps what it is sent."""

from __future__ import annotations

import pytest
from kafka_broker import Unavailable, broker, jars


def test_records_come_back_in_the_order_of_their_partition() -> None:
    try:
        with broker() as found:
            found.create("numbers", partitions=2)
            found.produce("numbers", [{"n": n} for n in range(5)], partition=1)
            assert found.consume("numbers", 1) == [{"n": n} for n in range(5)]
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_a_jar_that_is_not_there_is_a_reason_to_skip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("kafka_broker.JARS", tmp_path)
    monkeypatch.setattr("kafka_broker.CENTRAL", "http://127.0.0.1:9/maven2")
    with pytest.raises(Unavailable, match=r"spark-avro_2\.13-4\.1\.1\.jar cannot be fetched"):
        jars("avro")
