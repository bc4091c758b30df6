"""A TCP proxy before a Kafka broker that cuts all connections at a chosen request."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress


class CuttingProxy:
    """Forwards requests to the broker and answers back, one thread for each direction.

    Attributes:
        cut_at: number of the request (from 0, of all connections) at which all are cut.
        is_forwarded: whether that request still reaches the broker; its answer never comes.
        requests: how many came so far.
        delay_s: how long each takes longer than it would.
    """

    def __init__(self, port: int, broker_port: int) -> None:
        self._broker_port = broker_port
        self.cut_at: int | None = None
        self.is_forwarded = False
        self.requests = 0
        self.delay_s = 0.0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut_at: int, *, is_forwarded: bool) -> None:
        """Cut once, at a request counted from now on."""
        with self._lock:
            self.requests, self.cut_at, self.is_forwarded = 0, cut_at, is_forwarded

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def close(self) -> None:
        """Stop listening, and cut."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # ends the wait in `accept`
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(("127.0.0.1", self._broker_port))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open += [client, server]
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError, struct.error):
            while True:
                head = _read(client, 4)
                body = _read(client, struct.unpack(">i", head)[0])
                with self._lock:
                    is_cut = self.requests == self.cut_at
                    self.requests += 1
                time.sleep(self.delay_s)
                if not is_cut or self.is_forwarded:
                    server.sendall(head + body)
                if is_cut:
                    break
        self.cut_pair(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                with self._lock:
                    is_cut = self.cut_at is not None and self.requests == self.cut_at + 1
                if is_cut and self.is_forwarded:
                    break
                client.sendall(data)
        self.cut_pair(client, server)

    def cut_pair(self, *connections: socket.socket) -> None:
        """Cut one client's connection."""
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
            with self._lock, suppress(ValueError):
                self._open.remove(connection)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("closed")
        data += part
    return data
