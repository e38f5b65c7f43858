"""`ExploreThenCommit`: play every arm equally often, then only the best one."""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import choose_largest, worth_of
from globalbandits.statistics import Statistics, are_part, count, no_statistics


class Setup(NamedTuple):
    """The model's tables and the plays of each arm."""

    tables: Tables
    plays: int


class State(NamedTuple):
    """The rewards of the exploration: the first ones of every arm."""

    explored: Statistics


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(no_statistics(setup.tables.n_arms))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the least explored arm, the lowest first; after the exploration the best one."""
    explored = state.explored
    if explored.total[0] >= setup.plays * setup.tables.n_arms:
        return choose_best(setup, explored, rng)
    arm = 0
    for other in range(1, setup.tables.n_arms):
        if explored.counts[other] < explored.counts[arm]:
            arm = other
    return arm


def choose_best(setup: Setup, explored: Statistics, rng: np.random.Generator) -> int:
    """Return the arm whose mean is worth most. Counts are equal, so sums rank the arms."""
    if not setup.tables.valued:
        return choose_largest(explored.sums, rng)
    worths = np.empty(setup.tables.n_arms)
    for arm in range(setup.tables.n_arms):
        worths[arm] = worth_of(setup.tables, arm, explored.sums[arm] / explored.counts[arm])
    return choose_largest(worths, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the least explored of the offered arms; once all are explored, the best of them."""
    explored = state.explored
    arm = int(offered[0])
    for i in range(1, offered.shape[0]):
        if explored.counts[offered[i]] < explored.counts[arm]:
            arm = int(offered[i])
    if explored.counts[arm] < setup.plays:
        return arm
    worths = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        mean = explored.sums[offered[i]] / setup.plays
        worths[i] = worth_of(setup.tables, offered[i], mean)
    return int(offered[choose_largest(worths, rng)])


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Count the reward if the arm is still being explored."""
    if state.explored.counts[arm] < setup.plays:
        count(state.explored, arm, reward)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether the explored rewards have the right counts and are among those observed."""
    n_explored = np.minimum(stats.counts, setup.plays)
    return np.array_equal(state.explored.counts, n_explored) and are_part(state.explored, stats)


@register("explore_then_commit")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExploreThenCommit(Policy):
    """Play every arm ``plays`` times in turn, then always the one with the best mean.

    See Lattimore and Szepesvari (2020), Algorithm 1. Arms that tie after the exploration are
    played at random. A wrong arm may win the exploration, and regret is then linear. So use more
    plays for a longer horizon. The model's curves are not used. A learner can neither forget nor
    be merged, because the order of rewards decides which of them belong to the exploration.
    Value: any; means are ranked by worth.

    Args:
        plays: the number of plays per arm in the exploration; at least 1.

    >>> ExploreThenCommit(plays=25).label
    'ExploreThenCommit(plays=25)'
    """

    plays: int = 10

    rules = Rules(init, select, update, no_estimate, resume=resume, select_among=select_among)

    def __post_init__(self) -> None:
        """Check the number of plays."""
        object.__setattr__(self, "plays", as_integer("plays", self.plays, 1, PolicyError))

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables and the number of plays."""
        return Setup(model.tables, self.plays)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Name the phase."""
        n_made, n_planned = int(state.explored.total[0]), setup.plays * setup.tables.n_arms
        if n_made < n_planned:
            return f"exploring: {n_made} of {n_planned} plays made"
        return "committed to the largest mean of the exploration"

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """Return the rewards of the exploration."""
        return state.explored
