"""Rows as part of an answer."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final

import pyarrow as pa

_COMPRESSED_BYTES_MIN: Final = 1 << 16


def arrow_answer(rows: pa.Table) -> dict[str, Any]:
    """`rows` as {"arrow": base64 of an Arrow IPC stream}, which the JVM turns into its rows."""
    is_large = rows.nbytes >= _COMPRESSED_BYTES_MIN
    return arrow_stream(rows.schema, rows.to_batches(), is_compressed=is_large)


def arrow_stream(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, is_compressed: bool
) -> dict[str, Any]:
    """Batches as `arrow_answer` has rows; never all in memory at once.

    To compress a large answer costs less than to send it as it is.
    """
    sink = pa.BufferOutputStream()
    with ExitStack() as streams:
        to = sink
        if is_compressed:
            to = streams.enter_context(pa.CompressedOutputStream(sink, "zstd"))
        stream = streams.enter_context(pa.ipc.new_stream(to, schema))
        for batch in batches:
            stream.write_batch(batch)
    encoded = base64.b64encode(sink.getvalue())
    del to, stream, streams, sink  # or the answer is in memory three times
    return {"arrow": encoded.decode(), "isCompressed": is_compressed}
