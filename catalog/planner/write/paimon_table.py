"""A table of Apache Paimon in a local folder: its definition, and its rows as Arrow.

The newest `schema/schema-N` is JSON: `fields` with `name`, `type` and `description`, `primaryKeys`,
`partitionKeys`, `comment`. A type is text such as `DECIMAL(10, 2) NOT NULL`, or an object with
`type` ARRAY, MAP or ROW. Source: Paimon's specification of schemas and its `DataTypeJsonParser`.
Rows are read by Paimon's own library (`pypaimon-rust`), so runs are merged and deletes applied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import pyarrow as pa

from table_store.catalog.definition.table_definition import TableDefinition, columns_from_spark
from table_store.catalog.errors import ImportFailedError
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_io.resolve import file_io_for, named_path
from table_store.storage.kernel.errors import (
    LibraryNotInstalledError,
    MissingFileError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import Json

_TYPE: Final = re.compile(r"\s*([A-Z]+)\s*(?:\(([\d\s,]+)\))?\s*(WITH LOCAL TIME ZONE)?")
_NOT_NULL: Final = " NOT NULL"
_MICROSECONDS: Final = 6
_SCHEMA: Final = "schema-"
_PLAIN: Final[Mapping[str, str]] = {
    "BOOLEAN": "boolean",
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "INTEGER": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "STRING": "string",
    "BYTES": "binary",
    "BINARY": "binary",
    "VARBINARY": "binary",
}


@dataclass(frozen=True, slots=True)
class PaimonTable:
    """What it takes to read a table in any process: its folder, and its schema as JSON."""

    path: str
    schema_json: str

    @staticmethod
    def open(path: str) -> PaimonTable:
        """Return the table in a folder.

        Raises:
            ImportFailedError: there is none.
            PathNotAllowedError: the path is relative or climbs.
        """
        file_io = file_io_for(path)
        if not isinstance(file_io, LocalFileIO):
            raise _failed(path, "only tables on a file system are imported; copy its folder there")
        folder = join_path(named_path(path), "schema")
        names = file_io.names(folder)
        ids = [int(name[len(_SCHEMA) :]) for name in names if re.fullmatch(r"schema-\d+", name)]
        if not ids:
            raise _failed(path, "no schema of Paimon is in it")
        try:
            text = file_io.read_bytes(join_path(folder, f"{_SCHEMA}{max(ids)}"))
        except MissingFileError as error:
            raise _failed(path, str(error)) from error
        return PaimonTable(named_path(path), text.decode())

    @property
    def definition(self) -> TableDefinition:
        """The table as it is to be made.

        Raises:
            UnsupportedTypeError: a column cannot be stored; the error names it.
            ImportFailedError: the schema is no such thing.
        """
        try:
            schema = json.loads(self.schema_json)
            fields = [_column(item) for item in schema["fields"]]
            key, partition = schema["primaryKeys"], schema["partitionKeys"]
            comment = schema.get("comment")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _failed(self.path, f"its schema cannot be read ({error!r})") from error
        return TableDefinition(
            columns=columns_from_spark(json.dumps({"type": "struct", "fields": fields})),
            primary_key=tuple(key),
            partition_keys=tuple(partition),
            comment=comment or None,
        )

    def splits(self) -> tuple[PaimonSplit, ...]:
        """Return the parts of the newest snapshot; no key is in two of them.

        Raises:
            LibraryNotInstalledError: Paimon's library is not there.
            ImportFailedError: it refused.
        """
        try:
            plan = self._opened().new_read_builder().new_scan().plan()
            return tuple(PaimonSplit(s.serialize(), int(s.row_count())) for s in plan.splits())
        except (ValueError, RuntimeError, OSError) as error:
            raise _failed(self.path, str(error)) from error

    def batches(self, splits: Sequence[PaimonSplit]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some splits.

        Raises:
            LibraryNotInstalledError, ImportFailedError: as `splits`.
        """
        known = _library().Split.deserialize
        try:
            reader = self._opened().new_read_builder().new_read()
            yield from reader.read_arrow([known(split.text) for split in splits])
        except (ValueError, RuntimeError, OSError) as error:
            raise _failed(self.path, str(error)) from error

    def _opened(self) -> Any:
        return _library().Table.from_resolved_schema(self.path, self.schema_json)


@dataclass(frozen=True, slots=True)
class PaimonSplit:
    """Files that are read together, as Paimon writes it down; `rows` counts them before merging."""

    text: bytes
    rows: int


def _library() -> ModuleType:
    try:
        import pypaimon_rust.datafusion
    except ImportError as error:
        raise LibraryNotInstalledError(library="paimon", method="sys.import") from error
    library: ModuleType = pypaimon_rust.datafusion
    return library


def _failed(path: str, reason: str) -> ImportFailedError:
    return ImportFailedError(format_name="Paimon", path=path, reason=reason)


def _column(item: Mapping[str, Any]) -> dict[str, Json]:
    name = str(item["name"])
    spark, is_nullable = _spark_type(item["type"], name)
    comment = item.get("description")
    metadata: dict[str, Json] = {"comment": str(comment)} if comment else {}
    return {"name": name, "type": spark, "nullable": is_nullable, "metadata": metadata}


def _spark_type(found: Json, column: str) -> tuple[Json, bool]:
    """Return a type as Spark's JSON has it, and whether there may be NULL."""
    if isinstance(found, str):
        is_nullable = not found.endswith(_NOT_NULL)
        return _plain_type(found.removesuffix(_NOT_NULL), column), is_nullable
    if not isinstance(found, Mapping):
        raise TypeError(f"{found!r} is no type")
    kind = str(found["type"])
    is_nullable = not kind.endswith(_NOT_NULL)
    kind = kind.removesuffix(_NOT_NULL)
    if kind == "ARRAY":
        element, has_null = _spark_type(found["element"], column)
        return {"type": "array", "elementType": element, "containsNull": has_null}, is_nullable
    if kind == "MAP":
        key, _ = _spark_type(found["key"], column)
        value, has_null = _spark_type(found["value"], column)
        spark: Json = {
            "type": "map",
            "keyType": key,
            "valueType": value,
            "valueContainsNull": has_null,
        }
        return spark, is_nullable
    fields = found["fields"] if kind == "ROW" else None
    if not isinstance(fields, Sequence):
        raise UnsupportedTypeError(type_name=kind, column=column)
    return {"type": "struct", "fields": [_column(item) for item in fields]}, is_nullable  # type: ignore[arg-type]


def _plain_type(text: str, column: str) -> str:
    match = _TYPE.fullmatch(text)
    refused = UnsupportedTypeError(type_name=text, column=column)
    if match is None:
        raise refused
    name, numbers, zone = match[1], (match[2] or "").replace(" ", ""), match[3]
    if name in _PLAIN:
        return _PLAIN[name]
    match name:
        case "DECIMAL":
            return f"decimal({numbers or '10,0'})"
        case "CHAR" | "VARCHAR":  # Paimon does not pad, and Spark pads CHAR
            return f"varchar({numbers or '1'})"
        case "TIME" if int(numbers or 0) <= _MICROSECONDS:
            return f"time({numbers or 0})"
        case "TIMESTAMP" if int(numbers or _MICROSECONDS) <= _MICROSECONDS:
            return "timestamp" if zone else "timestamp_ntz"
    raise refused
