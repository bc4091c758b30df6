"""Built-in storage for Spark SQL tables, and for Python programs without Spark.

Importing this package is cheap: Arrow and all other libraries load with the first table.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_store.client.table import Table
    from table_store.client.table_descriptor import TableDescriptor
    from table_store.client.warehouse import Warehouse

__all__ = ["TableDescriptor", "__version__", "connect", "open_table"]

__version__: Final = "0.1.0"


def connect(path: str | os.PathLike[str], *, time_zone: str | None = None) -> Warehouse:
    """Return the warehouse at `path`, an absolute path or a URI: its tables by their names.

    Args:
        path: it need not exist yet.
        time_zone: of timestamps without one, such as `Europe/Berlin`; None refuses them.

    Raises:
        PathNotAllowedError: the path is relative or climbs.
    """
    # Imported here, so that the command line and Spark's workers start without Arrow.
    from table_store.client.warehouse import connected

    return connected(os.fspath(path), time_zone)


def open_table(path: str | os.PathLike[str], *, time_zone: str | None = None) -> Table:
    """Return the table at `path`, an absolute path or a URI, to read and to write.

    Args:
        path: of the table's directory.
        time_zone: as in `connect`.

    Raises:
        NotFoundError: there is no table.
        PathNotAllowedError: the path is relative or climbs.
        ExternalTableError: it stores no rows, because a connector makes them.
    """
    # Imported here, so that the command line and Spark's workers start without Arrow.
    from table_store.client.table import opened
    from table_store.storage.log_store.logged_table import open_logged

    return opened(open_logged(os.fspath(path)), time_zone)


def __getattr__(name: str) -> object:
    """Load `TableDescriptor`, which needs Arrow, on its first use."""
    if name != "TableDescriptor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from table_store.client.table_descriptor import TableDescriptor

    return TableDescriptor
