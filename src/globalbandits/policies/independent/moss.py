"""`MOSS`: the Minimax Optimal Strategy in the Stochastic case, in its anytime form."""

import dataclasses
import math

from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy, register
from globalbandits.policies.shared.index import Setup, State, explain, round_index_rules
from globalbandits.policies.shared.worth import worth_within
from globalbandits.statistics import Statistics


def remember(stats: Statistics, state: State, arm: int) -> None:
    """Store log(K N_k), so that a round needs one logarithm for all arms."""
    state.memo[arm] = math.log(stats.counts.shape[0] * stats.counts[arm])


def log_time(stats: Statistics) -> float:
    """Return log(t) of the next round t."""
    return math.log(stats.total[0] + 1)


def index_of(setup: Setup, state: State, arm: int, log_t: float) -> float:
    """Return the index of an arm with rewards."""
    excess = log_t - state.memo[arm]
    mean, width = state.means[arm], 0.0
    if excess > 0.0:
        width = math.sqrt(excess) * state.widths[arm]
    return worth_within(setup.tables, arm, mean - width, mean + width)


@register("moss")
@dataclasses.dataclass(frozen=True, kw_only=True)
class MOSS(Policy):
    """Play by upper confidence bounds, with a bonus only for arms below their share of plays.

    The index at time t is ``mean_k + sqrt(max(0, log(t / (K * N_k))) / N_k)``, the anytime
    variant (Degenne and Perchet 2016, MOSS-anytime with alpha = 1) of MOSS (Audibert and
    Bubeck 2009), which has the horizon in place of t. Rewards are in [0, 1]; the model's curves
    are not used. Value: any, as for `UCB1` with this bonus.

    >>> MOSS().label
    'MOSS'
    """

    rules = round_index_rules(remember, log_time, index_of)

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the largest index."""
        return explain(setup, state)
