"""Goal: the table of options is the declarations', in form and in content."""

from table_store.storage.options.option_table import option_table
from table_store.storage.options.table_options import TABLE_OPTIONS


def test_one_row_of_five_cells_for_each_option() -> None:
    rows = option_table().splitlines()[2:]
    assert len(rows) == len(list(TABLE_OPTIONS)) + len(TABLE_OPTIONS.prefixes)
    for row in rows:
        assert row.count("|") == 6, row


def test_cells_say_what_was_declared() -> None:
    rows = {r.split("`")[1]: r for r in option_table().splitlines()[2:]}
    assert "| `256 mb` | MemorySize | table |" in rows["write-buffer-size"]
    assert "| `1 h` | Duration | table |" in rows["snapshot.time-retained"]
    assert "| `parquet` | `parquet` · `orc` · `avro` | session, table |" in rows["file.format"]
    assert "| no limit | Integer |" in rows["snapshot.num-retained.max"]
    assert "| `true` | `true` · `false` | table, write |" in rows["change-tracking"]
    assert "| – | Long | table, read |" in rows["log.scan.timestamp-mills"]
    assert rows["bucket"].endswith(" Fixed at creation. |")
