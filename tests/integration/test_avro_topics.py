"""Goal: topics in Avro are read and written as other programs write and read them.

Oracle: `fastavro`, and a registry that speaks the REST API of Confluent's.
"""

from __future__ import annotations

import io
import json
import random
import ssl
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from pyspark.sql import SparkSession

from servers.kafka_broker import KafkaBroker
from servers.schema_registry import SchemaRegistryServer, running_registry
from tests.fakes.certificates import PASSWORD, new_authority, signed
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

BOUNDED = {"scan.bounded.mode": "latest-offset"}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("avro-topics"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistryServer]:
    with running_registry() as server:
        yield server


def encoded(schema: Any, row: object, number: int | None = None) -> bytes:
    """A record, behind the id of its schema if there is one."""
    out = io.BytesIO()
    if number is not None:
        out.write(b"\0" + number.to_bytes(4, "big"))
    schemaless_writer(out, parse_schema(schema), row)
    return out.getvalue()


def write(broker: KafkaBroker, topic: str, *records: tuple[bytes | None, bytes | None]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    try:
        for key, value in records:
            producer.send(topic, key=key, value=value)
    finally:
        producer.close()


def records(broker: KafkaBroker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
    place = TopicPartition(topic, 0)
    try:
        consumer.assign([place])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([place])[place]
        found = []
        while consumer.position(place) < end:
            for batch in consumer.poll(timeout_ms=500).values():
                found += [(record.key, record.value) for record in batch]
        return found
    finally:
        consumer.close()


def table(broker: KafkaBroker, topic: str, columns: str, **more: str) -> str:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": broker.bootstrap,
        **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
    }
    options = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    return f"CREATE TABLE `{topic}` ({columns}) WITH ({options})"


def check_refused(spark: SparkSession, statement: str, *parts: str) -> str:
    """Return the error of a statement, which has to name some things."""
    message = refused(spark, statement)
    for part in parts:
        assert part in message, message
    return message


def decoded(registry: SchemaRegistryServer, value: bytes | None) -> Any:
    """The row of a value in the registry's wire format."""
    assert value is not None
    assert value[0] == 0
    schema = registry.schemas[int.from_bytes(value[1:5], "big") - 1]["schema"]
    return schemaless_reader(io.BytesIO(value[5:]), parse_schema(json.loads(schema)))


def test_records_of_others_are_read_by_their_own_schemas(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    kafka_broker.create_topic("avro_shop", 1)
    address = {
        "type": "record",
        "name": "Address",
        "fields": [{"name": "zip", "type": "string"}, {"name": "city", "type": ["string", "null"]}],
    }
    first = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "note", "type": ["string", "null", "int"]},
            {"name": "id", "type": "int"},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            },
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
            {"name": "place", "type": ["null", address]},
            {"name": "other", "type": ["null", "shop.Address"]},
            {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
            {"name": "sizes", "type": {"type": "map", "values": "int"}},
        ],
    }
    second = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "id", "type": "long"},
        ],
    }
    at = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
    row = {
        "note": "n",
        "id": 1,
        "price": Decimal("-1.28"),
        "at": at,
        "day": date(1969, 12, 31),
        "kind": "OLD",
        "place": {"zip": "1", "city": None},
        "other": None,
        "tags": ["a", None],
        "sizes": {"s": 1, "m": 2},
    }
    old, new = registry.add("avro_shop-value", first), registry.add("avro_shop-value", second)
    write(
        kafka_broker,
        "avro_shop",
        (None, encoded(first, row, old)),
        (None, encoded(second, {"id": 2, "at": at}, new)),
        (b"gone", None),
        (None, encoded(first, {**row, "id": 3, "place": None, "note": None}, old)),
    )
    spark.sql(
        table(
            kafka_broker,
            "avro_shop",
            "id BIGINT NOT NULL, note STRING, price DECIMAL(12, 3), at TIMESTAMP, day DATE, "
            "kind STRING, place STRUCT<city: STRING, zip: STRING, more: INT>, tags ARRAY<STRING>, "
            "sizes MAP<STRING, BIGINT>, `offset` BIGINT METADATA",
            format="avro-confluent",
            avro_confluent__url=registry.url,
            **BOUNDED,
        )
    )
    found = [
        row.asDict(recursive=True)
        for row in spark.sql("SELECT * FROM avro_shop ORDER BY id").collect()
    ]
    nothing = dict.fromkeys(found[0])
    whole = {
        **row,
        "price": Decimal("-1.280"),
        "at": found[0]["at"],
        "place": {"city": None, "zip": "1", "more": None},
        "offset": 0,
    }
    del whole["other"]
    assert found[0] == whole
    assert found[0]["at"].timestamp() == at.timestamp()
    assert found[1]["at"].timestamp() == int(at.timestamp() * 1000) / 1000
    assert found[1] == {**nothing, "id": 2, "at": found[1]["at"], "offset": 1}
    assert found[2] == {**whole, "id": 3, "place": None, "note": None, "offset": 3}
    assert spark.sql("SELECT count(*) FROM avro_shop").collect()[0][0] == 3


