"""Goal: a commit is visible once and whole, and meets other commits by the rules.

Histories are made with `MetadataTable`, whose data files are a few bytes; expectations are sets
of file names.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.metadata.live_files import manifests_of
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    RuleOfLaterError,
    SnapshotNotFoundError,
    TableMovedError,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.schema_evolution import change_options, set_not_null
from table_store.storage.file_store.model.scope import Scope, partitions_of
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.kernel.errors import CorruptFileError, FormatVersionError, MissingFileError
from tests.fakes.checked_file import rewritten
from tests.fakes.failing_file_io import FailingFileIO, Fault
from tests.fakes.metadata_table import MetadataTable, add, make_file

P1, P2 = ("p1",), ("p2",)


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    return MetadataTable(str(tmp_path)).create()


def append(table: MetadataTable, *names: str, partition: tuple[str] = P1) -> Committed:
    files = [make_file(n, partition=partition, keys=(0, 9)) for n in names]
    result = table.commit.commit(add(*files), kind=CommitKind.APPEND, commit_user=f"u-{names}")
    assert isinstance(result, Committed)
    return result


def compact(table: MetadataTable, removed: list[str], added: str) -> Committed | NoChange:
    live = {f.name: f for f in table.live().files(with_stats=True)}
    message = CommitMessage(
        partition=P1,
        bucket=0,
        removed=tuple(live.get(n) or make_file(n, partition=P1, keys=(0, 9)) for n in removed),
        added=(make_file(added, partition=P1, keys=(0, 9), level=5, sequence=(1, 20)),),
    )
    return table.commit.commit([message], kind=CommitKind.COMPACT, commit_user=f"c-{added}")


def test_snapshots_count_from_one_and_carry_totals(table: MetadataTable) -> None:
    first, second = append(table, "a").snapshot, append(table, "b", "c").snapshot
    assert (first.id, second.id) == (1, 2)
    assert (second.delta_record_count, second.total_record_count) == (20, 30)
    assert table.names(1) == {"a"}
    assert table.names(2) == {"a", "b", "c"}


def test_sequences_of_a_statement_follow_all_before_it(table: MetadataTable) -> None:
    append(table, "a")
    append(table, "b", "c")
    files = {f.name: f for f in table.live().files()}
    assert (files["a"].min_sequence, files["a"].max_sequence) == (1, 10)
    assert (files["b"].min_sequence, files["b"].max_sequence) == (11, 20)
    assert files["b"].sequence_offset == files["c"].sequence_offset == 11
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    assert snapshot.next_sequence == 21


def test_a_compaction_keeps_its_absolute_sequences(table: MetadataTable) -> None:
    append(table, "a")
    append(table, "b")
    compact(table, ["a", "b"], "ab")
    (file,) = table.live().files()
    assert (file.min_sequence, file.max_sequence, file.sequence_offset) == (1, 20, 0)


def test_the_same_identifier_commits_once(table: MetadataTable) -> None:
    for _ in range(2):
        result = table.commit.commit(
            add(make_file("a", partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="stream",
            commit_identifier=7,
        )
    assert isinstance(result, Committed)
    assert result.repeated
    append(table, "other")
    late = table.commit.commit(
        add(make_file("z", partition=P1)),
        kind=CommitKind.APPEND,
        commit_user="stream",
        commit_identifier=6,
    )
    assert isinstance(late, NoChange)
    assert table.names() == {"a", "other"}


def test_what_builds_on_a_commit_of_the_user_follows_no_other(table: MetadataTable) -> None:
    def advance(name: str, previous: int, identifier: int) -> Committed | NoChange:
        return table.commit.commit(
            add(make_file(name, partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="job",
            commit_identifier=identifier,
            previous_identifier=previous,
        )

    advance("a", 0, 5)
    append(table, "others")
    advance("b", 5, 7)
    for previous in (0, 5, 6):
        with pytest.raises(CommitConflictError, match="the same user has committed meanwhile"):
            advance("c", previous, 8)
    repeated = advance("b", 5, 7)
    assert isinstance(repeated, Committed)
    assert repeated.repeated
    assert table.names() == {"a", "b", "others"}


def test_a_repeated_batch_statement_is_found_in_the_history(table: MetadataTable) -> None:
    first = append(table, "a")
    append(table, "b")
    again = append(table, "a")
    assert again.repeated
    assert again.snapshot == first.snapshot


def test_nothing_to_do_makes_no_snapshot_unless_wanted(table: MetadataTable) -> None:
    assert isinstance(table.commit.commit([], kind=CommitKind.APPEND, commit_user="u"), NoChange)
    result = table.commit.commit(
        [], kind=CommitKind.APPEND, commit_user="s", commit_identifier=1, allow_empty=True
    )
    assert isinstance(result, Committed)
    assert table.names() == set()


def test_files_to_delete_must_be_live(table: MetadataTable) -> None:
    append(table, "a")
    append(table, "b")
    compact(table, ["a", "b"], "ab")
    with pytest.raises(CommitConflictError, match="'a'") as caught:
        compact(table, ["a"], "a5")
    assert caught.value.retriable
    assert table.names() == {"ab"}


def test_a_conflict_names_the_commit_that_took_the_file(table: MetadataTable) -> None:
    append(table, "a")
    old = table.live().files()
    compact(table, ["a"], "a5")
    message = CommitMessage(partition=P1, bucket=0, removed=old)
    with pytest.raises(CommitConflictError) as caught:
        table.commit.commit(
            [message], kind=CommitKind.COMPACT, commit_user="late", read_snapshot_id=1
        )
    assert caught.value.snapshot_id == 2
    assert caught.value.commit_user == "c-a5"


def test_an_update_conflicts_with_changes_of_what_it_read(table: MetadataTable) -> None:
    append(table, "a")
    append(table, "b", partition=P1)

    def update(scope: Scope | None) -> Committed | NoChange:
        return table.commit.commit(
            add(make_file("u", partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="updater",
            read_snapshot_id=1,
            read_scope=scope,
        )

    with pytest.raises(CommitConflictError) as caught:
        update(partitions_of([P1]))
    assert caught.value.snapshot_id == 2
    with pytest.raises(CommitConflictError):
        update(None)
    assert isinstance(update(partitions_of([P2])), Committed)


def test_an_update_of_an_empty_table_conflicts_with_the_first_insert(
    table: MetadataTable,
) -> None:
    append(table, "a")
    with pytest.raises(CommitConflictError):
        table.commit.commit(
            add(make_file("u", partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="u",
            read_snapshot_id=0,
        )


def test_a_compaction_does_not_disturb_an_update(table: MetadataTable) -> None:
    append(table, "a")
    compact(table, ["a"], "a5")
    result = table.commit.commit(
        add(make_file("u", partition=P1)),
        kind=CommitKind.APPEND,
        commit_user="u",
        read_snapshot_id=1,
        read_scope=partitions_of([P1]),
    )
    assert isinstance(result, Committed)


def overwrite(table: MetadataTable, name: str, scope: Scope, read: int | None = None) -> None:
    table.commit.commit(
        add(make_file(name, partition=P1)),
        kind=CommitKind.OVERWRITE,
        commit_user=f"o-{name}",
        overwrite=scope,
        read_snapshot_id=read,
    )


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        (Scope(), {"new"}),
        (Scope(spec={"p": "p1"}), {"new", "b"}),
        (Scope(spec={"P": "p2"}), {"new", "a"}),
        (partitions_of([P1, P2]), {"new"}),
        (Scope(partitions=()), {"new", "a", "b"}),
        (Scope(spec={"p": None}), {"new", "a", "b"}),
    ],
)
def test_overwrite_replaces_its_scope(table: MetadataTable, scope: Scope, left: set[str]) -> None:
    append(table, "a", partition=P1)
    append(table, "b", partition=P2)
    overwrite(table, "new", scope)
    assert table.names() == left


def test_overwrite_conflicts_with_data_added_to_its_scope_meanwhile(
    table: MetadataTable,
) -> None:
    append(table, "a")
    append(table, "b", partition=P2)
    overwrite(table, "x", Scope(spec={"p": "p1"}), read=1)
    append(table, "c")
    with pytest.raises(CommitConflictError) as caught:
        overwrite(table, "y", Scope(spec={"p": "p1"}), read=3)
    assert caught.value.snapshot_id == 4
    assert table.names() == {"x", "b", "c"}


def test_overwrite_deletes_what_a_compaction_made_meanwhile(table: MetadataTable) -> None:
    append(table, "a")
    compact(table, ["a"], "a5")
    overwrite(table, "new", Scope(), read=1)
    assert table.names() == {"new"}


def test_rollback_brings_back_the_files_and_keeps_history(table: MetadataTable) -> None:
    append(table, "a")
    append(table, "b")
    compact(table, ["a", "b"], "ab")
    before = [f for f in table.live(2).files() if f.name in ("a", "b")]
    result = table.commit.rollback(2, commit_user="r")
    assert isinstance(result, Committed)
    assert result.snapshot.operation == "ROLLBACK"
    assert result.snapshot.commit_kind is CommitKind.OVERWRITE
    assert table.names() == {"a", "b"}
    assert set(table.live().files()) == set(before)
    assert table.names(3) == {"ab"}
    assert isinstance(table.commit.rollback(4, commit_user="r2"), NoChange)
    with pytest.raises(SnapshotNotFoundError, match="1 to 4"):
        table.commit.rollback(9, commit_user="r3")


@pytest.mark.parametrize("damage", [None, b"", b"nothing that was ever a manifest"])
@pytest.mark.parametrize("number", [0, 1], ids=["list", "manifest"])
def test_rollback_from_metadata_that_is_damaged(
    table: MetadataTable, number: int, damage: bytes | None
) -> None:
    append(table, "a")
    append(table, "b")
    latest = table.snapshots.latest()
    assert latest is not None
    _, (added, *_) = manifests_of(table.reader, latest)
    name = (latest.delta_manifest_list, added.name)[number]
    path = Path(table.path) / "manifest" / name
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    again = MetadataTable(table.path)
    with pytest.raises((CorruptFileError, MissingFileError, FormatVersionError)):
        again.names()
    result = again.commit.rollback(1, commit_user="r")
    assert isinstance(result, Committed)
    first = table.snapshots.get(1)
    assert result.snapshot.total_record_count == first.total_record_count
    assert again.names() == {"a"}
    append(again, "c")
    assert again.names() == {"a", "c"}


def test_rollback_restores_the_level_of_an_upgraded_file(table: MetadataTable) -> None:
    append(table, "a")
    (old,) = table.live().files(with_stats=True)
    upgraded = make_file("a", partition=P1, keys=(0, 9), level=5, sequence=(1, 10))
    table.commit.commit(
        [CommitMessage(partition=P1, bucket=0, removed=(old,), added=(upgraded,))],
        kind=CommitKind.COMPACT,
        commit_user="up",
    )
    assert [f.level for f in table.live().files()] == [5]
    table.commit.rollback(1, commit_user="r")
    assert [f.level for f in table.live().files()] == [0]


def test_a_changed_schema_is_a_conflict_when_one_is_expected(table: MetadataTable) -> None:
    table.schemas.evolve(lambda s: change_options(s, set_to={"a": "b"}, time_ms=1))
    with pytest.raises(CommitConflictError, match="schema changed from 0 to 1"):
        table.commit.commit(
            add(make_file("a", partition=P1)),
            kind=CommitKind.APPEND,
            commit_user="u",
            expected_schema_id=0,
        )


def test_rows_of_before_a_rule_are_not_committed_after_it(table: MetadataTable) -> None:
    """A writer that began before a constraint, or a NOT NULL, has not looked at its rows for it."""
    append(table, "a")
    check = Check(name="c", condition=StoredExpression("k > 0"), since=1, is_verified=False)
    table.schemas.evolve(lambda s: replace(s, id=s.id + 1, checks=(check,)))
    with pytest.raises(CommitConflictError, match="before the table had the constraint 'c'"):
        append(table, "b")  # its file is of schema 0
    with pytest.raises(RuleOfLaterError, match="older than the constraint 'c'"):
        table.commit.rollback(1, commit_user="r")
    compact(table, ["a"], "of old rows")
    table.schemas.evolve(lambda s: replace(s, id=s.id + 1, checks=()))
    append(table, "b")
    name = next(f.name for f in table.schemas.latest().fields if f.nullable)
    table.schemas.evolve(lambda s: set_not_null(s, name, time_ms=1))
    with pytest.raises(CommitConflictError, match=f"NOT NULL at column '{name}'"):
        append(table, "c")
    assert table.names(3) == {"of old rows", "b"}


def have_successor(table: MetadataTable, successor: Successor | None) -> TableSchema:
    return table.schemas.evolve(lambda s: replace(s, id=s.id + 1, successor=successor))


def test_a_table_whose_rows_have_moved_takes_none(table: MetadataTable) -> None:
    append(table, "a")
    have_successor(table, Successor(location="moved", snapshot_id=1, claim="{}"))
    have_successor(table, Successor(location="replaced"))
    with pytest.raises(TableMovedError, match="by its name again") as caught:
        append(table, "b")
    assert not caught.value.retriable
    with pytest.raises(TableMovedError):
        compact(table, ["a"], "a5")
    fence = table.commit.commit((), kind=CommitKind.COMPACT, commit_user="f", allow_empty=True)
    assert isinstance(fence, Committed)
    have_successor(table, None)
    append(table, "b")
    assert table.names() == {"a", "b"}


def test_a_replaced_table_takes_what_was_written_before(table: MetadataTable) -> None:
    """As if it had come before the replacement, which has no rows of the table anyway."""
    append(table, "a")
    marked = have_successor(table, Successor(location="replaced"))
    later = replace(make_file("later", partition=P1), schema_id=marked.id)
    for files, expected in (([later], None), ([], marked.id)):
        with pytest.raises(TableMovedError, match="'replaced'"):
            table.commit.commit(
                add(*files) if files else [],
                kind=CommitKind.APPEND,
                commit_user="late",
                expected_schema_id=expected,
                allow_empty=True,
            )
    in_time = table.commit.commit(
        add(make_file("b", partition=P1)),
        kind=CommitKind.APPEND,
        commit_user="in time",
        expected_schema_id=marked.id - 1,
    )
    assert isinstance(in_time, Committed)
    assert in_time.snapshot.schema_id == marked.id - 1
    assert table.names() == {"a", "b"}


def test_time_never_runs_backwards(table: MetadataTable) -> None:
    first = append(table, "a").snapshot
    table.clock.time_ms -= 5000
    assert append(table, "b").snapshot.time_ms == first.time_ms
    table.clock.time_ms += 10_000
    third = append(table, "c").snapshot
    assert table.snapshots.at_timestamp(third.time_ms - 1).id == 2
    assert table.snapshots.at_timestamp(third.time_ms).id == 3
    with pytest.raises(SnapshotNotFoundError, match=r"at or before .*\+00:00"):
        table.snapshots.at_timestamp(first.time_ms - 1)


class _LateToNotice(LocalFileIO):
    """Still sees the first snapshot, which an expiry has just removed."""

    def exists(self, path: str) -> bool:
        return path.endswith("snapshot-1") or super().exists(path)


def test_time_travel_beside_an_expiry(table: MetadataTable) -> None:
    for name in "ab":
        append(table, name)
        table.clock.time_ms += 1000
    table.snapshots.expire_before(2)
    late = MetadataTable(table.path, file_io=_LateToNotice()).snapshots
    assert late.at_timestamp(table.clock.time_ms).id == 2


@pytest.mark.parametrize("fault", [Fault.ERROR_AFTER, Fault.ERROR_BEFORE])
def test_an_unknown_publish_is_looked_up_first(tmp_path: Path, fault: Fault) -> None:
    """Fail the publish of an otherwise good commit; exactly one snapshot comes of it."""
    plain = MetadataTable(str(tmp_path)).create()
    append(plain, "a")

    class FailingPublish(FailingFileIO):
        def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
            self._fail_at = self.operations + 1 if not self.reached else self._fail_at
            return super().write_new(path, data, private=private)

    table = MetadataTable(
        str(tmp_path), file_io=FailingPublish(LocalFileIO(str(tmp_path)), fault=fault)
    )
    assert append(table, "b").snapshot.id == 2
    assert plain.snapshots.latest_id() == 2
    assert plain.names() == {"a", "b"}


def test_a_store_that_stays_broken_leaves_the_state_unknown(tmp_path: Path) -> None:
    plain = MetadataTable(str(tmp_path)).create()

    class DyingPublish(FailingFileIO):
        def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
            self._fail_at = self._fail_at or self.operations + 1
            return super().write_new(path, data, private=private)

    io = DyingPublish(LocalFileIO(str(tmp_path)), fault=Fault.ERROR_FOREVER)
    with pytest.raises(CommitStateUnknownError, match="EIO") as caught:
        append(MetadataTable(str(tmp_path), file_io=io), "a")
    assert not caught.value.retriable
    assert plain.snapshots.latest_id() is None


class RacingFileIO(FailingFileIO):
    """Lets another writer commit just before each publish, `races` times."""

    def __init__(self, path: str, races: int) -> None:
        super().__init__(LocalFileIO(path))
        self._other = MetadataTable(path)
        self.races = races

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        if self.races:
            self.races -= 1
            append(self._other, f"other-{self.races}")
        return super().write_new(path, data, private=private)


def test_a_lost_race_is_tried_again(tmp_path: Path) -> None:
    plain = MetadataTable(str(tmp_path)).create()
    table = MetadataTable(str(tmp_path), file_io=RacingFileIO(str(tmp_path), 2))
    assert append(table, "mine").snapshot.id == 3
    assert plain.names() == {"mine", "other-0", "other-1"}
    written = {s.name for s in plain.io.list(f"{tmp_path}/manifest")}
    assert len(written) == 9, "the lost attempts left no manifests"


def test_too_many_lost_races_are_a_retriable_conflict(tmp_path: Path) -> None:
    MetadataTable(str(tmp_path)).create()
    table = MetadataTable(str(tmp_path), file_io=RacingFileIO(str(tmp_path), 99))
    with pytest.raises(CommitConflictError, match="4 attempts"):
        append(table, "mine")


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "missing"])
@pytest.mark.parametrize("kind", ["manifest-list-", "manifest-id"])
def test_damaged_metadata_names_file_and_snapshot(tmp_path: Path, kind: str, damage: str) -> None:
    append(MetadataTable(str(tmp_path)).create(), "a")
    target = next(p for p in (tmp_path / "manifest").iterdir() if p.name.startswith(kind))
    data = target.read_bytes()
    if damage == "missing":
        target.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        target.write_bytes({"flip": flipped, "cut": data[:-7], "empty": b""}[damage])
    fresh = MetadataTable(str(tmp_path))
    error = MissingFileError if damage == "missing" else CorruptFileError
    with pytest.raises(error, match="of snapshot 1 ") as caught:
        fresh.live()
    assert str(target) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": "x"}', "\xff"])
def test_a_damaged_snapshot_file_is_reported(tmp_path: Path, text: str) -> None:
    append(MetadataTable(str(tmp_path)).create(), "a")
    (tmp_path / "snapshot" / "snapshot-1").write_bytes(text.encode("latin-1"))
    with pytest.raises(CorruptFileError, match="snapshot-1"):
        MetadataTable(str(tmp_path)).snapshots.latest()


def read_all(table: MetadataTable) -> None:
    table.schemas.latest()
    table.live()


def test_newer_formats_are_refused(tmp_path: Path) -> None:
    append(MetadataTable(str(tmp_path)).create(), "a")
    manifest = next((tmp_path / "manifest").iterdir())
    newer = bytearray(manifest.read_bytes())
    newer[4], newer[8:12] = 2, bytes(4)
    newer[8:12] = zlib.crc32(newer).to_bytes(4, "little")
    snapshot, schema = tmp_path / "snapshot" / "snapshot-1", tmp_path / "schema" / "schema-0"
    for path, written, known in [
        (snapshot, rewritten(snapshot.read_bytes(), version=3), 2),
        (schema, rewritten(schema.read_bytes(), version=9), 6),
        (manifest, bytes(newer), 1),
    ]:
        data = path.read_bytes()
        path.write_bytes(written)
        fresh = MetadataTable(str(tmp_path))
        with pytest.raises(FormatVersionError, match=f"reads up to {known}"):
            read_all(fresh)
        path.write_bytes(data)


def test_a_changed_byte_of_a_manifest_is_damage(tmp_path: Path) -> None:
    """Also in its header, where it looks like the file of another version."""
    append(MetadataTable(str(tmp_path)).create(), "a")
    path = max((tmp_path / "manifest").glob("manifest-list-*"), key=lambda p: p.stat().st_size)
    data = path.read_bytes()
    for position in range(24):
        damaged = bytearray(data)
        damaged[position] ^= 0x04
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=path.name):
            MetadataTable(str(tmp_path)).live()


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"version": 1}'])
def test_rollback_from_a_damaged_snapshot(tmp_path: Path, damage: bytes) -> None:
    """The table can be written again, and the damaged snapshot expires with its neighbours."""
    table = MetadataTable(str(tmp_path)).create()
    for name in "abc":
        append(table, name)
    (tmp_path / "snapshot" / "snapshot-3").write_bytes(damage)
    again = MetadataTable(str(tmp_path))
    with pytest.raises(CorruptFileError, match="snapshot-3"):
        append(again, "d")
    result = again.commit.rollback(2, commit_user="r")
    assert isinstance(result, Committed)
    assert result.snapshot.id == 4
    assert again.names() == {"a", "b"}
    append(again, "e")
    assert again.names() == {"a", "b", "e"}
    expired = again.expiry.expire(ExpireOptions(older_than_ms=10**15, retain_min=1))
    assert expired.snapshot_ids == (1, 2, 3, 4)
    assert MetadataTable(str(tmp_path)).names() == {"a", "b", "e"}


def test_expiry_around_a_damaged_snapshot(tmp_path: Path) -> None:
    """A file that came back behind the damaged snapshot stays."""
    table = MetadataTable(str(tmp_path)).create()
    for name in "ab":
        append(table, name)
    overwrite(table, "c", Scope(), read=2)
    table.commit.rollback(2, commit_user="r")
    append(table, "d")
    (tmp_path / "snapshot" / "snapshot-4").write_bytes(b"")
    again = MetadataTable(str(tmp_path))
    expired = again.expiry.expire(ExpireOptions(older_than_ms=10**15, retain_min=3))
    assert expired.snapshot_ids == (1, 2)
    assert again.names() == {"a", "b", "d"}
    assert {path.name for path in tmp_path.glob("p=*/bucket-0/*")} == {"a", "b", "c", "d"}


def test_a_lost_newest_snapshot_is_no_older_table(tmp_path: Path) -> None:
    """Neither read as the snapshot before, nor written over, until somebody says so."""
    table = MetadataTable(str(tmp_path)).create()
    for name in "abc":
        append(table, name)
    (tmp_path / "snapshot" / "snapshot-3").unlink()
    fresh = MetadataTable(str(tmp_path))
    for use in (fresh.snapshots.latest, lambda: append(fresh, "d")):
        with pytest.raises(MissingFileError, match=r"snapshot-3.*CALL sys.repair"):
            use()


def test_hints_are_only_hints(tmp_path: Path) -> None:
    table = MetadataTable(str(tmp_path)).create()
    for name in "abc":
        append(table, name)
    for text in (b"1", b"", b"-4", b"x" * 100, b"\xb2"):
        (tmp_path / "snapshot" / "LATEST").write_bytes(text)
        fresh = MetadataTable(str(tmp_path))
        assert (fresh.snapshots.latest_id(), fresh.snapshots.earliest_id()) == (3, 1)
