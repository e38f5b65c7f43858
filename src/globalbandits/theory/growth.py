"""Theorem 4: when WAGP's regret stops growing.

The paper's times are "the smallest integer tau with tau >= A log(tau)", which read literally
is 1; meant is the largest root, from where on the inequality holds for good. The proof drops a
factor 2K that the theorem's statement keeps: the statement is computed.
"""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.theory.holder import as_times, constants
from globalbandits.theory.lambert import linear_beats_log
from globalbandits.theory.worst_case import worst_case_constants

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def logarithmic_time(model: "RewardModel", distance: ArrayLike) -> FloatArray:
    """C1: the time from which WAGP's regret grows at most logarithmically.

    ``ceil(A/2 glog(A/2))`` with ``A = (D1bar K / distance)**(2 / g1bar)``; 1 where A/2 < 2.73,
    inf at distance 0 and where the number exceeds a float.

    Args:
        model: The analysed reward model.
        distance: Delta, the suboptimality distance, a number or an array.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> logarithmic_time(line, [1.0, 0.1, 0.0]).tolist()
    [27.0, 7094.0, inf]
    """
    return linear_beats_log(0.5 * _factor(model, distance))


def bounded_time(model: "RewardModel", distance: ArrayLike) -> FloatArray:
    """C2: the time from which WAGP's further regret is bounded by a constant.

    ``ceil(A glog(A))`` with ``A = (D1bar K / distance)**(2 / g1bar)``; 1 where A < 2.73, inf at
    distance 0 and where the number exceeds a float.

    Args:
        model: The analysed reward model.
        distance: Delta, the suboptimality distance, a number or an array.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> bounded_time(line, [1.0, 0.1, 0.0]).tolist()
    [68.0, 15431.0, inf]
    """
    return linear_beats_log(_factor(model, distance))


def _factor(model: "RewardModel", distance: ArrayLike) -> FloatArray:
    c = constants(model)
    share = np.asarray(distance, dtype=np.float64) / c.domain_length
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((c.inverse_constant * c.n_arms / share) ** (2.0 / c.inverse_exponent))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regimes:
    """The three regimes of WAGP's regret at one parameter; printing it explains them."""

    theta: float
    best_arms: tuple[Any, ...]  # the arms' values: prices, doses, names
    n_arms: int
    distance: float  # Delta, in units of the parameter
    gap: float  # delta, in units of worth
    logarithmic_from: float  # C1
    bounded_from: float  # C2
    offset: float  # S1, in units of worth
    slope: float  # S2, in units of worth
    power: float  # 1 - gamma / 2
    worth_length: float  # of the worth range: the most one decision can cost

    def bound(self, times: ArrayLike) -> FloatArray:
        """The bound on cumulative regret at T: the regimes' bounds, one on top of the other.

        ``S1 + S2 T**(1 - gamma/2)`` before C1; from there on what that is at C1, and on top
        of it ``1 + 2 K log(T / C1)``; from C2 on what that is at C2, and ``K pi**2 / 3``.

        Args:
            times: T, a number or an array, at least 1.
        """
        t = as_times(times)
        # Clipping the time makes each earlier regime stop where the next one takes over.
        early = self.offset + self.slope * np.minimum(t, self.logarithmic_from) ** self.power
        logs = np.log(np.maximum(np.minimum(t, self.bounded_from) / self.logarithmic_from, 1.0))
        middle = np.where(t >= self.logarithmic_from, 1.0 + 2.0 * self.n_arms * logs, 0.0)
        late = np.where(t >= self.bounded_from, self.n_arms * math.pi**2 / 3.0, 0.0)
        return early + self.worth_length * (middle + late)

    @property
    def limit(self) -> float:
        """The bound on regret over an infinite horizon; inf where a float cannot hold it."""
        if math.isinf(self.bounded_from):
            return math.inf
        return float(self.bound(self.bounded_from))

    def __str__(self) -> str:
        """When regret stops growing, in words and numbers."""
        arms = " and ".join(f"arm {_name(arm)}" for arm in self.best_arms)
        unit = "" if self.worth_length == 1.0 else f"{self.worth_length:g} * "
        is_are = "are" if len(self.best_arms) > 1 else "is"
        lines = [
            f"At theta = {self.theta:g}, {arms} {is_are} best; the estimate may be off by "
            f"{self.distance:.4g} before another arm is played (Delta), and the cheapest "
            f"wrong arm costs {self.gap:.4g} a decision (delta).",
            f"Until t = {_number(self.logarithmic_from)} (C1) regret is at most "
            f"{self.offset:.4g} + {self.slope:.4g} * T**{self.power:.4g}.",
            f"From there to t = {_number(self.bounded_from)} (C2) it grows at most by "
            f"{unit}(1 + {2 * self.n_arms} * log(T / C1)).",
        ]
        if math.isinf(self.bounded_from):
            lines.append("C2 exceeds every float: the theorem names no time when regret stops.")
        else:
            rest = self.worth_length * self.n_arms * math.pi**2 / 3.0
            lines.append(
                f"After C2 it stops growing: at most {rest:.4g} more is ever lost, "
                f"and {self.limit:.4g} in all."
            )
        return "\n".join(lines)


def regimes(model: "RewardModel", theta: float) -> Regimes:
    """Theorem 4 at one parameter: the three regimes, their times and their constants.

    Args:
        model: The analysed reward model.
        theta: The true parameter.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> found = regimes(pair, 0.75)
    >>> found.logarithmic_from, found.bounded_from
    (164.0, 381.0)
    >>> print(found)
    At theta = 0.75, arm 0 is best; the estimate may be off by 0.25 before another arm is played
    (Delta), and the cheapest wrong arm costs 0.5 a decision (delta).
    Until t = 164 (C1) regret is at most 2 + 7.09 * T**0.5.
    From there to t = 381 (C2) it grows at most by (1 + 4 * log(T / C1)).
    After C2 it stops growing: at most 6.58 more is ever lost, and 103.7 in all.
    """
    c = constants(model)
    distance = float(model.suboptimality_distance(theta))
    offset, slope = worst_case_constants(model)
    return Regimes(
        theta=float(theta),
        best_arms=tuple(model.arms[arm] for arm in model.best_arms(theta)),
        n_arms=model.n_arms,
        distance=distance,
        gap=float(model.suboptimality_gap(theta)),
        logarithmic_from=float(logarithmic_time(model, distance)),
        bounded_from=float(bounded_time(model, distance)),
        offset=offset,
        slope=slope,
        power=1.0 - 0.5 * c.informativeness,
        worth_length=c.worth_length,
    )


def _name(arm: Any) -> str:
    return f"{arm:g}" if isinstance(arm, float) else str(arm)


def _number(value: float) -> str:
    return f"{value:.0f}" if value < 1e6 else f"{value:.3g}"
