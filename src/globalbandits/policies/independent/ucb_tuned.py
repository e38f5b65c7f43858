"""UCB1-tuned (Auer, Cesa-Bianchi and Fischer 2002, section 4): optimism by the variance seen."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.indices import Setup, estimate, explain, record, recount, select

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class State(NamedTuple):
    """An index policy's statistics, and the sum of squares."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    squares: FloatArray  # (n_arms,) sum of squared rewards
    total: IntArray  # (1,) number of observations
    means: FloatArray  # (n_arms,) mean reward, 0 where N_k = 0
    widths: FloatArray  # (n_arms,) 1 / sqrt(N_k), 0 where N_k = 0
    played: IntArray  # (1,) number of arms with N_k > 0
    indices: FloatArray  # (n_arms,) meaningful once every arm has been played


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        total=np.zeros(1, np.int64),
        means=np.zeros(n),
        widths=np.zeros(n),
        played=np.zeros(1, np.int64),
        indices=np.zeros(n),
    )


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    state.squares[arm] += reward * reward
    record(state, arm, reward, 1)
    score(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    state.squares[arm] -= reward * reward
    record(state, arm, -reward, -1)
    if state.counts[arm] == 0:
        state.squares[arm] = 0.0
    score(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts, sums and squares."""
    recount(state)
    score(setup, state)


def score(setup: Setup, state: State) -> None:
    """The indices of the next round t."""
    root = math.sqrt(math.log(state.total[0] + 1))
    for arm in range(setup.tables.n_arms):
        bonus = root * state.widths[arm]  # sqrt(log t / N)
        square = state.squares[arm] * state.widths[arm] * state.widths[arm]
        variance = max(0.0, square - state.means[arm] * state.means[arm])
        # sqrt(2 log t / N) bounds the error of the variance; no reward in [0, 1] exceeds 1/4.
        state.indices[arm] = state.means[arm] + bonus * math.sqrt(
            min(0.25, variance + math.sqrt(2.0) * bonus)
        )


@register("ucb_tuned")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBTuned(Policy):
    """UCB1 with the variance of the rewards in place of the worst one.

    The index at time t is ``mean_k + sqrt(log(t) / N_k * min(1/4, v_k + sqrt(2 log(t) /
    N_k)))``, where v_k is the arm's empirical variance (divided by N_k); the rule was checked in
    public code. The paper has no proof for it. It counts the plays before this one where we
    count this one too: log(t), not log(t - 1). Rewards are in [0, 1]; the model is not used.

    >>> UCBTuned().to_dict()
    {'policy': 'ucb_tuned'}
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums", "squares"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """The first round of plays, or the largest index."""
        return explain(setup, state)
