"""The figures of a fit."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits.fitting.candidates import ALONE, ELASTIC, STUBBORN
from globalbandits.fitting.groups import arm_means
from globalbandits.plots import (
    Cells,
    Line,
    group_curves_figure,
    group_intervals_figure,
    group_regret_figure,
)
from globalbandits.plots.labels import short_label
from globalbandits.plots.style import new_row, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalbandits.fitting.result import Fit

_SHARE = "θ: share of groups below"
_OWN = "parameter θ"
_NAME = 32  # characters of a policy's name


def draw_curves(fit: "Fit", axes: "Axes | None" = None) -> "Figure":
    """Curves, bias bands, and the groups' means, pulled to the curves where rewards are few."""
    low, high = fit.panel.reward_range
    width = high - low
    cells = Cells(
        fit.groups["theta"].to_numpy(),
        low + width * arm_means(fit.panel, fit.fitted, fit.posteriors),
        fit.panel.counts,
    )
    return group_curves_figure(
        fit.curves.theta,
        low + width * fit.curves.means,
        fit.bias,
        cells,
        _labels(fit),
        xlabel=_theta(fit),
        ylabel="mean reward",
        limits=fit.panel.reward_range,
        axes=axes,
    )


def draw_groups(fit: "Fit", axes: "Axes | None" = None) -> "Figure":
    """The groups' theta with 90 % intervals, coloured by the best arm."""
    rows = fit.groups
    return group_intervals_figure(
        [short_label(name) for name in rows.index],
        rows["low"],
        rows["theta"],
        rows["high"],
        np.array([fit.offered.index(arm) for arm in rows["best"]]),
        _labels(fit),
        xlabel=_theta(fit),
        axes=axes,
    )


def draw_regret(fit: "Fit", axes: "Axes | None" = None) -> "Figure":
    """Regret in a new group over rounds, with break-even marks; bands are 95 % intervals."""
    forecast = fit.forecast
    lines = []
    for name, means in forecast.means.items():
        half = 1.96 * forecast.errors[name]
        lines.append(
            Line(
                short_label(name, _NAME),
                forecast.times,
                means,
                means - half,
                means + half,
                reference=name in (ALONE, forecast.fixed),
            )
        )
    users = [name for name in (ELASTIC, *STUBBORN, forecast.fixed) if name in forecast.means]
    found = {short_label(name, _NAME): forecast.break_even(name) for name in users}
    marks = {name: float(rounds) for name, rounds in found.items() if rounds is not None}
    return group_regret_figure(lines, marks, axes=axes)


def draw_all(fit: "Fit") -> "Figure":
    """Curves, groups and, where it was simulated, regret beside each other."""
    draws = [draw_curves, draw_groups] + ([draw_regret] if fit.prospects is not None else [])
    with styled():
        figure, panels = new_row(5.4 * len(draws), 4.2, len(draws))
        for draw, axes in zip(draws, panels, strict=True):
            draw(fit, axes)
    return figure


def _labels(fit: "Fit") -> list[str]:
    return [short_label(arm) for arm in fit.offered]


def _theta(fit: "Fit") -> str:
    return _SHARE if fit.given_model is None else _OWN
