"""Goal: with brokers set, statements of the stock shell make, fill and delete a topic."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.admin import ConfigResource

from servers.kafka_broker import KafkaBroker, free_port
from servers.topic_reader import Message, committed_messages, replayed
from tests.documents import examples, words
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

TOPICS = f"table_store.{Path(__file__).stem}"


@pytest.fixture(scope="module", autouse=True)
def brokers(shell: StockShell, kafka_broker: KafkaBroker) -> None:
    shell.ok(f"SET table-storage.log.kafka.bootstrap.servers={kafka_broker.bootstrap}")


def messages(broker: KafkaBroker, table: str) -> list[Message]:
    return committed_messages(broker.bootstrap, f"{TOPICS}.{table}")


def test_every_statement_is_in_the_topic(shell: StockShell, kafka_broker: KafkaBroker) -> None:
    shell.ok(
        "CREATE TABLE k (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH "
        "('bucket' = '3', 'log.changelog-mode' = 'all')"
    )
    states: list[Counter[str]] = []
    for statement in (
        "INSERT INTO k VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "UPDATE k SET v = 'B' WHERE id = 2",
        "DELETE FROM k WHERE id = 1",
        (
            "MERGE INTO k USING (SELECT explode(array(3L, 4L)) AS id) s ON k.id = s.id "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'new')"
        ),
        "ALTER TABLE k COMPACT",
        "INSERT OVERWRITE k VALUES (7, 'only')",
        "TRUNCATE TABLE k",
        "INSERT INTO k VALUES (9, 'last')",
    ):
        shell.ok(statement)
        rows = shell.ok("SELECT id, v FROM k")
        states.append(Counter(json.dumps({"id": int(i), "v": v}) for i, v in rows))
    found = messages(kafka_broker, "k")
    told = sorted({m.snapshot_id for m in found})
    assert len(told) == len(states) - 1  # the compaction is nothing
    del states[4]
    for snapshot_id, state in zip(told, states, strict=True):
        assert replayed(found, snapshot_id) == state
    assert {m.operation for m in found} == {"c", "u", "d"}


def test_examples_of_the_documents(shell: StockShell, kafka_broker: KafkaBroker) -> None:
    """SQL of the page makes a topic; its Python, which knows nothing of us, reads it."""
    of_page = [e for language in ("sql", "python") for e in examples(language) if e.page == "kafka"]
    shell.ok("USE default")
    for example in (e.with_brokers(kafka_broker.bootstrap) for e in of_page):
        if example.language == "sql":
            for statement in example.statements():
                shell.ok(statement)
            continue
        out = io.StringIO()
        with redirect_stdout(out):
            exec(example.code, {})
        assert words(out.getvalue()) == example.printed, f"kafka, line {example.line}"
    shell.ok("DROP TABLE stock")
    shell.ok(f"USE {shell.namespace}")


def test_a_created_table_as_select_has_its_rows_in_the_topic(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    shell.ok("CREATE TABLE ctas AS SELECT id, cast(id AS STRING) AS s FROM range(5)")
    first = replayed(messages(kafka_broker, "ctas"))
    assert first == Counter(json.dumps({"id": i, "s": str(i)}) for i in range(5))
    shell.ok("CREATE OR REPLACE TABLE ctas AS SELECT 1 AS other")
    topics = {t for t in kafka_broker.topics() if t.startswith(f"{TOPICS}.ctas")}
    assert len(topics) == 2  # the old directory's stays for time travel
    shell.ok("INSERT INTO ctas VALUES (2)")
    shell.ok("ALTER TABLE ctas ADD PRIMARY KEY (other) NOT ENFORCED")
    shell.ok("INSERT INTO ctas VALUES (2), (3)")
    told = {row[0]: row[1] for row in shell.ok("DESCRIBE TABLE EXTENDED ctas")}
    assert told["log.kafka.topic"] not in topics
    keyed = committed_messages(kafka_broker.bootstrap, told["log.kafka.topic"])
    assert replayed(keyed) == Counter(json.dumps({"other": i}) for i in (1, 2, 3))
    shell.ok("DROP TABLE ctas")
    assert not any(t.startswith(f"{TOPICS}.ctas") for t in kafka_broker.topics())


def test_drop_deletes_the_topic_and_rename_keeps_it(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    shell.ok("CREATE TABLE r (id INT)")
    shell.ok("ALTER TABLE r RENAME TO renamed")
    shell.ok("INSERT INTO renamed VALUES (1)")
    assert len(messages(kafka_broker, "r")) == 1
    assert ("log.kafka.topic", f"{TOPICS}.r") in {
        row[:2] for row in shell.ok("DESCRIBE TABLE EXTENDED renamed")
    }
    with kafka_broker.admin() as admin:
        admin.delete_topics([f"{TOPICS}.r"])  # gone already: harmless
    shell.ok("DROP TABLE renamed")
    shell.ok("CREATE TABLE r (id INT)")
    shell.ok("DROP TABLE r")
    assert f"{TOPICS}.r" not in kafka_broker.topics()


def test_retention_of_the_topic_follows_the_table(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    def retention() -> str:
        with kafka_broker.admin() as admin:
            resource = ConfigResource("TOPIC", f"{TOPICS}.keep", ["retention.ms"])
            return str(admin.describe_configs([resource]))

    shell.ok("CREATE TABLE keep (id INT) WITH ('log.retention' = '1 h')")
    assert "3600000" in retention()
    shell.ok("ALTER TABLE keep SET TBLPROPERTIES ('log.retention' = '2 h')")
    assert "7200000" in retention()


def test_changes_are_told_without_snapshots_and_without_topic(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    shell.ok(
        "CREATE TABLE ex (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('log.retention' = '1 d')"
    )
    for number in range(3):
        shell.ok(f"INSERT INTO ex VALUES (1), ({number})")
    shell.ok("CALL sys.expire_snapshots('ex', older_than => '2999-01-01', retain_min => 1)")
    assert shell.ok("SELECT count(*) FROM `ex$snapshots`") == (("1",),)
    with kafka_broker.admin() as admin:
        admin.delete_topics([f"{TOPICS}.ex"])
    told = shell.ok("SELECT id, _commit_version FROM ex CHANGES FROM VERSION 1 TO VERSION 3")
    assert sorted(told) == [("0", "1"), ("1", "1"), ("2", "3")]
    gone = shell.run("INSERT INTO ex VALUES (9)").error
    assert "TABLE_STORE_TOPIC_NOT_FOUND" in gone
    assert shell.ok("SELECT max(id) FROM ex") == (("2",),)


def test_an_untracked_statement_is_not_told(shell: StockShell, kafka_broker: KafkaBroker) -> None:
    shell.ok("CREATE TABLE u (id INT)")
    shell.ok("INSERT INTO u VALUES (1)")
    shell.ok("INSERT INTO u WITH ('change-tracking' = 'false') VALUES (2)")
    shell.ok("INSERT INTO u VALUES (3)")
    assert [m.after["id"] for m in messages(kafka_broker, "u")] == [1, 3]


def test_a_topic_that_exists_is_refused_unless_asked_for(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    with kafka_broker.admin() as admin:
        admin.create_topics({f"{TOPICS}.there": {"num_partitions": 1}})
    refused = shell.run("CREATE TABLE there (id INT)").error
    assert "TABLE_STORE_TOPIC_ALREADY_EXISTS" in refused
    assert shell.ok("SHOW TABLES LIKE 'there'") == ()
    use = "WITH ('log.kafka.topic.existing' = 'use'"
    wrong = shell.run(f"CREATE TABLE there (id INT) {use}, 'bucket' = '2')").error
    assert "has 1 partitions" in wrong
    shell.ok(f"CREATE TABLE there (id INT) {use})")
    shell.ok("INSERT INTO there VALUES (1)")
    other = shell.run(
        f"CREATE TABLE other (id INT) {use}, 'log.kafka.topic' = '{TOPICS}.there')"
    ).error
    assert "records were written to it" in other
    alone = "CREATE TABLE x (id INT) WITH ('log.kafka.topic.replication-factor' = '3')"
    assert "cannot be reached because only 1 broker" in shell.run(alone).error


def test_records_of_others_are_named_or_passed_over(
    shell: StockShell, kafka_broker: KafkaBroker
) -> None:
    shell.ok("CREATE TABLE mine (id INT)")
    shell.ok("INSERT INTO mine VALUES (1)")
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)
    at = producer.send(f"{TOPICS}.mine", b"not a change").get(10).offset
    producer.close()
    warned = shell.run("INSERT INTO mine VALUES (2)").error
    for part in ("log lags behind", f"'{TOPICS}.mine'", f"partition 0, offset {at} "):
        assert part in warned
    assert shell.ok("SELECT count(*) FROM mine") == (("2",),)
    refused = shell.run("CALL sys.relay_log('mine')").error
    assert "TABLE_STORE_BAD_LOG_RECORD" in refused
    shell.ok("ALTER TABLE mine SET TBLPROPERTIES ('log.kafka.foreign-records' = 'skip')")
    assert shell.run("CALL sys.relay_log('mine')").rows == (("2", "1"),)


def test_brokers_that_are_not_there_are_named_and_leave_no_table(shell: StockShell) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    given = f"'log.kafka.bootstrap.servers' = '{nobody}', 'log.kafka.timeout' = '2 s'"
    error = shell.run(f"CREATE TABLE lonely (id INT) WITH ({given})").error
    assert "TABLE_STORE_LOG_UNAVAILABLE" in error
    assert nobody in error
    assert "Traceback" not in error
    assert shell.ok("SHOW TABLES LIKE 'lonely'") == ()


def test_without_brokers_nothing_is_changed(shell: StockShell, kafka_broker: KafkaBroker) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    brokers = "log.kafka.bootstrap.servers"
    shell.ok("CREATE TABLE away (id INT) WITH ('log.kafka.timeout' = '2 s')")
    shell.ok(f"ALTER TABLE away SET TBLPROPERTIES ('{brokers}' = '{nobody}')")
    insert = "INSERT INTO away {} VALUES (1)"
    refused = shell.run(insert.format("")).error
    assert nobody in refused
    assert "change-tracking" in refused
    assert shell.ok("SELECT * FROM away") == ()
    shell.ok(insert.format("WITH ('change-tracking' = 'false')"))
    assert shell.ok("SELECT * FROM away") == (("1",),)
    refused = shell.run("DROP TABLE away").error
    assert "TABLE_STORE_LOG_UNAVAILABLE" in refused
    assert "log.kafka.topic.on-drop" in refused
    shell.ok(f"ALTER TABLE away SET TBLPROPERTIES ('{brokers}' = '{kafka_broker.bootstrap}')")
    shell.ok(insert.format(""))
    assert shell.ok("CALL sys.relay_log('away')") == (("2", "0"),)
    assert [m.after for m in messages(kafka_broker, "away")] == [{"id": 1}]
    shell.ok(
        f"ALTER TABLE away SET TBLPROPERTIES ('{brokers}' = '{nobody}', "
        "'log.kafka.topic.on-drop' = 'keep')"
    )
    left = shell.run("DROP TABLE away").error
    assert f"The topic '{TOPICS}.away' stays at {nobody}." in left
    assert shell.ok("SHOW TABLES LIKE 'away'") == ()
    assert f"{TOPICS}.away" in kafka_broker.topics()


def test_log_options_that_cannot_be(shell: StockShell) -> None:
    unknown = shell.run("CREATE TABLE x (id INT) WITH ('log.kafka.no.such' = 'secret1')").error
    assert "log.kafka.no.such" in unknown
    assert "secret1" not in unknown
    eventual = shell.run("CREATE TABLE x (id INT) WITH ('log.consistency' = 'eventual')").error
    assert "needs a primary key" in eventual
    shell.ok("CREATE TABLE quiet (id INT) WITH ('log.system' = 'file')")
    assert shell.run("CALL sys.relay_log('quiet')").error.count("log.system") == 1
