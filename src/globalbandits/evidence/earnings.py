"""What was earned beyond always playing one arm, such as today's price, at all times at once."""

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.statements import Statement
from globalbandits.plots.labels import counted

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_POINTS = 1025  # thetas that are looked at before the extremes are refined


@dataclasses.dataclass(frozen=True, kw_only=True)
class Earnings(Statement):
    """What the decisions were worth beyond the same number of decisions for one arm.

    By the means, not by the luck of single rewards: the sum over decisions of the worth of the
    arm played less that of the baseline, at the least refuted theta (``amount``), and the
    smallest and largest such sum over the interval of theta.
    """

    baseline: Any  # the arm's user-facing value
    amount: float
    low: float
    high: float
    confidence: float
    n_observations: int

    @property
    def per_decision(self) -> float:
        """The amount, divided by the number of decisions; nan without any."""
        return self.amount / self.n_observations if self.n_observations else math.nan

    def __str__(self) -> str:
        decisions = counted(self.n_observations, "decision")
        if math.isnan(self.low):
            return f"nothing can be said of {decisions}: the model is refuted"
        return (
            f"{self.amount:+.6g} against always {self.baseline!r} over {decisions}: between "
            f"{self.low:+.6g} and {self.high:+.6g} (confidence {self.confidence:g})"
        )

    def explain(self) -> str:
        """What the amount means and assumes."""
        return (
            f"{self}. It is what the arms played are worth at the least refuted parameter, less "
            "what the baseline would have been worth as often; the bounds are over all "
            "parameters that are not excluded. It holds at all times at once if the model's "
            "curves are right and do not move."
        )


def earned(
    model: "RewardModel", counts: IntArray, theta: float, span: tuple[float, float], baseline: int
) -> tuple[float, float, float]:
    """The amount at theta, and its smallest and largest value over a span of theta.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel.from_functions([lambda t: t, lambda t: 1 - t])
    >>> [round(amount, 9) for amount in earned(model, np.array([0, 10]), 0.25, (0.2, 0.3), 0)]
    [5.0, 4.0, 6.0]
    """

    def extra(thetas: FloatArray) -> FloatArray:
        worth = model.worth(thetas)
        return np.asarray((worth - worth[..., [baseline]]) @ counts.astype(np.float64))

    low, high = extremes(extra, span)
    return float(extra(np.array([theta]))[0]), low, high


def worth_bounds(model: "RewardModel", span: tuple[float, float]) -> FloatArray:
    """Smallest and largest worth of every arm over a span of theta, shape (n_arms, 2)."""
    thetas = np.linspace(*span, _N_POINTS)
    worth = model.worth(thetas)
    return np.stack([worth.min(axis=0), worth.max(axis=0)], axis=1)


def extremes(
    function: Callable[[FloatArray], FloatArray], span: tuple[float, float]
) -> tuple[float, float]:
    """Smallest and largest value of a continuous function over an interval."""
    if math.isnan(span[0]):
        return math.nan, math.nan
    return -_largest(lambda x: -function(x), span), _largest(function, span)


def _largest(function: Callable[[FloatArray], FloatArray], span: tuple[float, float]) -> float:
    """By a grid that is laid anew, and finer, around its best point."""
    low, high = span
    best = -math.inf
    while True:
        points = np.linspace(low, high, _N_POINTS)
        values = function(points)
        top = int(values.argmax())
        best = max(best, float(values[top]))
        left, right = points[max(top - 1, 0)], points[min(top + 1, _N_POINTS - 1)]
        if right - left <= 1e-13 * max(span[1] - span[0], 1e-300) or (left, right) == (low, high):
            return best
        low, high = float(left), float(right)
