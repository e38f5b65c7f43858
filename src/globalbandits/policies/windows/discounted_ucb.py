"""Discounted UCB (Kocsis and Szepesvari 2006, Garivier and Moulines 2011)."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_fraction, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import NOT_PLAYED, no_estimate
from globalbandits.policies.shared.worth import choose_bound_offered, choose_by_worth
from globalbandits.statistics import Statistics

# A smaller weight counts as none; it would soon underflow.
_MIN_WEIGHT = 1e-200

_RTOL = 1e-6  # relative rounding of numbers that should be equal


class Setup(NamedTuple):
    """The model's tables, the discount and the exploration constant."""

    tables: Tables
    discount: float
    xi: float


class State(NamedTuple):
    """Discounted statistics per arm."""

    weights: FloatArray  # (n_arms,) discounted number of rewards
    rewards: FloatArray  # (n_arms,) discounted sum of rewards
    means: FloatArray  # (n_arms,) rewards / weights, 0 before the first reward
    widths: FloatArray  # (n_arms,) 1 / sqrt(weights), 0 where there is no weight
    weight: FloatArray  # (1,) sum of the weights


def init(setup: Setup) -> State:
    """No reward yet."""
    n = setup.tables.n_arms
    return State(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(1))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Every arm once, the lowest first; then the largest upper bound."""
    for arm in range(setup.tables.n_arms):
        if state.widths[arm] == 0.0:
            return arm
    # The last reward counts in full, so the weight is at least 1 up to rounding.
    bonus = 2.0 * math.sqrt(setup.xi * math.log(max(1.0, state.weight[0])))
    return choose_by_worth(setup.tables, state.means, 0.0, state.widths, bonus, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """`select` among the offered arms."""
    for i in range(offered.shape[0]):
        if state.widths[offered[i]] == 0.0:
            return int(offered[i])
    bonus = 2.0 * math.sqrt(setup.xi * math.log(max(1.0, state.weight[0])))
    return choose_bound_offered(setup.tables, state.means, 0.0, state.widths, bonus, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Discount everything by one step, then count one reward."""
    slower = 1.0 / math.sqrt(setup.discount)
    state.weight[0] = setup.discount * state.weight[0] + 1.0
    for other in range(setup.tables.n_arms):
        state.weights[other] *= setup.discount
        state.rewards[other] *= setup.discount
        state.widths[other] *= slower
        if state.weights[other] < _MIN_WEIGHT:
            state.widths[other] = 0.0
    state.weights[arm] += 1.0
    state.rewards[arm] += reward
    state.means[arm] = state.rewards[arm] / state.weights[arm]
    state.widths[arm] = 1.0 / math.sqrt(state.weights[arm])


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether weights, rewards, means and widths agree with each other and with the counts."""
    weights, rewards = state.weights, state.rewards
    # 1 + discount + ... + discount**(n - 1), also exact for a discount close to 1.
    total = -math.expm1(stats.total[0] * math.log(setup.discount)) / (1.0 - setup.discount)
    if not np.allclose([state.weight[0], weights.sum()], total, rtol=_RTOL):
        return False
    slack = _RTOL * (1.0 + weights)
    if not np.all((weights >= 0.0) & (weights <= stats.counts + slack)):
        return False
    if not np.all((rewards >= 0.0) & (rewards <= weights + slack)):
        return False
    alive = weights >= _MIN_WEIGHT
    means, widths = np.zeros_like(weights), np.zeros_like(weights)
    np.divide(rewards, weights, out=means, where=alive)
    np.divide(1.0, np.sqrt(weights), out=widths, where=alive)
    return (
        np.array_equal(state.widths > 0.0, alive)
        and np.allclose(state.widths, widths, rtol=_RTOL)
        and np.allclose(state.means[alive], means[alive], rtol=_RTOL)
        and bool(np.all((state.means >= 0.0) & (state.means <= 1.0 + _RTOL)))
    )


@register("discounted_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class DiscountedUCB(Policy):
    """UCB in which a reward that is n steps old counts ``discount**n``, for means that change.

    With the discounted number of plays N_k, their sum n and the discounted mean, the index is
    ``mean_k + 2 * sqrt(xi * log(n) / N_k)`` (Garivier and Moulines 2011, D-UCB, with the bound
    B of the rewards equal to 1). Their theorem requires xi > 1/2; xi = 0.6 is from memory of
    their simulations and could not be checked. With c changes over a horizon T they suggest
    ``discount = 1 - sqrt(c / T) / 4``. Where means do not change it keeps
    exploring, and its regret is linear. The model's curves are not used. A learner can neither
    forget nor be merged: the discount depends on the order of rewards. Value: any, as for `UCB1`
    with this bonus.

    Args:
        discount: weight of a reward one step old, strictly between 0 and 1.
        xi: factor of the logarithm; positive.

    >>> DiscountedUCB(discount=0.999).label
    'DiscountedUCB(discount=0.999)'
    """

    discount: float = 0.99
    xi: float = 0.6

    rules = Rules(init, select, update, no_estimate, resume=resume, select_among=select_among)

    def __post_init__(self) -> None:
        """Check the discount and xi."""
        object.__setattr__(self, "discount", as_fraction("discount", self.discount, PolicyError))
        object.__setattr__(self, "xi", as_positive("xi", self.xi, PolicyError))

    def setup(self, model: RewardModel) -> Setup:
        """The model's tables and the constants."""
        return Setup(model.tables, self.discount, self.xi)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """An arm that must be played, or the largest index."""
        if np.any(state.widths == 0.0):
            return NOT_PLAYED
        return f"largest upper confidence bound on rewards discounted by {setup.discount:g}"
