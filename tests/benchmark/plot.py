"""A picture of what `Measurements` hold: how many times a peer's time ours is, work by work."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tests.benchmark.measurements import LIMIT, OURS, Measurements

_PEERS = {LIMIT: "#4c72b0", "delta": "#dd8452"}
_BAR_HEIGHT = 0.38


def save_plot(measured: Measurements, path: Path, title: str) -> None:
    """Write a PNG of bars on a logarithmic scale; left of the line ours is faster."""
    works = [work for work in measured.seconds if any(_ratios(measured, work).values())]
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(9, 1.5 + 0.42 * len(works)), layout="constrained")
        axes = figure.subplots()
        places = np.arange(len(works))
        for i, (peer, color) in enumerate(_PEERS.items()):
            ratios = [_ratios(measured, work)[peer] for work in works]
            shown = [(place, r) for place, r in zip(places, ratios, strict=True) if r]
            if not shown:
                continue
            at, lengths = zip(*shown, strict=True)
            bars = axes.barh(
                np.array(at) + (i - 0.5) * _BAR_HEIGHT,
                np.array(lengths) - 1,
                _BAR_HEIGHT,
                left=1,
                color=color,
                label=f"time of the table store / time of {peer}",
            )
            axes.bar_label(bars, [f"{length:.2f}" for length in lengths], padding=3, fontsize=7)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.margins(x=0.12)
        axes.set_yticks(places, works)
        axes.invert_yaxis()
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)


def _ratios(measured: Measurements, work: str) -> dict[str, float | None]:
    ours = measured.median(work, OURS)
    found = {peer: measured.median(work, peer) for peer in _PEERS}
    return {peer: ours / s if ours and s else None for peer, s in found.items()}
