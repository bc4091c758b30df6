"""A MariaDB server of a test's or demo's own: its data in a folder, its port on the loopback.

It is Debian's; where it is absent, the first call installs it, which takes half a minute and needs
the rights to do so.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from servers.binlog_server import PASSWORD, USER, BinlogServer
from servers.debian_package import installed

__all__ = ["PASSWORD", "USER", "MariadbServer", "mariadb"]


def mariadb() -> str:
    """The path of the server's program; fails as `installed`."""
    return installed("mariadb-server", lambda: shutil.which("mariadbd"))


class MariadbServer(BinlogServer):
    """A server of MariaDB."""

    def __init__(
        self, folder: Path, database: str = "shop", primary: BinlogServer | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        program = mariadb()
        install = ["mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db"]
        install += [f"--datadir={folder / 'data'}", "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, capture_output=True, timeout=120)
        command = [program, "--no-defaults", "--log-slave-updates"]
        super().__init__(folder, database, command, "BINLOG MONITOR", primary)
