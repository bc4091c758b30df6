"""The planner's end of the connection with its JVM, py4j's, which shows first whose end it is."""

from __future__ import annotations

import hmac
from typing import IO, Any, Final

from py4j.clientserver import (
    ClientServer,
    ClientServerConnection,
    JavaParameters,
    PythonParameters,
    PythonServer,
)

CHALLENGE_BYTES: Final = 32
"""With which every connection of the JVM begins: random, so that no old answer fits."""


class PlannerGateway(ClientServer):  # type: ignore[misc] # py4j has no types
    """Listens on a port of the loopback address that the system chose: `listening_port`.

    Calls into the JVM need its port: `connect_to` comes first. Both directions show the token.
    A client shows it only to who proves to know it (PlannerSockets.scala): when this process is
    gone, anybody may listen at its port.
    """

    def __init__(self, token: str, entry_point: object) -> None:
        super().__init__(
            java_parameters=JavaParameters(auth_token=token, auto_convert=True),
            python_parameters=PythonParameters(
                port=0, auth_token=token, daemonize=True, daemonize_connections=True
            ),
            python_server_entry_point=entry_point,
        )

    @property
    def listening_port(self) -> int:
        """Where the JVM finds this process."""
        return int(self.get_callback_server().get_listening_port())

    def connect_to(self, java_port: int) -> None:
        """Set where the JVM listens."""
        self.java_parameters.port = java_port

    def _create_callback_server(self, parameters: PythonParameters) -> PythonServer:
        return _ProvingServer(
            self._gateway_client, self.java_parameters, parameters, self.gateway_property
        )


class _ProvingServer(PythonServer):  # type: ignore[misc] # py4j has no types
    def _create_connection(self, socket: Any, stream: IO[bytes]) -> ClientServerConnection:
        connection = _ProvingConnection(
            self.java_parameters,
            self.python_parameters,
            self.gateway_property,
            self.gateway_client,
            python_server=self,
        )
        connection.init_socket_from_python_server(socket, stream)
        return connection


class _ProvingConnection(ClientServerConnection):  # type: ignore[misc] # py4j has no types
    def run(self) -> None:
        """In the connection's own thread, so that who never sends a challenge delays nobody."""
        challenge = self.stream.read(CHALLENGE_BYTES)
        if len(challenge) < CHALLENGE_BYTES:
            self.close()
            return
        self.socket.sendall(proof(self.python_parameters.auth_token, challenge))
        super().run()


def proof(token: str, challenge: bytes) -> bytes:
    """What shows that one knows the token without telling it: HMAC-SHA256 of the challenge."""
    return hmac.digest(token.encode(), challenge, "sha256")
