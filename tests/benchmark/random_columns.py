"""Columns of random values, made by numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_ALPHABET = np.frombuffer(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", np.uint8
)
_OFFSETS_MAX = 2**31


def texts(random: np.random.Generator, lengths: np.ndarray, letters: int = 64) -> pa.Array:
    """Return strings of these lengths, of the first 16 or so of 64 letters; none repeats soon."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    assert offsets[-1] < _OFFSETS_MAX
    data = _ALPHABET[random.integers(0, letters, offsets[-1], np.uint8)]
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)
