"""Builds the bridge's jar with the Scala compiler that pyspark ships.

Standard library only and runnable as a file, because the build of the wheel runs it in an
environment where this project is not installed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

JAR_NAME = "spark-table-store-bridge.jar"
FOLDER = Path(__file__).resolve().parent
JAR_PATH = FOLDER / JAR_NAME
SPARK_VERSION = "4.2.0"
FORMAT_VERSION = "1"
_MANIFEST = "META-INF/MANIFEST.MF"
_SERVICES = "META-INF/services"
_LINE_BYTES_MAX = 72
_PACKAGE = "org/apache/spark/sql/tablestore"
# A fixed time stamp: the same sources give the same jar, byte by byte.
_ENTRY_TIME = (2026, 1, 1, 0, 0, 0)


class BridgeBuildError(Exception):
    """The jar could not be built; the message says what to do."""


def source_files(folder: Path = FOLDER) -> tuple[Path, ...]:
    """Return what the jar is made of: the Scala sources in the rooms beside this module, by path.

    And the resources, which are packed as they are.
    """
    resources = sorted((folder / "resources").rglob("*"))
    return (*sorted(folder.rglob("*.scala")), *(path for path in resources if path.is_file()))


def fingerprint(sources: Sequence[Path], version: str) -> str:
    """Return a digest of everything the jar depends on."""
    digest = hashlib.sha256(f"{version} {SPARK_VERSION} {FORMAT_VERSION}".encode())
    for source in sources:
        content = source.read_bytes()
        digest.update(f"\n{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def read_manifest(jar: Path) -> Mapping[str, str]:
    """Return the main attributes of a jar's manifest; empty when there is no readable jar."""
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read(_MANIFEST).decode()
    except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError):
        return {}
    lines = text.replace("\r\n ", "").replace("\n ", "").splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def is_current(jar: Path, sources: Sequence[Path], version: str) -> bool:
    """Say whether `jar` was built from exactly these sources for this version."""
    return read_manifest(jar).get("Table-Store-Sources") == fingerprint(sources, version)


def spark_home() -> Path:
    """Return the folder of the pyspark that this interpreter imports.

    Raises:
        BridgeBuildError: There is none, or it has no jars.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise BridgeBuildError(
            f"pyspark is not installed for {sys.executable}: pip install pyspark=={SPARK_VERSION}"
        )
    home = Path(next(iter(spec.submodule_search_locations)))
    if not any((home / "jars").glob(f"spark-sql_*-{SPARK_VERSION}.jar")):
        raise BridgeBuildError(
            f"{home} is not Spark {SPARK_VERSION}: pip install pyspark=={SPARK_VERSION}"
        )
    return home


def scala_version(home: Path) -> str:
    """Return the version of the Scala library among Spark's jars."""
    for jar in (home / "jars").glob("scala-library-*.jar"):
        return jar.stem.removeprefix("scala-library-")
    raise BridgeBuildError(f"No Scala library in {home / 'jars'}; install pyspark again.")


def java_command() -> str:
    """Return the `java` to run: JAVA_HOME's, as Spark's own scripts choose, else the PATH's."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    if found is None:
        raise BridgeBuildError("No Java found: install Java 17 or newer, or set JAVA_HOME.")
    return found


def _compile(sources: Sequence[Path], home: Path, classes: Path) -> None:
    command = [
        java_command(),
        "-XX:TieredStopAtLevel=1", "-Xss8m", "-cp", f"{home / 'jars'}/*",
        "scala.tools.nsc.Main", "-usejavacp", "-deprecation", "-Xlint", "-Werror", "-release", "17",
        "-d", str(classes), *(str(source) for source in sources if source.suffix == ".scala"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BridgeBuildError(f"The bridge does not compile:\n{done.stdout}{done.stderr}".rstrip())


def _manifest_text(attributes: Mapping[str, str]) -> bytes:
    lines = []
    for line in ("Manifest-Version: 1.0", *(f"{k}: {v}" for k, v in attributes.items())):
        while len(line) > _LINE_BYTES_MAX:
            lines.append(line[:_LINE_BYTES_MAX])
            line = " " + line[_LINE_BYTES_MAX:]
        lines.append(line)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _add_resources(sources: Sequence[Path], classes: Path) -> None:
    """Put what is no source where the classes, or Java for services, look for it."""
    for resource in sources:
        if resource.suffix != ".scala":
            place = classes / (_SERVICES if resource.parent.name == "services" else _PACKAGE)
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(resource, place / resource.name)


def _pack(classes: Path, manifest: bytes, jar: Path) -> None:
    partial = jar.with_name(f".{jar.name}.{os.getpid()}")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _ENTRY_TIME), manifest)
        for path in sorted(classes.rglob("*")):
            if path.is_file():
                name = path.relative_to(classes).as_posix()
                entry = zipfile.ZipInfo(name, _ENTRY_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    partial.replace(jar)


def build(version: str, *, folder: Path = FOLDER, jar: Path | None = None) -> bool:
    """Compile `folder`'s sources into `jar` unless it is current; say whether it was built.

    Costs some seconds of one core. The jar appears at once or not at all.

    Raises:
        BridgeBuildError: No Java, no Spark of the right version, no sources, or they don't compile.
    """
    target = folder / JAR_NAME if jar is None else jar
    sources = source_files(folder)
    if not sources:
        raise BridgeBuildError(f"No Scala sources in {folder}; install the package again.")
    if is_current(target, sources, version):
        return False
    home = spark_home()
    with tempfile.TemporaryDirectory(prefix="table-store-bridge-") as classes:
        _compile(sources, home, Path(classes))
        _add_resources(sources, Path(classes))
        attributes = {
            "Implementation-Title": "spark-table-store-bridge",
            "Implementation-Version": version,
            "Table-Store-Spark-Version": SPARK_VERSION,
            "Table-Store-Scala-Version": scala_version(home),
            "Table-Store-Format-Version": FORMAT_VERSION,
            "Table-Store-Sources": fingerprint(sources, version),
        }
        _pack(Path(classes), _manifest_text(attributes), target)
    return True


def project_version(project_file: Path) -> str:
    """Return the version that a pyproject.toml declares."""
    found = re.search(r'^version = "([^"]+)"$', project_file.read_text(), re.MULTILINE)
    if found is None:
        raise BridgeBuildError(f"{project_file} declares no version.")
    return found.group(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the jar of a source checkout; exit code 1 when that fails."""
    parser = argparse.ArgumentParser(description="Build the bridge jar when its sources changed.")
    parser.add_argument(
        "--check", action="store_true", help="only say whether the jar is current (exit code 1: no)"
    )
    options = parser.parse_args(arguments)
    try:
        version = project_version(FOLDER.parent.parent / "pyproject.toml")
        if options.check:
            return 0 if is_current(JAR_PATH, source_files(), version) else 1
        built = build(version)
    except BridgeBuildError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"bridge: {JAR_PATH.name} {'built' if built else 'is up to date'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
