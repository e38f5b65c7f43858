"""Shares of arms as bars, and one number per row with its interval."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalbandits.plots.style import INK, PALETTE, legend_beside, new_figure, new_picture, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def share_figure(
    shares: Mapping[str, ArrayLike],
    arms: Sequence[str],
    *,
    best: Sequence[int] = (),
    xlabel: str = "arm",
    ylabel: str = "% of rounds",
    title: str = "",
) -> "Figure":
    """Draw the share of rounds of each arm, one panel per policy; the best arms are darker.

    Args:
        shares: policy to shares of shape (n_arms,), each between 0 and 1.
        arms: names of the arms, in order.
        best: indices of the best arms.
        xlabel: label of the arms.
        ylabel: label of the shares, in percent.
        title: a line above the figure.

    >>> figure = share_figure({"WAGP": [0.1, 0.9], "UCB1": [0.4, 0.6]}, ["a", "b"], best=[1])
    >>> len(figure.axes)
    2
    """
    with styled():
        figure = new_picture(max(4.5, 0.55 * len(arms) + 1.2), 1.35 * len(shares) + 0.7)
        panels = np.atleast_1d(figure.subplots(len(shares), 1, sharex=True, sharey=True))
        figure.suptitle(title, x=0.01, horizontalalignment="left")
        colors = [PALETTE[0] if arm in best else "#a9c9de" for arm in range(len(arms))]
        for axes, (policy, values) in zip(panels, shares.items(), strict=True):
            percent = 100.0 * np.asarray(values, dtype=np.float64)
            bars = axes.bar(range(len(arms)), percent, color=colors, edgecolor=INK, linewidth=0.4)
            axes.bar_label(bars, [_percent(value) for value in percent], padding=1.5, fontsize=7.5)
            axes.set_ylim(0.0, 118.0)
            axes.set_yticks([0, 50, 100])
            axes.set_ylabel(ylabel)
            axes.set_title(policy, fontsize=9.5)
            axes.grid(visible=False, axis="x")
        panels[-1].set_xticks(range(len(arms)), arms)
        panels[-1].set_xlabel(xlabel + (" (dark: best)" if len(best) else ""))
        return figure


def interval_figure(
    labels: Sequence[str],
    values: ArrayLike,
    *,
    low: ArrayLike,
    high: ArrayLike,
    xlabel: str,
    title: str = "",
    references: Mapping[int, float] | None = None,
    references_label: str = "paper",
    log_x: bool = False,
) -> "Figure":
    """Draw one number per row as a dot with its interval, and a reference number if known.

    Bars would be misleading, because a bar has no meaningful length on a logarithmic axis.

    Args:
        labels: names of the rows, top to bottom.
        values: the numbers, shape (n_rows,).
        low: lower ends of the intervals, shape (n_rows,).
        high: upper ends of the intervals, shape (n_rows,).
        xlabel: label of the numbers, with their unit.
        title: a line above the figure.
        references: reference numbers by the index of the row.
        references_label: source of the reference numbers.
        log_x: whether the axis is logarithmic.

    >>> figure = interval_figure(["WAGP", "UCB1"], [1.3, 167.0], low=[1.2, 166.0],
    ...                          high=[1.4, 168.0], xlabel="regret", references={1: 165.0})
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['WAGP', 'UCB1']
    """
    printed = references or {}
    with styled():
        figure, axes = new_figure(6.4, 0.42 * len(labels) + 1.1)
        axes.set_title(title)
        axes.set_xscale("log" if log_x else "linear")
        places = np.arange(len(labels))
        center = np.asarray(values, dtype=np.float64)
        errors = np.stack([center - np.asarray(low), np.asarray(high) - center])
        axes.errorbar(
            center, places, xerr=errors, fmt="o", color=PALETTE[0], markersize=5, capsize=3
        )
        axes.plot(
            list(printed.values()),
            [row + 0.24 for row in printed],
            linestyle="none",
            marker="D",
            markersize=5,
            markerfacecolor="white",
            markeredgecolor=PALETTE[1],
            label=references_label,
        )
        if printed:
            legend_beside(axes)
        axes.set_yticks(places, labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlabel(xlabel)
        axes.tick_params(axis="y", length=0)
        return figure


def _percent(value: float) -> str:
    """Return a short text for a share in percent.

    >>> _percent(81.7), _percent(0.34), _percent(0.004), _percent(0.0)
    ('82', '0.3', '<0.1', '0')
    """
    if value == 0.0:
        return "0"
    if value < 0.1:
        return "<0.1"
    return f"{value:.1f}" if value < 10.0 else f"{value:.0f}"
