"""A picture of what `Measurements` hold: how many times a peer's time ours is, work by work."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tests.benchmark.measurements import LIMIT, Measurements

_COLORS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3")
_BARS_HEIGHT = 0.76


def save_plot(measured: Measurements, path: Path, title: str) -> None:
    """Write a PNG of bars on a logarithmic scale; left of the line ours is faster.

    None where there is nothing to compare.
    """
    peers = [LIMIT, *measured.peers]
    works = [w for w in measured.seconds if any(measured.ratio(w, peer) for peer in peers)]
    if not works:
        return
    height = _BARS_HEIGHT / len(peers)
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(9, 1.5 + 0.42 * len(works)), layout="constrained")
        axes = figure.subplots()
        places = np.arange(len(works))
        for i, peer in enumerate(peers):
            ratios = [measured.ratio(work, peer) for work in works]
            shown = [(place, r) for place, r in zip(places, ratios, strict=True) if r]
            if not shown:
                continue
            at, lengths = zip(*shown, strict=True)
            bars = axes.barh(
                np.array(at) + (i - (len(peers) - 1) / 2) * height,
                np.array(lengths) - 1,
                height,
                left=1,
                color=_COLORS[i % len(_COLORS)],
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
