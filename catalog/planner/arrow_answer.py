"""Rows as part of an answer."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa


def arrow_answer(rows: pa.Table) -> dict[str, Any]:
    """`rows` as {"arrow": base64 of an Arrow IPC stream}, which the JVM turns into its rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return {"arrow": base64.b64encode(sink.getvalue()).decode()}
