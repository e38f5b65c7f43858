"""Theorem 7: regret bounds for BUW, the policy that follows UCB1 first and WAGP later."""

import math

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.model import RewardModel
from globalbandits.theory.holder_constants import as_times, constants
from globalbandits.theory.wagp_bounds import bounded_time


def buw_regret(model: RewardModel, theta: float, times: ArrayLike) -> FloatArray:
    """Theorem 7, one parameter: a bound on BUW's cumulative regret at T.

    The bound is ``8 sum_k log(T) / delta_k + K (1 + pi**2)`` until ``T = C2(Delta / 3)``, with
    the sum over suboptimal arms. After that it is its value at that time plus ``K pi**2``. It is
    in units of reward. The theorem assumes ``BUW(scale=1.0)``; its proof does not cover smaller
    scales.

    If the model has a value function with Lipschitz constant L, the index of an arm is the
    largest value over its interval of means. It exceeds the value by at most L times the width,
    so the sum gets the factor L**2 and the rest the length of the worth range.

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
    # Arms that tie with the best arm have no regret and are left out of the sum.
    wrong = np.setdiff1d(np.arange(model.n_arms), model.best_arms(theta))
    weight = 8.0 * float(np.sum(c.value_length**2 / gaps[wrong]))
    unlikely = 1.0 + math.pi**2 + np.where(t >= switch, math.pi**2, 0.0)
    return weight * np.log(np.minimum(t, switch)) + c.worth_length * c.n_arms * unlikely


def buw_switch_time(model: RewardModel, theta: float) -> float:
    """``C2(Delta / 3)``: the time from which BUW follows WAGP with high probability.

    Args:
        model: The analysed reward model.
        theta: The true parameter.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> buw_switch_time(pair, 0.75)
    4894.0
    """
    return float(bounded_time(model, model.suboptimality_distance(theta) / 3.0))


def buw_worst_case_regret(model: RewardModel, times: ArrayLike) -> FloatArray:
    """Theorem 7, every parameter: a bound on BUW's cumulative regret at T.

    The bound is ``9 sqrt(K T log T) + K (1 + 2 pi**2)``, in units of reward. The paper gives
    only the order, and its last step has an error: the gap to insert is ``sqrt(K log T / T)``,
    not ``1 / sqrt(T K log T)``. Arms with a smaller gap have regret at most T times that gap,
    the others at most the sum in `buw_regret`. The constant holds before and after the switch.
    With a value function, the root gets its Lipschitz constant as a factor, as in `buw_regret`.

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


def bayes_risk_growth(model: RewardModel, times: ArrayLike) -> FloatArray:
    """The growth of WAGP's Bayes risk in T: ``log T`` if gamma = 1, else ``T**(1 - gamma)``.

    The prior must have a bounded density, also where two arms tie and WAGP's regret is largest.
    The paper states the order without a constant, so compare only ratios of these numbers. A
    value function with a Lipschitz constant does not change the order; one without a Lipschitz
    constant raises `ModelError`.

    Args:
        model: The analysed reward model; gamma is its informativeness.
        times: T, a number or an array, at least 1.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in bayes_risk_growth(line, [10, 100]).tolist()]
    [2.303, 4.605]
    """
    t = as_times(times)
    constants(model)  # raises if the value function has no Lipschitz constant
    # An estimated exponent may differ from 1 in its last digits.
    if model.informativeness > 1.0 - 1e-9:
        return np.asarray(np.log(t))
    return np.asarray(t ** (1.0 - model.informativeness))
