"""`UCBTuned`: UCB1-tuned, with empirical variances (Auer, Cesa-Bianchi and Fischer 2002)."""

import dataclasses
import math

from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy, register
from globalbandits.policies.shared.index import Setup, State, explain, round_index_rules
from globalbandits.policies.shared.worth import worth_within
from globalbandits.statistics import Statistics


def remember(stats: Statistics, state: State, arm: int) -> None:
    """Store the variance of the arm's rewards."""
    square = stats.squares[arm] / stats.counts[arm]
    state.memo[arm] = max(0.0, square - state.means[arm] * state.means[arm])


def root_of_log_time(stats: Statistics) -> float:
    """Return sqrt(log(t)) of the next round t."""
    return math.sqrt(math.log(stats.total[0] + 1))


def index_of(setup: Setup, state: State, arm: int, root: float) -> float:
    """Return the index of an arm with rewards."""
    bonus = root * state.widths[arm]  # sqrt(log t / N)
    # sqrt(2 log t / N) bounds the error of the variance. The variance of rewards in [0, 1] is at
    # most 1/4.
    variance = min(0.25, state.memo[arm] + math.sqrt(2.0) * bonus)
    mean, width = state.means[arm], bonus * math.sqrt(variance)
    return worth_within(setup.tables, arm, mean - width, mean + width)


@register("ucb_tuned")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBTuned(Policy):
    """UCB1 with the empirical variance of the rewards instead of the largest possible one.

    The index at time t is ``mean_k + sqrt(log(t) / N_k * min(1/4, v_k + sqrt(2 log(t) /
    N_k)))``, where v_k is the arm's empirical variance (divided by N_k). The paper (section 4) has
    no proof for it, and has log(t - 1) instead of log(t). Rewards are in [0, 1]; the model's
    curves are not used. Value: any, as for `UCB1` with this bonus.

    >>> UCBTuned().to_dict()
    {'policy': 'ucb_tuned'}
    """

    rules = round_index_rules(remember, root_of_log_time, index_of)

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the largest index."""
        return explain(setup, state)
