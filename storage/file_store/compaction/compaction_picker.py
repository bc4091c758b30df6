"""Universal compaction: which runs to merge next. Pure, from run sizes and levels.

Triggers in their order (seeds 002, "Compaction"; formulas as RocksDB and Paimon's
UniversalCompaction compute them):

1. space amplification: all runs but the oldest, in percent of the oldest, exceed the limit:
   merge everything;
2. size ratio: from the newest run on, take the next one while what is taken, plus the ratio in
   percent, is not smaller than it: merge what was taken, if more than one;
3. run count: more runs than the trigger: merge as many of the newest as bring it back.

None of them acts on fewer runs than the trigger, so that small tables are left alone. Two rules
that RocksDB does not have keep the price of a small commit from growing with the number of commits:

- The second and third trigger wait until four runs are new (fewer if the trigger is lower), or else
  a bucket at its trigger would be compacted after every commit. So a bucket has up to three runs
  more than the trigger, where Paimon stops writers by default.
- Among new runs, and when the run count forces a merge, the next run is also taken if it is at most
  two and a half times as large as those taken before. If as few runs as possible were merged, all
  new rows would go into one run, which is rewritten each time until it is as large as the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.levels import LevelRun, Levels
from table_store.storage.file_store.model.sorted_run import SortedRun
from table_store.storage.file_store.model.storage_settings import PickerOptions

_WIDE_RATIO_PERCENT: Final = 150
"""The size ratio among new runs, and when the run count forces a merge."""

SMALL_FILES_FACTOR: Final = 4
"""A bucket without key may have this many times the runs of a bucket with key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUnit:
    """Runs to merge into one run on `output_level`, newest first.

    `drop_deletes` says that no older rows remain which a deletion could still have to hide.
    `raised` are older runs of level 0 that only move to the levels given here, because the merged
    run, which leaves level 0, is newer than they are.
    """

    output_level: int
    runs: tuple[LevelRun, ...]
    drop_deletes: bool
    raised: tuple[LevelRun, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files to merge."""
        return _files(self.runs)

    @property
    def raised_files(self) -> tuple[DataFile, ...]:
        """All files that only move, with the levels that they still have."""
        return _files(self.raised)

    def described_by(self, files: Mapping[str, DataFile]) -> CompactionUnit:
        """Return the unit with other descriptions of its files, found by their names.

        Files that only move go into a manifest again, so they need descriptions with statistics.
        """

        def described(runs: Sequence[LevelRun]) -> tuple[LevelRun, ...]:
            return tuple(
                LevelRun(r.level, SortedRun(tuple(files[f.name] for f in r.run.files)))
                for r in runs
            )

        return replace(self, runs=described(self.runs), raised=described(self.raised))


def pick_compaction(levels: Levels, options: PickerOptions) -> CompactionUnit | None:
    """Return what to compact now, or None when nothing is due."""
    runs = levels.runs
    if len(runs) < max(2, options.run_count_trigger):
        return None
    if _size_amplified(runs, options):
        return _unit(runs, len(runs), options)
    fresh = sum(1 for run in runs if run.level == 0)
    if fresh < options.fresh_count_min:
        return None
    ratio = options.size_ratio_percent
    forced = len(runs) - options.run_count_trigger + 1
    if forced > 1:
        count = max(forced, options.fresh_count_min)
        ratio = max(ratio, _WIDE_RATIO_PERCENT)
    else:
        count = _similar_in_size(runs[:fresh], 1, _WIDE_RATIO_PERCENT)
    count = _similar_in_size(runs, count, ratio)
    return _unit(runs, count, options) if count > 1 else None


def pick_small_files(levels: Levels, options: PickerOptions) -> CompactionUnit | None:
    """Return what to compact now in a bucket without key, or None.

    Without deletes a read of it does not merge, so it may have more runs, and rows are rewritten
    less often.
    """
    if any(file.delete_count for run in levels.runs for file in run.run.files):
        return pick_compaction(levels, options)
    trigger = options.run_count_trigger * SMALL_FILES_FACTOR
    return pick_compaction(levels, replace(options, run_count_trigger=trigger))


def pick_full_compaction(levels: Levels, options: PickerOptions) -> CompactionUnit | None:
    """Return a merge of everything to the highest level, or None when all is there already."""
    runs = levels.runs
    if not runs or (len(runs) == 1 and runs[0].level >= options.level_max):
        return None
    return _unit(runs, len(runs), options)


def _size_amplified(runs: Sequence[LevelRun], options: PickerOptions) -> bool:
    newer = sum(r.size_bytes for r in runs[:-1])
    return newer * 100 > options.size_amplification_percent_max * runs[-1].size_bytes


def _similar_in_size(runs: Sequence[LevelRun], count: int, ratio_percent: int) -> int:
    """Return how many of the newest runs to take, at least `count`."""
    taken = sum(r.size_bytes for r in runs[:count])
    while count < len(runs):
        following = runs[count].size_bytes
        if taken * (100 + ratio_percent) < following * 100:
            break
        taken += following
        count += 1
    return count


def _unit(runs: Sequence[LevelRun], count: int, options: PickerOptions) -> CompactionUnit:
    """Return the merge of the first `count` runs, or of a few more if levels are short.

    The merged run goes right below the next run that is above level 0. Runs of level 0 in front
    of that one move, unchanged, to the levels in between. If there are too few such levels,
    further runs are merged.
    """
    level_max = max(options.level_max, *(r.level for r in runs))
    for taken in range(count, len(runs)):
        stay = [r for r in runs[taken:] if r.level == 0]
        above = runs[taken + len(stay) :]
        output_level = (above[0].level if above else level_max + 1) - len(stay) - 1
        # No run is older than the last one, so a rewrite can drop its deletions.
        is_final = not above and any(file.delete_count for file in runs[-1].run.files)
        if output_level > 0 and not is_final:
            return CompactionUnit(
                output_level=output_level,
                runs=tuple(runs[:taken]),
                drop_deletes=False,
                raised=tuple(
                    LevelRun(output_level + place, r.run) for place, r in enumerate(stay, 1)
                ),
            )
    return CompactionUnit(output_level=level_max, runs=tuple(runs), drop_deletes=True)


def _files(runs: Sequence[LevelRun]) -> tuple[DataFile, ...]:
    return tuple(file for r in runs for file in r.run.files)
