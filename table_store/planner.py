"""The planner process: `python -P -m table_store.planner`, started by the bridge on first use."""

from __future__ import annotations

import sys

import table_store.arrow_without_pandas  # noqa: F401 - must come before all of pyarrow
from table_store.catalog.planner.names.catalog_access import end_sessions
from table_store.catalog.planner.process.endpoint import PlannerEndpoint
from table_store.catalog.planner.process.process import serve
from table_store.catalog.planner.requests import REQUESTS
from table_store.catalog.planner.write.background_compaction import COMPACTION
from table_store.catalog.planner.write.background_expiry import EXPIRY
from table_store.sql_ext.statement_requests import STATEMENT_REQUESTS


def main() -> int:
    """Serve the JVM that started this process; with `--check`, only check that it could."""
    if "--check" in sys.argv[1:]:
        print("ready")
        return 0
    serve(PlannerEndpoint({**REQUESTS, **STATEMENT_REQUESTS}), _end)
    return 0


def _end() -> None:
    COMPACTION.finish()
    EXPIRY.finish()
    end_sessions()


if __name__ == "__main__":
    sys.exit(main())
