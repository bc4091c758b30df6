"""What the JVM needs to run a task of ours in Python workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTask:
    """The process of the workers, and `function`: base64 of what Spark's workers unpickle."""

    python: str
    python_version: str
    environment: Mapping[str, str]
    function: str
