"""What a run prints of its `Measurements`: tables on the screen, and Markdown to be pasted."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmark.measurements import LIMIT, OURS, Measurements, WriteCost
from tests.benchmark.text_table import NOTHING, TextTable, number

_FOUR: dict[str, Callable[[WriteCost], str]] = {
    "rows/s": lambda cost: number(cost.rows_per_s, 0),
    "read after write, s": lambda cost: number(cost.read_after_write_s, 3),
    "read compacted, s": lambda cost: number(cost.read_compacted_s, 3),
    "bytes written / in": lambda cost: number(cost.bytes_per_byte, 2),
}


def screen_lines(measured: Measurements) -> list[str]:
    """Return all that was measured, as lines of text."""
    lines = _times(measured).lines()
    if measured.costs:
        lines += ["", *_writes(measured).lines()]
    lines += ["", *(f"{LIMIT}, {work}: {meaning}" for work, meaning in measured.limits.items())]
    lines += [
        f"failed, {work}, {engine}: {reason}"
        for work, engines in measured.failures.items()
        for engine, reason in engines.items()
    ]
    lines += [
        f"{about}: " + ", ".join(f"{name} = {value:,.1f}" for name, value in found.items())
        for about, found in measured.figures.items()
    ]
    return lines


def markdown_lines(measured: Measurements) -> list[str]:
    """Return the ratios, and the four figures of writes, as two Markdown tables."""
    peers = [LIMIT, *measured.peers]
    ratios = TextTable(["Work", "Seconds", *(f"/ {peer}" for peer in peers)])
    for work in measured.seconds:
        ours = measured.median(work, OURS)
        if ours is not None:
            found = [number(measured.ratio(work, peer), 2) for peer in peers]
            ratios.rows.append([work, number(ours, 3), *found])
    lines = ratios.markdown()
    if measured.costs:
        lines += ["", *_writes(measured).markdown()]
    return lines


def _times(measured: Measurements) -> TextTable:
    """Medians, and how many times a peer's time ours is (lower is better)."""
    peers = [LIMIT, *measured.peers]
    header = ["work", "runs", *(f"{p} s" for p in peers), "ours s", "worst"]
    table = TextTable([*header, *(f"/ {peer}" for peer in peers)])
    for work, engines in measured.seconds.items():
        own = engines.get(OURS, [])
        failed = measured.failures.get(work, {})
        others = ["failed" if p in failed else number(measured.median(work, p), 3) for p in peers]
        ours = [number(measured.median(work, OURS), 3), number(max(own, default=None), 3)]
        ratios = [number(measured.ratio(work, peer), 2) for peer in peers]
        table.rows.append([work, str(len(own)), *others, *ours, *ratios])
    return table


def _writes(measured: Measurements) -> TextTable:
    """The four figures of each workload and engine, side by side."""
    table = TextTable(["writes", "engine", *_FOUR], words=2)
    for workload, costs in measured.costs.items():
        for engine, cost in costs.items():
            figures = [tell(cost) for tell in _FOUR.values()]
            if any(figure != NOTHING for figure in figures):
                table.rows.append([workload, engine, *figures])
    return table
