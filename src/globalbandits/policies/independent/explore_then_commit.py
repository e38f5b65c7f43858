"""Explore-then-commit: try every arm equally often, then stay with the best."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_largest
from globalbandits.policies.indices import estimate

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables and the plays of each arm."""

    tables: Tables
    plays: int


class State(NamedTuple):
    """What the exploration has brought; later rewards are not kept."""

    counts: IntArray  # (n_arms,) plays of the exploration
    sums: FloatArray  # (n_arms,) their rewards
    total: IntArray  # (1,) number of plays of the exploration


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(np.zeros(n, np.int64), np.zeros(n), np.zeros(1, np.int64))


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The arm explored least, the lowest first; once all are explored, the largest sum."""
    if state.total[0] >= setup.plays * setup.tables.n_arms:
        return choose_largest(state.sums, rng)
    arm = 0
    for other in range(1, setup.tables.n_arms):
        if state.counts[other] < state.counts[arm]:
            arm = other
    return arm


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count the reward if the arm is still being explored."""
    if state.counts[arm] < setup.plays:
        state.counts[arm] += 1
        state.sums[arm] += reward
        state.total[0] += 1


@register("explore_then_commit")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExploreThenCommit(Policy):
    """Play every arm ``plays`` times in turn, then the one with the largest mean for ever.

    (Lattimore and Szepesvari 2020, Algorithm 1.) Arms that tie after the exploration share the
    rest at random. The model is not used.

    Args:
        plays: how often each arm is explored; at least 1.

    >>> ExploreThenCommit(plays=25).label
    'ExploreThenCommit(plays=25)'
    """

    plays: int = 10

    rules = Rules(init, select, update, estimate)

    def __post_init__(self) -> None:
        """Check the number of plays."""
        object.__setattr__(self, "plays", as_integer("plays", self.plays, 1, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the number of plays."""
        return Setup(model.tables, self.plays)

    def reason(self, setup: Setup, state: State) -> str:
        """The phase."""
        if state.total[0] < setup.plays * setup.tables.n_arms:
            return f"exploring: {state.total[0]} of {setup.plays * setup.tables.n_arms} plays made"
        return "committed to the largest mean of the exploration"
