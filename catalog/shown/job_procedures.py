"""Procedures about jobs."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from table_store.catalog.shown.procedure import Arguments, Procedure
from table_store.catalog.shown.procedure_context import ProcedureContext

_AWAIT_RESULT: Final = pa.schema([("jobs", pa.int64())])


def _await_jobs(context: ProcedureContext, _: Arguments) -> pa.Table:
    return pa.table([[context.await_jobs()]], schema=_AWAIT_RESULT)


JOB_PROCEDURES: Final = (
    Procedure(
        name="await_jobs",
        description="Returns when no streaming INSERT of this program runs any more.",
        parameters=(),
        result=_AWAIT_RESULT,
        run=_await_jobs,
    ),
)
