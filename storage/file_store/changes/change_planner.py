"""Which splits a range of changes has; a pure function of what the commits did to the buckets.

In a table with key, commits that only add newer files are read together. With the older files that
can hold the same keys they give the versions of each key one after the other, and each step from
one version to the next is a change. Any other commit is read as two states of those sections of
the bucket in which files differ. In a table without key the rows of the files are the changes
themselves, unless equal rows must be counted against each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from table_store.storage.file_store.changes.change_history import BucketHistory, FileChange
from table_store.storage.file_store.changes.change_split import (
    BucketCommit,
    ChangeMode,
    ChangeSplit,
    ChangeStep,
    Deduplication,
    StepKind,
)
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.interval_partition import key_sections
from table_store.storage.file_store.model.key_cuts import key_ranges, meets
from table_store.storage.file_store.model.key_range import KeyRange
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.sorted_run import key_max, key_min
from table_store.storage.file_store.scan.scan_planner import OPEN_COST_BYTES, share_bytes

CHAIN_FILES_MAX: Final = 64
"""Most files of commits that are merged at once; all of them are open at the same time."""


def plan_changes(
    histories: Sequence[BucketHistory],
    schema: TableSchema,
    mode: ChangeMode,
    *,
    parallelism: int,
    limit_bytes: int,
) -> tuple[ChangeSplit, ...]:
    """Return the splits of a range, `parallelism` or more where it can be cut.

    Each is of about `limit_bytes` of files or less, older files that hold changed keys included.
    """
    splits: list[ChangeSplit] = []
    if schema.primary_key:
        steps = [(*_kept_steps(history.kept), *_keyed_steps(history)) for history in histories]
        size_bytes = sum(f.size_bytes for each in steps for step in each for f in step.files)
        target_bytes = share_bytes(size_bytes, parallelism, limit_bytes)
        for history, each in zip(histories, steps, strict=True):
            splits.extend(_keyed(history, each, schema, mode, target_bytes))
    else:
        size_bytes = sum(history.size_bytes for history in histories)
        target_bytes = share_bytes(size_bytes, parallelism, limit_bytes)
        for history in histories:
            splits.extend(_keyless(history, mode, target_bytes))
    return tuple(splits)


# -- with key --------------------------------------------------------------------------------------


def _keyed(
    history: BucketHistory,
    steps: Sequence[ChangeStep],
    schema: TableSchema,
    mode: ChangeMode,
    target_bytes: int,
) -> Iterator[ChangeSplit]:
    is_net = mode.deduplication is Deduplication.NET_CHANGES
    for together in [steps] if is_net else [(step,) for step in steps]:
        files = sorted((file for step in together for file in step.files), key=key_min)
        if files:
            for keys in key_ranges((tuple(files),), schema, target_bytes):
                yield from _within(history, together, keys, schema)


def _kept_steps(kept: Sequence[BucketCommit]) -> Iterator[ChangeStep]:
    for commit in kept:
        before, after = ({f.name: f for f in files} for files in (commit.removed, commit.added))
        yield from _replacement(before, after, commit)


def _within(
    history: BucketHistory, steps: Sequence[ChangeStep], keys: KeyRange, schema: TableSchema
) -> Iterator[ChangeSplit]:
    def kept(files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
        return tuple(file for file in files if meets(file, keys, schema))

    cut = tuple(
        replace(
            step,
            base=kept(step.base),
            commits=tuple(replace(c, added=kept(c.added)) for c in step.commits),
        )
        for step in steps
    )
    # Without a commit the older files hold no change.
    cut = tuple(s for s in cut if s.kind is StepKind.REPLACE or any(c.added for c in s.commits))
    if any(step.files for step in cut):
        yield ChangeSplit(partition=history.partition, bucket=history.bucket, steps=cut, keys=keys)


def _keyed_steps(history: BucketHistory) -> Iterator[ChangeStep]:
    live: Mapping[str, DataFile] = {file.name: file for file in history.base}
    chain: list[BucketCommit] = []
    chain_base: tuple[DataFile, ...] = ()
    chain_files = 0
    for change in history.changes:
        after = _applied(live, change)
        if not change.is_compaction:
            count = len(change.commit.added)
            if chain and (not change.is_newer or chain_files + count > CHAIN_FILES_MAX):
                yield _chain(chain_base, chain)
                chain = []
            if not change.is_newer:
                yield from _replacement(live, after, change.commit)
            else:
                if not chain:
                    chain_base, chain_files = tuple(live.values()), 0
                chain.append(change.commit)
                chain_files += count
        live = after
    if chain:
        yield _chain(chain_base, chain)


def _applied(live: Mapping[str, DataFile], change: FileChange) -> Mapping[str, DataFile]:
    gone = {file.name for file in change.commit.removed}
    kept = {name: file for name, file in live.items() if name not in gone}
    return kept | {file.name: file for file in change.commit.added}


def _chain(base: Sequence[DataFile], commits: Sequence[BucketCommit]) -> ChangeStep:
    added = [file for commit in commits for file in commit.added]
    sections = [(key_min(s[0]), max(map(key_max, s))) for s in key_sections(added)]
    touched = tuple(file for file in base if _meets_any(file, sections))
    is_all_new = (
        not touched
        and len(commits) == 1
        and len(sections) == len(added)
        and not any(file.delete_count for file in added)
    )
    kind = StepKind.PLAIN if is_all_new else StepKind.CHAIN
    return ChangeStep(kind=kind, base=touched, commits=tuple(commits))


def _meets_any(file: DataFile, sections: Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> bool:
    """Whether the file's keys meet one of the ranges, which are disjoint and ascending."""
    at = bisect_left(sections, key_min(file), key=lambda section: section[1])
    return at < len(sections) and sections[at][0] <= key_max(file)


