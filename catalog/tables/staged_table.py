"""A table that is being created or replaced, and that nobody sees before it is committed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum

from table_store.catalog.names.directory_journal import DirectoryNote
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.process_identity import ProcessIdentity
from table_store.catalog.names.table_directories import StagedDirectory
from table_store.storage.kernel.errors import TableStoreError


class StagingMode(Enum):
    """What a commit does with the name."""

    CREATE = "create"
    REPLACE = "replace"
    CREATE_OR_REPLACE = "create or replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTable:
    """A claimed directory with a schema in it. Rows are written to `location` as to any table.

    Attributes:
        replaced_id: of the table that had the name when staging began; None if none had.
    """

    identifier: Identifier
    mode: StagingMode
    directory: StagedDirectory
    replaced_id: str | None

    @property
    def location(self) -> str:
        """The directory of the new table."""
        return self.directory.location

    def to_json(self) -> str:
        """Return the text from which another process can commit or abort it."""
        note = self.directory.note
        return json.dumps(
            {
                "namespace": self.identifier.namespace,
                "name": self.identifier.name,
                "mode": self.mode.value,
                "replacedId": self.replaced_id,
                "tableId": self.directory.table_id,
                "location": self.directory.location,
                "note": note.id,
                "owner": note.owner.to_json(),
                "createdMs": note.created_ms,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> StagedTable:
        """Return what `to_json` wrote.

        Raises:
            TableStoreError: the text is not that.
        """
        try:
            value = json.loads(text)
            owner = ProcessIdentity.from_json(value["owner"])
            if owner is None:
                raise ValueError("no owner")
            table_id, location = str(value["tableId"]), str(value["location"])
            note = DirectoryNote(
                id=str(value["note"]),
                table_id=table_id,
                location=location,
                owner=owner,
                created_ms=int(value["createdMs"]),
            )
            return cls(
                identifier=Identifier(str(value["namespace"]), str(value["name"])),
                mode=StagingMode(value["mode"]),
                directory=StagedDirectory(table_id=table_id, location=location, note=note),
                replaced_id=value["replacedId"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise TableStoreError(f"Not a staged table: {error!r}.") from error
