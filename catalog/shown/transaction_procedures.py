"""CALL sys.begin_transaction and sys.end_transaction: what a barrier has all of, or nothing."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from table_store.catalog.meta_service.producer_transactions import ProducerTransactions
from table_store.catalog.shown.procedure import Arguments, Procedure, ProcedureParameter
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.storage.kernel.types import STRING

_BEGUN: Final = pa.schema([("transaction", pa.string()), ("begun", pa.timestamp("us", "UTC"))])
_ENDED: Final = pa.schema([("was_open", pa.bool_())])

_LISTED: Final = r"(?:`(?:[^`]|``)*`|[^,`])+"
"""A name of a list; one in back-ticks may have commas."""
_NAME: Final = ProcedureParameter(
    name="transaction", type=STRING, is_required=True, description="Its name."
)


def _begin(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    names = re.findall(_LISTED, arguments.text("tables"))
    tables = [context.named(name).location for name in names]
    notes = ProducerTransactions.of(context.lifecycle.warehouse)
    begun = notes.begin(arguments.text("transaction"), tables)
    return pa.table([[begun.name], [begun.begun_ms * 1000]], schema=_BEGUN)


def _end(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    notes = ProducerTransactions.of(context.lifecycle.warehouse)
    return pa.table([[notes.end(arguments.text("transaction"))]], schema=_ENDED)


TRANSACTION_PROCEDURES: Final = (
    Procedure(
        name="begin_transaction",
        description="From now on until its end, no barrier has a part of what is written.",
        parameters=(
            _NAME,
            ProcedureParameter(
                name="tables",
                type=STRING,
                is_required=True,
                description="The tables that it writes, with commas between.",
            ),
        ),
        result=_BEGUN,
        run=_begin,
    ),
    Procedure(
        name="end_transaction",
        description="Lets the next barrier have all that the transaction has written.",
        parameters=(_NAME,),
        result=_ENDED,
        run=_end,
    ),
)
