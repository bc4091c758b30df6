"""Goal: after any history of DDL the catalog holds what a dictionary says, and nothing else.

Names are drawn from few spellings so that they collide, also in nothing but their case. After
each history the directories on disk are exactly those of the tables that there are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import RelationKind, TableTarget, ViewDefinition
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.types import INTEGER
from tests.fakes.manual_clock import ManualClock
from tests.fakes.view_definitions import plain_view

namespaces = st.sampled_from(["default", "Default", "n", "N", "absent"])
table_names = st.sampled_from(["t", "T", "a/b", "é", "É", "x" * 200, "x" * 199 + "y"])
identifiers = st.builds(Identifier, namespaces, table_names)

Key = tuple[str, str]


def definition(column: str) -> TableDefinition:
    return TableDefinition(columns=(Field(id=0, name=column, type=INTEGER),))


@dataclass
class Model:
    """What there should be: namespaces by key, and (spelling, kind, content) by name."""

    namespaces: dict[str, str] = field(default_factory=lambda: {"default": DEFAULT_NAMESPACE})
    names: dict[Key, tuple[str, str, str]] = field(default_factory=dict)

    def kind(self, identifier: Identifier) -> str | None:
        found = self.names.get(identifier.key)
        return None if found is None else found[1]

    def has_namespace(self, identifier: Identifier) -> bool:
        return identifier.key[0] in self.namespaces


@dataclass(frozen=True)
class Step:
    """One statement; `mode` chooses among its variants, `content` tells definitions apart."""

    verb: str
    identifier: Identifier
    target: Identifier
    mode: int
    content: str


steps = st.builds(
    Step,
    verb=st.sampled_from(
        ["table", "view", "drop", "rename", "namespace", "drop namespace", "stage", "finish"]
    ),
    identifier=identifiers,
    target=identifiers,
    mode=st.integers(0, 2),
    content=st.sampled_from(["a", "b"]),
)


class Catalog:
    """Runs steps against the real catalog and says what the model should make of them."""

    def __init__(self, root: str) -> None:
        self.warehouse = Warehouse(LocalFileIO(root), root, ManualClock(), RandomIds())
        self.lifecycle = TableLifecycle(self.warehouse)
        self.model = Model()
        self.staged: list[tuple[StagedTable, Step]] = []

    def run(self, step: Step) -> None:
        """Do a step; it must succeed exactly when the model says so."""
        allowed, effect = self._expectation(step)
        try:
            self._do(step)
            done = True
        except TableStoreError:
            done = False
        assert done == allowed, step
        if done:
            effect()

    def _do(self, step: Step) -> None:
        match step.verb:
            case "table":
                staged = self._stage(step)
                self.lifecycle.staging.commit(staged)
            case "view":
                self.warehouse.define(
                    step.identifier, plain_view(step.content), list(DefineMode)[step.mode]
                )
            case "drop":
                record = self.warehouse.find(step.identifier)
                if record is not None and record.kind is RelationKind.VIEW:
                    self.warehouse.drop(record)
                elif not self.lifecycle.drop(step.identifier):
                    raise TableStoreError("nothing there")
            case "rename":
                kind = [RelationKind.TABLE, RelationKind.VIEW][step.mode % 2]
                self.warehouse.rename(step.identifier, step.target, kind)
            case "namespace":
                self.warehouse.create_namespace(step.identifier.namespace, {})
            case "drop namespace":
                self.lifecycle.drop_namespace(step.identifier.namespace, cascade=step.mode > 0)
            case "stage":
                self.staged.append((self._stage(step), step))
            case "finish":
                staged, _ = self.staged.pop()
                if step.mode == 0:
                    self.lifecycle.staging.abort(staged)
                else:
                    self.lifecycle.staging.commit(StagedTable.from_json(staged.to_json()))

    def _stage(self, step: Step) -> StagedTable:
        mode = list(StagingMode)[step.mode]
        return self.lifecycle.staging.stage(step.identifier, definition(step.content), mode)

    def _expectation(self, step: Step) -> tuple[bool, Callable[[], object]]:
        model, here = self.model, step.identifier
        match step.verb:
            case "table" | "view":
                return self._may_take(step, step.verb), lambda: self._take(step, step.verb)
            case "drop":
                return here.key in model.names, lambda: model.names.pop(here.key)
            case "rename":
                return self._may_rename(step), lambda: self._rename(step)
            case "namespace":
                name = here.namespace
                return (
                    name.lower() not in model.namespaces,
                    lambda: model.namespaces.update({name.lower(): name}),
                )
            case "drop namespace":
                return self._may_drop_namespace(step), lambda: self._drop_namespace(step)
            case "stage":
                return self._may_take(step, "table"), lambda: None
        if not self.staged:
            return False, lambda: None
        begun = self.staged[-1][1]
        if step.mode == 0:
            return True, lambda: None
        return self._may_take(begun, "table"), lambda: self._take(begun, "table")

    def _may_take(self, step: Step, kind: str) -> bool:
        if not self.model.has_namespace(step.identifier):
            return False
        found = self.model.kind(step.identifier)
        mode = list(DefineMode)[step.mode]
        if found is None:
            return mode is not DefineMode.REPLACE
        return found == kind and mode is not DefineMode.CREATE

    def _take(self, step: Step, kind: str) -> None:
        old = self.model.names.get(step.identifier.key)
        spelling = step.identifier.name if old is None else old[0]
        self.model.names[step.identifier.key] = (spelling, kind, step.content)

    def _may_rename(self, step: Step) -> bool:
        kind = ["table", "view"][step.mode % 2]
        is_free = step.target.key == step.identifier.key or self.model.kind(step.target) is None
        return (
            self.model.kind(step.identifier) == kind
            and self.model.has_namespace(step.target)
            and is_free
        )

    def _rename(self, step: Step) -> None:
        _, kind, content = self.model.names.pop(step.identifier.key)
        self.model.names[step.target.key] = (step.target.name, kind, content)

    def _may_drop_namespace(self, step: Step) -> bool:
        key = step.identifier.key[0]
        is_empty = all(name[0] != key for name in self.model.names)
        # Everything in `default` is dropped before the namespace itself is refused.
        return key in self.model.namespaces and key != "default" and (step.mode > 0 or is_empty)

    def _drop_namespace(self, step: Step) -> None:
        key = step.identifier.key[0]
        del self.model.namespaces[key]
        for name in [name for name in self.model.names if name[0] == key]:
            del self.model.names[name]

    def check(self) -> None:
        """Compare everything that can be seen with the model, and the disk with both."""
        assert set(self.warehouse.namespaces()) == set(self.model.namespaces.values())
        seen: dict[Key, tuple[str, str, str]] = {}
        wanted = {staged.location for staged, _ in self.staged}
        for namespace in self.warehouse.namespaces():
            for record in self.warehouse.records(namespace):
                target = record.target
                if isinstance(target, TableTarget):
                    content = self.lifecycle.load(record.identifier).schema.column_names[0]
                    wanted |= {self.warehouse.places.absolute(at) for at in target.locations}
                else:
                    assert isinstance(target, ViewDefinition)
                    content = target.query_text
                key = Identifier(namespace, record.identifier.name).key
                seen[key] = (record.identifier.name, record.kind.value, content)
        assert seen == self.model.names
        claims = Path(self.warehouse.root).rglob("_table.json")
        assert {str(claim.parent) for claim in claims} == wanted


@given(st.lists(steps, max_size=25))
@settings(max_examples=40)
def test_the_catalog_is_a_dictionary(history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as root:
        catalog = Catalog(f"{root}/warehouse")
        catalog.run(Step("namespace", Identifier("n", ""), Identifier("n", ""), 0, ""))
        for step in history:
            if step.verb == "drop namespace" and step.identifier.key[0] == "default":
                continue
            if step.verb == "finish" and not catalog.staged:
                continue
            catalog.run(step)
        catalog.check()
