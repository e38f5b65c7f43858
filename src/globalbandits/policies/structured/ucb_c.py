"""UCB-C (Gupta, Chaudhari, Mukherjee, Joshi and Yagan 2020): UCB among competitive arms."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts import confidence
from globalbandits.policies.parts.choice import choose_largest
from globalbandits.policies.parts.confidence import (
    Setup,
    State,
    build,
    estimate,
    explain,
    score_competitive,
)
from globalbandits.policies.parts.confidence import rebuild as rebuild_set
from globalbandits.policies.parts.confidence import update as update_set
from globalbandits.statistics import Statistics, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def init(setup: Setup) -> State:
    """No reward yet."""
    state = confidence.init(setup)
    score_competitive(setup, no_statistics(setup.tables.n_arms), state)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """The largest index among competitive arms; arms without a reward tie at infinity."""
    return choose_largest(state.indices, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Narrow the set, and score the arms."""
    update_set(setup, stats, state, arm, reward)
    score_competitive(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """The set and the indices from counts and sums."""
    rebuild_set(setup, stats, state)
    score_competitive(setup, stats, state)


@register("ucb_c")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBC(Policy):
    """UCB, restricted to the arms that are best for some parameter the rewards allow.

    With ``r_k = sqrt(2 * alpha * variance * log(t) / N_k)`` the confidence set is ``{theta:
    |mu_k(theta) - mean_k| <= r_k for all k}``; among the arms that are best somewhere in it
    (all arms when it is empty) the one with the largest ``mean_k + r_k`` is played (Gupta and
    others 2020, Algorithm 1). Arms best somewhere are read off the envelope, not off a grid.

    Args:
        alpha: how wide the set and the bonus are; positive. That the paper's proof takes
            alpha > 3 is from memory.
        variance: variance of a reward on the unit scale; 1/4 covers every reward in [0, 1].

    >>> UCBC(variance=0.0625).label
    'UCBC(variance=0.0625)'
    """

    alpha: float = 3.0
    variance: float = 0.25

    rules = Rules(init, select, update, estimate, rebuild)

    def __post_init__(self) -> None:
        """Check the two factors."""
        for name in ("alpha", "variance"):
            object.__setattr__(self, name, as_positive(name, getattr(self, name), PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the radius."""
        return build(model.tables, 2.0 * self.alpha * self.variance, self.variance)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The confidence set and how many arms compete."""
        competing = int(np.sum(state.indices > -np.inf))
        return f"largest index of {competing} competitive arms: {explain(state)}"
