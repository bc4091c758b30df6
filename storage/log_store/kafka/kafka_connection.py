"""A connection to Kafka's brokers, and what its failures mean.

Only this module, `kafka_client_settings`, `kafka_group_positions`, `kafka_records`, `kafka_topics`
and `kafka_transactions` name the client library. The names of it that are not public are listed
here, and tests notice when one moves.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.net.compat import KafkaNetClient
from kafka.protocol.metadata import CoordinatorType

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.secrets import REDACTED, is_secret
from table_store.storage.log_store.kafka.kafka_client_settings import client_settings
from table_store.storage.log_store.log_errors import (
    LogFencedError,
    LogRefusedError,
    LogUnavailableError,
    TopicNotFoundError,
)

T = TypeVar("T")

PRIVATE_NAMES: Final = ("_manager", "_find_coordinator_ids", "_async_get_leader_for_partitions")
"""Undocumented names of `KafkaAdminClient` that are used here."""

PRIVATE_MANAGER_NAMES: Final = ("run", "send", "call_soon", "wait_for", "get_connection")
"""Undocumented names of its `_manager` that are used here."""

_FENCED: Final = (
    kafka_errors.ProducerFencedError,
    kafka_errors.InvalidProducerEpochError,
    kafka_errors.InvalidProducerIdMappingError,
    kafka_errors.InvalidTxnStateError,
)
_COORDINATOR_BUSY: Final = (
    kafka_errors.ConcurrentTransactionsError,
    kafka_errors.CoordinatorNotAvailableError,
    kafka_errors.CoordinatorLoadInProgressError,
    kafka_errors.UnstableOffsetCommitError,
)
_NOT_LET_IN: Final = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.AuthorizationError,
)
_ANSWER_TEXT: Final = re.compile(r"""error_message=(?:'([^']+)'|"([^"]+)")""")
_DEFAULT_PORT: Final = "9092"
_RETRY_PAUSE_S: Final = 0.01


