"""The figure of a model: mean curves, optimality regions, and one marked parameter.

If the model has a value function, a second panel shows the worth of decisions. Regions and the
marked parameter are then drawn by worth.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.plots.style import (
    FONT_SIZE,
    INK,
    QUIET,
    LineStyle,
    figure_of,
    line_styles,
    new_figure,
    new_row,
    place_legend,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_CURVES = 40  # of more curves, an evenly spread selection is drawn; the legend shows its size
MAX_LEGEND = 14  # entries
_MAX_EDGES = 40
_DASHED = (0, (3, 2))
_AXES_WIDTH_POINTS = 370.0  # approximate, to decide whether a label fits


class Band(NamedTuple):
    """An interval of the parameter and the arms that are best on it."""

    low: float
    high: float
    arms: tuple[int, ...]


class Mark(NamedTuple):
    """A parameter whose gap and distance are drawn.

    ``gap`` is nan if all arms are best. ``edge`` is the nearest parameter at which the best arms
    stop being best, nan if there is none.
    """

    theta: float
    best: float
    gap: float
    edge: float


def model_figure(
    theta: ArrayLike,
    means: ArrayLike,
    bands: Sequence[Band],
    labels: Sequence[str],
    *,
    worth: ArrayLike | None = None,
    mark: Mark | None = None,
    xlabel: str = "parameter θ",
    ylabel: str = "mean reward",
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw mean curves, their upper envelope, shaded optimality regions, and one parameter.

    With ``worth`` the figure has two panels: the means of the rewards, and the worth of decisions
    with its envelope and the marked parameter.

    Args:
        theta: parameters, increasing, shape (n,).
        means: means at these parameters, shape (n, n_arms).
        bands: optimality regions from left to right.
        labels: names of the arms, in order.
        worth: worth of decisions at these parameters, shape (n, n_arms).
        mark: the parameter at which gap and distance are drawn.
        xlabel: label of the parameter.
        ylabel: label of the means.
        title: a line above the figure.
        ax: axes to draw into; a new figure by default. With ``worth`` they get only that panel.

    >>> theta = np.linspace(0, 1, 101)
    >>> figure = model_figure(theta, np.stack([1 - theta, theta], axis=1),
    ...                       [Band(0, 0.5, (0,)), Band(0.5, 1, (1,))], ["down", "up"],
    ...                       mark=Mark(theta=0.3, best=0.7, gap=0.4, edge=0.5))
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['down', 'up']
    """
    x = np.asarray(theta, dtype=np.float64)
    y = np.asarray(means, dtype=np.float64)
    styles = line_styles(y.shape[1])
    with styled():
        if ax is not None:
            figure, decisive = figure_of(ax), ax
            if worth is not None:
                ylabel, y = "worth of a decision", np.asarray(worth, dtype=np.float64)
        elif worth is None:
            figure, decisive = new_figure(7.2, 4.4)
        else:
            figure, (observed, decisive) = new_row(12.6, 4.4, 2)
            _prepare(observed, x, bands, labels, styles, xlabel, ylabel)
            _draw_curves(observed, x, y, bands, labels, styles)
            if mark is not None:
                observed.axvline(mark.theta, color=INK, linewidth=1.0, linestyle=_DASHED, zorder=3)
            observed.set_title(title, pad=18)
            title, ylabel, y = "", "worth of a decision", np.asarray(worth, dtype=np.float64)
        _prepare(decisive, x, bands, labels, styles, xlabel, ylabel)
        decisive.set_title(title, pad=18)
        decisive.plot(x, y.max(axis=1), color="#c2c2c2", linewidth=6, label="best", zorder=1.5)
        _draw_curves(decisive, x, y, bands, labels, styles)
        if mark is not None:
            _draw_mark(decisive, mark, x, y)
        place_legend(decisive, ax)
        return figure


def _prepare(
    axes: "Axes",
    x: FloatArray,
    bands: Sequence[Band],
    labels: Sequence[str],
    styles: Sequence[LineStyle],
    xlabel: str,
    ylabel: str,
) -> None:
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(x[0], x[-1]))
    axes.grid(visible=False)
    _shade(axes, bands, labels, styles, x[-1] - x[0])


