"""Leads what sinks print here to the standard streams of the JVM, which are the driver's."""

from __future__ import annotations

from typing import Any

from table_store.storage.log_store.sinks.standard_streams import STREAMS


def print_in_jvm(jvm: Any) -> None:
    """Let sinks of this process print in the JVM, wherever its streams lead by then."""
    system = jvm.java.lang.System

    def write_output(text: str) -> None:
        _print(system.out, text)

    def write_error(text: str) -> None:
        _print(system.err, text)

    STREAMS.output, STREAMS.error = write_output, write_error


def _print(stream: Any, text: str) -> None:
    stream.print(text)
    stream.flush()
