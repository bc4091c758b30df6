"""Goal: a project of Spark's declarative pipelines runs on our catalog as it is, again and again.

Its views are written as a whole by every run; only what differs becomes a commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect, open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.spark_server import ConnectServer, free_port

pytestmark = pytest.mark.spark

PROJECT = """
name: shop
storage: {storage}
libraries:
  - glob:
      include: transformations/**
"""
TRANSFORMATIONS = """
CREATE MATERIALIZED VIEW by_item (item STRING COMMENT 'what', pieces BIGINT)
  PARTITIONED BY (item) COMMENT 'sold so far' TBLPROPERTIES ('bucket' = '1')
  AS SELECT item, sum(pieces) AS pieces FROM dear GROUP BY item;
CREATE TEMPORARY VIEW dear AS SELECT * FROM sold WHERE price > 1;
CREATE MATERIALIZED VIEW items AS SELECT count(*) AS n FROM by_item;
CREATE STREAMING TABLE many;
CREATE FLOW of_sold AS INSERT INTO many BY NAME SELECT item FROM STREAM sold WHERE pieces > 3;
CREATE STREAMING TABLE anew AS SELECT pieces FROM STREAM sold;
"""


class Project:
    """A project, a server that runs it, and its tables as plain Python reads them."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._remote = f"sc://127.0.0.1:{port}"
        (folder / "transformations").mkdir()
        (folder / "transformations" / "shop.sql").write_text(TRANSFORMATIONS)
        storage = (folder / "storage").as_uri()
        (folder / "spark-pipeline.yml").write_text(PROJECT.format(storage=storage))
        sold = TableDescriptor.for_managed().column("item", "STRING").column("pieces", "INT")
        warehouse = str(folder / "spark-warehouse")
        self._sold = connect(warehouse).create("sold", sold.column("price", "INT")).storage

    def sell(self, *rows: tuple[str, int, int]) -> None:
        """Append rows of item, pieces and price."""
        types = {"item": pa.string(), "pieces": pa.int32(), "price": pa.int32()}
        table = [dict(zip(types, row, strict=True)) for row in rows]
        self._sold.append(pa.Table.from_pylist(table, pa.schema(types)))

    def run(self, *options: str) -> None:
        """Run it as its user does, and wait for the end."""
        binary = Path(sys.executable).parent
        done = subprocess.run(
            [str(binary / "spark-pipelines"), "--remote", self._remote, "run", *options],
            cwd=self._folder,
            env={**os.environ, "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-5000:]

    def table(self, name: str) -> FileStoreTable:
        """A table of the project."""
        return open_table(str(self._folder / "spark-warehouse" / "default.db" / name)).storage

    def rows(self, name: str) -> Counter[tuple[object, ...]]:
        """Its rows."""
        return Counter(
            tuple(row.values()) for row in self.table(name).scan().to_arrow().to_pylist()
        )

    def operations(self, name: str) -> list[str | None]:
        """What made its snapshots, the first one first."""
        snapshots = self.table(name).snapshot_store
        return [snapshots.get(i).operation for i in snapshots.ids()]


def test_a_project_runs_again(tmp_path: Path) -> None:
    port = free_port()
    conf = arguments(SMALL, {"spark.connect.grpc.binding.port": str(port)})
    with ConnectServer(tmp_path, port, conf):
        project = Project(tmp_path, port)
        project.sell(("bolt", 3, 2), ("nut", 4, 2), ("nut", 1, 2), ("pin", 9, 1))
        project.run()
        assert project.rows("by_item") == Counter([("bolt", 3), ("nut", 5)])
        assert project.rows("items") == Counter([(2,)])
        assert project.rows("many") == Counter([("nut",), ("pin",)])
        assert project.rows("anew") == Counter([(3,), (4,), (1,), (9,)])

        project.sell(("bolt", 30, 2))
        project.run("--refresh", "by_item,items,many", "--full-refresh", "anew")
    assert project.rows("by_item") == Counter([("bolt", 33), ("nut", 5)])
    assert project.rows("many") == Counter([("nut",), ("pin",), ("bolt",)])
    assert project.rows("anew") == Counter([(3,), (4,), (1,), (9,), (30,)])
    assert project.operations("by_item") == ["INSERT", "REFRESH"]
    changed = project.table("by_item").changes(2, 2).to_arrow().select(["item", "pieces"])
    assert Counter(map(tuple, (row.values() for row in changed.to_pylist()))) == Counter(
        [("bolt", 3), ("bolt", 33)]
    )
    assert project.operations("items") == ["INSERT"], "it was the same"
    assert project.operations("many") == ["STREAM", "STREAM"]
    assert project.operations("anew") == ["STREAM", "TRUNCATE", "STREAM"]
