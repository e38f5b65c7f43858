"""`UCB1` (Auer, Cesa-Bianchi and Fischer 2002): the largest upper confidence bound."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import IntArray
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import (
    NOT_PLAYED,
    Setup,
    Widths,
    first_unplayed,
    first_unplayed_offered,
    init_widths,
    no_estimate,
    rebuild_widths,
    ucb1_bonus,
    update_widths,
)
from globalbandits.policies.shared.worth import (
    choose_bound_offered,
    choose_by_worth,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def select(setup: Setup, stats: Statistics, state: Widths, rng: np.random.Generator) -> int:
    """Return the lowest arm without a reward, then the one with the largest upper bound."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(stats)
    bonus = ucb1_bonus(stats)
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
    bonus = ucb1_bonus(stats)
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
        update_widths,
        no_estimate,
        rebuild_widths,
        select_among=select_among,
    )

    def setup(self, model: "RewardModel") -> Setup:
        """Return the model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: Widths) -> str:
        """Say that this is a first play, or give the largest index."""
        if state.played[0] < setup.tables.n_arms:
            return NOT_PLAYED
        tables, bonus = setup.tables, ucb1_bonus(stats)
        largest = largest_bound(tables, state.means, 0.0, state.widths, bonus)
        return f"largest upper confidence bound: {largest:.6g} on {unit_scale(tables)}"
