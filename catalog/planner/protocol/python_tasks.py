"""The description with which the JVM runs a task of this package in Python workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTask:
    """How to start the workers, and `function`: base64 of the pickle that Spark's workers load."""

    python: str
    python_version: str
    environment: Mapping[str, str]
    function: str
