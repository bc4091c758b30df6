"""Which tests run when: the one place that says so.

| target          | what runs                                            | time on 2 cores    |
| --------------- | ---------------------------------------------------- | ------------------ |
| `make check`    | lint, types, `tests/unit`, `tests/property`          | under 2 minutes    |
| `make test`     | these, `tests/contract` and what `CORE` below names  | 10 minutes at most |
| `make test-all` | all but what `NIGHTLY` below names, for `.ci/run`    | 55 minutes at most |
| `make nightly`  | what `NIGHTLY` names                                 | an hour at most    |

`CORE` has of every kind of test that starts processes what fails first when something is broken:
the statements of the stock shell, DataFrames and streams in one configuration of the catalog, one
fault of each kind in each place that commits, and one table of each kind whose log is in Kafka. It
names modules, tests, or tests with their parameters. What tries the same again with other seeds,
faults, formats, servers or clusters runs in `make test-all`. The slowest tests, most kills of
running jobs among them, run in `make nightly` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

QUICK: Final = ("tests/unit/", "tests/property/", "tests/contract/")
"""Folders of which every test belongs to `make test`."""

_HISTORIES: Final = "tests/crash/test_log_history.py::test_table_log_and_changes_say_the_same"

CORE: Final = (
    "tests/integration/test_documents.py",
    "tests/integration/test_materialized_views.py::test_it_is_a_table_for_every_reader",
    "tests/integration/test_meta_service.py",
    "tests/integration/test_optimizer_rules.py",
    "tests/integration/test_planner_log.py",
    "tests/integration/test_planner_sockets.py",
    "tests/integration/test_pyspark.py::test_write_to[own-name]",
    "tests/integration/test_pyspark.py::test_write[own-name]",
    "tests/integration/test_pyspark.py::test_merge_into[own-name]",
    "tests/integration/test_pyspark.py::test_errors[own-name]",
    "tests/integration/test_pyspark.py::test_statements[own-name]",
    "tests/integration/test_sql_fixtures.py",
    "tests/integration/test_statement_definitions.py",
    "tests/integration/test_statement_writes.py",
    "tests/integration/test_statements.py",
    "tests/integration/test_streaming_reads.py::test_rows_then_new_rows",
    "tests/integration/test_streaming_reads.py::test_retractions",
    "tests/integration/test_streaming_writes.py::test_append",
    "tests/integration/test_streaming_writes.py::test_update",
    "tests/integration/test_streaming_writes.py::test_a_batch_that_runs_again",
    "tests/integration/test_two_sessions.py::test_side_by_side",
    # Crashes.
    "tests/crash/test_catalog_crash.py::test_any_fault_under_a_lock_of_files",
    "tests/crash/test_metadata_crash.py::test_any_fault_leaves_before_or_after[append-",
    "tests/faults/test_campaign.py::test_the_first_cases_hold[power-cut]",
    # Kafka.
    "tests/integration/test_kafka_log.py::test_every_statement_is_in_the_topic",
    "tests/integration/test_kafka_source.py::test_jobs_take_each_record_once",
    "tests/crash/test_log_crash.py::test_the_driver_dies_again_and_again",
    f"{_HISTORIES}[kafka-transactional-all-key-whole-0]",
    f"{_HISTORIES}[kafka-eventual-upsert-key-partitions-0]",
)
"""What else belongs to it, as the beginnings of test ids."""

_INTEGRATION: Final = "tests/integration"
NIGHTLY: Final = (
    f"{_INTEGRATION}/test_cluster.py::test_executor_dies_in_each_statement",
    f"{_INTEGRATION}/test_cluster.py::test_second_attempts_of_slow_tasks",
    f"{_INTEGRATION}/test_connectors.py::test_each_row_comes_in_once_whatever_is_killed",
    f"{_INTEGRATION}/test_dead_letters.py",
    f"{_INTEGRATION}/test_demo.py::test_demo_of_a_topology",
    f"{_INTEGRATION}/test_emission_on_watermark.py::test_each_window_comes_once_whatever_is_killed",
    f"{_INTEGRATION}/test_filesystem.py::test_each_file_comes_in_and_goes_out_once_whatever_is_killed[objects]",
    f"{_INTEGRATION}/test_flipped_bits.py::test_campaign[avro]",
    f"{_INTEGRATION}/test_flipped_bits.py::test_campaign[merged]",
    f"{_INTEGRATION}/test_flipped_bits.py::test_campaign[orc]",
    f"{_INTEGRATION}/test_foreign.py::test_delta[session]",
    f"{_INTEGRATION}/test_foreign.py::test_files[session-",
    f"{_INTEGRATION}/test_foreign.py::test_other_process_follows[session]",
    f"{_INTEGRATION}/test_golden_files.py::test_as_plain_spark[foreign]",
    f"{_INTEGRATION}/test_job_runner.py::test_jobs_go_on_whatever_becomes_of_a_runner",
    f"{_INTEGRATION}/test_job_scripts.py::test_a_killed_driver_resumes",
    f"{_INTEGRATION}/test_job_scripts.py::test_a_script_does_not_stay_for_temporary_tables",
    f"{_INTEGRATION}/test_job_scripts.py::test_a_script_that_fails_ends_its_jobs",
    f"{_INTEGRATION}/test_kafka_sink.py::test_each_row_is_in_the_topic_once_whatever_is_killed",
    f"{_INTEGRATION}/test_keyed_topics.py::test_it_has_the_topics_state_whatever_is_killed",
    f"{_INTEGRATION}/test_mysql_cdc.py::test_it_has_the_databases_rows_whatever_is_killed",
    f"{_INTEGRATION}/test_nexmark_views.py",
    f"{_INTEGRATION}/test_postgres_cdc.py::test_it_has_the_databases_rows_whatever_is_killed",
    f"{_INTEGRATION}/test_revision.py::test_a_revision_that_is_killed_is_run_again",
    f"{_INTEGRATION}/test_spark_streams.py::test_an_epoch_that_is_killed",
    f"{_INTEGRATION}/test_streaming_writes.py::test_killed",
    f"{_INTEGRATION}/test_tpc_views.py",
)
"""What `make test-all` leaves to `make nightly`, as the beginnings of test ids."""


def is_core(test_id: str) -> bool:
    """Whether `make test` runs it."""
    return test_id.startswith((*QUICK, *CORE))


def is_nightly(test_id: str) -> bool:
    """Whether `make nightly` alone runs it."""
    return test_id.startswith(NIGHTLY)


def without_test(test_ids: Iterable[str]) -> list[str]:
    """The lines above that mean none of these tests, though their modules are among them."""
    known = tuple(test_ids)
    modules = {test_id.partition("::")[0] for test_id in known}
    return [
        line
        for line in (*CORE, *NIGHTLY)
        if line.partition("::")[0] in modules and not any(i.startswith(line) for i in known)
    ]
