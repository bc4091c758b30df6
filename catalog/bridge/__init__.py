"""The only code of the JVM.

Catalyst's rules live in `optimizer/`; all else delegates to the planner: `catalog/`, `read/`,
`write/`, `stream/`, `session/` (statements), `epochs/` (queries that jobs keep up), `process/` (the
planner's life).

May import: Spark of one version; Python is met through `process/PlannerProcess.scala` alone.
Start with `session/TableStoreExtensions.scala`, `catalog/TableStoreCatalog.scala`.
"""
