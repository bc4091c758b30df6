"""A PostgreSQL server of a test's own: its data in a folder, its port on the loopback.

It is Debian's; where it is absent, the first call installs it, which takes half a minute and needs
the rights to do so. It does not run as root: if the tests do, it runs as the package's user.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from servers.debian_package import installed
from servers.kafka_broker import free_port
from servers.with_clause import with_clause

_PROGRAMS = Path("/usr/lib/postgresql")
_READY_SECONDS = 60
_OWNER = "postgres"
USER, PASSWORD = "reader", "let me 'in'"


def postgres_programs() -> Path:
    """The folder of the server's programs; fails as `installed`."""
    return installed("postgresql", _newest)


def _newest() -> Path | None:
    found = sorted(_PROGRAMS.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class PostgresServer:
    """A server that logs for logical decoding, a database `shop`, and a user who may follow it."""

    def __init__(self) -> None:
        # Other users may not enter the folders of pytest.
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.port = free_port()
        self._account: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._account = {"user": _OWNER, "group": _OWNER, "extra_groups": []}
            shutil.chown(self.folder, _OWNER, _OWNER)
        programs, data = postgres_programs(), self.folder / "data"
        create = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-E", "UTF8"]
        create += ["--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"]
        subprocess.run(
            create, check=True, capture_output=True, cwd=self.folder, timeout=120, **self._account
        )
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "wal_level": "logical",
            "shared_buffers": "16MB",
            "max_wal_size": "64MB",
            "min_wal_size": "32MB",
            "max_replication_slots": "40",
            "autovacuum": "off",
        }
        self._command = [str(programs / "postgres"), "-D", str(data), "-p", str(self.port)]
        self._command += [f"--{key}={value}" for key, value in settings.items()]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        with self.connection("postgres") as held:
            held.execute("CREATE DATABASE shop")
            quoted = PASSWORD.replace("'", "''")
            held.execute(f"CREATE ROLE {USER} LOGIN REPLICATION PASSWORD '{quoted}'")
        self.run(
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {USER}",
            "CREATE PUBLICATION dbz_publication FOR ALL TABLES",
        )

    def start(self, **settings: str) -> None:
        """Start it, perhaps with other settings, and wait until it answers."""
        more = [f"--{key}={value}" for key, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [*self._command, *more], stdout=log, stderr=log, cwd=self.folder, **self._account
            )
        self._process = process
        end = time.monotonic() + _READY_SECONDS
        while True:
            try:
                with self.connection("postgres"):
                    return
            except psycopg.OperationalError:
                assert process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it, and wait until it has ended; SIGINT ends its sessions, too."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=_READY_SECONDS)
            self._process = None

    def kill(self) -> None:
        """End it as a power cut does: it recovers when it starts."""
        self.stop(signal.SIGQUIT)

    def remove(self) -> None:
        """End it, and remove its data."""
        self.stop()
        shutil.rmtree(self.folder)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in `shop`, each in its own transaction; the last one's rows."""
        found: list[tuple[Any, ...]] = []
        with self.connection() as held:
            for statement in statements:
                answer = held.execute(statement)  # type: ignore[arg-type, unused-ignore]
                found = answer.fetchall() if answer.description else []
        return found

    @contextmanager
    def connection(self, database: str = "shop") -> Iterator[psycopg.Connection[Any]]:
        """A connection of the superuser, which commits by itself, in UTC."""
        with psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user="postgres",
            dbname=database,
            autocommit=True,
            options="-c timezone=UTC",
        ) as held:
            yield held

    @contextmanager
    def reader(self, slot: str) -> Iterator[int]:
        """Another reader of a slot, which confirms nothing; the number of its server process."""
        command = [str(postgres_programs() / "pg_recvlogical"), "-h", str(self.folder)]
        command += [
            "-p",
            str(self.port),
            "-U",
            "postgres",
            "-d",
            "shop",
            "--slot",
            slot,
            "--start",
            "-f",
            "/dev/null",
        ]
        command += ["-o", "proto_version=1", "-o", "publication_names=dbz_publication"]
        command += ["--status-interval=0", "--fsync-interval=0"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **self._account)
        asked = f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{slot}' AND active"
        end = time.monotonic() + _READY_SECONDS
        try:
            # The job's own reader has it now and then.
            while process.poll() is not None or not (found := self.run(asked)):
                assert time.monotonic() < end
                if process.poll() is not None:
                    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **self._account)
                time.sleep(0.05)
            yield found[0][0]
        finally:
            process.kill()
            process.wait(timeout=_READY_SECONDS)

    def options(self, table: str, **more: str) -> str:
        """The clause WITH of a table that reads one of `shop`."""
        return with_clause({"connector": "postgres-cdc", **self.place(table, **more)})

    def place(self, table: str, **more: str) -> dict[str, str]:
        """The options that say which table that is, and how to log in."""
        return {
            "hostname": "127.0.0.1",
            "port": str(self.port),
            "username": USER,
            "password": PASSWORD,
            "database-name": "shop",
            "schema-name": "public",
            "table-name": table,
            "slot.name": f"slot_{table}",
            "decoding.plugin.name": "pgoutput",
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
