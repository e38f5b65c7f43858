"""The uniform player: a floor for comparisons."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.indices import Setup, estimate
from globalbandits.policies.ucb1 import State, forget, init, refresh, update

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Any arm."""
    return int(rng.random() * setup.tables.n_arms)


@register("uniform")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Uniform(Policy):
    """Play every arm with the same probability, whatever the rewards.

    >>> Uniform().to_dict()
    {'policy': 'uniform'}
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """No reason at all."""
        return "any arm, at random"
