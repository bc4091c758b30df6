"""Programs of Debian's packages, which the first call installs where they are absent.

That takes half a minute, and needs the rights to do so.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_BUILD = Path(__file__).parent.parent / "build"


def installed(package: str, find: Callable[[], T | None]) -> T:
    """Return what `find` finds of a package, which is installed if it finds nothing.

    Several processes may begin at once: one after the other installs, whatever its package is, for
    apt has one lock for all.

    Raises:
        RuntimeError: it is not there and cannot be installed; says by which commands it is.
    """
    _BUILD.mkdir(exist_ok=True)
    with (_BUILD / "apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (found := find()) is not None:
            return found
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update"], ["install", "--no-install-recommends", package]):
            command = ["apt-get", "-q", "-y", *arguments]
            try:
                subprocess.run(
                    command, check=True, capture_output=True, env=environment, timeout=300
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise RuntimeError(
                    f"{package} is not installed, and this program could not install it. As root:\n"
                    f"    apt-get update && apt-get install --no-install-recommends {package}"
                ) from error
    found = find()
    assert found is not None
    return found
