"""scalafmt over the bridge, fetched once by the Ivy that Spark ships."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from table_store.catalog.bridge.bridge_jar import FOLDER, java_command, spark_home

REPOSITORY = Path(__file__).resolve().parents[1]
CONFIGURATION = REPOSITORY / ".scalafmt.conf"
_JARS = REPOSITORY / "build" / "scalafmt"


def main() -> int:
    """Rewrite the Scala sources; with `--test`, say which ones are not in house format."""
    found = re.search(r"^version = (\S+)$", CONFIGURATION.read_text(), re.MULTILINE)
    if found is None:
        sys.stderr.write(f"{CONFIGURATION} names no version of scalafmt\n")
        return 1
    jars = _JARS / found.group(1)
    if not (jars / ".complete").exists():
        _fetch(found.group(1), jars)
    command = [
        *(java_command(), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "org.scalafmt.cli.Cli"),
        *("--config", str(CONFIGURATION), "--quiet", "--non-interactive"),
        *sys.argv[1:2],
        str(FOLDER),
    ]
    return subprocess.run(command, check=False).returncode


def _fetch(version: str, jars: Path) -> None:
    ivy = next((spark_home() / "jars").glob("ivy-*.jar"))
    command = [
        *(java_command(), "-cp", str(ivy), "org.apache.ivy.Main", "-confs", "default"),
        *("-dependency", "org.scalameta", "scalafmt-cli_2.13", version),
        *("-types", "jar", "bundle", "-retrieve", f"{jars}/[artifact]-[revision].[ext]"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"scalafmt {version} could not be fetched:\n{done.stdout[-2000:]}")
    (jars / ".complete").touch()


if __name__ == "__main__":
    sys.exit(main())
