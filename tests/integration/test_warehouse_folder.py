"""Goal: without any setting the warehouse is a folder beside where Spark was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


def test_a_folder_with_a_blank_in_its_name(tmp_path: Path) -> None:
    """Spark's default is a URI, in which the blank is written another way."""
    folder = tmp_path / "a b%c"
    folder.mkdir()
    with StockShell(folder) as shell:
        shell.ok("CREATE TABLE t (k INT) ")
        shell.ok("INSERT INTO t VALUES (1)")
        assert shell.ok("SELECT * FROM t") == (("1",),)
        shell.ok("CREATE MATERIALIZED VIEW v AS SELECT k + 1 AS n FROM t")
        assert shell.ok("SELECT * FROM v") == (("2",),)
        assert shell.ok("DESCRIBE EXTENDED t")
    table = folder / "spark-warehouse" / "default.db" / "t"
    assert (table / "snapshot").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {folder.name}
