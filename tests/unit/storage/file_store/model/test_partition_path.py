"""Goal: partition folders are named as Hive names them, and no value leads out of the table."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.file_store.model.partition_path import (
    NULL_PARTITION,
    bucket_path,
    data_file_path,
    partition_folders,
)
from table_store.storage.kernel.errors import PathNotAllowedError
from table_store.storage.kernel.values import Value
from tests.fakes.metadata_table import make_file


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("2020-08-08", "c=2020-08-08"),
        (dt.date(2020, 8, 8), "c=2020-08-08"),
        (dt.datetime(2020, 8, 8, 1, 2, 3, 450000, tzinfo=dt.UTC), "c=2020-08-08 01%3A02%3A03.45"),
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), "c=0001-01-01 00%3A00%3A00"),
        (Decimal("1E+2"), "c=100"),
        (Decimal("-0.50"), "c=-0.50"),
        (True, "c=true"),
        (-3, "c=-3"),
        (-0.0, "c=0.0"),
        (float("nan"), "c=NaN"),
        (float("-inf"), "c=-Infinity"),
        (b"\x00\xff", "c=00ff"),
        (None, "c=__HIVE_DEFAULT_PARTITION__"),
        ("", "c=__HIVE_DEFAULT_PARTITION__"),
        ("a/b=c%", "c=a%2Fb%3Dc%25"),
        ("..", "c=%2E."),
        ("x\n\0", "c=x%0A%00"),
        ("日本 🦊", "c=日本 🦊"),
    ],
)
def test_folder_of_a_value(value: Value, folder: str) -> None:
    assert partition_folders(["c"], [value]) == (folder,)


def test_column_names_are_escaped_too() -> None:
    assert partition_folders(["../a", "b=c"], [1, 2]) == ("%2E.%2Fa=1", "b%3Dc=2")


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=15),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=15),
        ),
        max_size=3,
    )
)
def test_folders_lead_back_to_names_and_texts(pairs: list[tuple[str, str]]) -> None:
    folders = partition_folders([n for n, _ in pairs], [v for _, v in pairs])
    parts = [tuple(map(unquote, folder.split("="))) for folder in folders]
    assert parts == [(name, value or NULL_PARTITION) for name, value in pairs]
    path = bucket_path("/t", [n for n, _ in pairs], [v for _, v in pairs], 0)
    segments = path.split("/")
    assert len(segments) == 3 + len(pairs)
    assert not {"", ".", ".."} & set(segments[1:])


def test_what_cannot_be_a_folder_is_refused() -> None:
    with pytest.raises(PathNotAllowedError, match="255"):
        partition_folders(["c"], ["x" * 255])


@pytest.mark.parametrize("name", ["../../other", "/etc/passwd", "..", "a\0b", ""])
def test_a_hostile_file_name_in_a_manifest_is_refused(name: str) -> None:
    with pytest.raises(PathNotAllowedError):
        data_file_path("/t", [], make_file(name))
