"""`EpsilonGreedy`: the best mean so far, or a random arm with probability epsilon."""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_float, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import (
    NOT_PLAYED,
    Widths,
    first_unplayed,
    first_unplayed_offered,
    init_widths,
    no_estimate,
    rebuild_widths,
    update_widths,
)
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_bound_offered,
    choose_by_worth,
    choose_largest,
)
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables and the share of random plays."""

    tables: Tables
    epsilon: float


def select(setup: Setup, stats: Statistics, state: Widths, rng: np.random.Generator) -> int:
    """Return the lowest arm without a reward; then a random arm or the best one."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(stats)
    if rng.random() < setup.epsilon:
        return int(rng.random() * setup.tables.n_arms)
    if not setup.tables.valued:
        return choose_largest(state.means, rng)
    return choose_by_worth(setup.tables, state.means, 0.0, state.widths, 0.0, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: Widths,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the lowest offered arm without a reward; then a random one or the best one."""
    arm = first_unplayed_offered(stats, offered)
    if arm >= 0:
        return arm
    if rng.random() < setup.epsilon:
        return choose_any(offered, rng)
    return choose_bound_offered(setup.tables, state.means, 0.0, state.widths, 0.0, offered, rng)


@register("epsilon_greedy")
@dataclasses.dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Policy):
    """Play the arm with the best mean so far; with probability epsilon, a random arm.

    Every arm is played once first. The share of random plays does not fall with time, so regret
    is linear: a baseline for comparisons (Sutton and Barto 2018, section 2.2). The model's curves
    are not used. Value: any; means are ranked by worth.

    Args:
        epsilon: the probability of a random play, between 0 and 1.

    >>> EpsilonGreedy(epsilon=0.05).label
    'EpsilonGreedy(epsilon=0.05)'
    """

    epsilon: float = 0.1

    rules = Rules(
        init_widths,
        select,
        update_widths,
        no_estimate,
        rebuild_widths,
        select_among=select_among,
    )

    def __post_init__(self) -> None:
        """Check epsilon."""
        epsilon = as_float("epsilon", self.epsilon, PolicyError)
        require(0.0 <= epsilon <= 1.0, "epsilon", "lie in [0, 1]", self.epsilon, PolicyError)
        object.__setattr__(self, "epsilon", epsilon)

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables and epsilon."""
        return Setup(model.tables, self.epsilon)

    def reason(self, setup: Setup, stats: Statistics, state: Widths) -> str:
        """Name the next kind of play."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        return f"largest mean reward so far; any arm with probability {setup.epsilon:g}"
