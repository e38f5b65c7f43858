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
    """Mean worth and number of the rewards of an arm, with an interval if there is one."""

    arm: int
    worth: float
    number: int
    low: float | None = None
    high: float | None = None


def worth_picture(
    positions: FloatArray | None,
    labels: Sequence[str],
    worth: FloatArray,
    bounds: FloatArray | None,
    seen: Sequence[Seen],
    *,
    baseline: int | None = None,
    title: str = "",
    subtitle: str = "",
    arm_name: str = "arm",
    currency: str = "",
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
        title: above the picture, before the best arm.
        subtitle: below the picture, after the name of the arms.
        arm_name: what arms are, such as "price".
        currency: the unit of worth, such as "€"; arms have it too if they are called prices.
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
        bars = [
            (one.arm, one.low, one.high)
            for one in seen
            if one.low is not None and one.high is not None
        ]
        if bars:
            axes.vlines(
                x[[arm for arm, _, _ in bars]],
                [low for _, low, _ in bars],
                [high for _, _, high in bars],
                color=PALETTE[1],
                linewidth=1.0,
                label="interval of the observed",
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
        unit = f" {currency}" if currency else ""
        heading = "the rewards refute the curve: do not follow it"
        if bounds is not None:
            best = int(np.argmax(worth))
            axes.axvline(x[best], color=INK, linewidth=1.0, linestyle=(0, (3, 2)), label="best")
            heading = f"best: {labels[best]}, worth {worth[best]:.4g}{unit} a decision"
            if baseline is not None:
                heading += f", {worth[best] - worth[baseline]:+.4g} against {labels[baseline]}"
        if baseline is not None:
            axes.axvline(x[baseline], color=QUIET, linewidth=1.0, linestyle=":", label="today")
        if positions is None or len(labels) <= _MAX_TICKS:
            axes.set_xticks(x, labels)
        priced = f", {currency}" if currency and "price" in arm_name.lower() else ""
        below = f" ({subtitle})" if subtitle else ""
        above = f", {currency}" if currency else ""
        axes.set(xlabel=f"{arm_name}{priced}{below}", ylabel=f"worth of a decision{above}")
        axes.set_title(f"{title}: {heading}" if title else heading)
        place_legend(axes, ax)
        return figure


def _draw_band(axes: "Axes", x: FloatArray, bounds: FloatArray, *, joined: bool) -> None:
    """Draw the intervals of the arms: a band if arms are numbers, otherwise vertical lines."""
    if joined:
        axes.fill_between(x, bounds[:, 0], bounds[:, 1], color=PALETTE[0], alpha=0.18, linewidth=0)
    axes.vlines(x, bounds[:, 0], bounds[:, 1], color=PALETTE[0], alpha=0.6, label="how sure")
