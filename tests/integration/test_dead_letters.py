"""Goal: whatever is killed, a bad record is once in its table, and a good one once in the sink.

Oracle: what a plain producer wrote, and the offsets that it was told.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from servers.kafka_broker import KafkaBroker
from table_store import open_table
from tests.integration.job_script import JobScript

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE TEMPORARY TABLE mixed (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json',
  'dead-letter.table' = 'default.letters');
CREATE TABLE IF NOT EXISTS good (id BIGINT);
SET 'execution.checkpointing.interval' = '100 ms';
SET 'pipeline.name' = 'good';
INSERT INTO good SELECT id FROM mixed;
"""
PARTITIONS, ROUND, EACH = 2, 24_000, 40
"""Records of a round, so many that workers read them, of which one of `EACH` is bad."""


class Mixed:
    """A topic of good and bad records, and what it has."""

    def __init__(self, broker: KafkaBroker, name: str) -> None:
        self.name, self.bootstrap = name, broker.bootstrap
        broker.create_topic(name, PARTITIONS)
        self.good: list[int] = []
        self.bad: dict[tuple[int, int], bytes] = {}
        self.written = 0

    def write(self) -> None:
        """Add the records of a round."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=50)
        sent = []
        for number in range(self.written, self.written + ROUND):
            is_bad = number % EACH in (7, 8)  # in both partitions
            value = b'{"id": "no %d"}' % number if is_bad else b'{"id": %d}' % number
            sent.append((value, producer.send(self.name, value, partition=number % PARTITIONS)))
            if not is_bad:
                self.good.append(number)
        self.written += ROUND
        for value, future in sent:
            told = future.get(60)
            if b"no" in value:
                self.bad[told.partition, told.offset] = value
        producer.close()


def letters(path: Path) -> dict[tuple[int, int], bytes]:
    """The bad records of the table, none of them twice."""
    found = open_table(str(path)).scan().to_arrow()
    assert set(found["topic"].to_pylist()) <= {"killed-letters"}
    assert not found["reason"].null_count
    keys = list(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, found["value"].to_pylist(), strict=True))


def good_ids(path: Path) -> list[int]:
    return sorted(open_table(str(path)).scan().to_arrow()["id"].to_pylist())


def wait_for_letters(script: JobScript, path: Path, known: int) -> int:
    """Return the table's snapshot as soon as there is one above `known`."""
    end = time.monotonic() + 240
    while True:
        if (path / "snapshot").is_dir():
            latest = open_table(str(path)).storage.latest_snapshot()
            if latest is not None and latest.id > known:
                return latest.id
        assert script.process.poll() is None, script.errors
        assert time.monotonic() < end, script.errors
        time.sleep(0.002)


def test_each_record_is_once_where_it_belongs(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    """The planner, and then the driver, die as soon as an epoch has written letters."""
    topic = Mixed(kafka_broker, "killed-letters")
    text = SCRIPT.format(topic=topic.name, bootstrap=topic.bootstrap)
    tables = tmp_path / "spark-warehouse" / "default.db"
    topic.write()
    with JobScript(tmp_path, text, "killed") as script:
        known = wait_for_letters(script, tables / "letters", 0)
        os.kill(script.planner(), signal.SIGKILL)
        script.wait_for_commit("good")
        known = wait_for_letters(script, tables / "letters", known - 1)
        topic.write()
        wait_for_letters(script, tables / "letters", known)
        os.kill(script.process.pid, signal.SIGKILL)
        script.process.wait(60)
    topic.write()
    with JobScript(tmp_path, text, "last") as script:
        end = time.monotonic() + 90
        while len(good_ids(tables / "good")) < len(topic.good):
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, script.errors
            time.sleep(0.2)
        assert script.end(signal.SIGTERM) == 0, script.errors
    assert good_ids(tables / "good") == topic.good
    assert letters(tables / "letters") == topic.bad
