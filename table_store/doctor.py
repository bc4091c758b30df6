"""What `table-store doctor` checks: each part that must be there, with a remedy if it is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from table_store import delta_jars, spark_defaults
from table_store.catalog.bridge.bridge_jar import (
    JAR_NAME,
    BridgeBuildError,
    java_command,
    read_manifest,
)
from table_store.setup_plan import DEFAULTS_NAME
from table_store.spark_home import SPARK_VERSION, SparkHome, SparkNotFoundError, find_spark_home

_JAVA_LEAST = 17
_CATALOG_CLASS = "org.apache.spark.sql.tablestore.TableStoreCatalog"
_TIMEOUT_S = 60
_SET_UP = "run `table-store setup`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The state of one part; if it is not `is_needed`, the rest works without it."""

    part: str
    is_ok: bool
    detail: str
    remedy: str = ""
    is_needed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """What is examined: a Spark, the process's environment, the folder it was started in."""

    home: SparkHome | None
    environment: Mapping[str, str]
    folder: Path
    version: str


def examine(patient: Patient) -> tuple[Finding, ...]:
    """Return the state of every part, in the order in which they need each other."""
    checks: tuple[Callable[[Patient], Finding], ...] = (
        _java, _spark, _one_spark, _jar, _configuration, _python, _planner, _warehouse, _delta,
    )  # fmt: skip
    return tuple(check(patient) for check in checks)


def _java(_: Patient) -> Finding:
    part = "Java"
    remedy = f"install a Java runtime of version {_JAVA_LEAST} or newer, or set JAVA_HOME to one"
    try:
        done = subprocess.run(
            [java_command(), "-version"],
            capture_output=True, text=True, check=False, timeout=_TIMEOUT_S,
        )  # fmt: skip
    except (BridgeBuildError, OSError, subprocess.TimeoutExpired) as error:
        return Finding(part=part, is_ok=False, detail=str(error), remedy=remedy)
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', done.stderr + done.stdout)
    if found is None:
        return Finding(
            part=part, is_ok=False, detail="java does not tell its version", remedy=remedy
        )
    version = int(found[1])
    detail = f"version {found[1]}{found[2]} ({java_command()})"
    return Finding(part=part, is_ok=version >= _JAVA_LEAST, detail=detail, remedy=remedy)


def _spark(patient: Patient) -> Finding:
    home = patient.home
    remedy = f"`{sys.executable} -m pip install pyspark=={SPARK_VERSION}`"
    if home is None:
        return Finding(part="Spark", is_ok=False, detail="not installed", remedy=remedy)
    return Finding(
        part="Spark",
        is_ok=home.version == SPARK_VERSION,
        detail=f"version {home.version} ({home.path}); exactly {SPARK_VERSION} is needed",
        remedy=remedy,
    )


def _one_spark(patient: Patient) -> Finding:
    """Check SPARK_HOME, which decides which Spark the scripts start."""
    given = patient.environment.get("SPARK_HOME")
    own = patient.home.path if patient.home else None
    return Finding(
        part="SPARK_HOME",
        is_ok=not given or (own is not None and Path(given).resolve() == own.resolve()),
        detail=given or "not set, as it should be",
        remedy=f"unset SPARK_HOME (or `table-store setup --spark-home {given}`, where that is "
        f"Spark {SPARK_VERSION})",
    )


def _jar(patient: Patient) -> Finding:
    part = "bridge jar"
    if patient.home is None:
        return Finding(part=part, is_ok=False, detail="no Spark to look in", remedy=_SET_UP)
    path = patient.home.jars / JAR_NAME
    manifest = read_manifest(path)
    version = manifest.get("Implementation-Version")
    spark = manifest.get("Table-Store-Spark-Version")
    if version is None:
        return Finding(part=part, is_ok=False, detail=f"no readable {path}", remedy=_SET_UP)
    return Finding(
        part=part,
        is_ok=version == patient.version and spark == SPARK_VERSION,
        detail=f"version {version} for Spark {spark}; the package is {patient.version}",
        remedy=_SET_UP,
    )


