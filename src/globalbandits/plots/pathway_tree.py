"""The dose-transition pathways of a trial as a tree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from globalbandits.plots.style import INK, QUIET, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW_HEIGHT, _COLUMN_WIDTH = 0.21, 2.1
_STOP_COLOR = "#D55E00"


def pathway_tree(
    paths: Sequence[tuple[tuple[tuple[int, int], ...], int]], doses: Sequence[str], title: str = ""
) -> "Figure":
    """Draw pathways from left to right: a box per cohort with its dose, a line per number of DLTs.

    Args:
        paths: every pathway as (dose, DLTs) of its cohorts, and the next dose, -1 for a stop. Equal
            beginnings follow each other.
        doses: labels of the doses.
        title: a line above the picture.

    >>> paths = [(((0, 0),), 1), (((0, 1),), -1)]
    >>> len(pathway_tree(paths, ["1 mg", "2 mg"]).axes)
    1
    """
    from matplotlib import colormaps

    depth = max(len(path) for path, _ in paths)
    shades = colormaps["Blues"]
    # The rows of all pathways with the same beginning; a node is in their middle.
    rows: dict[tuple[tuple[int, int], ...], list[int]] = {}
    following: dict[tuple[tuple[int, int], ...], int] = {}
    for row, (path, last) in enumerate(paths):
        for n_cohorts in range(len(path) + 1):
            start = path[:n_cohorts]
            rows.setdefault(start, []).append(row)
            following[start] = path[n_cohorts][0] if n_cohorts < len(path) else last
    with styled():
        height = max(2.2, _ROW_HEIGHT * len(paths) + 0.9)
        figure, axes = new_figure(_COLUMN_WIDTH * (depth + 1) + 0.6, height)
        for start, members in rows.items():
            place = len(start), 0.5 * (members[0] + members[-1])
            if start:
                before = rows[start[:-1]]
                origin = len(start) - 1, 0.5 * (before[0] + before[-1])
                axes.plot(*zip(origin, place, strict=True), color=QUIET, linewidth=0.7, zorder=1)
                x, y = (0.28 * a + 0.72 * b for a, b in zip(origin, place, strict=True))
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
                axes.text(x, y, f"{start[-1][1]}", ha="center", va="center", size=6.5, bbox=box)
            dose = following[start]
            face = _STOP_COLOR if dose < 0 else shades(0.15 + 0.6 * dose / max(1, len(doses) - 1))
            label = "stop" if dose < 0 else doses[dose]
            bright = dose < 0 or dose > 0.6 * (len(doses) - 1)
            axes.text(
                *place,
                label,
                ha="center",
                va="center",
                size=7.5,
                color="white" if bright else INK,
                bbox={"boxstyle": "round,pad=0.25", "facecolor": face, "edgecolor": "none"},
                zorder=2,
            )
        axes.set_xlim(-0.4, depth + 0.4)
        axes.set_ylim(len(paths) - 0.2, -0.8)
        axes.set_xticks(range(depth + 1), [f"cohort {number}" for number in range(1, depth + 2)])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.set_yticks([])
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(title or "Dose of each cohort; on the lines: DLTs of the cohort before")
        return figure
