"""Goal: a function is what was last defined, in any case of letters, and damage is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store.catalog.errors import InvalidIdentifierError, NamespaceNotFoundError
from table_store.catalog.names.function_store import (
    FunctionDefinition,
    FunctionResource,
    FunctionStore,
)
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.kernel.errors import AlreadyExistsError, CorruptFileError

F = Identifier("default", "Next")
ONE = FunctionDefinition(class_name="one", resources=(FunctionResource(kind="jar", uri="a.jar"),))
TWO = FunctionDefinition(class_name="two")


def test_defined_replaced_dropped(warehouse: Warehouse) -> None:
    store = FunctionStore(warehouse)
    assert store.names("default") == ()
    store.define(F, ONE, is_new=True)
    assert store.find(Identifier("DEFAULT", "nexT")) == ONE
    with pytest.raises(AlreadyExistsError):
        store.define(Identifier("default", "NEXT"), TWO, is_new=True)
    store.define(F, TWO, is_new=False)
    assert (store.find(F), store.names("default")) == (TWO, ("Next",))
    assert store.drop(F)
    assert not store.drop(F)
    assert store.find(F) is None


def test_refused(warehouse: Warehouse) -> None:
    store = FunctionStore(warehouse)
    with pytest.raises(NamespaceNotFoundError):
        store.define(Identifier("nowhere", "f"), ONE, is_new=True)
    with pytest.raises(InvalidIdentifierError):
        store.define(Identifier("default", " "), ONE, is_new=True)


def test_damage(warehouse: Warehouse) -> None:
    """A flipped byte, and a file under another function's name."""
    store = FunctionStore(warehouse)
    store.define(F, ONE, is_new=True)
    (file,) = Path(warehouse.root).glob("*/_functions/*.json")
    whole = file.read_bytes()
    file.with_name("other.json").write_bytes(whole)
    with pytest.raises(CorruptFileError, match="it holds the function"):
        store.find(Identifier("default", "other"))
    file.write_bytes(whole.replace(b"one", b"two"))
    with pytest.raises(CorruptFileError):
        store.find(F)
