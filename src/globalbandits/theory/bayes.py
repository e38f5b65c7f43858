"""How WAGP's regret grows when it is averaged over a prior on the parameter."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.theory.holder import as_times, constants

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


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