def _shade(
    axes: "Axes",
    bands: Sequence[Band],
    labels: Sequence[str],
    styles: Sequence[LineStyle],
    length: float,
) -> None:
    size = FONT_SIZE - 2.0
    for band in bands:
        color = styles[band.arms[0]].color
        axes.axvspan(band.low, band.high, color=color, alpha=0.13, linewidth=0, zorder=0)
        name = " = ".join(labels[arm] for arm in band.arms)
        room = (band.high - band.low) / length * _AXES_WIDTH_POINTS
        across = room > 0.65 * size * len(name)
        if across or room > size:
            axes.text(
                (band.low + band.high) / 2,
                1.015,
                name,
                transform=axes.get_xaxis_transform(),
                fontsize=size,
                rotation=0 if across else 90,
                horizontalalignment="center",
                verticalalignment="bottom",
            )
    for band in bands[1:] if len(bands) <= _MAX_EDGES else ():
        axes.axvline(band.low, color=QUIET, linewidth=0.6, zorder=0.5)


def _draw_curves(
    axes: "Axes",
    x: FloatArray,
    y: FloatArray,
    bands: Sequence[Band],
    labels: Sequence[str],
    styles: Sequence[LineStyle],
) -> None:
    n_arms = y.shape[1]
    drawn = np.unique(np.linspace(0, n_arms - 1, min(n_arms, MAX_CURVES)).astype(int))
    named = n_arms <= MAX_LEGEND
    dominated = set(range(n_arms)) - {arm for band in bands for arm in band.arms}
    for arm in drawn:
        label = labels[arm] + (" (never best)" if arm in dominated else "")
        axes.plot(
            x,
            y[:, arm],
            color=styles[arm].color,
            linestyle=styles[arm].dashes,
            linewidth=1.5 if named else 0.7,
            label=label if named else "_",
        )
    if not named:
        text = f"{len(drawn)} of {n_arms:,} arms" if len(drawn) < n_arms else f"{n_arms} arms"
        axes.plot([], [], color=styles[n_arms // 2].color, linewidth=0.7, label=text)


def _draw_mark(axes: "Axes", mark: Mark, x: FloatArray, y: FloatArray) -> None:
    bottom, top = axes.get_ylim()
    height = top - bottom
    # The distance and its text are drawn in a strip below the curves.
    axes.set_ylim(bottom - 0.12 * height, top + 0.04 * height)
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top])
    label = f"θ = {mark.theta:.4g}"
    axes.axvline(mark.theta, color=INK, linewidth=1.0, linestyle=_DASHED, zorder=3)
    axes.plot([mark.theta], [mark.best], "o", color=INK, markersize=4.5, zorder=5, label=label)
    if not math.isnan(mark.gap):
        _draw_gap(axes, mark, x, y, height)
    if not math.isnan(mark.edge):
        strip = bottom - 0.05 * height
        _span(axes, (mark.theta, strip), (mark.edge, strip))
        on_right = (mark.theta + mark.edge) / 2 < (x[0] + x[-1]) / 2
        end = max(mark.theta, mark.edge) if on_right else min(mark.theta, mark.edge)
        distance = abs(mark.edge - mark.theta)
        _write(axes, (end, strip), f"$\\Delta_{{\\min}}$ = {distance:.3g}", on_right)


def _draw_gap(axes: "Axes", mark: Mark, x: FloatArray, y: FloatArray, height: float) -> None:
    _span(axes, (mark.theta, mark.best - mark.gap), (mark.theta, mark.best))
    reach = 0.25 * (x[-1] - x[0])  # width of the text
    envelope = y.max(axis=1)
    tall = mark.gap > 0.06 * height
    if tall:
        on_right = mark.edge <= mark.theta  # away from the edge, where curves cross
    else:
        left, right = np.interp([mark.theta - reach, mark.theta + reach], x, envelope)
        on_right = bool(right <= left)
    on_right = mark.theta - reach < x[0] or (mark.theta + reach < x[-1] and on_right)
    level = mark.best - mark.gap / 2
    if not tall:
        # The gap is too small for a text next to it, so the text is above the envelope.
        beside = (x - mark.theta if on_right else mark.theta - x) / reach
        clear = envelope[(beside >= 0.0) & (beside <= 1.0)].max(initial=mark.best)
        level = min(clear + 0.05 * height, axes.get_ylim()[1] - 0.05 * height)
    _write(axes, (mark.theta, level), f"$\\delta_{{\\min}}$ = {mark.gap:.3g}", on_right)


def _span(axes: "Axes", start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a line between two points with a bar at each end, visible even if very short."""
    arrow = {"arrowstyle": "|-|, widthA=0.25, widthB=0.25", "color": INK, "linewidth": 1.3}
    axes.annotate("", start, end, arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0}, zorder=4)


def _write(axes: "Axes", place: tuple[float, float], text: str, on_right: bool) -> None:
    axes.annotate(
        text,
        place,
        xytext=(6 if on_right else -6, 0),
        textcoords="offset points",
        horizontalalignment="left" if on_right else "right",
        verticalalignment="center",
        zorder=6,
        bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.2},
    )
