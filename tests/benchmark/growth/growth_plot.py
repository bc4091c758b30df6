"""A picture of growth: one small diagram for each curve, and the latencies of all commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.benchmark.growth.growth_report import Curve, GrowthTable
from tests.benchmark.measurements import LIMIT, OURS

_COLORS = {OURS: "#4c72b0", LIMIT: "#dd8452"}
_COLUMNS = 4


def save_growth_plot(
    tables: Sequence[tuple[GrowthTable, Sequence[int]]],
    latencies: Mapping[str, Sequence[float]],
    path: Path,
) -> None:
    """Write a PNG; both axes are logarithmic, so that lines as steep as each other grow alike."""
    panels = [(table, at, curve) for table, at in tables for curve in table.curves]
    count = len(panels) + 1
    rows = -(-count // _COLUMNS)
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(3.3 * _COLUMNS, 2.3 * rows), layout="constrained")
        places = figure.subplots(rows, _COLUMNS, squeeze=False).flat
        for (table, at, curve), axes in zip(panels, places, strict=False):
            _draw(axes, table, at, curve)
        axes = places[len(panels)]
        for engine, times in latencies.items():
            axes.plot(times, ".", markersize=2, color=_COLORS.get(engine), label=engine)
        axes.set_title("seconds of each commit")
        axes.set_yscale("log")
        for unused in list(places)[count:]:
            unused.set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)


def _draw(axes: Any, table: GrowthTable, at: Sequence[int], curve: Curve) -> None:
    for engine, values in curve.values.items():
        shown = [v / (1 << 20) for v in values] if table.is_bytes else values
        axes.plot(at, shown, "o-", color=_COLORS.get(engine), label=engine, markersize=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    # At least two decades: what hardly grows must not look steep.
    low, high = axes.get_ylim()
    wider = max(1.0, (100 * low / high) ** 0.5)
    axes.set_ylim(low / wider, high * wider)
    axes.set_title(f"{table.title}\n{curve.work}")
