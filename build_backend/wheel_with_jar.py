"""Build backend: setuptools, and the bridge jar is compiled before a wheel is packed.

pyspark (whose Scala compiler does it) is a build requirement only while the jar is missing or
older than its sources, so that a checkout with a built jar needs no second Spark, and an
editable install none at all: `make jar` compiles with the environment's own.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_SCRIPT = "catalog/bridge/bridge_jar.py"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return setuptools' own requirements, and Spark when the jar has to be compiled."""
    requirements = list(build_meta.get_requires_for_build_wheel(config_settings))
    current = subprocess.run([sys.executable, _SCRIPT, "--check"], check=False).returncode == 0
    return requirements if current else [*requirements, "pyspark==4.2.0"]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Compile the jar if need be, then let setuptools pack the wheel; return its file name."""
    subprocess.run([sys.executable, _SCRIPT], check=True)
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name
