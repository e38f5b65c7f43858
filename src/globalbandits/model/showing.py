"""How a model looks: its curves and regions as a figure, and what a notebook shows of it."""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalbandits import pages
from globalbandits.model.decisions import Decisions
from globalbandits.plots.curves import Band, Mark, model_figure
from globalbandits.plots.labels import drawn_label, printed_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalbandits._types import FloatArray

_SHOWN = 20  # arms and regions in a notebook
_N_POINTS = 601


class Showing(Decisions):
    """The part of a reward model that draws and prints it."""

    @property
    @abstractmethod
    def valued(self) -> bool:
        """Whether a decision is worth something else than its mean reward."""

    @abstractmethod
    def means(self, theta: ArrayLike) -> "FloatArray":
        """Mean rewards of all arms at theta."""

    def plot(
        self, theta: float | None = None, *, title: str = "", ax: "Axes | None" = None
    ) -> "Figure":
        """The curves, and which arm is best where; at theta also gap and distance.

        If the model has a value, worth is drawn next to the means. In axes that you pass, only
        worth is drawn.

        Args:
            theta: a parameter to mark.
            title: a line above the figure.
            ax: axes to draw into; a new figure without them.
        """
        edges = [region.low for region in self.regions[:_N_POINTS]]
        # The edges belong to the grid, so that the envelope's corners are sharp.
        thetas = np.union1d(np.linspace(*self._domain, _N_POINTS), edges)
        return model_figure(
            thetas,
            self.means(thetas),
            [Band(region.low, region.high, region.arms) for region in self.regions],
            [drawn_label(arm) for arm in self._arms],
            worth=self.worth(thetas) if self.valued else None,
            mark=None if theta is None else self._mark(self._as_theta(theta)),
            title=drawn_label(title),
            ax=ax,
        )

    def nearest_edge(self, theta: float) -> float | None:
        """The nearest parameter at which the best arms of theta stop being best; None: nowhere."""
        distance = self.suboptimality_distance(theta)
        best = set(self.best_arms(theta))
        low, high = self._domain
        nudge = 1e-9 * (high - low)
        for edge in (theta - distance, theta + distance):
            sides = [side for side in (edge - nudge, edge + nudge) if low <= side <= high]
            if any(not set(self.best_arms(side)) & best for side in sides):
                return edge
        return None

    def _mark(self, theta: float) -> Mark:
        gap = self.suboptimality_gap(theta)
        edge = self.nearest_edge(theta)
        return Mark(
            theta=theta,
            best=float(self.worth(theta).max()),
            gap=gap if math.isfinite(gap) else math.nan,
            edge=math.nan if edge is None else edge,
        )

    def _repr_html_(self) -> str:
        """What decisions are worth over theta, and where which arm is best."""
        thetas = np.linspace(*self._domain, 121)
        edges = [region.low for region in self.regions[1:]]
        rows = [
            [
                " = ".join(printed_label(self._arms[arm]) for arm in region.arms),
                f"{region.low:.6g}",
                f"{region.high:.6g}",
            ]
            for region in self.regions[:_SHOWN]
        ]
        more = len(self.regions) - len(rows)
        picture = pages.curves(
            thetas, self.worth(thetas).T[:_SHOWN], edges[:_SHOWN], f"{self!r}: worth over theta"
        )
        return "".join(
            [
                pages.paragraph(repr(self), strong=True),
                picture,
                pages.table(["best arm", "from theta", "to theta"], rows),
                *([pages.paragraph(f"({more} more regions)")] if more else []),
            ]
        )
