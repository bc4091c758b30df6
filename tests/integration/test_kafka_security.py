"""Goal: brokers that ask who comes are reached as the options say, or it is said why not."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect, open_table
from table_store.catalog.connectors.kafka.kafka_definition import KafkaDefinition
from table_store.catalog.connectors.kafka.kafka_source import KafkaSource
from table_store.catalog.connectors.positions.position import PositionStore
from table_store.catalog.connectors.positions.source_read import AskedRows
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.log_topic import all_listeners
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.types import LONG, StructField, StructType
from table_store.storage.log_store.log_errors import LogRefusedError, LogUnavailableError
from table_store.storage.log_store.log_position import PositionFile
from tests.servers.secure_kafka_broker import SecureKafkaBroker

# Kafka's client leaves the sockets of failed attempts to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
_names = count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafkaBroker]:
    running = SecureKafkaBroker(tmp_path_factory.mktemp("secure"))
    running.start()
    yield running
    running.kill()
    gc.collect()


def settings(broker: SecureKafkaBroker, protocol: str, user: str = "writer") -> dict[str, str]:
    given = {
        "bootstrap.servers": broker.sasl if protocol == "SASL_PLAINTEXT" else broker.tls,
        "timeout": "4 s",
        "security.protocol": protocol,
        "sasl.mechanism": "PLAIN",
        "sasl.plain.username": user,
        "sasl.plain.password": broker.passwords[user],
    }
    if protocol == "SASL_SSL":
        given["ssl.cafile"] = str(broker.certificate)
    return given


def create(folder: Path, given: dict[str, str]) -> FileStoreTable:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").primary_key("id")
    for key, value in given.items():
        descriptor = descriptor.option(f"log.kafka.{key}", value)
    return connect(str(folder)).create(f"s{next(_names)}", descriptor).storage


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_who_may_gets_in(tmp_path: Path, broker: SecureKafkaBroker, protocol: str) -> None:
    table = create(tmp_path, settings(broker, protocol))
    table.append(ROWS)
    assert PositionFile(table.file_io, table.path).read().snapshot_id == 1


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_topic_is_read_as_a_table_by_who_may(
    tmp_path: Path, broker: SecureKafkaBroker, protocol: str
) -> None:
    table = create(tmp_path, settings(broker, protocol))
    table.append(ROWS)
    topic = table.schema.options["log.kafka.topic"]
    assert read(topic, settings(broker, protocol)) == [{"after": {"id": 1}}, {"after": {"id": 2}}]
    with pytest.raises(
        LogRefusedError, match=r"TopicAuthorizationFailed.*'properties\.\*'"
    ) as caught:
        read(topic, settings(broker, protocol, "guest"))
    assert "s3cret" not in str(caught.value)


def read(topic: str, given: dict[str, str]) -> list[dict[str, object]]:
    """The rows of a topic of Debezium's JSON, as a table in SQL would have them."""
    after = StructType((StructField(name="id", type=LONG),))
    properties = {f"properties.{k}": v for k, v in given.items() if k != "timeout"}
    schema = TableSchema(
        fields=(Field(id=0, name="after", type=after),),
        options={"connector": "kafka", "topic": topic, "format": "json", **properties},
        highest_field_id=0,
        time_ms=0,
    )
    asked = AskedRows(table="t", first=0, last=None, limit=None, is_bounded=True, parallelism=1)
    positions = PositionStore(file_io_for("/nowhere"), "/nowhere")
    found = KafkaSource(KafkaDefinition.of(schema)).plan(asked, positions)
    assert found is not None
    batches = [batch for part in found.parts for batch in found.reader.read(part, ["after"])]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("protocol", "wrong", "reason"),
    [
        # Whether the client still sees the answer before the broker hangs up is chance.
        ("SASL_PLAINTEXT", {"sasl.plain.password": "no-s3cret"}, "Invalid username|credentials"),
        ("SASL_SSL", {"sasl.plain.password": "no-s3cret"}, "Invalid username|credentials"),
        ("SASL_PLAINTEXT", {"sasl.mechanism": "SCRAM-SHA-256"}, "UnsupportedSasl|mechanism"),
        ("SASL_SSL", {"ssl.cafile": None}, "CERTIFICATE_VERIFY_FAILED"),
        ("SASL_PLAINTEXT", {"security.protocol": "SASL_SSL"}, "Handshake failed"),
    ],
)
def test_who_may_not_is_told_why(
    tmp_path: Path,
    broker: SecureKafkaBroker,
    protocol: str,
    wrong: dict[str, str | None],
    reason: str,
) -> None:
    merged = {**settings(broker, protocol), **wrong}
    given = {key: value for key, value in merged.items() if value is not None}
    began = time.monotonic()
    with pytest.raises((LogRefusedError, LogUnavailableError), match=reason) as caught:
        create(tmp_path, given)
    assert time.monotonic() - began < 10
    assert "s3cret" not in str(caught.value)
    assert given["bootstrap.servers"] in str(caught.value)
    assert not list(tmp_path.rglob("schema-0"))


def test_rights_that_are_missing_leave_the_table_as_it_was(
    tmp_path: Path, broker: SecureKafkaBroker
) -> None:
    guest = settings(broker, "SASL_PLAINTEXT", "guest")
    with pytest.raises(LogRefusedError, match=r"create topic .*TopicAuthorizationFailed"):
        create(tmp_path, guest)
    table = create(tmp_path, settings(broker, "SASL_PLAINTEXT"))
    table.append(ROWS)
    options = {**table.schema.options, **{f"log.kafka.{k}": v for k, v in guest.items()}}
    assert table.schema_store.publish(replace(table.schema, id=1, options=options))
    reopened = open_table(table.path).storage
    with pytest.raises(LogRefusedError, match="Authorization"):
        reopened.append(ROWS)
    assert reopened.snapshot_store.latest_id() == 1
    warehouse = Warehouse(file_io_for(str(tmp_path)), str(tmp_path), SystemClock(), RandomIds())
    lifecycle = TableLifecycle(warehouse, all_listeners())
    with pytest.raises(LogRefusedError, match="delete topic"):
        lifecycle.drop(Identifier("default", Path(table.path).name))
    assert open_table(table.path).storage.snapshot_store.latest_id() == 1
