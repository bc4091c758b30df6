"""Every request of the bridge about catalog and storage, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from table_store.catalog.planner import procedure_requests
from table_store.catalog.planner.hosting import host_requests
from table_store.catalog.planner.jobs import (
    barrier_requests,
    explain,
    job_requests,
    materialized_view_requests,
    pipeline_requests,
    source_requests,
    streaming_insert,
)
from table_store.catalog.planner.meta_service import consistency_requests
from table_store.catalog.planner.names import (
    connector_format,
    foreign_requests,
    function_requests,
    mirror_requests,
    namespace_requests,
    session_requests,
    staging_requests,
    table_requests,
    view_requests,
)
from table_store.catalog.planner.process.handler import Handler, handlers
from table_store.catalog.planner.read import (
    aggregate_requests,
    change_requests,
    lease_requests,
    partition_requests,
    scan_requests,
    spark_read_requests,
)
from table_store.catalog.planner.stream import stream_requests, stream_write_requests
from table_store.catalog.planner.write import write_requests

_FUNCTIONS: Final[tuple[Callable[..., Any], ...]] = (
    namespace_requests.list_namespaces,
    namespace_requests.load_namespace,
    namespace_requests.create_namespace,
    namespace_requests.alter_namespace,
    source_requests.drop_namespace,
    table_requests.list_tables,
    table_requests.table_exists,
    table_requests.load_table,
    table_requests.load_relation,
    staging_requests.create_table,
    connector_format.read_connector,
    staging_requests.stage_table,
    staging_requests.commit_staged,
    staging_requests.abort_staged,
    source_requests.alter_table,
    table_requests.can_alter,
    source_requests.drop_table,
    source_requests.rename_table,
    foreign_requests.record_foreign,
    foreign_requests.replace_foreign,
    function_requests.list_functions,
    function_requests.load_function,
    function_requests.define_function,
    function_requests.drop_function,
    mirror_requests.mirror_catalog,
    mirror_requests.mirror_entry,
    view_requests.list_views,
    explain.explain_query,
    materialized_view_requests.create_materialized_view,
    job_requests.start_job,
    barrier_requests.plan_barrier,
    job_requests.advance_job,
    streaming_insert.refuse_streaming,
    host_requests.host_jobs,
    pipeline_requests.can_await_rows,
    pipeline_requests.replace_rows,
    view_requests.define_view,
    view_requests.note_view_columns,
    view_requests.drop_view,
    view_requests.rename_view,
    spark_read_requests.find_spark_read,
    spark_read_requests.find_spark_stream,
    partition_requests.list_partitions,
    partition_requests.load_partition,
    partition_requests.drop_partitions,
    procedure_requests.list_procedures,
    procedure_requests.load_procedure,
    procedure_requests.call_procedure,
    change_requests.load_changelog,
    consistency_requests.read_together,
    scan_requests.plan_scan,
    lease_requests.lease_reads,
    stream_requests.stream_start,
    stream_requests.stream_latest,
    stream_requests.plan_stream,
    stream_requests.stream_task,
    stream_requests.stream_lag,
    stream_write_requests.start_stream_write,
    stream_write_requests.begin_stream_batch,
    stream_write_requests.renew_stream_write,
    stream_write_requests.end_stream_write,
    aggregate_requests.exact_aggregates,
    write_requests.write,
    write_requests.can_delete_where,
    write_requests.delete_where,
    session_requests.end_session,
)

REQUESTS: Final[Mapping[str, Handler]] = handlers(_FUNCTIONS)
