"""The procedures of namespace `sys`: `CALL sys.compact(table => 'db.t')` and the like.

Names of procedures and arguments are those of Apache Paimon (docs/spark/procedures.md), as far
as they have a meaning here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.catalog.shown.file_procedures import FILE_PROCEDURES
from table_store.catalog.shown.history_procedures import HISTORY_PROCEDURES
from table_store.catalog.shown.job_procedures import JOB_PROCEDURES
from table_store.catalog.shown.procedure import Procedure
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.catalog.shown.revision_procedure import REVISION_PROCEDURES
from table_store.catalog.shown.sync_procedure import SYNC_PROCEDURES
from table_store.catalog.shown.transaction_procedures import TRANSACTION_PROCEDURES
from table_store.catalog.shown.transfer_procedures import TRANSFER_PROCEDURES
from table_store.storage.kernel.frozen_map import FrozenMap

PROCEDURE_NAMESPACE: Final = "sys"

PROCEDURES: Final[Mapping[str, Procedure[ProcedureContext]]] = FrozenMap(
    (procedure.name, procedure)
    for procedure in (
        *FILE_PROCEDURES,
        *HISTORY_PROCEDURES,
        *JOB_PROCEDURES,
        *REVISION_PROCEDURES,
        *SYNC_PROCEDURES,
        *TRANSACTION_PROCEDURES,
        *TRANSFER_PROCEDURES,
    )
)
"""All of them by name."""
