"""Theorems 1 to 4: bounds on the estimation error and the regret of WAGP."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.model import RewardModel
from globalbandits.theory.holder_constants import as_times, constants

_E_REMAINDER = 1.4456468917292502e-16  # e - math.e
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
_NEWTON_STEPS = 6


def glog(x: ArrayLike) -> FloatArray:
    """The larger y with ``x = exp(y) / y``: the paper's glog, ``-W_{-1}(-1 / x)``.

    For x below e no real y exists and the result is nan. The result is accurate for every finite
    float from e on, and infinite for an infinite x.

    Args:
        x: Where to evaluate, a number or an array.

    >>> glog(math.e).item(), round(glog(10.0).item(), 6), round(glog(1e300).item(), 3)
    (1.0, 3.577152, 697.323)
    """
    at = np.asarray(x, dtype=np.float64)
    inside = np.where((at >= math.e) & (at < math.inf), at, math.e)
    # With u = y - 1 and excess = log(x) - 1 the equation is u - log(1 + u) = excess. The second
    # term of e avoids cancellation for x near e; the float e itself lies below e.
    excess = np.maximum(np.log1p((inside - math.e - _E_REMAINDER) / math.e), 0.0)
    # An upper bound on the root (Chatzigeorgiou 2013, Theorem 1). The left side is convex, so
    # Newton's method descends from there, to rounding after five steps for every float.
    u = np.maximum(np.sqrt(2.0 * excess) + excess, _SMALLEST_NORMAL)
    for _ in range(_NEWTON_STEPS):
        u = np.maximum(u - (u - np.log1p(u) - excess) * (1.0 + u) / u, _SMALLEST_NORMAL)
    y = np.where(at == math.inf, math.inf, 1.0 + u)
    return np.where(at >= math.e, y, math.nan)


def linear_beats_log(factor: ArrayLike) -> FloatArray:
    """The first integer from which ``t >= factor * log(t)`` holds for all larger t.

    This is ``ceil(A glog(A))`` for A = factor > 3 / log(3) = 2.7307. For smaller factors the
    inequality holds for every integer (for A > e it fails only strictly between 2 and 3) and the
    result is 1. The result is inf if it exceeds the largest float.

    Args:
        factor: A, a number or an array, not negative.

    >>> linear_beats_log(np.array([1.0, 2.73, 10.0, 1e307, math.inf])).tolist()
    [1.0, 1.0, 36.0, inf, inf]
    """
    a = np.asarray(factor, dtype=np.float64)
    large = np.maximum(a, math.e)
    with np.errstate(over="ignore"):
        root = np.ceil(large * glog(large))
    return np.where(a <= 3.0 / math.log(3.0), 1.0, root)


# Theorems 1, 2 and 3: bounds on WAGP that hold for every parameter.
#
# The proofs apply Hoeffding's inequality conditionally on the counts of an adaptive policy, a step
# that the paper does not justify. This caveat applies to all three bounds. The functions compute
# them as printed, with g1bar where Theorem 3 prints g1, and with (pi/2) in brackets.


def mean_squared_error(model: RewardModel, times: ArrayLike) -> FloatArray:
    """Theorem 1: a bound on the mean squared error of WAGP's estimate after t observations.

    ``2 K g1bar D1bar**2 Gamma(g1bar) t**(-g1bar)``, in squared units of the parameter.

    Args:
        model: The analysed reward model.
        times: t, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in mean_squared_error(line, [1, 100]).tolist()]
    [16.0, 0.16]
    """
    c = constants(model)
    factor = 2.0 * c.n_arms * c.inverse_constant**2 * math.gamma(1.0 + c.inverse_exponent)
    return factor * c.domain_length**2 * as_times(times) ** -c.inverse_exponent


def one_step_regret(model: RewardModel, times: ArrayLike) -> FloatArray:
    """Theorem 2: a bound on the expected regret of WAGP's decision number t.

    The bound is ``2 D1bar**g2 D2 (pi/2)**(gamma/2) K**(gamma/2) (t - 1)**(-gamma/2)`` in units of
    reward, because decision t uses t - 1 observations. The first decision is random, so the
    bound at t = 1 is the whole reward range. With a value function, its Lipschitz constant is a
    further factor, and the bound at t = 1 is the whole worth range.

    Args:
        model: The analysed reward model.
        times: t, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 4) for value in one_step_regret(line, [1, 2, 101]).tolist()]
    [1.0, 7.0898, 0.709]
    """
    c = constants(model)
    t = as_times(times)
    later = c.one_step * np.maximum(t - 1.0, 1.0) ** (-0.5 * c.informativeness)
    return np.where(t < 2.0, c.worth_length, c.value_length * later)


def worst_case_regret(model: RewardModel, times: ArrayLike) -> FloatArray:
    """Theorem 3: a bound on WAGP's cumulative regret at T, for every parameter.

    ``2 + S2 T**(1 - gamma/2)`` with ``S2 = 2 D1bar**g2 D2 (pi K / 2)**(gamma/2) /
    (1 - gamma/2)``, in units of reward.

    Args:
        model: The analysed reward model.
        times: T, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in worst_case_regret(line, [1, 10_000]).tolist()]
    [16.18, 1419.963]
    """
    c = constants(model)
    first, second = worst_case_constants(model)
    return first + second * as_times(times) ** (1.0 - 0.5 * c.informativeness)


def worst_case_constants(model: RewardModel) -> tuple[float, float]:
    """S1 and S2 of Theorems 3 and 4: regret is at most ``S1 + S2 T**(1 - gamma/2)``.

    Both are in units of worth. S2 has the Lipschitz constant of the value function as a factor,
    which is 1 without a value function.

    Args:
        model: The analysed reward model.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in worst_case_constants(line)]
    [2.0, 14.18]
    """
    c = constants(model)
    return 2.0 * c.worth_length, c.value_length * c.one_step / (1.0 - 0.5 * c.informativeness)


# Theorem 4: the time from which WAGP's regret stops growing.
#
# The paper defines its times as "the smallest integer tau with tau >= A log(tau)", which taken
# literally is 1. The code uses the largest root, after which the inequality holds for all times.
# The proof drops a factor 2K that the theorem's statement keeps; the code follows the statement.


def logarithmic_time(model: RewardModel, distance: ArrayLike) -> FloatArray:
    """C1: the time from which WAGP's regret grows at most logarithmically.

    ``ceil(A/2 glog(A/2))`` with ``A = (D1bar K / distance)**(2 / g1bar)``. It is 1 if
    A/2 < 2.73, and inf at distance 0 or beyond the largest float.

    Args:
        model: The analysed reward model.
        distance: Delta, the suboptimality distance, a number or an array.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> logarithmic_time(line, [1.0, 0.1, 0.0]).tolist()
    [27.0, 7094.0, inf]
    """
    return linear_beats_log(0.5 * _factor(model, distance))


def bounded_time(model: RewardModel, distance: ArrayLike) -> FloatArray:
    """C2: the time from which WAGP's further regret is bounded by a constant.

    ``ceil(A glog(A))`` with ``A = (D1bar K / distance)**(2 / g1bar)``. It is 1 if A < 2.73, and
    inf at distance 0 or beyond the largest float.

    Args:
        model: The analysed reward model.
        distance: Delta, the suboptimality distance, a number or an array.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> bounded_time(line, [1.0, 0.1, 0.0]).tolist()
    [68.0, 15431.0, inf]
    """
    return linear_beats_log(_factor(model, distance))


def _factor(model: RewardModel, distance: ArrayLike) -> FloatArray:
    c = constants(model)
    share = np.asarray(distance, dtype=np.float64) / c.domain_length
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((c.inverse_constant * c.n_arms / share) ** (2.0 / c.inverse_exponent))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regimes:
    """The three regimes of WAGP's regret at one parameter. Printing it explains them."""

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
    worth_length: float  # length of the worth range: the largest regret of one decision

    def bound(self, times: ArrayLike) -> FloatArray:
        """The bound on cumulative regret at T.

        Before C1 it is ``S1 + S2 T**(1 - gamma/2)``. From C1 to C2 it is its value at C1 plus
        ``1 + 2 K log(T / C1)``. From C2 on it is its value at C2 plus ``K pi**2 / 3``.

        Args:
            times: T, a number or an array, at least 1.
        """
        t = as_times(times)
        # Clipping the time freezes each regime's term where the next regime begins.
        early = self.offset + self.slope * np.minimum(t, self.logarithmic_from) ** self.power
        logs = np.log(np.maximum(np.minimum(t, self.bounded_from) / self.logarithmic_from, 1.0))
        middle = np.where(t >= self.logarithmic_from, 1.0 + 2.0 * self.n_arms * logs, 0.0)
        late = np.where(t >= self.bounded_from, self.n_arms * math.pi**2 / 3.0, 0.0)
        return early + self.worth_length * (middle + late)

    @property
    def limit(self) -> float:
        """The bound on regret over an infinite horizon; inf beyond the largest float."""
        if math.isinf(self.bounded_from):
            return math.inf
        return float(self.bound(self.bounded_from))

    def __str__(self) -> str:
        """The three regimes in words."""
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


def regimes(model: RewardModel, theta: float) -> Regimes:
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