def _settings(patient: Patient) -> Mapping[str, str]:
    if patient.home is None:
        return {}
    path = patient.home.conf / DEFAULTS_NAME
    return spark_defaults.properties(path.read_text(encoding="utf-8")) if path.exists() else {}


def _configuration(patient: Patient) -> Finding:
    settings = _settings(patient)
    names = [
        k.removeprefix("spark.sql.catalog.") for k, v in settings.items() if v == _CATALOG_CLASS
    ]
    where = patient.home.conf / DEFAULTS_NAME if patient.home else "no Spark"
    has_extension = "TableStoreExtensions" in settings.get("spark.sql.extensions", "")
    detail = f"catalog {names[0]!r} in {where}" if names else f"no catalog of ours in {where}"
    if names and not has_extension:
        detail = f"spark.sql.extensions lacks TableStoreExtensions in {where}"
    return Finding(
        part="configuration", is_ok=bool(names) and has_extension, detail=detail, remedy=_SET_UP
    )


def _python(patient: Patient) -> Finding:
    """Check the `python3` on the PATH, with which `spark-sql` and the bridge start."""
    name = patient.environment.get("PYSPARK_PYTHON") or "python3"
    found = shutil.which(name, path=patient.environment.get("PATH"))
    remedy = f"activate the environment ({sys.prefix}), or start the shell with `table-store sql`"
    if found is None:
        return Finding(part="Python", is_ok=False, detail=f"no {name} on the PATH", remedy=remedy)
    is_ours = Path(found).parent.resolve() == Path(sys.executable).parent.resolve()
    return Finding(
        part="Python",
        is_ok=is_ours or _imports_us(found),
        detail=f"{found} is what Spark will start",
        remedy=remedy,
    )


def _imports_us(python: str) -> bool:
    return _succeeds([python, "-P", "-c", "import table_store, pyspark, pyarrow"])[0]


def _planner(_: Patient) -> Finding:
    is_ok, output = _succeeds([sys.executable, "-P", "-m", "table_store.planner", "--check"])
    lines = output.strip().splitlines()
    detail = "starts" if is_ok else (lines[-1] if lines else "does not start")
    remedy = f"install the package again: `{sys.executable} -m pip install --force-reinstall …`"
    return Finding(part="planner", is_ok=is_ok, detail=detail, remedy=remedy)


def _succeeds(command: list[str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, done.stdout + done.stderr


def _warehouse(patient: Patient) -> Finding:
    """Check that files can be written where the warehouse is or will be; object stores pass."""
    part = "warehouse"
    place = _settings(patient).get("spark.sql.warehouse.dir", "spark-warehouse")
    parsed = urlparse(place)
    if parsed.scheme not in ("", "file"):
        return Finding(part=part, is_ok=True, detail=f"{place} (not tried from here)")
    path = patient.folder / (unquote(parsed.path) if parsed.scheme else place)
    existing = next(p for p in (path, *path.parents) if p.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        detail = f"{path}: {error.strerror}"
        remedy = (
            "start from a folder that you may write to, or set spark.sql.warehouse.dir in "
            "spark-defaults.conf"
        )
        return Finding(part=part, is_ok=False, detail=detail, remedy=remedy)
    return Finding(part=part, is_ok=True, detail=f"{path} can be written")


def _delta(patient: Patient) -> Finding:
    absent = delta_jars.missing(patient.home.jars) if patient.home else delta_jars.JAR_NAMES
    return Finding(
        part="Delta",
        is_ok=not absent,
        detail=f"{len(absent)} of {len(delta_jars.JAR_NAMES)} jars missing: no USING delta"
        if absent
        else f"version {delta_jars.DELTA_VERSION}",
        remedy=_SET_UP + " where a Maven repository can be reached",
        is_needed=False,
    )


def patient_of_this_process(version: str, spark_home: Path | None = None) -> Patient:
    """Return this environment, as it is now."""
    home: SparkHome | None
    try:
        home = find_spark_home(os.environ, spark_home)
    except SparkNotFoundError:
        home = None
    return Patient(home=home, environment=os.environ, folder=Path.cwd(), version=version)
