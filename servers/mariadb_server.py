"""A MariaDB server of a test's or demo's own: its data in a folder, its port on the loopback.

It is Debian's; where it is absent, the first call installs it, which takes half a minute and needs
the rights to do so.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from servers.debian_package import installed
from servers.kafka_broker import free_port

_READY_SECONDS = 60
USER, PASSWORD = "reader", "let me 'in'"


def mariadb() -> str:
    """The path of the server's program; fails as `installed`."""
    return installed("mariadb-server", lambda: shutil.which("mariadbd"))


class MariadbServer:
    """A server with a binlog, one database, and a user who may read both."""

    def __init__(self, folder: Path, database: str = "shop") -> None:
        self.folder = folder
        self.database = database
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        program = mariadb()
        install = ["mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db"]
        install += [f"--datadir={folder / 'data'}", "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, capture_output=True, timeout=120)
        self._command = [program, "--no-defaults", "--user=root", f"--datadir={folder / 'data'}"]
        self._command += [f"--socket={folder / 's'}", f"--port={self.port}"]
        self._command += ["--bind-address=127.0.0.1", "--server-id=7", "--log-bin=changes"]
        self._command += ["--binlog-format=ROW", "--binlog-row-image=FULL"]
        self._command += ["--binlog-row-metadata=FULL", "--character-set-server=utf8mb4"]
        self._command += ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
        self._command += ["--performance-schema=OFF", "--sync-binlog=1"]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        self.run(
            f"CREATE DATABASE {database}",
            f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY \"{PASSWORD}\"",
            f"GRANT SELECT ON {database}.* TO {USER}@'127.0.0.1'",
            f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {USER}@'127.0.0.1'",
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        end = time.monotonic() + _READY_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait until it has ended."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=_READY_SECONDS)
            self._process = None

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as root in the database, each a transaction; the last one's rows."""
        with self.connection() as held, held.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if statements else []

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection of root, which commits by itself, in UTC."""
        held = pymysql.connect(
            unix_socket=str(self.folder / "s"), user="root", charset="utf8mb4", autocommit=True
        )
        try:
            with held.cursor() as cursor:
                cursor.execute("SET time_zone = '+00:00'")
                cursor.execute("SHOW DATABASES LIKE %s", (self.database,))
                if cursor.fetchall():
                    held.select_db(self.database)
            yield held
        finally:
            held.close()

    def options(self, table: str, **more: str) -> str:
        """The clause WITH of a table that reads one of the database."""
        given = {
            "connector": "mysql-cdc",
            "hostname": "127.0.0.1",
            "port": str(self.port),
            "username": USER,
            "password": PASSWORD,
            "database-name": self.database,
            "table-name": table,
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
        shown = {key: value.replace("'", "''") for key, value in given.items()}
        return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in shown.items()) + ")"
