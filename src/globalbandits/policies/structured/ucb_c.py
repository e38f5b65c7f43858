"""UCB-C (Gupta, Chaudhari, Mukherjee, Joshi and Yagan 2020): UCB among competitive arms."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import find_cell
from globalbandits.policies.base import Rules, register
from globalbandits.policies.shared.noise_variance import LEARNED
from globalbandits.policies.shared.worth import choose_largest, worth_within
from globalbandits.policies.structured import confidence
from globalbandits.policies.structured.confidence import (
    ConfidenceSetPolicy,
    Setup,
    explain,
    is_empty,
)
from globalbandits.policies.structured.confidence import estimate as estimate_parameter
from globalbandits.policies.structured.confidence import rebuild as rebuild_set
from globalbandits.policies.structured.confidence import update as update_set
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
    """The largest index among competitive arms; arms without a reward tie at infinity."""
    return choose_largest(state.indices, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Narrow the set, and score the arms."""
    update_set(setup, stats, state.allowed, arm, reward)
    score(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """The set and the indices from counts and sums."""
    rebuild_set(setup, stats, state.allowed)
    score(setup, stats, state)


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """UCB indices of the arms that are best somewhere in the set, -inf for the others.

    All arms compete when the set is empty. An arm that was never played has an infinite index.
    """
    everyone = is_empty(state.allowed)
    for part in range(0, state.reach.shape[0], 2):
        low, high = state.allowed.parts[part], state.allowed.parts[part + 1]
        state.reach[part], state.reach[part + 1] = 1, 0
        if low <= high:
            state.reach[part] = find_cell(setup.tables.envelope, low)
            state.reach[part + 1] = find_cell(setup.tables.envelope, high)
    root = math.sqrt(setup.factor * math.log(stats.total[0] + 1))
    for arm in range(setup.tables.n_arms):
        if not everyone and not competes(setup, state, arm):
            state.indices[arm] = -math.inf
        elif stats.counts[arm] == 0:
            state.indices[arm] = math.inf
        else:
            mean, width = state.allowed.means[arm], root * state.allowed.widths[arm]
            state.indices[arm] = worth_within(setup.tables, arm, mean - width, mean + width)


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
    """The middle of the confidence set; nan without a reward, or when the set is empty."""
    return estimate_parameter(setup, stats, state.allowed)


@register("ucb_c")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBC(ConfidenceSetPolicy):
    """UCB, restricted to the arms that are best for some parameter the rewards allow.

    With ``r_k = sqrt(2 * alpha * variance * log(t) / N_k)`` the confidence set is ``{theta:
    |mu_k(theta) - mean_k| <= r_k for all k}``; among the arms that are best somewhere in it
    (all arms when it is empty) the one with the largest ``mean_k + r_k`` is played (Gupta and
    others 2020, Algorithm 1). Arms best somewhere are read off the envelope, not off a grid.
    Value: any. The set is that of what is observed, and the index is as for `UCB1`.

    By default the variance is learned: each arm's v_k from its own rewards, and from five that
    all arms together tell. Then ``r_k = sqrt(n * v_k / N_k * (t^(2 * alpha / n) - 1))`` with
    ``n = 4 + N_k``, which is the radius above once N_k is large, and much wider before. For
    ``alpha = 1`` that is the index of Cowan, Honda and Katehakis (2018), whose n is ``N_k - 2``.
    The paper's own constants, ``alpha=3, variance=0.25``, cost several times as much regret.

    Args:
        alpha: how wide the set and the bonus are; positive. That the paper's proof takes
            alpha > 3 is from memory.
        variance: "learned", or the variance of a reward on the unit scale; 1/4 covers every
            reward in [0, 1].

    >>> UCBC(variance=0.0625).label
    'UCBC(variance=0.0625)'
    """

    alpha: float = 1.0
    variance: float | str = LEARNED

    rules = Rules(init, select, update, estimate, rebuild)
    log_factor = 2.0

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The confidence set and how many arms compete."""
        competing = int(np.sum(state.indices > -np.inf))
        return f"largest index of {competing} competitive arms: {explain(state.allowed)}"
