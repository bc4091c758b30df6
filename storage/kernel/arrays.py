"""What a numpy array holds, as a type: positions and numbers, words, or a choice of rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
UIntArray: TypeAlias = npt.NDArray[np.uint32]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Which rows, files or groups are meant: one entry for each."""
