"""Evidence over time: the interval, the e-value against the model, and the contenders."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from globalbandits.plots.style import INK, PALETTE, fitting, new_picture, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MAX_NAMES = 16  # arms named on the axis
_ELIMINATED_COLOR = "#b5b5b5"
_CONTENDERS_TITLE = "arms that can still be best (green: to the end)"
_MAX_LOG10_E = 12.0  # larger e-values are drawn at this value


def evidence_figure(
    times: ArrayLike,
    *,
    low: ArrayLike,
    high: ArrayLike,
    log_e_values: ArrayLike,
    contenders: ArrayLike,
    arms: Sequence[str],
    confidence: float = 0.95,
    domain: tuple[float, float] | None = None,
    truth: ArrayLike | None = None,
    title: str = "",
    xlabel: str = "observations",
) -> "Figure":
    """Draw three panels over time: interval, e-value with its threshold, and contenders.

    Args:
        times: times of the statements, shape (n,), increasing.
        low: lower ends of the interval, shape (n,).
        high: upper ends of the interval, shape (n,).
        log_e_values: natural logarithms of the e-values against the model, shape (n,).
        contenders: nonzero if an arm can be best, shape (n, n_arms).
        arms: names of the arms.
        confidence: the confidence of interval and contenders; the threshold is
            1 / (1 - confidence).
        domain: domain of the parameter, for the axis.
        truth: the true parameter if it is known, one number or shape (n,).
        title: a line above the figure.
        xlabel: label of the times.

    >>> figure = evidence_figure([1, 10, 100], low=[0, 0.2, 0.3], high=[1, 0.8, 0.5],
    ...     log_e_values=[0, 0.1, -0.2], contenders=[[1, 1], [1, 1], [0, 1]], arms=["a", "b"])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['theta', 'e-value', 'arm']
    """
    moments = np.asarray(times, dtype=np.float64)
    with styled():
        figure = new_picture(fitting(7.2), 6.6)
        panels = figure.subplots(3, 1, sharex=True, height_ratios=[3, 2, 3])
        figure.suptitle(title, x=0.01, horizontalalignment="left")
        _draw_interval(panels[0], moments, low, high, confidence, truth)
        if domain is not None:
            panels[0].set_ylim(*domain)
        _draw_e_values(panels[1], moments, np.asarray(log_e_values, dtype=np.float64), confidence)
        _draw_contenders(panels[2], moments, np.asarray(contenders), arms)
        refuted = np.flatnonzero(np.asarray(log_e_values) >= -math.log(1.0 - confidence))
        if refuted.size:
            for axes in panels:
                axes.axvline(moments[refuted[0]], color=PALETTE[1], linewidth=1.0, linestyle=":")
            title = f"{_CONTENDERS_TITLE}; after the dotted line without the model"
            panels[2].set_title(title, fontsize=9.5)
        panels[2].set_xlabel(xlabel)
        panels[2].set_xscale("log" if moments[-1] >= 20.0 * moments[0] else "linear")
        panels[2].set_xlim(*_around(moments))
        return figure


def _around(moments: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of the axis, with a margin for a single time."""
    first, last = float(moments[0]), float(moments[-1])
    return (first, last) if last > first else (0.5 * first, 2.0 * last)


def _draw_interval(
    axes: "Axes",
    moments: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    confidence: float,
    truth: ArrayLike | None,
) -> None:
    label = f"interval, {confidence:.0%} at all times at once"
    axes.fill_between(moments, low, high, color=PALETTE[0], alpha=0.25, linewidth=0.0, label=label)
    for end in (low, high):
        axes.plot(moments, end, color=PALETTE[0], linewidth=1.2, marker=".", markersize=4)
    if truth is not None:
        line = np.broadcast_to(np.asarray(truth, dtype=np.float64), np.shape(moments))
        axes.plot(moments, line, color=INK, linewidth=1.0, linestyle="--", label="truth")
    axes.set_ylabel("theta")
    axes.legend(loc="upper right")


def _draw_e_values(
    axes: "Axes", moments: ArrayLike, log_e_values: ArrayLike, confidence: float
) -> None:
    powers = np.clip(np.asarray(log_e_values) / math.log(10.0), -1.0, _MAX_LOG10_E)
    threshold = 1.0 / (1.0 - confidence)
    axes.plot(moments, 10.0**powers, color=PALETTE[1], marker=".", markersize=4, label="e-value")
    label = f"refuted above {threshold:.3g}"
    axes.axhline(threshold, color=INK, linewidth=1.0, linestyle="--", label=label)
    axes.set_yscale("log")
    axes.set_ylim(0.1, max(200.0 * threshold, 3.0 * 10.0 ** float(powers.max())))
    axes.set_ylabel("e-value")
    axes.legend(loc="upper left")


def _draw_contenders(
    axes: "Axes",
    moments: NDArray[np.float64],
    contenders: ArrayLike,
    arms: Sequence[str],
) -> None:
    """Draw a bar for every arm while it can be best. Contenders at the end are green."""
    is_contender = np.asarray(contenders) != 0
    edges = np.append(moments, _around(moments)[1])
    for arm in range(len(arms)):
        color = PALETTE[2] if is_contender[-1, arm] else _ELIMINATED_COLOR
        bars = [(edges[i], edges[i + 1] - edges[i]) for i in np.flatnonzero(is_contender[:, arm])]
        axes.broken_barh(bars, (arm - 0.4, 0.8), facecolors=color, linewidth=0.0)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_ylabel("arm")
    step = -(-len(arms) // _MAX_NAMES)
    axes.set_yticks(range(0, len(arms), step), arms[::step])
    axes.grid(visible=False, axis="y")
    axes.set_title(_CONTENDERS_TITLE, fontsize=9.5)
