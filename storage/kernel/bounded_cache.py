"""A cache that holds values as long as there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Values by name, safe for many threads; the least recently used one leaves first."""

    def __init__(self, size_bytes_max: int, size_of: Callable[[T], int]) -> None:
        self._size_bytes_max = size_bytes_max
        self._size_of = size_of
        self._size_bytes = 0
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> T | None:
        """Return the value, or None when it is not held."""
        with self._lock:
            value = self._values.get(name)
            if value is not None:
                self._values.move_to_end(name)
            return value

    def put(self, name: str, value: T) -> None:
        """Hold the value, unless it is larger than an eighth of the room for all."""
        size_bytes = self._size_of(value)
        if size_bytes * 8 > self._size_bytes_max:
            return
        with self._lock:
            old = self._values.pop(name, None)
            self._size_bytes += size_bytes - (0 if old is None else self._size_of(old))
            self._values[name] = value
            while self._size_bytes > self._size_bytes_max:
                _, dropped = self._values.popitem(last=False)
                self._size_bytes -= self._size_of(dropped)
