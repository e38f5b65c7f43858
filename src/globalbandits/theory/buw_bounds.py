"""Theorem 7: bounds on BUW, the policy that follows UCB1 until it may trust WAGP."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.theory.holder_constants import (
    as_times,
    constants,
)
from globalbandits.theory.wagp_bounds import bounded_time

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def buw_regret(model: "RewardModel", theta: float, times: ArrayLike) -> FloatArray:
    """Theorem 7, one parameter: a bound on BUW's cumulative regret at T.

    ``8 sum_k log(T) / delta_k + K (1 + pi**2)`` over the suboptimal arms before
    ``C2(Delta / 3)``; from there on what that is then, and ``K pi**2`` more. The theorem
    speaks of ``BUW(scale=1.0)``; a smaller scale leaves its proof. In units of reward.

    Where a decision is worth a value of its mean, the index of an arm is the largest value in
    its interval of means, which exceeds the value itself by at most L times the width, L the
    value's Lipschitz constant: the sum gets the factor L**2, the rest the worth range's length.

    Args:
        model: The analysed reward model.
        theta: The true parameter.
        times: T, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> [round(value, 2) for value in buw_regret(pair, 0.75, [1, 1000, 10_000]).tolist()]
    [21.74, 132.26, 177.41]
    """
    c = constants(model)
    t = as_times(times)
    switch = buw_switch_time(model, theta)
    gaps = np.asarray(model.gaps(theta))
    # Arms that tie with the best one cost nothing and do not appear in the sum.
    wrong = np.setdiff1d(np.arange(model.n_arms), model.best_arms(theta))
    weight = 8.0 * float(np.sum(c.value_length**2 / gaps[wrong]))
    unlikely = 1.0 + math.pi**2 + np.where(t >= switch, math.pi**2, 0.0)
    return weight * np.log(np.minimum(t, switch)) + c.worth_length * c.n_arms * unlikely


def buw_switch_time(model: "RewardModel", theta: float) -> float:
    """``C2(Delta / 3)``: from here on BUW follows WAGP with high probability.

    Args:
        model: The analysed reward model.
        theta: The true parameter.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> buw_switch_time(pair, 0.75)
    4894.0
    """
    return float(bounded_time(model, model.suboptimality_distance(theta) / 3.0))


def buw_worst_case_regret(model: "RewardModel", times: ArrayLike) -> FloatArray:
    """Theorem 7, every parameter: a bound on BUW's cumulative regret at T.

    ``9 sqrt(K T log T) + K (1 + 2 pi**2)``. The paper prints the order only, and a slip in
    its last step: the gap to put in is ``sqrt(K log T / T)``, not ``1 / sqrt(T K log T)``.
    Arms with a smaller gap cost at most T times that, the others the sum in `buw_regret`;
    the constant covers both sides of the switch. In units of reward; with a value the root
    gets its Lipschitz constant as a factor, as in `buw_regret`.

    Args:
        model: The analysed reward model.
        times: T, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> round(buw_worst_case_regret(pair, 10_000).item(), 1)
    3904.2
    """
    c = constants(model)
    t = as_times(times)
    root = 9.0 * np.sqrt(c.n_arms * t * np.log(t))
    rest = c.n_arms * (1.0 + 2.0 * math.pi**2)
    return np.asarray(c.value_length * root + c.worth_length * rest)


def bayes_risk_growth(model: "RewardModel", times: ArrayLike) -> FloatArray:
    """The growth of WAGP's Bayes risk in T: ``log T`` if gamma = 1, else ``T**(1 - gamma)``.

    The prior must have a bounded density: it must not pile up where two arms tie, which is where
    WAGP loses most. The paper states the order and no constant, so compare only ratios of these
    numbers. A value with a Lipschitz constant does not change the order; without one it is refused.

    Args:
        model: The analysed reward model; gamma is its informativeness.
        times: T, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in bayes_risk_growth(line, [10, 100]).tolist()]
    [2.303, 4.605]
    """
    t = as_times(times)
    constants(model)  # refuses a value that no bound holds for
    # Estimated exponents may miss 1 in the last digits.
    if model.informativeness > 1.0 - 1e-9:
        return np.asarray(np.log(t))
    return np.asarray(t ** (1.0 - model.informativeness))
