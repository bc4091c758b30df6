"""A real Kafka broker of this machine, from nothing but pip and Java.

Ivy, which is part of pyspark, brings the jars once into build/; a broker is one process with a
folder of its own.
"""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kafka.errors
from kafka import KafkaAdminClient

from servers.maven_jars import maven_jars

# Tests have clocks of their own, by which all is old: nothing expires while they run.
# The last two: a broker that was killed is taken back in seconds, not after its lease.
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=DIRECT
listener.security.protocol.map=DIRECT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
listeners=DIRECT://127.0.0.1:{port},PROXIED://127.0.0.1:{behind_proxy},\
CONTROLLER://127.0.0.1:{controller}
advertised.listeners=DIRECT://127.0.0.1:{port},PROXIED://127.0.0.1:{proxy}
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
log.initial.task.delay.ms=86400000
log.retention.check.interval.ms=86400000
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
"""
_JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp")


def jars() -> str:
    """The class path of the broker; the first call on a machine downloads 43 MB."""
    return f"{maven_jars('kafka')}/*"


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class KafkaBroker:
    """One broker, which is its own controller.

    Attributes:
        bootstrap: where clients reach it.
        proxy_port: where a proxy may listen; who comes through it is sent there again.
        behind_proxy: the port to which that proxy forwards.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.proxy_port = free_port()
        self.behind_proxy = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._java = [*_JAVA, jars()]
        (self.folder / "server.properties").write_text(self.properties())
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        subprocess.run(
            [
                *(*self._java, "kafka.tools.StorageTool"),
                # One that begins with a hyphen is no option of its own.
                *("format", f"--cluster-id={cluster}", "-c", "server.properties"),
            ],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def properties(self) -> str:
        """What the broker is configured with."""
        return _PROPERTIES.format(
            port=self.port,
            controller=free_port(),
            proxy=self.proxy_port,
            behind_proxy=self.behind_proxy,
            folder=self.folder,
        )

    def start(self, timeout_s: float = 60) -> None:
        """Start the process, and return when it answers and is not fenced."""
        stop = time.monotonic() + timeout_s
        with (self.folder / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._java, "kafka.Kafka", "server.properties"],
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        while time.monotonic() < stop:
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "broker.log").read_text()[-2000:])
            try:
                # Kafka's client leaks the sockets of attempts that fail.
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                with self.admin() as admin:
                    if not any(b["is_fenced"] for b in admin.describe_cluster()["brokers"]):
                        return
            except (kafka.errors.KafkaError, OSError):
                time.sleep(0.05)
        raise TimeoutError("the broker is not ready")

    def admin(self) -> KafkaAdminClient:
        """A client that gives up soon; the caller closes it."""
        return KafkaAdminClient(
            bootstrap_servers=f"127.0.0.1:{self.port}",
            bootstrap_timeout_ms=2000,
            request_timeout_ms=5000,
        )

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic, and return when the broker knows it."""
        with self.admin() as admin:
            wanted = {"num_partitions": partitions, "replication_factor": 1}
            admin.create_topics({name: wanted}, wait_for_metadata=True)

    def topics(self) -> set[str]:
        """The names of all topics that are not Kafka's own."""
        with self.admin() as admin:
            return {name for name in admin.list_topics() if not name.startswith("__")}

    def kill(self) -> None:
        """Kill the process as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The process does nothing meanwhile, and its port stays open."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)
