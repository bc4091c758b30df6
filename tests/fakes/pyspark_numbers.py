"""A Python data source: whole numbers from 0 on, as many as a file says.

Spark finds sources of modules whose names begin with `pyspark_`. Beside the file, `<file>.ranges`
gets a line for each range that a task begins to read, `<file>.commits` one for each offset that is
committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows


class DefaultSource(DataSource):
    """The source `numbers`; options: `file`, `limit` (rows at once), `pause` (s at each range)."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "id BIGINT, note STRING"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        limit = self.options.get("limit")
        return (LimitedNumbers if limit else Numbers)(self.options)


class SimpleSource(DefaultSource):
    """The same as `simple_numbers`, with a reader that gives rows and offset at once."""

    @classmethod
    def name(cls) -> str:
        return "simple_numbers"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        return DataSource.streamReader(self, schema)  # it has none

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:  # noqa: N802
        return SimpleNumbers(self.options)


class Numbers(DataSourceStreamReader):
    """Says how many numbers there are, and reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.file = Path(options["file"])
        self.limit = int(options.get("limit", 0))
        self.pause_s = float(options.get("pause", 0))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"at": 0}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802
        return {"at": int(self.file.read_text())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition((start["at"], end["at"]))]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
        first, end = partition.value
        with self.file.with_suffix(".ranges").open("a") as ranges:
            ranges.write(f"{first} {end}\n")
        time.sleep(self.pause_s)
        return ((number, f"n{number}") for number in range(first, end))

    def commit(self, end: dict[str, int]) -> None:
        with self.file.with_suffix(".commits").open("a") as commits:
            commits.write(f"{end['at']}\n")


class LimitedNumbers(Numbers):
    """The same, so many at once."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.limit)

    def latestOffset(  # type: ignore[override]  # noqa: N802
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        assert isinstance(limit, ReadMaxRows), limit
        return {"at": min(int(self.file.read_text()), start["at"] + limit.max_rows)}


class SimpleNumbers(SimpleDataSourceStreamReader):
    """Reads numbers and says how many there were."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.file = Path(options["file"])

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int, str]], dict[str, int]]:
        end = {"at": int(self.file.read_text())}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(  # noqa: N802
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[int, str]]:
        return iter([(number, f"n{number}") for number in range(start["at"], end["at"])])
