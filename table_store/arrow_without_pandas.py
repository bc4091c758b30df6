"""Starts Arrow without pandas, in a process that does not need it; to be imported first.

pyarrow imports pandas once, when `pyarrow.dataset` is imported or the first value is converted,
and that import would take a third of the planner's start.
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
