"""Send rows of a CSV file to a Kafka topic, as JSON: `python send.py HOST:PORT TOPIC FILE [FIRST [LAST]]`.

Rows are counted from 1. With `--text`, FILE is a record itself.
"""

import csv
import json
import sys

from kafka import KafkaProducer


def records(path, first=1, last=None):
    """The rows as JSON objects; an empty cell is null, an amount is a number."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[int(first) - 1 : None if last is None else int(last)]:
        values = {name: text or None for name, text in row.items()}
        values["ts"] = values["ts"].replace(" ", "T") + "Z"
        values["amount"] = None if values["amount"] is None else float(values["amount"])
        yield json.dumps(values)


def main(address, topic, path, *more):
    sent = [path] if "--text" in more else list(records(path, *more))
    producer = KafkaProducer(bootstrap_servers=address)
    for record in sent:
        producer.send(topic, record.encode())
    producer.flush()
    print(f"{len(sent)} records sent to {topic}")


if __name__ == "__main__":
    main(*sys.argv[1:])
