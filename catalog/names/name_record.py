"""The record of one name in a namespace, and its JSON.

A name is that of a managed table (a pointer to its directory), a view, or a foreign table (one that
Spark reads and writes itself, `USING delta`, `parquet`, …). All three have the same kind of record
under the same file name, so whoever creates the file gets the name, whatever the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import Identifier
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.secrets import holds_secret

RECORD_VERSION: Final = 2
"""Written into every record; a reader refuses a greater one."""

RECORD_REMEDY: Final = "It says what the name stands for: restore it from a copy"

JsonObject: TypeAlias = Mapping[str, object]


class RelationKind(Enum):
    """What a name is the name of; the values are on disk."""

    TABLE = "table"
    VIEW = "view"
    FOREIGN = "foreign"

    @property
    def noun(self) -> str:
        """The word for it in messages."""
        return "foreign table" if self is RelationKind.FOREIGN else self.value


@dataclass(frozen=True, slots=True)
class Generation:
    """A directory that a table had until REPLACE TABLE gave it a new one."""

    location: str
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTarget:
    """The directory of a managed table.

    Attributes:
        location: path or URI; inside of the warehouse it is relative, so that a warehouse can
            be moved as a whole.
        previous: directories from before each REPLACE TABLE, oldest first, for time travel.
    """

    location: str
    previous: tuple[Generation, ...] = ()

    def location_at(self, timestamp_ms: int) -> str:
        """Return the directory that the table had at a moment."""
        for generation in self.previous:
            if timestamp_ms < generation.until_ms:
                return generation.location
        return self.location

    @property
    def locations(self) -> tuple[str, ...]:
        """Every directory that belongs to the table."""
        return (*(generation.location for generation in self.previous), self.location)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition:
    """A persisted view, field by field as Spark's `View` has it.

    `columns` is Spark's StructType JSON: the view's own names, comments and types.
    """

    query_text: str
    current_catalog: str | None
    current_namespace: tuple[str, ...]
    sql_configs: Mapping[str, str]
    schema_mode: str | None
    query_column_names: tuple[str, ...]
    columns: str
    properties: Mapping[str, str]

    def to_json(self) -> JsonObject:
        """Return the record's `view` part."""
        return {
            "queryText": self.query_text,
            "currentCatalog": self.current_catalog,
            "currentNamespace": list(self.current_namespace),
            "sqlConfigs": dict(self.sql_configs),
            "schemaMode": self.schema_mode,
            "queryColumnNames": list(self.query_column_names),
            "columns": self.columns,
            "properties": dict(self.properties),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ViewDefinition:
        """Return the view that `to_json` wrote, or the bridge sent."""
        return cls(
            query_text=_text(value, "queryText"),
            current_catalog=_optional_text(value, "currentCatalog"),
            current_namespace=_texts(value, "currentNamespace"),
            sql_configs=_text_map(value, "sqlConfigs"),
            schema_mode=_optional_text(value, "schemaMode"),
            query_column_names=_texts(value, "queryColumnNames"),
            columns=_text(value, "columns"),
            properties=_text_map(value, "properties"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignDefinition:
    """A table of another format, which is handed to Spark.

    Attributes:
        columns: Spark's StructType JSON, or "" if the format itself knows them.
        session_entry: JSON of what Spark's session catalog knows of the table beside the rest:
            its partitions, buckets and statistics. None where no session catalog has it.
    """

    provider: str
    columns: str = ""
    partition_columns: tuple[str, ...] = ()
    location: str | None = None
    comment: str | None = None
    properties: Mapping[str, str]
    session_entry: str | None = None

    def to_json(self) -> JsonObject:
        """Return the record's `foreign` part."""
        return {
            "provider": self.provider,
            "columns": self.columns,
            "partitionColumns": list(self.partition_columns),
            "location": self.location,
            "comment": self.comment,
            "properties": dict(self.properties),
            "sessionEntry": self.session_entry,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ForeignDefinition:
        """Return the definition that `to_json` wrote."""
        return cls(
            provider=_text(value, "provider"),
            columns=_text(value, "columns"),
            partition_columns=_texts(value, "partitionColumns"),
            location=_optional_text(value, "location"),
            comment=_optional_text(value, "comment"),
            properties=_text_map(value, "properties"),
            session_entry=_optional_text(value, "sessionEntry"),
        )


Target: TypeAlias = TableTarget | ViewDefinition | ForeignDefinition


def kind_of(target: Target) -> RelationKind:
    """Return the kind of a name's target."""
    match target:
        case TableTarget():
            return RelationKind.TABLE
        case ViewDefinition():
            return RelationKind.VIEW
        case ForeignDefinition():
            return RelationKind.FOREIGN


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRecord:
    """One name and its target.

    Attributes:
        identifier: as written by the user.
        id: of the table or view. A rename keeps it; a new table of the same name has another.
        renaming_to: the new name while a rename runs. The rename has happened as soon as there
            is a record of the same id under that name; this record is then a mere remainder.
        renamed_from: the old name, whose remainder is deleted before this record is.
    """

    identifier: Identifier
    id: str
    created_ms: int
    target: Target
    renaming_to: Identifier | None = None
    renamed_from: Identifier | None = None

    @property
    def kind(self) -> RelationKind:
        """Whether the name is a table, a view or a foreign table."""
        return kind_of(self.target)

    def with_target(self, target: Target) -> NameRecord:
        """Return the record of the same name with another target."""
        return replace(self, target=target)

    @property
    def is_private(self) -> bool:
        """Whether it holds a secret, for example in the options of a JDBC table."""
        return not isinstance(self.target, TableTarget) and holds_secret(self.target.properties)

    def to_bytes(self) -> bytes:
        """Return the content of the record's file."""
        content: dict[str, object] = {
            "kind": self.kind.value,
            "namespace": self.identifier.namespace,
            "name": self.identifier.name,
            "id": self.id,
            "createdMs": self.created_ms,
        }
        for key, moved in (
            ("renamingTo", self.renaming_to),
            ("renamedFrom", self.renamed_from),
        ):
            if moved is not None:
                content[key] = {"namespace": moved.namespace, "name": moved.name}
        match self.target:
            case TableTarget(location=location, previous=previous):
                content["location"] = location
                content["previous"] = [
                    {"location": old.location, "untilMs": old.until_ms} for old in previous
                ]
            case definition:
                content["definition"] = definition.to_json()
        return to_checked_json(content, version=RECORD_VERSION)


def table_target(record: NameRecord) -> TableTarget:
    """Return the directories of a managed table.

    Raises:
        WrongRelationKindError: the name is that of a view or foreign table.
    """
    if not isinstance(record.target, TableTarget):
        raise WrongRelationKindError(
            name=str(record.identifier), found=record.kind.noun, needed="managed table"
        )
    return record.target


def record_from_bytes(content: bytes, path: str) -> NameRecord:
    """Return the record a file holds.

    Raises:
        CorruptFileError: the file is not what `to_bytes` wrote.
        FormatVersionError: a newer version of this project wrote it.
    """
    return from_checked_json(
        content,
        _record,
        path=path,
        version=RECORD_VERSION,
        noun="name's record",
        remedy=RECORD_REMEDY,
    )


def _record(value: JsonObject) -> NameRecord:
    return NameRecord(
        identifier=_identifier(value),
        id=_text(value, "id"),
        created_ms=_number(value, "createdMs"),
        target=_target(value),
        renaming_to=_moved(value, "renamingTo"),
        renamed_from=_moved(value, "renamedFrom"),
    )


def _target(value: JsonObject) -> Target:
    kind = RelationKind(value["kind"])
    if kind is RelationKind.TABLE:
        return TableTarget(
            location=_text(value, "location"),
            previous=tuple(
                Generation(location=_text(old, "location"), until_ms=_number(old, "untilMs"))
                for old in _objects(value, "previous")
            ),
        )
    definition = value["definition"]
    if not isinstance(definition, dict):
        raise TypeError("definition")
    if kind is RelationKind.VIEW:
        return ViewDefinition.from_json(definition)
    return ForeignDefinition.from_json(definition)


def _identifier(value: JsonObject) -> Identifier:
    return Identifier(namespace=_text(value, "namespace"), name=_text(value, "name"))


def _moved(value: JsonObject, key: str) -> Identifier | None:
    found = value.get(key)
    return _identifier(found) if isinstance(found, dict) else None


def _objects(value: JsonObject, key: str) -> tuple[JsonObject, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise TypeError(key)
    return tuple(found)


def _text(value: JsonObject, key: str) -> str:
    found = value[key]
    if not isinstance(found, str):
        raise TypeError(key)
    return found


def _optional_text(value: JsonObject, key: str) -> str | None:
    return None if value.get(key) is None else _text(value, key)


def _number(value: JsonObject, key: str) -> int:
    found = value[key]
    if not isinstance(found, int):
        raise TypeError(key)
    return found


def _texts(value: JsonObject, key: str) -> tuple[str, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise TypeError(key)
    return tuple(found)


def _text_map(value: JsonObject, key: str) -> Mapping[str, str]:
    found = value.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(item, str) for item in found.values()):
        raise TypeError(key)
    return dict(found)
