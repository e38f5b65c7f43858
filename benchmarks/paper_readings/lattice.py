"""Distances and decisions when parameters are rounded to a lattice of equal steps."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.tables import Envelope
from globalbandits.policies import WAGP

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def lattice(model: "RewardModel", step: float) -> FloatArray:
    """Return the domain in equal steps, both ends included."""
    low, high = model.domain
    return np.linspace(low, high, round((high - low) / step) + 1)


def lattice_distance(model: "RewardModel", theta: float, step: float) -> float:
    """Return the distance to the nearest lattice point with other best arms, or to an end.

    >>> from globalbandits.lab.paper.experiment_spec import load_model
    >>> round(lattice_distance(load_model("pricing"), 0.2, 0.01), 6)
    0.17
    """
    best = model.best_arms(theta)
    points = lattice(model, step)
    others = [point for point in points if model.best_arms(point) != best]
    return float(min(abs(point - theta) for point in [*others, *model.domain]))


def lattice_envelope(model: "RewardModel", step: float) -> Envelope:
    """Return the envelope of decisions at the nearest point of the lattice."""
    points = lattice(model, step)
    best = [model.best_arms(point) for point in points]
    changes = [i for i in range(len(points) - 1) if best[i] != best[i + 1]]
    edges = [points[0], *(0.5 * (points[i] + points[i + 1]) for i in changes), points[-1]]
    inside = [best[0], *(best[i + 1] for i in changes)]
    cells = [best[0]]
    for i, arms in enumerate(inside):
        after = inside[i + 1] if i + 1 < len(inside) else best[-1]
        cells += [arms, tuple(sorted({*arms, *after}))]
    return Envelope(
        breakpoints=np.array(edges, np.float64),
        starts=np.cumsum([0, *(len(arms) for arms in cells)]).astype(np.int64),
        arms=np.array([arm for arms in cells for arm in arms], np.int64),
        sub_low=np.full(len(cells), -math.inf),
        sub_high=np.full(len(cells), math.inf),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class LatticeWAGP(WAGP):
    """WAGP that plays the best arm at the lattice point nearest to its estimate."""

    step: float = 0.01

    def setup(self, model: "RewardModel") -> Any:
        """Return the model's tables with the decisions of the lattice."""
        base = super().setup(model)
        return base._replace(
            tables=base.tables._replace(envelope=lattice_envelope(model, self.step))
        )
