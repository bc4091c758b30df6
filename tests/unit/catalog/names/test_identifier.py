"""Goal: every name is either kept under one safe file name, or refused with a clear reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.errors import InvalidIdentifierError
from table_store.catalog.names.identifier import (
    Identifier,
    check_namespace_name,
    check_table_name,
    file_name_of,
    name_key,
    quoted,
    quoted_parts,
    unquoted,
)
from table_store.storage.file_io.path import check_name


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ("orders", "orders"),
        ("Orders", "orders"),
        ("a b", "a%20b"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("_names", "%5Fnames"),
        ("a/b", "a%2Fb"),
        ("a\\b", "a%5Cb"),
        ("100%", "100%25"),
        ("it's", "it%27s"),
        ('say "x"', "say%20%22x%22"),
        ("`t`", "%60t%60"),
        ("é", "%C3%A9"),
        ("🦀", "%F0%9F%A6%80"),
        ("dt=1", "dt%3D1"),
    ],
)
def test_file_names(name: str, file_name: str) -> None:
    assert file_name_of(name) == file_name


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_any_name_becomes_one_plain_file_name(name: str) -> None:
    file_name = file_name_of(name)
    check_name(file_name)
    check_name(file_name + ".json")
    assert file_name.isascii()
    assert not file_name.startswith((".", "_"))


name_lists = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=6)


@given(name_lists)
def test_different_names_have_different_files(names: list[str]) -> None:
    keys = {name_key(name) for name in names}
    assert len({file_name_of(name) for name in names}) == len(keys)


def test_long_names_with_one_beginning_stay_apart() -> None:
    first, second = ("é" * 200 + end for end in "ab")
    assert file_name_of(first) != file_name_of(second)
    assert len(file_name_of(first)) <= 200
    assert "%C~" not in file_name_of(first)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("x" * 10_000, "10000 characters"),
        ("a\nb", "control character"),
        ("a\x00b", "control character"),
        ("a\u2028b", "control character"),
        ("\ud800", "surrogate"),
    ],
)
def test_names_which_nobody_could_use_are_refused(name: str, reason: str) -> None:
    with pytest.raises(InvalidIdentifierError, match=reason) as caught:
        check_table_name(name)
    assert len(str(caught.value)) < 400
    with pytest.raises(InvalidIdentifierError, match=reason):
        check_namespace_name(name)


@pytest.mark.parametrize("name", ["orders", "..", "it's", "a`b", "🦀", "x" * 255, "a/../../b"])
def test_odd_names_are_kept(name: str) -> None:
    check_table_name(name)
    check_namespace_name(name)


def test_the_separator_of_system_tables_is_reserved() -> None:
    with pytest.raises(InvalidIdentifierError, match="system table"):
        check_table_name("t$snapshots")


def test_identifiers_show_as_spark_shows_them() -> None:
    assert str(Identifier("default", "a`b")) == "`default`.`a``b`"
    assert quoted("t") == "`t`"
    assert quoted_parts(["a`b", "c"]) == "`a``b`.`c`"
    assert unquoted(quoted("a`b.c``")) == "a`b.c``"
    assert unquoted("plain") == "plain"
    assert Identifier("Sales", "T").key == ("sales", "t")
