"""Figures of a fitted history: curves with the groups' means, groups' parameters, and regret."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray, IntArray
from globalbandits.plots.lines import Line, draw_lines
from globalbandits.plots.style import (
    FONT_SIZE,
    INK,
    PALETTE,
    QUIET,
    line_styles,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

MAX_GROUPS = 300  # of more groups, an evenly spread selection is drawn; the title shows its size
_MAX_NAMES = 40  # group names on the axis
_MAX_LEGEND_ENTRIES = 14
_LEGEND_ROW_CHARACTERS = 60
_MAX_REGRET_RATIO = 4.0  # to the least regret; lines with more regret leave the figure
# The size is readable on a phone, and two figures fit next to each other on a screen.
_WIDTH_INCHES, _HEIGHT_INCHES = 5.4, 4.2


class Cells(NamedTuple):
    """Mean rewards and counts of groups and arms, shape (n_groups, n_arms)."""

    theta: FloatArray  # (n_groups,)
    means: FloatArray
    counts: FloatArray


def group_curves_figure(
    theta: ArrayLike,
    curves: ArrayLike,
    bias: ArrayLike,
    cells: Cells,
    labels: Sequence[str],
    *,
    xlabel: str = "parameter θ: share of groups below",
    ylabel: str = "mean reward",
    limits: tuple[float, float] | None = None,
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw the curves of the arms, bands of the groups' deviations, and a dot per group and arm.

    Args:
        theta: parameters, increasing, shape (n,).
        curves: means of the arms at these parameters, shape (n, n_arms).
        bias: half widths of the arms' bands, shape (n_arms,).
        cells: mean rewards of the groups. The size of a dot grows with the root of the count.
        labels: names of the arms, in order.
        xlabel: label of the parameter.
        ylabel: label of the means.
        limits: range of the rewards, where bands end.
        axes: axes to draw into; a new figure by default.

    >>> cells = Cells(np.array([0.2, 0.8]), np.array([[0.3], [0.7]]), np.array([[9.0], [4.0]]))
    >>> figure = group_curves_figure([0, 1], [[0.1], [0.9]], [0.05], cells, ["a"])
    >>> figure.axes[0].get_ylabel()
    'mean reward'
    """
    x, y = np.asarray(theta, np.float64), np.asarray(curves, np.float64)
    low, high = (-np.inf, np.inf) if limits is None else limits
    drawn = _spread(cells.theta, MAX_GROUPS)
    with _place(axes) as (figure, panel):
        panel.set(xlabel=xlabel, ylabel=ylabel, xlim=(x[0], x[-1]))
        largest = max(float(np.sqrt(cells.counts).max(initial=1.0)), 1.0)
        for arm, style in enumerate(line_styles(y.shape[1])):
            half = float(np.asarray(bias)[arm])
            below, above = (np.clip(y[:, arm] + side * half, low, high) for side in (-1, 1))
            panel.fill_between(x, below, above, color=style.color, alpha=0.12, linewidth=0)
            panel.plot(x, y[:, arm], color=style.color, linestyle=style.dashes, label=labels[arm])
            tried = drawn[cells.counts[drawn, arm] > 0]
            panel.scatter(
                cells.theta[tried],
                cells.means[tried, arm],
                s=4.0 + 22.0 * np.sqrt(cells.counts[tried, arm]) / largest,
                color=[style.color],
                alpha=0.55,
                linewidths=0,
            )
        if drawn.size < cells.theta.size:
            panel.set_title(f"{drawn.size} of {cells.theta.size:,} groups", fontsize=FONT_SIZE)
        _legend_below(panel, y.shape[1], "arm")
        return figure


class WorthCells(NamedTuple):
    """Worth of groups and arms, shape (n_groups, n_arms); nan where a group has no rewards."""

    observed: FloatArray
    pulled: FloatArray  # towards the curve, where rewards are few
    counts: FloatArray