def test_what_is_written_is_read_by_others_and_by_itself(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    kafka_broker.create_topic("avro_written", 1)
    spark.sql(
        table(
            kafka_broker,
            "avro_written",
            "id INT NOT NULL, name STRING, price DECIMAL(9, 2), at TIMESTAMP, "
            "place STRUCT<x: DOUBLE, tags: ARRAY<STRING>>, sizes MAP<STRING, INT>",
            key__format="avro",
            key__fields="id",
            value__format="avro-confluent",
            value__avro_confluent__url=registry.url,
            **BOUNDED,
        )
    )
    assert not any("avro_written" in request for request in registry.requests)
    spark.sql(
        "INSERT INTO avro_written SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, 'tea', -1.28, TIMESTAMP '2026-01-02 03:04:05.678901 UTC', "
        "named_struct('x', 0.5D, 'tags', array('a', null)), map('s', 1)), "
        "(-65, null, null, null, null, null) AS t(id, name, price, at, place, sizes)"
    )
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    found = records(kafka_broker, "avro_written")
    key = {"type": "record", "name": "k", "fields": [{"name": "id", "type": "int"}]}
    keys = [schemaless_reader(io.BytesIO(k or b""), parse_schema(key)) for k, _ in found]
    assert keys == [{"id": 1}, {"id": -65}]
    assert [decoded(registry, value) for _, value in found] == [
        {
            "id": 1,
            "name": "tea",
            "price": Decimal("-1.28"),
            "at": at,
            "place": {"x": 0.5, "tags": ["a", None]},
            "sizes": {"s": 1},
        },
        {**dict.fromkeys(("name", "price", "at", "place", "sizes")), "id": -65},
    ]
    schema = json.loads(registry.schemas[registry.subjects["avro_written-value"][0] - 1]["schema"])
    assert (schema["namespace"], schema["name"]) == ("org.apache.flink.avro.generated", "record")
    back = spark.sql("SELECT id, name, at, place.tags FROM avro_written ORDER BY id").collect()
    assert [(row.id, row.name, row.tags) for row in back] == [
        (-65, None, None),
        (1, "tea", ["a", None]),
    ]
    assert back[1].at.timestamp() == at.timestamp()


def test_a_schema_of_ones_own_and_a_registry_with_a_password(
    spark: SparkSession, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    kafka_broker.create_topic("avro_own", 1)
    schema = (
        '{"type": "record", "name": "Own", "fields": [{"name": "name", "type": ["string", "null"]},'
        ' {"name": "price", "type": {"type": "fixed", "name": "P", "size": 5, "logicalType": '
        '"decimal", "precision": 9, "scale": 2}}, {"name": "id", "type": "long"}]}'
    )
    (tmp_path / "user").write_text("ann:it's a secret\n")
    with running_registry() as registry:
        registry.require_user("ann", "it's a secret")
        columns = "id INT NOT NULL, name STRING, price DECIMAL(9, 2) NOT NULL"
        options = {
            "format": "avro-confluent",
            "avro-confluent.url": registry.url,
            "avro-confluent.schema": schema,
            "avro-confluent.subject": "own subject",
            "avro-confluent.auto.register.schemas": "false",
        }
        create = table(kafka_broker, "avro_own", columns, **options)
        spark.sql(create)
        insert = "INSERT INTO avro_own VALUES (7, 'x', -0.01), (8, NULL, 9999999.99)"
        check_refused(spark, insert, "TABLE_STORE_SCHEMA_REGISTRY_REFUSED", "401 Unauthorized")
        spark.sql("DROP TABLE avro_own")
        create = create.replace(
            "'avro-confluent.subject'",
            "'avro-confluent.basic-auth.credentials-source' = 'USER_INFO', "
            f"'avro-confluent.basic-auth.user-info' = '${{secret:file:{tmp_path}/user}}', "
            "'avro-confluent.subject'",
        )
        spark.sql(create)
        check_refused(spark, insert, "TABLE_STORE_SCHEMA_REGISTRY_REFUSED", "it has no such schema")
        registry.add("own subject", schema)
        registry.failures = 1
        spark.sql(insert)
        assert [decoded(registry, value) for _, value in records(kafka_broker, "avro_own")] == [
            {"name": "x", "price": Decimal("-0.01"), "id": 7},
            {"name": None, "price": Decimal("9999999.99"), "id": 8},
        ]
        bounded = "WITH ('scan.bounded.mode' = 'latest')"
        found = spark.sql(f"SELECT * FROM avro_own {bounded} ORDER BY id").collect()
        assert [tuple(row) for row in found] == [
            (7, "x", Decimal("-0.01")),
            (8, None, Decimal("9999999.99")),
        ]
        spark.sql("DROP TABLE avro_own")
        for wrong, reason in (
            (columns + ", more INT", "it has no field more"),
            (columns.replace("INT NOT NULL", "INT"), "its field id has no null"),
            (columns.replace("name STRING", "name BINARY"), "its field name is string"),
            (columns.replace("(9, 2)", "(20, 2)"), "its field price is decimal"),
        ):
            check_refused(
                spark, create.replace(columns, wrong), "TABLE_STORE_INVALID_OPTION", reason
            )


def test_changes_by_key_and_a_job_that_reads_them(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    kafka_broker.create_topic("avro_keyed", 1)
    columns = "id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
    create = table(
        kafka_broker,
        "avro_keyed",
        columns,
        connector="upsert-kafka",
        key__format="avro-confluent",
        key__avro_confluent__url=registry.url,
        value__format="avro",
    )
    spark.sql(create)
    spark.sql(create.replace("`avro_keyed`", "avro_keyed_read"))
    spark.sql(f"CREATE TABLE names ({columns})")
    spark.sql(f"CREATE TABLE copied ({columns})")
    spark.sql("INSERT INTO names VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    with streaming(spark, "200 ms"):
        spark.sql("INSERT INTO avro_keyed SELECT * FROM names")
        spark.sql("INSERT INTO copied SELECT * FROM avro_keyed_read")
    flush(spark)
    spark.sql("INSERT INTO names VALUES (1, 'A')")
    spark.sql("DELETE FROM names WHERE id = 2")
    flush(spark)
    last: dict[int, Any] = {}
    value_schema = {
        "type": "record",
        "name": "v",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
    }
    for key, value in records(kafka_broker, "avro_keyed"):
        row = None
        if value is not None:
            row = schemaless_reader(io.BytesIO(value), parse_schema(value_schema))
        last[decoded(registry, key)["id"]] = row
    assert last == {1: {"id": 1, "name": "A"}, 2: None, 3: {"id": 3, "name": None}}
    flush(spark)
    copied = spark.sql("SELECT * FROM copied ORDER BY id").collect()
    assert [tuple(row) for row in copied] == [(1, "A"), (3, None)]
    assert [tuple(r) for r in spark.sql("SELECT * FROM avro_keyed_read ORDER BY id").collect()] == [
        (1, "A"),
        (3, None),
    ]


def test_what_is_no_record_is_named_or_left_out(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    kafka_broker.create_topic("avro_bad", 1)
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": ["null", "int", "string"]}],
    }
    number = registry.add("avro_bad-value", schema)
    good = [(None, encoded(schema, {"id": n}, number)) for n in range(3)]
    bad = [
        b"",
        b"{}",
        b"\0" + (4_000_000).to_bytes(4, "big") + b"\2\2",
        encoded(schema, {"id": "text"}, number),
        (good[0][1] or b"") + b"\0",
        (good[0][1] or b"")[:-1],
    ]
    write(kafka_broker, "avro_bad", good[0], *((None, value) for value in bad), *good[1:])
    create = table(
        kafka_broker,
        "avro_bad",
        "id INT",
        format="avro-confluent",
        avro_confluent__url=registry.url,
        **BOUNDED,
    )
    spark.sql(create)
    check_refused(
        spark,
        "SELECT * FROM avro_bad",
        "TABLE_STORE_UNREADABLE_RECORD",
        "offset 1",
        "shorter than the id of a schema",
    )
    skipping = "'avro-confluent.ignore-parse-errors' = 'true', 'connector'"
    spark.sql("DROP TABLE avro_bad")
    spark.sql(create.replace("'connector'", skipping))
    assert sorted(row.id for row in spark.sql("SELECT * FROM avro_bad").collect()) == [0, 1, 2]
    away = create.replace(registry.url, "http://ann:secret@127.0.0.1:1")
    spark.sql(away.replace("`avro_bad`", "avro_away"))
    message = check_refused(
        spark,
        "SELECT * FROM avro_away",
        "TABLE_STORE_SCHEMA_REGISTRY_UNAVAILABLE",
        "http://127.0.0.1:1",
        "refused",
    )
    assert "ann:secret" not in message + spark.sql("SHOW CREATE TABLE avro_away").collect()[0][0]


def await_rows(spark: SparkSession, query: str, expected: Sequence[tuple[object, ...]]) -> None:
    """Return when a query has these rows."""
    end = time.monotonic() + 60
    while (found := sorted(tuple(row) for row in spark.sql(query).collect())) != expected:
        assert time.monotonic() < end, (found, expected)
        time.sleep(0.2)


CHANGED: dict[str, Any] = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.goods",
    "fields": [
        {
            "name": "before",
            "default": None,
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "Value",
                    "fields": [
                        {"name": "id", "type": "long"},
                        {"name": "name", "type": ["null", "string"], "default": None},
                        {
                            "name": "price",
                            "type": {
                                "type": "bytes",
                                "logicalType": "decimal",
                                "precision": 9,
                                "scale": 2,
                            },
                        },
                    ],
                },
            ],
        },
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": "file", "type": "string"}],
            },
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
"""What Debezium's serializer registers for a table: `after` refers to the record of `before`."""

GOODS = "id BIGINT NOT NULL, name STRING, price DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED"


def test_changes_of_debezium_in_avro(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    """A job takes them over, and writes its own for another reader. Oracle: a dict."""
    for topic in ("avro_changed", "avro_passed"):
        kafka_broker.create_topic(topic, 1)
    number = registry.add("avro_changed-value", CHANGED)
    choice, there = random.Random(5), dict[int, dict[str, Any]]()
    changes: list[tuple[bytes | None, bytes | None]] = []
    for step in range(600):
        key = choice.randrange(40)
        before = there.pop(key, None)
        if before is None or choice.random() < 0.7:
            name = choice.choice((None, f"n{step}"))
            there[key] = {"id": key, "name": name, "price": Decimal(step) / 4}
        after = there.get(key)
        op = "u" if before and after else "d" if before else choice.choice("cr")
        row = {"before": before, "after": after, "op": op, "source": {"file": "b"}, "ts_ms": step}
        changes.append((None, encoded(CHANGED, row, number)))
        if op == "d":
            changes.append((b"k", None))
    options = {"format": "debezium-avro-confluent"}
    url = {"debezium_avro_confluent__url": registry.url}
    spark.sql(table(kafka_broker, "avro_changed", GOODS, **options, **url))
    passing = table(kafka_broker, "avro_passed", GOODS, **options, **url)
    spark.sql(passing)
    spark.sql(passing.replace("`avro_passed`", "avro_back"))
    spark.sql(f"CREATE TABLE changed_goods ({GOODS})")
    spark.sql(f"CREATE TABLE passed_goods ({GOODS})")
    write(kafka_broker, "avro_changed", *changes[:300])
    with streaming(spark):
        spark.sql("INSERT INTO changed_goods SELECT * FROM avro_changed")
        spark.sql("INSERT INTO avro_passed SELECT * FROM changed_goods")
        spark.sql("INSERT INTO passed_goods SELECT * FROM avro_back")
    flush(spark)
    write(kafka_broker, "avro_changed", *changes[300:])
    flush(spark)
    expected = sorted((row["id"], row["name"], row["price"]) for row in there.values())
    await_rows(spark, "SELECT * FROM changed_goods", expected)
    await_rows(spark, "SELECT * FROM passed_goods", expected)
    passed: dict[int, tuple[object, ...]] = {}
    for _, value in records(kafka_broker, "avro_passed"):
        change = decoded(registry, value)
        assert set(change) == {"before", "after", "op"}
        assert (change["before"] is None, change["after"] is None) == (
            (True, False) if change["op"] == "c" else (False, True)
        )
        if change["op"] == "d":
            assert passed.pop(change["before"]["id"]) == tuple(change["before"].values())
        else:
            passed[change["after"]["id"]] = tuple(change["after"].values())
    assert sorted(passed.values()) == expected
    for job in spark.sql("SHOW JOBS").collect():
        spark.sql(f"STOP JOB '{job.job}'")
    for more, reason in (
        ({}, "Option 'debezium-avro-confluent.url'"),
        ({**url, "avro_confluent__subject": "x"}, "it is of the format 'avro-confluent'"),
        ({**url, "sink__partitioner": "round-robin"}, "would lose their order"),
    ):
        check_refused(spark, table(kafka_broker, "avro_wrong", GOODS, **options, **more), reason)


def test_a_job_waits_for_a_registry_over_tls(
    spark: SparkSession, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    """It is away when records with a new schema come, and what came meanwhile is not lost."""
    kafka_broker.create_topic("avro_waiting", 1)
    authority = new_authority(tmp_path)
    own = signed(authority, tmp_path, "registry")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.pem, password=PASSWORD)
    old, new = (
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": name, "type": "long", "default": 0} for name in names],
        }
        for names in (("id",), ("id", "more"))
    )
    with running_registry(context=context) as registry:
        registry.require_user("ann", "pw")
        number = registry.add("avro_waiting-value", old)
        write(kafka_broker, "avro_waiting", (None, encoded(old, {"id": 1}, number)))
        options = {
            "format": "avro-confluent",
            "avro-confluent.url": registry.url,
            "avro-confluent.basic-auth.user-info": "ann:pw",
            "avro-confluent.ssl.truststore.location": str(authority.p12),
            "avro-confluent.ssl.truststore.password": PASSWORD,
        }
        spark.sql(table(kafka_broker, "avro_waiting", "id BIGINT, more BIGINT", **options))
        assert PASSWORD not in spark.sql("SHOW CREATE TABLE avro_waiting").collect()[0][0]
        spark.sql("CREATE TABLE waited (id BIGINT, more BIGINT)")
        with streaming(spark):
            job = spark.sql("INSERT INTO waited SELECT * FROM avro_waiting").collect()[0].job
        flush(spark)
        assert spark.sql("SELECT id FROM waited").collect()[0].id == 1
        newer = registry.add("avro_waiting-value", new)
    port = int(registry.url.rpartition(":")[2])
    for key in (2, 3):
        write(kafka_broker, "avro_waiting", (None, encoded(new, {"id": key, "more": key}, newer)))
    end = time.monotonic() + 60
    while True:
        (found,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if found.error:
            break
        assert time.monotonic() < end, found
        time.sleep(0.2)
    assert found.state == "RUNNING"
    assert "TABLE_STORE_SCHEMA_REGISTRY_UNAVAILABLE" in found.error
    write(kafka_broker, "avro_waiting", (None, encoded(old, {"id": 4}, number)))
    with running_registry(port, registry, context):
        flush(spark)
        await_rows(
            spark,
            "SELECT id, coalesce(more, 0) FROM waited",
            [(1, 0), (2, 2), (3, 3), (4, 0)],
        )
    spark.sql(f"STOP JOB '{job}'")