class KafkaConnection:
    """A connection to the brokers, made at the first call; the caller closes it.

    Every call returns or fails within about `timeout_ms`. `prefix` is that of the options that give
    the properties, for messages.
    """

    def __init__(
        self, brokers: str, properties: Mapping[str, str], timeout_ms: int, prefix: str
    ) -> None:
        self.brokers: Final = brokers
        self.timeout_ms: Final = timeout_ms
        self._prefix = prefix
        self._settings = client_settings(properties, prefix)
        self._secrets = [
            self._settings[name] for name in self._settings if is_secret(name.replace("_", "."))
        ]
        self._admin: KafkaAdminClient | None = None
        self._leaders: dict[TopicPartition, int] = {}

    def close(self) -> None:
        """Close the connection; open transactions stay open."""
        if self._admin is not None:
            with suppress(kafka_errors.KafkaError, OSError):
                self._admin.close()
            self._admin = None

    def admin(self) -> KafkaAdminClient:
        """Return the client, connected; for use within `run`."""
        if self._admin is None:
            self._reach()
            self._admin = self._connected()
        return self._admin

    def _connected(self) -> KafkaAdminClient:
        """Return a new client; an error says why, where the client says only that time ran out."""
        made: list[KafkaNetClient] = []
        failures: list[Exception] = []

        def listening(**settings: Any) -> KafkaNetClient:
            client = KafkaNetClient(**settings)
            connect = client._manager.get_connection

            def get_connection(*args: Any, **kwargs: Any) -> Any:
                connection = connect(*args, **kwargs)
                connection.init_future.add_errback(failures.append)
                return connection

            client._manager.get_connection = get_connection
            made.append(client)
            return client

        try:
            return KafkaAdminClient(
                bootstrap_servers=self.brokers,
                kafka_client=listening,
                **self.limits(),
                **self.only(KafkaAdminClient),
            )
        except Exception as error:  # an edge: the client raises whatever its threads have met
            for client in made:
                with suppress(kafka_errors.KafkaError, OSError):
                    client.close()
                client._manager._net.stop()
            raise _cause(failures, self._prefix) or error from error

    def limits(self) -> dict[str, int]:
        """Return the time limits of a client of this connection."""
        # The client waits twice: to connect, and for the answer.
        return {
            "bootstrap_timeout_ms": self.timeout_ms // 2,
            "request_timeout_ms": self.timeout_ms * 2 // 5,
        }

    def only(self, client: Any) -> dict[str, Any]:
        """Return the user's properties that a class of the client library takes."""
        return {k: v for k, v in self._settings.items() if k in client.DEFAULT_CONFIG}

    def leader(self, partition: TopicPartition) -> int:
        """Return the broker that a partition is written through; asked for once."""
        if partition not in self._leaders:
            admin = self.admin()
            found = admin._manager.run(admin._async_get_leader_for_partitions, [partition])
            self._leaders.update((tp, node) for node, tps in found.items() for tp in tps)
        return self._leaders[partition]

    def ask_leader(self, partition: TopicPartition, request: Any) -> Any:
        """Return a partition's leader's answer to a request; for use within `run`."""
        node, manager = self.leader(partition), self.admin()._manager

        async def send() -> Any:
            return await manager.send(request, node_id=node)

        return manager.run(send)

    def forget_leaders(self) -> None:
        """Ask again who leads a partition at the next use."""
        self._leaders.clear()

    def ask_coordinator(
        self, action: str, name: str, request: Any, topic: str = "", *, is_group: bool = False
    ) -> Any:
        """Send a request to the coordinator of a transaction or a group, again while it is busy.

        `name` is the transactional id, or that of the group.
        """
        admin_of = self.admin
        kind = CoordinatorType.GROUP if is_group else CoordinatorType.TRANSACTION

        async def ask() -> Any:
            admin = admin_of()
            found = await admin._find_coordinator_ids([name], key_type=kind)
            return await admin._manager.send(request, node_id=found[name])

        def ask_until_free() -> Any:
            stop = time.monotonic() + self.timeout_ms / 1000
            while True:
                try:
                    answer = admin_of()._manager.run(ask)
                    _check_all(answer)
                    return answer
                except kafka_errors.NotCoordinatorError:
                    if time.monotonic() > stop:
                        raise
                    self.close()  # a new connection asks again who the coordinator is
                except _COORDINATOR_BUSY:
                    if time.monotonic() > stop:
                        raise
                time.sleep(_RETRY_PAUSE_S)

        return self.run(action, ask_until_free, topic or name)

    def run(self, action: str, function: Callable[[], T], topic: str = "") -> T:
        """Return what `function` returns; errors of the client become errors of ours.

        Raises:
            LogUnavailableError: there is no answer in time; the next call connects anew.
            LogFencedError: another producer has taken over.
            TopicNotFoundError: there is no such topic.
            LogRefusedError: the brokers refuse for any other reason.
        """
        try:
            return function()
        except TableStoreError:
            raise
        except _FENCED as error:
            raise LogFencedError(topic=topic) from error
        except kafka_errors.UnknownTopicOrPartitionError as error:
            if not topic:
                raise self._unavailable(action, error) from error
            raise TopicNotFoundError(topic=topic, brokers=self.brokers) from error
        except (kafka_errors.RetriableError, OSError, TimeoutError) as error:
            self.close()
            raise self._unavailable(action, error) from error
        except kafka_errors.KafkaError as error:
            raise LogRefusedError(
                brokers=self.brokers,
                action=action,
                reason=self._reason(error),
                prefix=self._prefix,
            ) from error

    def _reach(self) -> None:
        """Check that one of the brokers listens.

        The client would not say why it cannot connect, and it leaks a thread with each failure.
        """
        if "proxy_url" in self._settings:
            return
        failure: OSError | None = None
        brokers = self.brokers.split(",")
        timeout_s = self.timeout_ms / 2000 / len(brokers)
        for broker in brokers:
            host, _, port = broker.strip().rpartition(":")
            if not (host and port.isdigit()):
                host, port = broker.strip(), _DEFAULT_PORT
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
                return
            except OSError as error:
                failure = error
        raise failure or OSError("no brokers are named")

    def _unavailable(self, action: str, error: Exception) -> LogUnavailableError:
        return LogUnavailableError(
            brokers=self.brokers, action=action, reason=self._reason(error), prefix=self._prefix
        )

    def _reason(self, error: Exception) -> str:
        """Return the error's name alone, because the client's text may repeat what it was given."""
        reason = _reason(error)
        for secret in self._secrets:
            reason = reason.replace(secret, REDACTED)
        return reason


def _cause(failures: Sequence[Exception], prefix: str) -> Exception | None:
    """Return the failure that says most: one about the user's settings, else the first."""
    # The last failure only says that no time was left for another attempt.
    cause = next((f for f in failures if isinstance(f, _NOT_LET_IN)), next(iter(failures), None))
    if "socket disconnected" in str(cause):
        # The client loses an answer if the broker hangs up directly after it.
        hung_up: Exception = kafka_errors.KafkaConnectionError(
            f"they hang up on new connections, as they do where '{prefix}security.protocol', "
            "mechanism or credentials are not right"
        )
        return hung_up
    return cause


def check_code(code: int) -> None:
    """Raise the client library's error if the code of an answer stands for one."""
    error = kafka_errors.for_code(code)
    if error is not kafka_errors.NoError:
        raise error


def _check_all(answer: Any) -> None:
    """Raise the error of an answer, or of its partitions."""
    for topic in getattr(answer, "results_by_topic_v3_and_below", None) or ():
        for part in topic.results_by_partition:
            check_code(part.partition_error_code)
    for topic in getattr(answer, "topics", None) or ():
        for part in topic.partitions:
            check_code(part.error_code)
    check_code(getattr(answer, "error_code", 0))


def _reason(error: Exception) -> str:
    """Return the error's name and the answer's text; the full text may hold a whole request."""
    first = str(error).partition("\n")[0]
    name = type(error).__name__
    said = _ANSWER_TEXT.search(first)
    if said is not None:
        return f"{name} ({said[1] or said[2]})"
    return f"{name} ({first})" if first and len(first) < 200 else name
