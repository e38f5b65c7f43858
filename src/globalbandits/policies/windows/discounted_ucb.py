"""Discounted UCB (Kocsis and Szepesvari 2006, Garivier and Moulines 2011)."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_fraction, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound
from globalbandits.policies.indices import estimate

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

# A weight that has decayed below this is as good as none, and would soon be zero.
_FORGOTTEN = 1e-200


class Setup(NamedTuple):
    """The model's tables, the discount and the exploration constant."""

    tables: Tables
    discount: float
    xi: float


class State(NamedTuple):
    """Discounted statistics per arm."""

    weights: FloatArray  # (n_arms,) discounted number of plays
    rewards: FloatArray  # (n_arms,) discounted sum of rewards
    means: FloatArray  # (n_arms,) rewards / weights, 0 where there is no weight
    widths: FloatArray  # (n_arms,) 1 / sqrt(weights), 0 where there is no weight
    weight: FloatArray  # (1,) sum of the weights
    total: IntArray  # (1,) number of observations


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        weights=np.zeros(n),
        rewards=np.zeros(n),
        means=np.zeros(n),
        widths=np.zeros(n),
        weight=np.zeros(1),
        total=np.zeros(1, np.int64),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Every arm once, the lowest first; then the largest upper bound."""
    for arm in range(setup.tables.n_arms):
        if state.widths[arm] == 0.0:
            return arm
    # The weight is at least 1 up to rounding, for the last play counts in full.
    bonus = 2.0 * math.sqrt(setup.xi * math.log(max(1.0, state.weight[0])))
    return choose_upper_bound(state.means, state.widths, bonus, rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Discount everything by one step, then count one reward."""
    slower = 1.0 / math.sqrt(setup.discount)
    state.weight[0] = setup.discount * state.weight[0] + 1.0
    state.total[0] += 1
    for other in range(setup.tables.n_arms):
        state.weights[other] *= setup.discount
        state.rewards[other] *= setup.discount
        state.widths[other] *= slower
        if state.weights[other] < _FORGOTTEN:
            state.widths[other] = 0.0
    state.weights[arm] += 1.0
    state.rewards[arm] += reward
    state.means[arm] = state.rewards[arm] / state.weights[arm]
    state.widths[arm] = 1.0 / math.sqrt(state.weights[arm])


@register("discounted_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class DiscountedUCB(Policy):
    """UCB in which a reward that is n steps old counts ``discount**n``, for means that change.

    With the discounted number of plays N_k, their sum n and the discounted mean, the index is
    ``mean_k + 2 * sqrt(xi * log(n) / N_k)`` (Garivier and Moulines 2011, D-UCB, with the bound
    B of the rewards equal to 1). Their theorem asks for xi > 1/2; xi = 0.6 is from memory of
    their simulations and could not be checked. With c changes over a horizon T they suggest
    ``discount = 1 - sqrt(c / T) / 4``. The model is not used. Observations cannot be taken back
    or merged: the discount needs their order.

    Args:
        discount: weight of a reward one step old, strictly between 0 and 1.
        xi: factor of the logarithm; positive.

    >>> DiscountedUCB(discount=0.999).label
    'DiscountedUCB(discount=0.999)'
    """

    discount: float = 0.99
    xi: float = 0.6

    rules = Rules(init, select, update, estimate)

    def __post_init__(self) -> None:
        """Check the discount and xi."""
        object.__setattr__(self, "discount", as_fraction("discount", self.discount, PolicyError))
        object.__setattr__(self, "xi", as_positive("xi", self.xi, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the constants."""
        return Setup(model.tables, self.discount, self.xi)

    def reason(self, setup: Setup, state: State) -> str:
        """An arm that must be played, or the largest index."""
        if np.any(state.widths == 0.0):
            return "not played yet: every arm once, the lowest first"
        return f"largest upper confidence bound on rewards discounted by {setup.discount:g}"
