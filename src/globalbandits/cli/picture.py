"""The figure of ``analyze``."""

import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.cli.facts import theta_facts
from globalbandits.model import RewardModel
from globalbandits.plots import Band, Mark, model_figure
from globalbandits.plots.labels import drawn_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_POINTS = 601


def draw_model(model: RewardModel, name: str, theta: float | None) -> "Figure":
    """Mean curves, envelope and regions; gap and distance at theta if one is given.

    Where the model has a value, what decisions are worth is drawn beside the means.
    """
    edges = [region.low for region in model.regions[:_N_POINTS]]
    # The edges belong to the grid, so that the envelope's corners are sharp.
    thetas = np.union1d(np.linspace(*model.domain, _N_POINTS), edges)
    mark = None
    if theta is not None:
        at = theta_facts(model, theta)
        mark = Mark(
            theta=theta,
            best=at["best_worth"],
            gap=math.nan if at["suboptimality_gap"] is None else at["suboptimality_gap"],
            edge=math.nan if at["nearest_edge"] is None else at["nearest_edge"],
        )
    return model_figure(
        thetas,
        model.means(thetas),
        [Band(region.low, region.high, region.arms) for region in model.regions],
        [drawn_label(arm) for arm in model.arms],
        worth=model.worth(thetas) if model.valued else None,
        mark=mark,
        title=drawn_label(name),
    )
