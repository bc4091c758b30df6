"""Rows from the world outside, and what is done to them in every engine's SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One public data set.

    Spark and DuckDB run the same texts: they use only what both understand in the same way.

    Attributes:
        name: of its table.
        package: the distribution on PyPI that carries it.
        license: of the package, and of the data where it is another one.
        read: returns all rows. Their columns have the types of a managed table.
        key: the columns that identify a row.
        assignment: a column and the text of its new value, for UPDATE.
        updated: the condition of the rows to update.
        deleted: the condition of the rows to delete.
        view: a query over the table `{table}`, with exact results in every engine.
    """

    name: str
    package: str
    license: str
    read: Callable[[], pa.Table]
    key: tuple[str, ...]
    assignment: tuple[str, str]
    updated: str
    deleted: str
    view: str
