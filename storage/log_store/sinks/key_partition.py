"""The partition of a record by its key: that of Kafka's own producers.

Source: `org.apache.kafka.common.utils.Utils.murmur2` and `BuiltInPartitioner` of Kafka's client.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_SEED: Final = 0x9747B28C
_FACTOR: Final = np.uint32(0x5BD1E995)


def key_partitions(keys: pa.LargeBinaryArray, partitions: int) -> npt.NDArray[np.int64]:
    """Return the partition of each key, as any producer in Java would choose it; none is NULL."""
    hashes = np.zeros(len(keys), np.uint32)
    lengths = pc.binary_length(keys).to_numpy(zero_copy_only=False)
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        data = b"".join(keys.take(pa.array(places)).to_pylist())
        hashes[places] = _murmur2(np.frombuffer(data, np.uint8).reshape(len(places), length))
    found: npt.NDArray[np.int64] = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
    return found


def _murmur2(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """Return the hashes of keys of one length, a row each; unsigned numbers wrap around."""
    count, length = keys.shape
    whole = length // 4
    words = np.ascontiguousarray(keys[:, : whole * 4]).view("<u4")
    found = np.full(count, _SEED ^ length, np.uint32)
    for place in range(whole):
        word = words[:, place] * _FACTOR
        word ^= word >> np.uint32(24)
        found = found * _FACTOR ^ word * _FACTOR
    left = keys[:, whole * 4 :].astype(np.uint32)
    for place in range(left.shape[1]):
        found ^= left[:, place] << np.uint32(8 * place)
    if left.shape[1]:
        found *= _FACTOR
    found ^= found >> np.uint32(13)
    found *= _FACTOR
    return found ^ found >> np.uint32(15)
