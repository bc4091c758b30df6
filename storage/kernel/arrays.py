"""Types of numpy arrays: of numbers, of unsigned words, and of booleans that choose rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
UIntArray: TypeAlias = npt.NDArray[np.uint32]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""One boolean for each row, file or group: whether it is meant."""
