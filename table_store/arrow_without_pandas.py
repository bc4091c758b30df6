"""Imported first, it starts Arrow without pandas, for a process that has no use for it.

pyarrow looks for pandas once, when `pyarrow.dataset` is imported or the first value converted,
and that import would be a third of the planner's start.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)
        return None


if "pandas" not in sys.modules:
    hidden = _NoPandas()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.scalar(None)
    finally:
        sys.meta_path.remove(hidden)
