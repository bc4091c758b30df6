"""Goal: no damage of a file that is not table data goes unnoticed, whatever the file.

Each kind of file is made and read by the program's own code. Damage is an error that names the
file, or does nothing; only files that the program does without may be passed over.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.kernel.errors import CorruptFileError, FormatVersionError
from tests.checkout import REPOSITORY
from tests.fakes.bit_flips import DamagedFile, flipped_bits, torn
from tests.fakes.checked_file import rewritten, version_1
from tests.fakes.metadata_files import MetadataFile, metadata_files

WRITERS = {
    "catalog/connectors/filesystem/file_register.py": {"files of a source"},
    "catalog/connectors/positions/position.py": {"position of a source"},
    "catalog/jobs/history.py": {"history of a view"},
    "catalog/jobs/ledger.py": {"barrier"},
    "catalog/jobs/progress.py": {"progress of a view"},
    "catalog/meta_service/producer_transactions.py": {"transaction of a producer"},
    "catalog/meta_service/registry.py": {"registered job"},
    "catalog/meta_service/revision.py": {"revision"},
    "catalog/meta_service/runner_lease.py": {"lease of a job runner"},
    "catalog/meta_service/submitted_jobs.py": {"submitted job", "status of a job runner"},
    "catalog/names/directory_journal.py": {"claim of a directory", "note of a directory"},
    "catalog/names/function_store.py": {"function"},
    "catalog/names/lock.py": {"lock held", "lock given back"},
    "catalog/names/name_registry.py": {
        "name of a table",
        "name of a view",
        "name of a foreign table",
    },
    "catalog/names/namespace_store.py": {"namespace"},
    "catalog/names/retired_folders.py": set(),  # the name of an empty file
    "catalog/planner/write/transfer.py": {"manifest of an export"},
    "catalog/tables/stream_writer_claim.py": {"streaming writer"},
    "catalog/tables/temporary_tables.py": {"session"},
    "storage/file_store/metadata/consumer.py": {"consumer"},
    "storage/file_store/metadata/manifest_writer.py": {"manifest", "manifest list"},
    "storage/file_store/metadata/pin.py": {"pin"},
    "storage/file_store/metadata/retention_floor.py": set(),  # the name of an empty file
    "storage/file_store/metadata/schema_store.py": {"schema", "schema of a view"},
    "storage/file_store/metadata/snapshot_files.py": {"snapshot", "kept snapshot"},
    "storage/file_store/metadata/snapshot_store.py": {"LATEST"},
    "storage/file_store/metadata/tag.py": {"tag"},
    "storage/log_store/log_position.py": {"log position"},
    "storage/log_store/sinks/filesystem_sink.py": set(),  # rows, for others to read
}
"""The modules that write whole files, with what they write."""

KINDS = sorted(kind for kinds in WRITERS.values() for kind in kinds)
CHECKED_KINDS = sorted({*KINDS} - {"LATEST", "manifest", "manifest list"})
"""Those that are JSON with a checksum."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MetadataFile]:
    return metadata_files(tmp_path_factory.mktemp("warehouse") / "root")


def test_every_kind_is_here(files: dict[str, MetadataFile]) -> None:
    """A module that begins to write files adds what it writes, and how that is read."""
    call = re.compile(r"\.(write_bytes|write_new|write_files)\(|\bClaim\(")
    found = {
        str(path.relative_to(REPOSITORY))
        for folder in ("catalog", "sql_ext", "storage")
        for path in REPOSITORY.joinpath(folder).rglob("*.py")
        if call.search(path.read_text()) and path.parent.name != "file_io"
    }
    assert found == set(WRITERS)
    assert sorted(files) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_is_noticed(files: dict[str, MetadataFile], kind: str) -> None:
    file = files[kind]
    outcome = file.survey(flipped_bits(file.content))
    assert (outcome.silent, outcome.unnamed) == ([], [])
    assert outcome.harmless == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_power_cut_leaves_is_noticed(files: dict[str, MetadataFile], kind: str) -> None:
    file = files[kind]
    outcome = file.survey(torn(file.content))
    assert (outcome.silent, outcome.unnamed) == ([], [])


def test_a_damaged_hint_changes_nothing(files: dict[str, MetadataFile]) -> None:
    """Nor does one of version 1, which is the id alone."""
    file = files["LATEST"]
    table_path = str(Path(file.path).parents[1])
    damages = (*flipped_bits(file.content, step=5), *torn(file.content, step=9))
    for content in (b"3", b"2", *(damage.content for damage in damages)):
        damaged = DamagedFile(path=file.path, content=content)
        assert SnapshotStore(damaged, table_path).latest_id() == 3
    assert file.read_with(b"3") == file.read_with(file.content) == 3


@pytest.mark.parametrize("kind", CHECKED_KINDS)
def test_files_without_checksum_are_read(files: dict[str, MetadataFile], kind: str) -> None:
    """As all were in version 1; in some kinds they named no version."""
    file = files[kind]
    expected = file.read_with(file.content)
    assert file.nothing is None or expected != file.nothing
    plain = version_1(file.content, is_versioned=file.is_versioned)
    assert b"checksum" not in plain.splitlines()[-2]
    assert file.read_with(plain) == expected


@pytest.mark.parametrize("kind", CHECKED_KINDS)
def test_no_damage_makes_a_file_without_checksum(
    files: dict[str, MetadataFile], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the checksum's name or the version is hit, the other one still tells."""
    file = files[kind]
    content = file.content
    version = re.match(rb'{\n  "version": ([2-9]),\n', content)
    assert version is not None
    first, last = version.start(1), content.rindex(b"checksum")
    for damaged in (
        content[:first] + b"1" + content[first + 1 :],
        content[:last] + b"checksun" + content[last + 8 :],
        content[: last - 5] + b"\n}",
    ):
        if file.nothing is None:
            with pytest.raises(CorruptFileError, match=re.escape(file.path)):
                file.read_with(damaged)
        else:
            caplog.clear()
            assert file.read_with(damaged) == file.nothing
            assert file.path in caplog.text


@pytest.mark.parametrize("kind", sorted({*CHECKED_KINDS} - {"note of a directory"}))
def test_newer_files_are_refused(files: dict[str, MetadataFile], kind: str) -> None:
    file = files[kind]
    with pytest.raises(FormatVersionError, match=re.escape(file.path)):
        file.read_with(rewritten(file.content, version=9))


def test_a_note_of_a_newer_version_is_left_to_it(files: dict[str, MetadataFile]) -> None:
    file = files["note of a directory"]
    assert file.read_with(rewritten(file.content, version=3)) == ()
