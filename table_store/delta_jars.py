"""The jars of Delta Lake that `USING delta` needs, fetched by the Ivy that Spark ships."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from table_store.catalog.bridge.bridge_jar import BridgeBuildError, java_command
from table_store.spark_home import SparkHome
from table_store.storage.kernel.errors import TableStoreError

DELTA_VERSION = "4.4.0"
_UNITY_CATALOG_VERSION = "0.6.0"
# Everything delta-spark asks for at run time that Spark does not have itself.
_ARTIFACTS = (
    ("io.delta", "delta-spark_4.2_2.13", DELTA_VERSION),
    ("io.delta", "delta-storage", DELTA_VERSION),
    ("io.delta", "delta-kernel-api", DELTA_VERSION),
    ("io.delta", "delta-kernel-defaults", DELTA_VERSION),
    ("io.delta", "delta-kernel-unitycatalog", DELTA_VERSION),
    ("io.unitycatalog", "unitycatalog-client", _UNITY_CATALOG_VERSION),
    ("io.unitycatalog", "unitycatalog-hadoop", _UNITY_CATALOG_VERSION),
)
JAR_NAMES = tuple(f"{name}-{version}.jar" for _, name, version in _ARTIFACTS)
_TIMEOUT_S = 300


class DeltaNotFetchedError(TableStoreError):
    """Delta's jars could not be fetched; everything else works without them."""

    condition = "TABLE_STORE_DELTA_NOT_FETCHED"
    sql_state = "58030"
    retriable = True

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"The jars of Delta {DELTA_VERSION} could not be fetched: {reason}. Managed tables "
            "work without them, USING delta does not. Run `table-store setup` again when the "
            "Maven repository can be reached (--ivy-settings names another), or with --no-delta."
        )


def missing(jars: Path) -> tuple[str, ...]:
    """Return the names of the jars that are not in a folder."""
    return tuple(name for name in JAR_NAMES if not (jars / name).exists())


def fetch(home: SparkHome, target: Path, ivy_settings: Path | None = None) -> None:
    """Fetch all jars into `target`, about 13 MB, from the Maven repository or Ivy's local cache.

    Args:
        home: The Spark whose Ivy does it.
        target: An existing folder.
        ivy_settings: Where to fetch from, in Ivy's format; None for Ivy's default.

    Raises:
        DeltaNotFetchedError: Not all of them could be had.
    """
    ivy = next(iter(sorted(home.jars.glob("ivy-*.jar"))), None)
    if ivy is None:
        raise DeltaNotFetchedError(reason=f"there is no Ivy in {home.jars}")
    with tempfile.TemporaryDirectory(prefix="table-store-delta-") as folder:
        wanted = Path(folder) / "ivy.xml"
        wanted.write_text(_wanted(), encoding="utf-8")
        pattern = f"{target}/[artifact]-[revision].[ext]"
        settings = ["-settings", str(ivy_settings)] if ivy_settings else []
        _run([*settings, "-ivy", str(wanted), "-retrieve", pattern, "-types", "jar"], ivy)
    absent = missing(target)
    if absent:
        raise DeltaNotFetchedError(reason=f"not found: {', '.join(absent)}")


def _wanted() -> str:
    rows = "".join(
        f'<dependency org="{org}" name="{name}" rev="{version}" transitive="false" '
        'conf="default->master"/>'
        for org, name, version in _ARTIFACTS
    )
    return (
        '<ivy-module version="2.0"><info organisation="table-store" module="delta"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{rows}</dependencies></ivy-module>"
    )


def _run(arguments: Sequence[str], ivy: Path) -> None:
    try:
        done = subprocess.run(
            [java_command(), "-cp", str(ivy), "org.apache.ivy.Main", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except BridgeBuildError as error:
        raise DeltaNotFetchedError(reason=str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise DeltaNotFetchedError(reason=f"no answer within {_TIMEOUT_S} s") from error
    if done.returncode != 0:
        lines = [x.strip() for x in (done.stdout + done.stderr).splitlines()]
        told = [x for x in lines if "not found" in x or "rror" in x] or lines or ["Ivy failed"]
        raise DeltaNotFetchedError(reason=told[0].lstrip(": "))