def _replacement(
    before: Mapping[str, DataFile], after: Mapping[str, DataFile], commit: BucketCommit
) -> Iterator[ChangeStep]:
    differing = before.keys() ^ after.keys()
    sections = [
        section
        for section in key_sections([*{**before, **after}.values()])
        if any(file.name in differing for file in section)
    ]
    new = [s[0] for s in sections if not before and len(s) == 1 and not s[0].delete_count]
    if new:
        yield ChangeStep(
            kind=StepKind.PLAIN, commits=(replace(commit, added=tuple(new), removed=()),)
        )
    names = {file.name for file in new}
    files = [f for section in sections for f in section if f.name not in names]
    if files:
        added = tuple(after[f.name] for f in files if f.name in after)
        yield ChangeStep(
            kind=StepKind.REPLACE,
            base=tuple(before[f.name] for f in files if f.name in before),
            commits=(replace(commit, added=added, removed=()),),
        )


# -- without key -----------------------------------------------------------------------------------


def _keyless(history: BucketHistory, mode: ChangeMode, target_bytes: int) -> Iterator[ChangeSplit]:
    later = [change.commit for change in history.changes if not change.is_compaction]
    files = [file for commit in later for file in commit.files]
    commits = [*history.kept, *later]
    is_net = mode.deduplication is Deduplication.NET_CHANGES
    if any(file.delete_count for file in (*history.base, *files)):
        # A deletion that found no row so far removes one that is added later.
        together = commits if is_net else later
        yield _counting(history, together, base=history.base)
        commits = [commit for commit in commits if commit not in together]
    if is_net and any(commit.removed for commit in commits):
        yield _counting(history, commits)
        return
    plain: list[BucketCommit] = []
    for commit in commits:
        is_set_off = mode.deduplication is not Deduplication.NONE
        if is_set_off and commit.added and commit.removed:
            yield _counting(history, [commit])
        elif not commit.is_silent:
            plain.append(commit)
    yield from _plain(history, plain, target_bytes)


def _counting(
    history: BucketHistory,
    commits: Sequence[BucketCommit],
    base: tuple[DataFile, ...] = (),
) -> ChangeSplit:
    step = ChangeStep(kind=StepKind.COUNT, base=base, commits=tuple(commits))
    return ChangeSplit(partition=history.partition, bucket=history.bucket, steps=(step,))


def _plain(
    history: BucketHistory, commits: Sequence[BucketCommit], target_bytes: int
) -> Iterator[ChangeSplit]:
    """Yield splits of files in their order, each as many as fit."""
    pack: list[BucketCommit] = []
    size_bytes = 0
    for commit in commits:
        for one in _single_files(commit):
            cost = sum(file.size_bytes for file in one.files) + OPEN_COST_BYTES
            if pack and size_bytes + cost > target_bytes:
                yield _plain_split(history, pack)
                pack, size_bytes = [], 0
            pack.append(one)
            size_bytes += cost
    if pack:
        yield _plain_split(history, pack)


def _single_files(commit: BucketCommit) -> Iterator[BucketCommit]:
    yield from (replace(commit, added=(), removed=(file,)) for file in commit.removed)
    yield from (replace(commit, added=(file,), removed=()) for file in commit.added)


def _plain_split(history: BucketHistory, commits: Sequence[BucketCommit]) -> ChangeSplit:
    step = ChangeStep(kind=StepKind.PLAIN, commits=tuple(commits))
    return ChangeSplit(partition=history.partition, bucket=history.bucket, steps=(step,))
