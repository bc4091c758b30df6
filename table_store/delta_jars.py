"""The jars of Delta Lake that `USING delta` needs, fetched by the Ivy that Spark ships."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from table_store.catalog.bridge.bridge_jar import BridgeBuildError, java_command
from table_store.spark_home import SparkHome
from table_store.storage.kernel.errors import TableStoreError

DELTA_VERSION = "4.4.0"
_UNITY_CATALOG_VERSION = "0.6.0"


@dataclass(frozen=True, slots=True)
class _Artifact:
    """A jar of Maven Central, where the content of a version never changes."""

    organisation: str
    name: str
    version: str
    size_bytes: int
    sha256: str

    @property
    def jar(self) -> str:
        return f"{self.name}-{self.version}.jar"


# Everything that delta-spark needs at run time and Spark does not bring itself.
_ARTIFACTS = (
    _Artifact(
        *("io.delta", "delta-spark_4.2_2.13", DELTA_VERSION, 9_515_916),
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    _Artifact(
        *("io.delta", "delta-storage", DELTA_VERSION, 113_863),
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
    _Artifact(
        *("io.delta", "delta-kernel-api", DELTA_VERSION, 2_838_619),
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    ),
    _Artifact(
        *("io.delta", "delta-kernel-defaults", DELTA_VERSION, 227_185),
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    ),
    _Artifact(
        *("io.delta", "delta-kernel-unitycatalog", DELTA_VERSION, 43_048),
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    ),
    _Artifact(
        *("io.unitycatalog", "unitycatalog-client", _UNITY_CATALOG_VERSION, 564_136),
        "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    ),
    _Artifact(
        *("io.unitycatalog", "unitycatalog-hadoop", _UNITY_CATALOG_VERSION, 78_389),
        "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
    ),
)
JAR_NAMES = tuple(artifact.jar for artifact in _ARTIFACTS)
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


class ForeignJarError(TableStoreError):
    """The repository returned a jar whose checksum is not that of Delta's jar."""

    condition = "TABLE_STORE_DELTA_CHECKSUM"
    sql_state = "42501"

    def __init__(self, *, jar: str, size_bytes: int, sha256: str, expected: str) -> None:
        self.jar = jar
        self.size_bytes = size_bytes
        self.sha256 = sha256
        super().__init__(
            f"What was fetched as {jar} ({size_bytes} bytes) has the SHA-256 {sha256}, not "
            f"{expected} as in Maven Central; nothing was installed. Find out who changed it: the "
            "repository (--ivy-settings names another) or Ivy's local cache, ~/.ivy2/cache."
        )


def missing(jars: Path) -> tuple[str, ...]:
    """Return the names of the jars that are not in a folder."""
    return tuple(name for name in JAR_NAMES if not (jars / name).exists())


def fetch(home: SparkHome, target: Path, ivy_settings: Path | None = None) -> None:
    """Fetch all jars into `target`, about 13 MB, from the Maven repository or Ivy's local cache.

    Args:
        home: The Spark whose Ivy fetches them.
        target: An existing folder.
        ivy_settings: Where to fetch from, in Ivy's format; None for Ivy's default.

    Raises:
        DeltaNotFetchedError: Not all of them could be fetched.
        ForeignJarError: One of them has another checksum than the right one.
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
    for artifact in _ARTIFACTS:
        _check(artifact, target / artifact.jar)


def _check(artifact: _Artifact, path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if (size, digest) != (artifact.size_bytes, artifact.sha256):
        raise ForeignJarError(
            jar=artifact.jar, size_bytes=size, sha256=digest, expected=artifact.sha256
        )


def _wanted() -> str:
    rows = "".join(
        f'<dependency org="{a.organisation}" name="{a.name}" rev="{a.version}" '
        'transitive="false" conf="default->master"/>'
        for a in _ARTIFACTS
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
        raise DeltaNotFetchedError(reason=_reason(done.stdout + done.stderr))


def _reason(output: str) -> str:
    """Why Ivy has failed, by what it printed."""
    refused = re.search(r"Server access [Ee]rror at url (\S+) \((.+)\)", output)
    if refused:
        return f"{refused[1]} cannot be reached ({refused[2]})"
    absent = re.search(r"module not found: \S+?#(\S+?);(\S+)", output)
    if absent:
        tried = re.search(r"^\s*(\w+:/\S+\.(?:pom|jar))$", output, re.MULTILINE)
        where = "no repository has it" if tried is None else f"there is no {tried[1]}"
        return f"{absent[1]} {absent[2]}: {where}"
    lines = [line.strip(": \t") for line in output.splitlines()]
    told = [line for line in lines if "rror" in line or "xception" in line]
    return next((line for line in told or lines if line), "Ivy said nothing")
