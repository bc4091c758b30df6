"""Goal: what is used of the Kafka client besides its documentation is still there."""

from __future__ import annotations

import inspect
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)

from servers.kafka_broker import free_port
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.kafka.kafka_client_settings import client_settings
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.kafka.kafka_connection import (
    PRIVATE_MANAGER_NAMES,
    PRIVATE_NAMES,
)
from table_store.storage.log_store.log_errors import LogUnavailableError


def test_private_names_have_not_moved() -> None:
    source = inspect.getsource(KafkaAdminClient.__init__)
    for name in PRIVATE_NAMES:
        assert hasattr(KafkaAdminClient, name) or f"self.{name} =" in source, name
    for name in PRIVATE_MANAGER_NAMES:
        assert callable(getattr(KafkaConnectionManager, name)), name
    assert "node_id" in inspect.signature(KafkaConnectionManager.send).parameters
    assert isinstance(KafkaConnection.init_future, property)
    assert callable(KafkaAdminClient.DEFAULT_CONFIG["kafka_client"])


def test_messages_have_the_fields_and_versions_that_are_sent() -> None:
    ends = EndTxnRequest("t", 1, 0, committed=True, max_version=3)
    assert ends.transactional_id == "t"
    assert InitProducerIdRequest("t", 1, -1, -1, max_version=4).transactional_id == "t"
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="n", partitions=[1])
    added = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t", v3_and_below_topics=[topic], max_version=3
    )
    assert added.v3_and_below_topics[0].partitions == [1]
    assert hasattr(AddPartitionsToTxnResponse(), "results_by_topic_v3_and_below")
    part = ProduceRequest.TopicProduceData.PartitionProduceData(index=1, records=b"r")
    produced = ProduceRequest.TopicProduceData(name="n", partition_data=[part])
    assert produced.partition_data[0].records == b"r"
    assert hasattr(WriteTxnMarkersRequest.WritableTxnMarker, "WritableTxnMarkerTopic")


def test_client_properties_become_arguments_of_their_type() -> None:
    given = {"sasl.mechanism": "GSSAPI", "ssl.check.hostname": "false", "metadata.max.age.ms": "5"}
    assert client_settings(given) == {
        "sasl_mechanism": "GSSAPI",
        "ssl_check_hostname": False,
        "metadata_max_age_ms": 5,
    }


@pytest.mark.parametrize(
    ("key", "text"),
    [("no.such", "s3cret"), ("ssl.check.hostname", "s3cret"), ("metadata.max.age.ms", "s3cret")],
)
def test_a_bad_property_is_named_and_its_value_not_shown(key: str, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"log.kafka.{key}") as caught:
        client_settings({key: text})
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"security.protocol": "TLS"}, "security.protocol"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.plain.username"),
    ],
)
def test_what_a_protocol_needs_is_asked_for(given: dict[str, str], missing: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"log.kafka.{missing}"):
        client_settings(given)


def test_brokers_that_are_not_there_are_named() -> None:
    brokers = f"127.0.0.1:{free_port()}"
    cluster = KafkaCluster(brokers, {}, timeout_ms=10_000)
    with closing(cluster), pytest.raises(LogUnavailableError, match=brokers) as caught:
        cluster.topics.partition_count("t")
    assert "refused" in caught.value.reason
