"""`UCB1` (Auer, Cesa-Bianchi and Fischer 2002): the largest upper confidence bound."""

import dataclasses
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
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
    ucb1_bonus,
    update_arm,
)
from globalbandits.policies.shared.worth import (
    choose_bound_offered,
    choose_by_worth,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics

_N_TABULATED = 2**14  # rewards


class Setup(NamedTuple):
    """The model's tables, and the parts of an index that depend on a number of rewards.

    The logarithm of the bonus would take a quarter of a step, and the root of the width a sixth.
    """

    tables: Tables
    bonuses: FloatArray  # (2**14,) `ucb1_bonus` after 0, 1, 2, ... rewards
    widths: FloatArray  # (2**14,) 1 / sqrt(N_k) after N_k = 0, 1, 2, ... rewards of an arm


@cache
def tabulated_bonuses() -> FloatArray:
    """Return UCB1's bonuses, for all learners of this process."""
    found = [0.0, *(math.sqrt(2.0 * math.log(n)) for n in range(1, _N_TABULATED))]
    return np.array(found)


@cache
def tabulated_widths() -> FloatArray:
    """Return UCB1's widths, for all learners of this process."""
    return np.array([0.0, *(1.0 / math.sqrt(n) for n in range(1, _N_TABULATED))])


def update(setup: Setup, stats: Statistics, state: Widths, arm: int, reward: float) -> None:
    """Do what `update_widths` does, with a tabulated width where there is one."""
    count = stats.counts[arm]
    if state.widths[arm] > 0.0 and 0 < count < setup.widths.shape[0]:
        state.means[arm] = stats.sums[arm] / count
        state.widths[arm] = setup.widths[count]
    else:
        update_arm(stats, state, arm)


def bonus_now(setup: Setup, stats: Statistics) -> float:
    """Return `ucb1_bonus`, tabulated where it can be."""
    n_rewards = stats.total[0]
    if n_rewards < setup.bonuses.shape[0]:
        return float(setup.bonuses[n_rewards])
    return ucb1_bonus(stats)


def select(setup: Setup, stats: Statistics, state: Widths, rng: np.random.Generator) -> int:
    """Return the lowest arm without a reward, then the one with the largest upper bound."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(stats)
    bonus = bonus_now(setup, stats)
    return choose_by_worth(setup.tables, state.means, 0.0, state.widths, bonus, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: Widths,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the lowest offered arm without a reward, then the largest upper bound."""
    arm = first_unplayed_offered(stats, offered)
    if arm >= 0:
        return arm
    bonus = bonus_now(setup, stats)
    return choose_bound_offered(setup.tables, state.means, 0.0, state.widths, bonus, offered, rng)


@register("ucb1")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCB1(Policy):
    """Play the arm with the largest upper confidence bound; the model's curves are not used.

    Every arm is played once first. Then the index at time t is ``mean_k + sqrt(2 * log(t - 1) /
    N_k)``, with ties broken at random.

    Value: any. The index is the largest worth of a mean between ``mean_k - bonus`` and ``mean_k +
    bonus``. With a target this interval may contain the target for several arms; these are
    ordered by the worth of ``mean_k``.

    >>> UCB1().to_dict()
    {'policy': 'ucb1'}
    """

    rules = Rules(
        init_widths,
        select,
        update,
        no_estimate,
        rebuild_widths,
        select_among=select_among,
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables, the bonuses and the widths."""
        return Setup(model.tables, tabulated_bonuses(), tabulated_widths())

    def reason(self, setup: Setup, stats: Statistics, state: Widths) -> str:
        """Say that this is a first play, or give the largest index."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        tables, bonus = setup.tables, bonus_now(setup, stats)
        largest = largest_bound(tables, state.means, 0.0, state.widths, bonus)
        return f"largest upper confidence bound: {largest:.6g} on {unit_scale(tables)}"
