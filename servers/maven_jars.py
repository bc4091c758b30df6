"""Jars of Maven's repository that tests and demos need; Ivy, a part of pyspark, brings them."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pyspark

_IVY = Path(__file__).parent / "ivy"
_BUILD = Path(__file__).parent.parent / "build"


def maven_jars(name: str) -> Path:
    """A folder with the jars that `ivy/<name>.xml` lists, downloaded by the first call."""
    folder = _BUILD / name
    _BUILD.mkdir(exist_ok=True)
    with (_BUILD / f"{name}.lock").open("w") as lock:  # several test processes may begin at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            (ivy,) = (Path(pyspark.__path__[0]) / "jars").glob("ivy-*.jar")
            command = ["java", "-jar", str(ivy), "-error", "-cache", str(_BUILD / "ivy")]
            command += ["-settings", str(_IVY / "settings.xml"), "-ivy", str(_IVY / f"{name}.xml")]
            command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
            subprocess.run(command, check=True, capture_output=True)
            (folder / "complete").touch()
    return folder
