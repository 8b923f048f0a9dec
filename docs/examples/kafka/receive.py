"""Print the records of a Kafka topic, from its beginning: `python receive.py HOST:PORT TOPIC`."""

import sys

from kafka import KafkaConsumer


def main(address, topic):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=None,
        auto_offset_reset="earliest",
        consumer_timeout_ms=2000,  # then there are no more
    )
    for record in consumer:
        print(record.value.decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
