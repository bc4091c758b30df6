"""Rows as part of an answer."""

from __future__ import annotations

import base64
from typing import Any, Final

import pyarrow as pa

_COMPRESSED_BYTES_MIN: Final = 1 << 16
_ZSTD: Final = pa.Codec("zstd", compression_level=1)


def arrow_answer(rows: pa.Table) -> dict[str, Any]:
    """`rows` as {"arrow": base64 of an Arrow IPC stream}, which the JVM turns into its rows.

    A large stream is compressed, since what passes between the processes costs more than that.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    data = sink.getvalue()
    is_large = data.size >= _COMPRESSED_BYTES_MIN
    sent = _ZSTD.compress(data) if is_large else data
    return {"arrow": base64.b64encode(sent).decode(), "isCompressed": is_large}
