"""The figures of docs/benchmarks.md as a picture: how many times tagwire's time each library takes."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

__all__ = ["draw"]

_OPERATIONS: Final = ("decode", "encode")
_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
"""Okabe and Ito's, which people who see colours otherwise can tell apart."""


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Write an SVG of one run's speed; the same results give the same bytes."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tagwire", "svg.fonttype": "none", "font.size": 9})
    figure, axes = import_module("matplotlib.pyplot").subplots(
        len(_OPERATIONS), 1, figsize=(9, 6.5), layout="constrained"
    )
    names = [name for name in results["libraries"] if name != "tagwire"]
    for axis, operation in zip(axes, _OPERATIONS, strict=True):
        rows = [row for row in results["speed"] if row["operation"] == operation]
        _bars(axis, operation, rows, names)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _bars(axis: Any, operation: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        points = [
            (column + (place - (len(names) - 1) / 2) * width, row["ratios"][name][0])
            for column, row in enumerate(rows)
            if name in row["ratios"]
        ]
        if points:
            xs, ys = zip(*points, strict=True)
            axis.bar(xs, ys, width, label=name, color=_COLOURS[place % len(_COLOURS)])
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_yscale("log")
    axis.set_ylabel(f"{operation}: times tagwire's time")
    axis.set_xticks(range(len(rows)), [f"{row['message']}\nv{row['version']}, {row['size']:,} B" for row in rows])
    axis.spines[["top", "right"]].set_visible(False)
