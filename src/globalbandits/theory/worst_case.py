"""Bounds on WAGP that hold whatever the parameter is: Theorems 1, 2 and 3.

The proofs use Hoeffding's inequality given the counts of a policy that chooses adaptively, a
step the paper does not justify. The functions compute the bounds as printed (with g1bar where
Theorem 3 prints g1, and (pi/2) in brackets), and this caveat stays with all of them.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.theory.holder import as_times, constants

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def mean_squared_error(model: "RewardModel", times: ArrayLike) -> FloatArray:
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


def one_step_regret(model: "RewardModel", times: ArrayLike) -> FloatArray:
    """Theorem 2: a bound on the expected regret of WAGP's decision number t.

    ``2 D1bar**g2 D2 (pi/2)**(gamma/2) K**(gamma/2) (t - 1)**(-gamma/2)`` in units of reward:
    decision t rests on t - 1 observations. The first decision is random and can cost the
    whole reward range, which is the answer at t = 1. Where a decision is worth a value of its
    mean reward, the value's Lipschitz constant is one more factor, and the first decision can
    cost the whole worth range.

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


def worst_case_regret(model: "RewardModel", times: ArrayLike) -> FloatArray:
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


def worst_case_constants(model: "RewardModel") -> tuple[float, float]:
    """S1 and S2 of Theorems 3 and 4, in units of worth: regret is at most S1 + S2 T**(...).

    S2 has the Lipschitz constant of the value as a factor, which is 1 if there is no value.

    Args:
        model: The analysed reward model.

    >>> from globalbandits.model import RewardModel
    >>> line = RewardModel(lambda theta, arm: arm * theta, [0.5, 1.0])
    >>> [round(value, 3) for value in worst_case_constants(line)]
    [2.0, 14.18]
    """
    c = constants(model)
    return 2.0 * c.worth_length, c.value_length * c.one_step / (1.0 - 0.5 * c.informativeness)
