"""`UCBC`: UCB among competitive arms (Gupta, Chaudhari, Mukherjee, Joshi and Yagan 2020)."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import find_cell
from globalbandits.policies.base import Rules, register
from globalbandits.policies.shared.index import first_unplayed_offered
from globalbandits.policies.shared.noise_variance import LEARNED
from globalbandits.policies.shared.worth import (
    choose_bound_offered,
    choose_largest,
    choose_offered,
    worth_within,
)
from globalbandits.policies.structured import confidence, several_confidence
from globalbandits.policies.structured.confidence import ConfidenceSetPolicy, Setup, is_empty
from globalbandits.policies.structured.confidence import estimate as estimate_parameter
from globalbandits.policies.structured.confidence import rebuild as rebuild_set
from globalbandits.policies.structured.confidence import update as update_set
from globalbandits.policies.structured.several_confidence import is_empty as is_empty_of_points
from globalbandits.policies.structured.several_confidence import (
    mark_competitive,
    root_of,
    several_numbers,
)
from globalbandits.statistics import Statistics, no_statistics


class State(NamedTuple):
    """The confidence set, and the indices of the next round."""

    allowed: confidence.State
    indices: FloatArray  # (n_arms,) -inf where an arm does not compete
    reach: IntArray  # (2 * n_pieces,) first and last cell of each part of the set; 1, 0 if empty


def init(setup: Setup) -> State:
    """No reward yet."""
    allowed = confidence.init(setup)
    state = State(allowed, np.zeros(setup.tables.n_arms), np.zeros(allowed.parts.size, np.int64))
    score(setup, no_statistics(setup.tables.n_arms), state)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest index. Competitive arms without a reward come first."""
    return choose_largest(state.indices, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest index; all of them compete if none is competitive."""
    best = choose_offered(state.indices, offered, rng)
    if state.indices[best] > -math.inf:
        return best
    means, widths = state.allowed.means, state.allowed.widths
    arm = first_unplayed_offered(stats, offered)
    if arm >= 0:
        return arm
    root = root_of(setup, stats)
    return choose_bound_offered(setup.tables, means, 0.0, widths, root, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the set and the indices."""
    update_set(setup, stats, state.allowed, arm, reward)
    score(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the set and the indices from counts and sums."""
    rebuild_set(setup, stats, state.allowed)
    score(setup, stats, state)


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute UCB indices of the arms that are best somewhere in the set; -inf for the others.

    All arms compete if the set is empty. A competitive arm without a reward has index infinity.
    """
    all_compete = is_empty(state.allowed)
    for part in range(0, state.reach.shape[0], 2):
        low, high = state.allowed.parts[part], state.allowed.parts[part + 1]
        state.reach[part], state.reach[part + 1] = 1, 0
        if low <= high:
            state.reach[part] = find_cell(setup.tables.envelope, low)
            state.reach[part + 1] = find_cell(setup.tables.envelope, high)
    root = root_of(setup, stats)
    for arm in range(setup.tables.n_arms):
        if not all_compete and not competes(setup, state, arm):
            state.indices[arm] = -math.inf
        else:
            state.indices[arm] = index_of(setup, stats, state, root, arm)


def index_of(setup: Any, stats: Statistics, state: Any, root: float, arm: int) -> float:
    """Return the UCB index of a competitive arm; infinity without a reward."""
    if stats.counts[arm] == 0:
        return math.inf
    mean, width = state.allowed.means[arm], root * state.allowed.widths[arm]
    return worth_within(setup.tables, arm, mean - width, mean + width)


def competes(setup: Setup, state: State, arm: int) -> bool:
    """Whether the arm is best somewhere in the set."""
    for part in range(0, state.reach.shape[0], 2):
        first, last = state.reach[part], state.reach[part + 1]
        if first <= last and is_best_within(setup, arm, first, last):
            return True
    return False


def is_best_within(setup: Setup, arm: int, first: int, last: int) -> bool:
    """Whether the arm is best in one of the cells first..last, by bisection over its cells."""
    low, high = setup.starts[arm], setup.starts[arm + 1]
    end = high
    while low < high:
        probe = (low + high) // 2
        if setup.cells[probe] < first:
            low = probe + 1
        else:
            high = probe
    return bool(low < end and setup.cells[low] <= last)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the middle of the confidence set; nan without a reward or for an empty set."""
    return estimate_parameter(setup, stats, state.allowed)


# The same with several unknown numbers. `select` and `select_among` are those above.


def score_several(setup: Any, stats: Statistics, state: several_confidence.State) -> None:
    """Compute UCB indices of the arms that are worth most at some plausible point."""
    all_compete = is_empty_of_points(state)
    competing = np.zeros(setup.tables.n_arms, np.int64)
    mark_competitive(setup, state, competing)
    root = root_of(setup, stats)
    for arm in range(setup.tables.n_arms):
        competes = all_compete or competing[arm] > 0
        state.indices[arm] = index_of(setup, stats, state, root, arm) if competes else -math.inf


@register("ucb_c")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBC(ConfidenceSetPolicy):
    """UCB among the arms that are best for some parameter in a confidence set.

    With ``r_k = sqrt(2 * alpha * variance * log(t) / N_k)`` the confidence set is ``{theta:
    |mu_k(theta) - mean_k| <= r_k for all k}``. Among the arms that are best somewhere in the set,
    or among all arms if it is empty, the one with the largest ``mean_k + r_k`` is played (Gupta
    and others 2020, Algorithm 1). The envelope gives these arms exactly, without a grid. With
    two unknown numbers they are those of points that follow the set.
    Value: any. The set uses the observed rewards, and the index is as for `UCB1`.

    By default the variance is learned: v_k is a weighted average of the variance of the arm's own
    rewards and an estimate from all arms, which has the weight of five rewards. Then
    ``r_k = sqrt(n * v_k / N_k * (t^(2 * alpha / n) - 1))`` with ``n = 4 + N_k``. This is the radius
    above for large N_k, and much wider for small N_k. For ``alpha = 1`` it is the index of Cowan,
    Honda and Katehakis (2018), whose n is ``N_k - 2``. The constants of Gupta and others,
    ``alpha=3, variance=0.25``, cost several times as much regret.

    Args:
        alpha: positive; larger values widen the set and the bonus. The theory requires more than 3
            (not compared with the paper's text).
        variance: "learned", or the variance of a reward on the unit scale; 1/4 covers every
            reward in [0, 1].

    >>> UCBC(variance=0.0625).label
    'UCBC(variance=0.0625)'
    """

    alpha: float = 1.0
    variance: float | str = LEARNED

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)
    several = several_numbers(score_several, select, select_among)
    log_factor = 2.0

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the confidence set and the number of competitive arms."""
        competing = int(np.sum(state.indices > -np.inf))
        return f"largest index of {competing} competitive arms: {self.explain_set(setup, state)}"