def group_worth_figure(
    positions: FloatArray | None,
    labels: Sequence[str],
    worth: FloatArray,
    bounds: FloatArray,
    cells: WorthCells,
    *,
    xlabel: str = "arm",
    ylabel: str = "worth of a decision",
    title: str = "",
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw worth over arms: the average group, a band for most groups, and the groups as dots.

    A group's observed worth is a circle left of the arm; the worth after it was pulled towards the
    curve is a dot right of it. A line connects the two.

    Args:
        positions: numeric values of the arms, such as prices; None for arms without numbers.
        labels: names of the arms, in order.
        worth: worth of each arm in the average group, shape (n_arms,).
        bounds: lower and upper ends of the band, shape (n_arms, 2).
        cells: worth in the groups. The size of a dot grows with the root of the count.
        xlabel: what arms are, with their unit.
        ylabel: what worth is, with its unit.
        title: above the picture.
        axes: axes to draw into; a new figure by default.

    >>> cells = WorthCells(np.array([[1.0, np.nan]]), np.array([[0.9, 1.1]]), np.array([[9.0, 0]]))
    >>> figure = group_worth_figure(np.array([2.0, 3.0]), ["2", "3"], np.array([0.8, 1.0]),
    ...                             np.array([[0.7, 0.9], [0.8, 1.2]]), cells, ylabel="profit, €")
    >>> figure.axes[0].get_ylabel()
    'profit, €'
    """
    x = np.arange(len(labels), dtype=np.float64) if positions is None else positions
    rising = np.argsort(x, kind="stable")
    apart = 0.12 * float(np.diff(x[rising]).min()) if x.size > 1 else 0.1
    drawn = _spread(np.nan_to_num(cells.counts.sum(axis=1)), MAX_GROUPS)
    group, arm = np.nonzero(cells.counts[drawn] > 0)
    group = drawn[group]
    observed, pulled = cells.observed[group, arm], cells.pulled[group, arm]
    number = np.sqrt(cells.counts[group, arm])
    sizes = 5.0 + 26.0 * number / max(float(number.max(initial=1.0)), 1.0)
    with _place(axes) as (figure, panel):
        panel.fill_between(
            x[rising], *bounds[rising].T, color=PALETTE[0], alpha=0.18, linewidth=0,
            label="four of five groups",
        )  # fmt: skip
        style = "-" if positions is not None else ""
        panel.plot(
            x[rising], worth[rising], style, marker="o", markersize=5, color=PALETTE[0],
            label="the average group", zorder=4,
        )  # fmt: skip
        left, right = x[arm] - apart, x[arm] + apart
        ends = np.stack([np.stack([left, observed], -1), np.stack([right, pulled], -1)], axis=1)
        panel.add_collection(_segments(ends))
        panel.scatter(
            left, observed, s=sizes, facecolor="none", edgecolor=PALETTE[1], linewidths=0.8,
            label="a group: observed", zorder=3,
        )  # fmt: skip
        panel.scatter(
            right, pulled, s=sizes, color=[PALETTE[1]], linewidths=0, alpha=0.7,
            label="a group: pulled to the curve", zorder=3,
        )  # fmt: skip
        best = int(np.argmax(worth))
        panel.axvline(x[best], color=INK, linewidth=1.0, linestyle=(0, (3, 2)), label="best")
        if positions is None or len(labels) <= _MAX_LEGEND_ENTRIES:
            panel.set_xticks(x, labels)
        panel.set(xlabel=xlabel, ylabel=ylabel)
        panel.set_title(title, fontsize=FONT_SIZE, loc="left")
        # A few rewards may average far from everything else; they leave the picture.
        shown = [bounds.ravel(), pulled, np.quantile(observed, [0.02, 0.98])]
        low, high = (float(side) for side in (min(map(np.min, shown)), max(map(np.max, shown))))
        panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        _legend_below(panel, 2)
        return figure


def _segments(ends: FloatArray) -> "LineCollection":
    from matplotlib.collections import LineCollection

    return LineCollection(list(ends), colors=QUIET, linewidths=0.5, alpha=0.5, zorder=2)


def group_intervals_figure(
    names: Sequence[str],
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    best: IntArray,
    labels: Sequence[str],
    *,
    xlabel: str = "parameter θ: share of groups below",
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw the groups' parameters with intervals, in ascending order, coloured by best arm.

    Args:
        names: names of the groups.
        low: lower ends of the intervals, shape (n_groups,).
        middle: estimates of the parameters, shape (n_groups,).
        high: upper ends of the intervals, shape (n_groups,).
        best: index of the best arm of each group.
        labels: names of the arms.
        xlabel: label of the parameter.
        axes: axes to draw into; a new figure by default.

    >>> figure = group_intervals_figure(["x", "y"], [0.1, 0.3], [0.2, 0.5], [0.4, 0.9],
    ...                                 np.array([1, 0]), ["a", "b"])
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['x', 'y']
    """
    middles = np.asarray(middle, np.float64)
    lows, highs = np.asarray(low, np.float64), np.asarray(high, np.float64)
    order = _spread(middles, MAX_GROUPS)
    height = np.arange(order.size)
    with _place(axes) as (figure, panel):
        panel.set(xlabel=xlabel, ylabel="group")
        for arm, style in enumerate(line_styles(len(labels))):
            chosen = best[order] == arm
            if not chosen.any():
                continue
            rows = order[chosen]
            panel.hlines(height[chosen], lows[rows], highs[rows], color=style.color, linewidth=1.0)
            panel.plot(
                middles[rows], height[chosen], "o", color=style.color, markersize=3.2,
                label=labels[arm],
            )  # fmt: skip
        named = order.size <= _MAX_NAMES
        panel.set_yticks(height if named else [])
        if named:
            panel.set_yticklabels([names[row] for row in order], fontsize=FONT_SIZE - 3.5)
        elif order.size < middles.size:
            panel.set_title(f"{order.size} of {middles.size:,} groups", fontsize=FONT_SIZE)
        panel.grid(visible=False, axis="y")
        _legend_below(panel, len(labels), "best arm")
        return figure


def group_regret_figure(
    lines: Sequence[Line],
    marks: dict[str, float],
    *,
    ylabel: str = "regret in a new group",
    axes: "Axes | None" = None,
) -> "Figure":
    """Draw regret over rounds with bands, and a mark at the break-even of each line.

    Args:
        lines: regret over numbers of rounds, one line per policy.
        marks: break-evens by the label of the line: the number of rounds from which on the policy
            loses more than a policy that learns every arm separately.
        ylabel: label of the regret.
        axes: axes to draw into; a new figure by default.

    >>> figure = group_regret_figure([Line("WAGP", [1, 10, 100], [1, 2, 9])], {"WAGP": 10})
    >>> figure.axes[0].get_xscale()
    'log'
    """
    with _place(axes) as (figure, panel):
        panel.set(xlabel="rounds", ylabel=ylabel, xscale="log")
        panel.margins(x=0.0)
        for line, style in zip(lines, draw_lines(panel, lines), strict=True):
            x, y = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
            if line.label in marks:
                at = marks[line.label]
                panel.plot(
                    [at], [np.interp(at, x, y)], "D", color=style.color, markersize=6,
                    markeredgecolor=INK, markeredgewidth=0.8, zorder=5, clip_on=False,
                )  # fmt: skip
        panel.set_ylim(0.0, _top(lines))
        if marks:
            panel.plot(
                [], [], "D", color="white", markeredgecolor=INK, markersize=6, label="break-even"
            )
        _legend_below(panel, 2)
        return figure


def _top(lines: Sequence[Line]) -> float:
    """Return the upper limit of the axis: a few times the least regret, at least the reference."""
    ends = [float(np.asarray(line.y)[-1]) for line in lines]
    known = [end for line, end in zip(lines, ends, strict=True) if line.reference and end > 0.0]
    top = min(max(ends), max(_MAX_REGRET_RATIO * min(ends), min(known, default=0.0)))
    return 1.05 * top if top > 0.0 else 1.0


@contextmanager
def _place(axes: "Axes | None") -> "Iterator[tuple[Figure, Axes]]":
    """Return a new figure in our style, or the given axes."""
    if axes is not None:
        yield axes.figure, axes  # type: ignore[misc]
        return
    with styled():
        yield new_figure(_WIDTH_INCHES, _HEIGHT_INCHES)


def _spread(values: FloatArray, most: int) -> IntArray:
    """Return the indices of at most ``most`` evenly spread values, in ascending order of value."""
    order = np.argsort(values, kind="stable")
    kept = np.unique(np.linspace(0, order.size - 1, min(order.size, most)).round().astype(np.int64))
    return np.asarray(order[kept])


def _legend_below(axes: "Axes", n_entries: int, title: str | None = None) -> None:
    """Add a legend below the axes."""
    handles, labels = axes.get_legend_handles_labels()
    if n_entries > _MAX_LEGEND_ENTRIES:
        # Colours form a ramp, so its ends and its middle are enough to show the order.
        shown = sorted({0, len(handles) // 2, len(handles) - 1})
        handles, labels = [handles[i] for i in shown], [labels[i] for i in shown]
    longest = max((len(label) for label in labels), default=0)
    axes.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.16),
        ncols=max(1, min(n_entries, 4, _LEGEND_ROW_CHARACTERS // (5 + longest))) if title else 2,
        title=title, fontsize=FONT_SIZE - 1.5, title_fontsize=FONT_SIZE - 1.5, handlelength=2.4,
        labelcolor=INK, columnspacing=1.2, edgecolor=QUIET,
    )  # fmt: skip
