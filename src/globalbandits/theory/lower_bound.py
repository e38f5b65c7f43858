"""Theorem 6: a lower bound on regret, from two parameters that are hard to distinguish.

The arms have means ``theta**g`` and ``1 - theta**g`` and Bernoulli rewards. The two parameters lie
at ``distance`` on either side of ``2**(-1/g)``, where the curves cross. Every observation, of
either arm, carries the same information, so the bound holds for every policy.

The constants in the paper have errors: the factor 1/2 of the two-point inequality is missing, D2
is printed instead of its square, the higher terms of A1 have the wrong sign and lack a factor 2,
and an integral from 0 replaces the sum over t. For g = 3 and short horizons the printed bound
exceeds the regret of a policy that always plays one arm. `LowerBoundInstance.bound` is the same
argument with exact gaps and exact information. `LowerBoundInstance.printed_bound` is the paper's
formula.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel
from globalbandits.theory.holder_constants import as_times


@dataclasses.dataclass(frozen=True, kw_only=True)
class LowerBoundInstance:
    """A model and two parameters; every policy has regret at one of them."""

    model: RewardModel
    exponent: int  # the paper's gamma, odd
    distance: float  # Delta
    thetas: tuple[float, float]  # below and above the crossing

    def bound(self, times: ArrayLike) -> FloatArray:
        """A lower bound on the sum of any policy's regrets at T under the two parameters.

        The bound is ``min(gap) * (1/2) * sum_{t<T} exp(-t kl)``. Decision t + 1 follows t
        observations, and ``kl`` is the Kullback-Leibler divergence of one observation. The
        larger of the two regrets is at least half the bound. Rewards must be Bernoulli.

        Args:
            times: T, a number or an array, at least 1.
        """
        below, above = (theta**self.exponent for theta in self.thetas)
        gap = min(1.0 - 2.0 * below, 2.0 * above - 1.0)
        information = below * math.log(below / above)
        information += (1.0 - below) * math.log((1.0 - below) / (1.0 - above))
        decay = np.expm1(-as_times(times) * information) / math.expm1(-information)
        return np.asarray(0.5 * gap * decay)

    def printed_bound(self, times: ArrayLike) -> FloatArray:
        """``A1 A2 / (4 D2 distance**2)`` as printed in the paper, errors included.

        Args:
            times: T, a number or an array, at least 1.
        """
        g, distance = self.exponent, self.distance
        crossing = 2.0 ** (-1.0 / g)
        a1 = 2.0 * g * 2.0 ** ((1.0 - g) / g) * distance + sum(
            math.comb(g, i) * crossing ** (g - i) * (-distance) ** i for i in range(2, g + 1)
        )
        d2 = float(g)  # the largest slope of theta**g on [0, 1]
        variance = self.thetas[0] ** g * (1.0 - self.thetas[0] ** g)
        a2 = -np.expm1(-4.0 * (d2 * distance) ** 2 * as_times(times) / variance) * variance
        return np.asarray(a1 * a2 / (4.0 * d2 * distance**2))


def lower_bound_instance(*, exponent: int = 1, distance: float) -> LowerBoundInstance:
    """The two-armed instance of Theorem 6, for simulations with Bernoulli rewards.

    Use ``distance = 1 / sqrt(T)`` for the worst case at horizon T: the bound is then of order
    ``sqrt(T)``. For a fixed distance it stays bounded in T.

    Args:
        exponent: g, an odd positive integer.
        distance: Delta, the distance of the two parameters from the crossing.

    >>> found = lower_bound_instance(exponent=1, distance=0.1)
    >>> found.thetas, found.model.n_arms
    ((0.4, 0.6), 2)
    >>> [round(value, 4) for value in found.bound([1, 100, 10_000]).tolist()]
    [0.1, 1.2834, 1.2838]
    """
    g = as_integer("exponent", exponent, 1, ScenarioError)
    require(g % 2 == 1, "exponent", "be odd", exponent, ScenarioError)
    delta = as_float("distance", distance, ScenarioError)
    crossing = 2.0 ** (-1.0 / g)
    room = min(crossing, 1.0 - crossing)
    rule = f"lie strictly between 0 and {room:.6g}, the room around the crossing"
    require(0.0 < delta < room, "distance", rule, distance, ScenarioError)
    model = RewardModel.from_functions([lambda theta: theta**g, lambda theta: 1.0 - theta**g])
    return LowerBoundInstance(
        model=model, exponent=g, distance=delta, thetas=(crossing - delta, crossing + delta)
    )
