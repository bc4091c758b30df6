"""Built-in storage for Spark SQL tables, and for Python programs without Spark.

Importing this package is cheap: Arrow and all other libraries load with the first table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_store.storage.file_store.table import FileStoreTable
    from table_store.table_descriptor import TableDescriptor

__all__ = ["TableDescriptor", "__version__", "open_table"]

__version__: Final = "0.1.0"


def open_table(path: str) -> FileStoreTable:
    """Return the table at `path`, an absolute path or a `file:` URI, to read and to write.

    Raises:
        NotFoundError: there is no table.
        PathNotAllowedError: the path is relative or climbs.
        ExternalTableError: it stores no rows, because a connector makes them.
    """
    # Imported here, so that the command line and Spark's workers start without Arrow.
    from table_store.catalog.connectors.connector_errors import ExternalTableError
    from table_store.storage.log_store.logged_table import open_logged
    from table_store.storage.options.connector_options import CONNECTOR

    table = open_logged(path)
    connector = table.schema.options.get(CONNECTOR.key)
    if connector is not None:
        raise ExternalTableError(
            table=path,
            connector=connector,
            operation="open_table",
            remedy="Read it with Spark, or open the table into which a job loads its rows",
        )
    return table


def __getattr__(name: str) -> object:
    """Load `TableDescriptor`, which needs Arrow, on its first use."""
    if name != "TableDescriptor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from table_store.table_descriptor import TableDescriptor

    return TableDescriptor
