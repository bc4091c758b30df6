"""The planner's end of its py4j connection with the JVM, which proves its identity first."""

from __future__ import annotations

import hmac
import socket as sockets
from typing import IO, Any, Final

from py4j.clientserver import (
    ClientServer,
    ClientServerConnection,
    JavaParameters,
    PythonParameters,
    PythonServer,
)

CHALLENGE_BYTES: Final = 32
"""Length of the challenge at the start of each connection; random, so no old answer fits."""


class PlannerGateway(ClientServer):  # type: ignore[misc] # py4j has no types
    """Listens on a port of the loopback address that the system chose: `listening_port`.

    Calls into the JVM need the JVM's port, so call `connect_to` first. Clients of both directions
    send the token. The JVM sends it only to a server that proves to know it (PlannerSockets.scala),
    because after this process has ended any other process may listen at its port.
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
        """The port at which the JVM connects to this process."""
        return int(self.get_callback_server().get_listening_port())

    def connect_to(self, java_port: int) -> None:
        """Set the port at which the JVM listens."""
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
        # Of what goes out in pieces the last would wait 40 ms for the other side's acknowledgement.
        socket.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        connection.init_socket_from_python_server(socket, stream)
        return connection


class _ProvingConnection(ClientServerConnection):  # type: ignore[misc] # py4j has no types
    def run(self) -> None:
        """Prove in the connection's own thread: a silent client then delays no other client."""
        challenge = self.stream.read(CHALLENGE_BYTES)
        if len(challenge) < CHALLENGE_BYTES:
            self.close()
            return
        self.socket.sendall(proof(self.python_parameters.auth_token, challenge))
        super().run()


def proof(token: str, challenge: bytes) -> bytes:
    """Return the proof of knowing the token without sending it: HMAC-SHA256 of the challenge."""
    return hmac.digest(token.encode(), challenge, "sha256")
