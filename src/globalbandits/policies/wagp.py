"""WAGP, the Weighted-Arm Greedy Policy (Algorithm 1 of the paper)."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, choose_in_cell, evaluate, find_cell
from globalbandits.policies import base
from globalbandits.policies.base import Policy, Rules, register

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables; WAGP has no constants of its own."""

    tables: Tables


class State(NamedTuple):
    """Statistics per arm, and what one update can keep current from them."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    thetas: FloatArray  # (n_arms,) theta-hat_k, meaningful where N_k > 0
    total: IntArray  # (1,) t
    weighted: FloatArray  # (1,) sum_k N_k theta-hat_k, so that theta-hat = weighted / t


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.zeros(1, np.int64), np.zeros(1)
    )


def select(setup: base.Setup, state: base.State, rng: np.random.Generator) -> int:
    """Greedy at the estimate (line 7); any arm at random before the first reward (line 5)."""
    if state.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, estimate(setup, state)), rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Lines 10 to 15: only the played arm's mean and inverse change."""
    change(setup, state, arm, reward, 1)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    change(setup, state, arm, -reward, -1)


def change(setup: base.Setup, state: base.State, arm: int, reward: float, by: int) -> None:
    """Add ``by`` observations whose rewards sum to ``reward``.

    The state may be that of any policy that keeps WAGP's fields among its own.
    """
    old = state.counts[arm] * state.thetas[arm]
    count = state.counts[arm] + by
    state.counts[arm] = count
    state.total[0] += by
    if count > 0:
        state.sums[arm] += reward
        state.thetas[arm] = evaluate(setup.tables.inverse, arm, state.sums[arm] / count)
    else:  # exactly as before the first reward, whatever rounding left in the sum
        state.sums[arm] = 0.0
        state.thetas[arm] = 0.0
    state.weighted[0] += count * state.thetas[arm] - old


def refresh(setup: base.Setup, state: base.State) -> None:
    """Rebuild what follows from counts and sums."""
    state.total[0] = 0
    state.weighted[0] = 0.0
    for arm in range(setup.tables.n_arms):
        count = state.counts[arm]
        state.thetas[arm] = 0.0
        if count > 0:
            state.thetas[arm] = evaluate(setup.tables.inverse, arm, state.sums[arm] / count)
        state.total[0] += count
        state.weighted[0] += count * state.thetas[arm]


def estimate(setup: base.Setup, state: base.State) -> float:
    """The weighted estimate theta-hat_t, kept inside the domain; nan before any reward."""
    if state.total[0] == 0:
        return math.nan
    theta = state.weighted[0] / state.total[0]
    return float(min(max(theta, setup.tables.low), setup.tables.high))


@register("wagp")
@dataclasses.dataclass(frozen=True, kw_only=True)
class WAGP(Policy):
    """Play the arm that is best at the average of the arms' own parameter estimates.

    The estimate is ``sum_k (N_k / t) * inverse_k(mean reward of arm k)``.
    """

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        return Setup(model.tables)

    def reason(self, setup: Setup, state: State) -> str:
        """Greedy, or random at the start."""
        if state.total[0] == 0:
            return "no reward yet: any arm, at random"
        return f"greedy: the best arm at the estimate {estimate(setup, state):.6g}"
