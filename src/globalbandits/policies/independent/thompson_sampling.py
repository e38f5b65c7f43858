"""Thompson sampling with a Beta posterior per arm."""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.policies.base import Policy, State, register, stateless
from globalbandits.policies.parts.indices import Setup, no_estimate
from globalbandits.policies.parts.valuing import worth_of
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """The largest of one draw per arm from its Beta posterior."""
    best = 0
    largest = -math.inf
    for arm in range(setup.tables.n_arms):
        # Between 0 and N_k also where rounding says otherwise; 0 for nan.
        successes = 0.0
        if stats.sums[arm] > 0.0:
            successes = min(stats.sums[arm], float(stats.counts[arm]))
        mean = rng.beta(1.0 + successes, 1.0 + (stats.counts[arm] - successes))
        value = worth_of(setup.tables, arm, mean)
        if value > largest:
            best = arm
            largest = value
    return best


@register("thompson_sampling")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ThompsonSampling(Policy):
    """Play each arm as often as it is likely to be best, all arms learning for themselves.

    One draw per arm from ``Beta(1 + sum of rewards, 1 + N_k - sum of rewards)``; the largest is
    played. For rewards 0 and 1 this is Thompson's rule with a uniform prior (Thompson 1933,
    Agrawal and Goyal 2012). For other rewards in [0, 1] Agrawal and Goyal throw a coin that
    shows 1 with probability the reward; we count the reward itself, the coin's mean, so that
    learning draws no random number and can be replayed, merged and taken back. The model is
    not used. Value: any; draws are valued.

    >>> ThompsonSampling().to_dict()
    {'policy': 'thompson_sampling'}
    """

    rules = stateless(select, no_estimate)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """A draw."""
        return "largest of one draw per arm from its Beta posterior"
