"""Goal: what both sides must call the same is what each of them uses."""

from __future__ import annotations

import re
from pathlib import Path

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.names.table_place import ALLOWED_ROOTS_SETTING
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN
from tests.checkout import REPOSITORY

BRIDGE = REPOSITORY / "catalog" / "bridge"
_USE = re.compile(r'SharedText\.(name|pattern)\("([^"]+)"\)')


def test_options_and_settings_have_the_shared_name() -> None:
    assert shared_name("change-type-column") == CHANGE_TYPE_COLUMN.key
    assert shared_name("allowed-roots") == ALLOWED_ROOTS_SETTING


def test_the_bridge_asks_for_what_there_is() -> None:
    used = [use for path in BRIDGE.rglob("*.scala") for use in _USE.findall(path.read_text())]
    assert used
    for kind, key in used:
        if kind == "name":
            assert shared_name(key)
        else:
            assert Path(BRIDGE, "resources", f"{key}.regex").exists()


def test_no_shared_name_stands_in_the_bridge_again() -> None:
    names = ("change-type-column", "change-type-separator", "temporary-table", "allowed-roots")
    source = "".join(path.read_text() for path in BRIDGE.rglob("*.scala"))
    assert not [key for key in names if f'"{shared_name(key)}"' in source.replace(f'("{key}")', "")]
