"""A TCP proxy that cuts all its connections once, after so many bytes from the server."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class ShortConnections:
    """Forwards to a server, one thread for each direction.

    Attributes:
        port: on the loopback, where it listens.
        left: how many bytes the server may still send, on all connections together; then all that
            are open are cut, and those that come later are not. None: as many as it likes.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.left: int | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def allow(self, size_bytes: int) -> None:
        """Cut once after so many bytes from now on."""
        self.left = size_bytes

    @property
    def has_cut(self) -> bool:
        """Whether it has cut since."""
        return self.left is None

    def close(self) -> None:
        """Stop listening; connections that are open stay."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends the wait in `accept`
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            server = socket.create_connection(("127.0.0.1", self._server_port))
            with self._lock:
                self._open |= {client, server}
            for source, target, is_answer in ((client, server, False), (server, client, True)):
                threading.Thread(
                    target=self._forward, args=(source, target, is_answer), daemon=True
                ).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                allowed = self._taken(len(data)) if is_answer else len(data)
                target.sendall(data[:allowed])
                if allowed < len(data):
                    self._cut()
        with self._lock:
            self._open -= {source, target}
        for connection in (source, target):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _cut(self) -> None:
        with self._lock:
            self.left = None
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _taken(self, wanted: int) -> int:
        with self._lock:
            if self.left is None:
                return wanted
            taken = min(wanted, self.left)
            self.left -= taken
            return taken
