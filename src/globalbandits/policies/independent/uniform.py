"""`Uniform`: a random arm in every round, as a baseline for comparisons."""

import dataclasses

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy, State, register, stateless
from globalbandits.policies.shared.index import Setup, no_estimate
from globalbandits.policies.shared.worth import choose_any
from globalbandits.statistics import Statistics


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return a random arm."""
    return int(rng.random() * setup.tables.n_arms)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return a random offered arm."""
    return choose_any(offered, rng)


@register("uniform")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Play every arm with the same probability, independently of the rewards.

    It never learns, so its regret is linear: a baseline for comparisons.

    >>> Uniform().to_dict()
    {'policy': 'uniform'}
    """

    rules = stateless(select, no_estimate, select_among)
    ignores_value = True

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that the arm is random."""
        return "any arm, at random"
