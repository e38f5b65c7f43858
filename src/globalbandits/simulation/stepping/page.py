"""The page of a watched run: its data, its style and its script in one file."""

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import pages
from globalbandits.plots.labels import printed_label

if TYPE_CHECKING:
    from globalbandits._types import FloatArray
    from globalbandits.model import RewardModel
    from globalbandits.simulation.stepping.watching import Watch

CURVE_POINTS = 121
MAX_CURVES = 40  # more could not be told apart


def page(watched: "Watch") -> str:
    """The whole page."""
    script = files(__package__).joinpath("watch.js").read_text("utf-8")
    last = [
        [name, _text(watched.estimates[number, -1]), _text(watched.regrets[number, -1])]
        for number, name in enumerate(watched.names)
    ]
    return pages.fill_page(
        __package__,
        "watch.html",
        title=str(watched),
        # Escaped, so that no text can end the script element.
        data=json.dumps(data(watched), allow_nan=False).replace("<", "\\u003c"),
        script=script,
        table=pages.table(["policy", "estimate", "regret"], last),
    )


def data(watched: "Watch") -> dict[str, Any]:
    """All that the script draws, as plain values: nan is None, numbers have five digits."""
    model: RewardModel = watched.env.model
    thetas = np.linspace(*model.domain, CURVE_POINTS)
    worth = model.worth(thetas)
    drawn = np.unique(np.linspace(0, model.n_arms - 1, min(model.n_arms, MAX_CURVES)).astype(int))
    return {
        "domain": list(model.domain),
        "arms": [printed_label(arm) for arm in model.arms],
        "thetas": _plain(thetas),
        "curves": [{"arm": int(arm), "worth": _plain(worth[:, arm])} for arm in drawn],
        "worthLabel": "worth of a decision" if model.valued else "mean reward",
        "regions": [[region.arm, region.low, region.high] for region in model.regions],
        "truth": _plain(watched.thetas),
        "policies": [
            {
                "name": printed_label(name),
                "arms": watched.arms[number].tolist(),
                "rewards": _plain(watched.rewards[number]),
                "estimates": _plain(watched.estimates[number]),
                "lows": _plain(watched.lows[number]),
                "highs": _plain(watched.highs[number]),
                "regrets": _plain(watched.regrets[number]),
            }
            for number, name in enumerate(watched.names)
        ],
    }


def _plain(values: "FloatArray") -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def _text(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"
