"""The figures of `growth` as a picture: processor time and memory of planning, by the number of segments."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

__all__ = ["draw"]

_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
"""Okabe and Ito's, which people who see colours otherwise can tell apart."""

Points = Mapping[str, Sequence[tuple[int, float, float]]]
"""By step: segments, seconds of processor time, and the peak in MB."""


def draw(points: Points, path: Path) -> None:
    """Write an SVG; the same points give the same bytes. Needs matplotlib."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tagwire", "svg.fonttype": "none", "font.size": 9})
    figure, axes = import_module("matplotlib.pyplot").subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for (step, found), colour in zip(points.items(), _COLOURS, strict=False):
        counts, seconds, peaks = zip(*sorted(found), strict=True)
        axes[0].plot(counts, seconds, marker="o", label=step, color=colour)
        axes[1].plot(counts, peaks, marker="o", color=colour)
    for axis, title in zip(axes, ("seconds of processor time", "MB of the driver's Python process"), strict=True):
        _frame(axis, title)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _frame(axis: Any, title: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("segments")
    axis.set_ylabel(title)
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
