"""A Kafka broker that asks who comes, in the clear and over TLS, and what each may do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar

from servers.kafka_broker import KafkaBroker, free_port

_PROPERTIES = """
listeners={listeners},SASL_PLAINTEXT://127.0.0.1:{sasl},SASL_SSL://127.0.0.1:{tls}
advertised.listeners={advertised},SASL_PLAINTEXT://127.0.0.1:{sasl},SASL_SSL://127.0.0.1:{tls}
listener.security.protocol.map={protocols},SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={users}
listener.name.sasl_ssl.plain.sasl.jaas.config={users}
ssl.keystore.type=PKCS12
ssl.keystore.location={folder}/broker.p12
ssl.keystore.password={store_password}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:writer
"""
_USERS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'user_writer="{writer}" user_guest="{guest}";'
)


class SecureKafkaBroker(KafkaBroker):
    """A broker with two users: `writer` may do everything, `guest` nothing.

    Attributes:
        sasl: where clients reach it with a password.
        tls: the same, encrypted.
        certificate: file that tells a client whom to trust.
        passwords: of the users.
    """

    passwords: ClassVar[dict[str, str]] = {"writer": "writer-s3cret", "guest": "guest-s3cret"}

    def __init__(self, folder: Path) -> None:
        self._sasl_port, self._tls_port = free_port(), free_port()
        self.sasl = f"127.0.0.1:{self._sasl_port}"
        self.tls = f"127.0.0.1:{self._tls_port}"
        super().__init__(folder)

    @property
    def certificate(self) -> Path:
        return self.folder / "broker.pem"

    def properties(self) -> str:
        """The plain broker's with two more listeners."""
        plain = dict(
            line.split("=", 1) for line in super().properties().splitlines() if "=" in line
        )
        self._make_certificate()
        more = _PROPERTIES.format(
            listeners=plain.pop("listeners"),
            advertised=plain.pop("advertised.listeners"),
            protocols=plain.pop("listener.security.protocol.map"),
            sasl=self._sasl_port,
            tls=self._tls_port,
            users=_USERS.format(**self.passwords),
            folder=self.folder,
            store_password="store-s3cret",
        )
        return "\n".join(f"{key}={value}" for key, value in plain.items()) + more

    def _make_certificate(self) -> None:
        store = ["-alias", "broker", "-keystore", "broker.p12", "-storepass", "store-s3cret"]
        made = ["-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", "-dname", "CN=localhost"]
        made += ["-ext", "SAN=ip:127.0.0.1"]
        for command in (made, ["-exportcert", "-rfc", "-file", "broker.pem"]):
            arguments = ["keytool", command[0], *store, *command[1:]]
            subprocess.run(arguments, cwd=self.folder, check=True, capture_output=True)
