"""A database server with a binlog, of a test's or demo's own, on the loopback: what all share."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from servers.kafka_broker import free_port
from servers.with_clause import with_clause

_READY_SECONDS = 60
USER, PASSWORD = "reader", "let me 'in'"


class BinlogServer:
    """A server with a binlog, one database, and a user who may read both.

    Args:
        folder: where its data are, in `data`, and its log.
        database: the database's name.
        command: what starts it, but for what this class says of addresses and the binlog.
        right: what the user needs besides REPLICATION SLAVE.
        primary: the server whose replica it is, with all that this one has had since its start.
    """

    is_mariadb = True

    def __init__(
        self,
        folder: Path,
        database: str,
        command: Sequence[str],
        right: str,
        primary: BinlogServer | None,
    ) -> None:
        self.folder = folder
        self.database = database
        self.port = free_port()
        self._command = [*command, "--user=root", f"--datadir={folder / 'data'}"]
        self._command += [f"--socket={folder / 's'}", f"--port={self.port}"]
        self._command += ["--bind-address=127.0.0.1", f"--server-id={7 if primary is None else 8}"]
        self._command += ["--log-bin=changes", "--binlog-format=ROW", "--binlog-row-image=FULL"]
        self._command += ["--binlog-row-metadata=FULL", "--character-set-server=utf8mb4"]
        self._command += ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
        self._command += ["--performance-schema=OFF", "--sync-binlog=1"]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        if primary is not None:
            self._follow(primary)
            return
        self.run(
            f"CREATE DATABASE {database}",
            f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY \"{PASSWORD}\"",
            f"GRANT SELECT ON {database}.* TO {USER}@'127.0.0.1'",
            f"GRANT REPLICATION SLAVE, {right} ON *.* TO {USER}@'127.0.0.1'",
        )

    def _follow(self, primary: BinlogServer) -> None:
        how = "MASTER_USE_GTID = slave_pos" if self.is_mariadb else "MASTER_AUTO_POSITION = 1"
        self.run(
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.port}, "
            f"MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, {how}",
            "START SLAVE",
        )

    def catch_up(self, primary: BinlogServer) -> None:
        """Wait until a replica has all that its primary has."""
        if self.is_mariadb:
            ((reached,),) = primary.run("SELECT @@global.gtid_binlog_pos")
            statement = f"SELECT master_gtid_wait('{reached}', {_READY_SECONDS})"
        else:
            ((reached,),) = primary.run("SELECT @@global.gtid_executed")
            statement = f"SELECT wait_for_executed_gtid_set('{reached}', {_READY_SECONDS})"
        assert self.run(statement) == [(0,)], self.run("SHOW SLAVE STATUS")

    def promote(self) -> None:
        """Make a server of a replica."""
        self.run("STOP SLAVE", "RESET SLAVE ALL")

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
        return with_clause({"connector": "mysql-cdc", **self.place(table, **more)})

    def place(self, table: str, **more: str) -> dict[str, str]:
        """The options that say which table that is, and how to log in."""
        return {
            "hostname": "127.0.0.1",
            "port": str(self.port),
            "username": USER,
            "password": PASSWORD,
            "database-name": self.database,
            "table-name": table,
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
