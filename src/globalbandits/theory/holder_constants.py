"""The Hölder constants of Assumption 1, which all bounds use."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import ModelError, ScenarioError
from globalbandits.model import RewardModel


class Constants(NamedTuple):
    """Hölder constants for rewards in [0, 1] and a parameter in [0, 1], as the proofs assume.

    A bound computed from them is multiplied by `value_length` or `worth_length` (regret), or by
    `domain_length` (errors of the estimate), so that every result is in the units of the model.
    Without a value function, `reward_length`, `worth_length` and `value_length` are equal.
    """

    n_arms: int  # K
    inverse_constant: float  # D1bar
    inverse_exponent: float  # g1bar
    constant: float  # D2
    exponent: float  # g2
    domain_length: float
    reward_length: float
    worth_length: float  # the largest regret of one decision
    value_length: float  # Lipschitz constant of the value function times reward_length

    @property
    def informativeness(self) -> float:
        """The paper's gamma, g1bar * g2."""
        return self.inverse_exponent * self.exponent

    @property
    def one_step(self) -> float:
        """``2 D1bar**g2 D2 (pi/2)**(gamma/2) K**(gamma/2)`` of Theorem 2, for unit rewards."""
        gamma = self.informativeness
        lipschitz = 2.0 * self.inverse_constant**self.exponent * self.constant
        return float(lipschitz * (0.5 * math.pi * self.n_arms) ** (0.5 * gamma))


def constants(model: RewardModel) -> Constants:
    """The constants of a model, rescaled to the unit interval in parameter and reward.

    The paper combines the smallest exponent with the largest constant, which is valid only for
    distances of at most 1. So the domain is mapped to [0, 1] first.

    Args:
        model: The analysed reward model.

    >>> from globalbandits.model import RewardModel
    >>> wide = RewardModel(lambda theta, arm: arm * theta / 20, [1, 2], domain=(0, 10))
    >>> found = constants(wide)
    >>> round(found.inverse_constant, 6), round(found.constant, 6), found.domain_length
    (2.0, 1.0, 10.0)
    """
    slope = model.worth_lipschitz
    rule = "have a Lipschitz constant in the mean for regret to be bounded"
    require(math.isfinite(slope), "value", rule, slope, ModelError)
    holder = model.unit_holder
    low, high = model.domain
    length = high - low
    reward_length = float(model.reward_range[1] - model.reward_range[0])
    upper = np.asarray(holder.upper_constant) * length ** np.asarray(holder.upper_exponent)
    return Constants(
        n_arms=model.n_arms,
        inverse_constant=float(holder.inverse_constant) / length,
        inverse_exponent=float(holder.inverse_exponent),
        constant=float(np.max(upper)),
        exponent=float(holder.exponent),
        domain_length=float(length),
        reward_length=reward_length,
        worth_length=float(model.worth_range[1] - model.worth_range[0]),
        value_length=slope * reward_length,
    )


def as_times(times: ArrayLike) -> FloatArray:
    """Times as an array of floats, checked to be at least 1.

    >>> as_times([1, 10]).tolist()
    [1.0, 10.0]
    """
    array = np.asarray(times, dtype=np.float64)
    require(bool(np.all(array >= 1.0)), "times", "be at least 1", times, ScenarioError)
    return array
