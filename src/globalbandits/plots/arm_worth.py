"""Worth over arms, with intervals and the best arm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.plots.style import INK, PALETTE, QUIET, axes_for, place_legend, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MAX_TICKS = 16


class Seen(NamedTuple):
    """Mean worth and number of the rewards of an arm."""

    arm: int
    worth: float
    number: int


def worth_picture(
    positions: FloatArray | None,
    labels: Sequence[str],
    worth: FloatArray,
    bounds: FloatArray | None,
    seen: Sequence[Seen],
    *,
    baseline: int | None = None,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw worth over arms: the model's curve with its band, observations, and the best arm.

    Args:
        positions: numeric values of the arms, such as prices; None for arms without numbers.
        labels: names of the arms, in order.
        worth: worth of each arm at the estimate, shape (n_arms,).
        bounds: smallest and largest worth of each arm, shape (n_arms, 2); None if the curve is
            refuted. Then no arm is marked as best.
        seen: worth of the observed rewards. More rewards give larger dots.
        baseline: index of the arm to compare with.
        title: a line above the picture.
        ax: axes to draw into; a new figure by default.

    >>> figure = worth_picture(np.array([2.0, 3.0]), ["2", "3"], np.array([1.0, 1.2]),
    ...                        np.array([[0.9, 1.1], [1.0, 1.3]]), [Seen(1, 1.25, 40)], baseline=0)
    >>> figure.axes[0].get_title("left")
    'best: 3, worth 1.2 a decision, +0.2 against 2'
    """
    x = np.arange(len(labels), dtype=np.float64) if positions is None else positions
    rising = np.argsort(x, kind="stable")  # the curve runs left to right for arms in any order
    with styled():
        figure, axes = axes_for(ax, 8.6, 4.2)
        if bounds is not None:
            _draw_band(axes, x[rising], bounds[rising], joined=positions is not None)
        style = "-" if positions is not None else ""
        axes.plot(
            x[rising],
            worth[rising],
            style,
            marker="o",
            color=PALETTE[0],
            markersize=4,
            label="by the curve",
        )
        if seen:
            counts = np.array([one.number for one in seen], dtype=np.float64)
            axes.scatter(
                x[[one.arm for one in seen]],
                [one.worth for one in seen],
                s=12.0 + 110.0 * np.sqrt(counts / counts.max()),
                facecolor="none",
                edgecolor=PALETTE[1],
                linewidth=1.4,
                label="observed (larger: more often)",
                zorder=3,
            )
        heading = "the rewards refute the curve: do not follow it"
        if bounds is not None:
            best = int(np.argmax(worth))
            axes.axvline(x[best], color=INK, linewidth=1.0, linestyle=(0, (3, 2)), label="best")
            heading = f"best: {labels[best]}, worth {worth[best]:.4g} a decision"
            if baseline is not None:
                heading += f", {worth[best] - worth[baseline]:+.4g} against {labels[baseline]}"
        if baseline is not None:
            axes.axvline(x[baseline], color=QUIET, linewidth=1.0, linestyle=":", label="today")
        if positions is None or len(labels) <= _MAX_TICKS:
            axes.set_xticks(x, labels)
        axes.set(xlabel=f"arm ({title})" if title else "arm", ylabel="worth of a decision")
        axes.set_title(heading)
        place_legend(axes, ax)
        return figure


def _draw_band(axes: "Axes", x: FloatArray, bounds: FloatArray, *, joined: bool) -> None:
    """Draw the intervals of the arms: a band if arms are numbers, otherwise vertical lines."""
    if joined:
        axes.fill_between(x, bounds[:, 0], bounds[:, 1], color=PALETTE[0], alpha=0.18, linewidth=0)
    axes.vlines(x, bounds[:, 0], bounds[:, 1], color=PALETTE[0], alpha=0.6, label="how sure")
