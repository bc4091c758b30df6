"""Base64 (RFC 4648, §4) of whole columns: one call of the codec for all values."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa


def base64_text(values: pa.Array) -> pa.LargeStringArray:
    """Return binary values as padded base64; NULL stays NULL."""
    starts, lengths, data = _parts(values)
    groups = -(-lengths // 3)
    ends = np.cumsum(groups)
    padded = np.zeros(int(ends[-1]) * 3 if len(ends) else 0, np.uint8)
    padded[_spread((ends - groups) * 3, lengths)] = data[_spread(starts, lengths)]
    text = np.frombuffer(base64.b64encode(padded.tobytes()), np.uint8).copy()
    left = lengths % 3
    text[ends[left > 0] * 4 - 1] = ord("=")
    text[ends[left == 1] * 4 - 2] = ord("=")
    return _column(pa.large_string(), ends * 4, text, values)


def _parts(values: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each value starts, its length (0 for NULL), and the bytes of the column."""
    column = values.cast(pa.large_binary())
    if not len(column):
        empty = np.zeros(0, np.int64)
        return empty, empty, np.zeros(0, np.uint8)
    offsets = np.frombuffer(column.buffers()[1], np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if column.null_count:
        lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return offsets[:-1], lengths, np.frombuffer(column.buffers()[2] or b"", np.uint8)


def _spread(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Positions of the bytes of all values, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    positions: np.ndarray = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return positions


def _column(kind: pa.DataType, ends: np.ndarray, data: np.ndarray, values: pa.Array) -> pa.Array:
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    column = pa.Array.from_buffers(kind, len(values), buffers)
    if not values.null_count:
        return column
    return pa.compute.if_else(values.is_null(), pa.scalar(None, kind), column)
