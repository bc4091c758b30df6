"""Goal: the options of a table reach what acts on them, and every compression can be read back."""

from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.formats.data_format import FORMAT_NAMES
from table_store.storage.kernel.types import parse_type

MB = 1 << 20


def schema(options: dict[str, str], key: tuple[str, ...] = ("k",)) -> TableSchema:
    fields = [
        Field(id=0, name="k", type=parse_type("long")),
        Field(id=0, name="v", type=parse_type("string")),
    ]
    return new_schema(fields=fields, primary_key=key, options=options, time_ms=0)


def test_defaults() -> None:
    keyed, keyless = StorageSettings.of(schema({})), StorageSettings.of(schema({}, ()))
    assert (keyed.bucket_count, keyed.is_write_only) == (1, False)
    assert (keyed.write_buffer_bytes, keyed.split_target_bytes) == (256 * MB, 128 * MB)
    assert keyed.files.target_size_bytes == 128 * MB
    assert keyless.files.target_size_bytes == 256 * MB
    assert (keyed.picker.run_count_trigger, keyed.picker.level_count) == (5, 6)
    assert (keyed.retry.max_retries, keyed.retry.max_wait_ms) == (10, 10_000)


def test_given_options_arrive() -> None:
    settings = StorageSettings.of(
        schema(
            {
                "bucket": "7",
                "write-buffer-size": "1 mb",
                "target-file-size": "2 mb",
                "source.split.target-size": "3 mb",
                "write-only": "true",
                "num-sorted-run.compaction-trigger": "9",
                "compaction.size-ratio": "4",
                "compaction.max-size-amplification-percent": "50",
                "commit.max-retries": "0",
                "commit.min-retry-wait": "1 s",
                "commit.max-retry-wait": "1 min",
            }
        )
    )
    assert settings.bucket_count == 7
    assert settings.write_buffer_bytes == MB
    assert settings.files.target_size_bytes == 2 * MB
    assert settings.split_target_bytes == 3 * MB
    assert settings.is_write_only
    assert (settings.picker.run_count_trigger, settings.picker.level_count) == (9, 10)
    assert settings.picker.size_ratio_percent == 4
    assert settings.picker.size_amplification_percent_max == 50
    assert settings.retry.max_retries == 0
    assert (settings.retry.min_wait_ms, settings.retry.max_wait_ms) == (1000, 60_000)


@pytest.mark.parametrize("file_format", FORMAT_NAMES)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_every_compression_is_read_back(tmp_path: Path, file_format: str, compression: str) -> None:
    options = {"file.format": file_format, "file.compression": compression}
    table = FileStoreTable.create(str(tmp_path / "t"), schema(options))
    rows = pa.table({"k": pa.array([1, 2, 3]), "v": ["a" * 1000, "b" * 1000, None]})
    table.append(rows)
    assert table.scan().to_arrow().sort_by("k").to_pylist() == rows.to_pylist()
