"""MOSS, the Minimax Optimal Strategy in the Stochastic case, in its anytime form."""

import dataclasses
import math
from typing import TYPE_CHECKING

from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.indices import (
    Setup,
    State,
    estimate,
    explain,
    init,
    record,
    recount,
    select,
)

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    record(state, arm, reward, 1)
    remember(setup, state, arm)
    score(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    record(state, arm, -reward, -1)
    remember(setup, state, arm)
    score(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    recount(state)
    for arm in range(setup.tables.n_arms):
        remember(setup, state, arm)
    score(setup, state)


def remember(setup: Setup, state: State, arm: int) -> None:
    """Keep log(K N_k), so that a round needs one logarithm for all arms."""
    if state.counts[arm] > 0:
        state.memo[arm] = math.log(setup.tables.n_arms * state.counts[arm])


def score(setup: Setup, state: State) -> None:
    """The indices of the next round t."""
    log_t = math.log(state.total[0] + 1)
    for arm in range(setup.tables.n_arms):
        excess = log_t - state.memo[arm]
        state.indices[arm] = state.means[arm]
        if excess > 0.0:
            state.indices[arm] += math.sqrt(excess) * state.widths[arm]


@register("moss")
@dataclasses.dataclass(frozen=True, kw_only=True)
class MOSS(Policy):
    """Optimism only for arms that have had less than their share of the plays.

    The index at time t is ``mean_k + sqrt(max(0, log(t / (K * N_k))) / N_k)``, the anytime
    variant (Degenne and Perchet 2016, MOSS-anytime with alpha = 1) of MOSS (Audibert and
    Bubeck 2009), in which the horizon stands in place of t. Rewards are in [0, 1]; the model
    is not used.

    >>> MOSS().label
    'MOSS'
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """The first round of plays, or the largest index."""
        return explain(setup, state)
