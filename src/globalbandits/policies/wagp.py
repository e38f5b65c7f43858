"""WAGP, the Weighted-Arm Greedy Policy (Algorithm 1 of the paper)."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import (
    Tables,
    choose_in_cell,
    evaluate,
    evaluate_segment,
    find_cell,
    find_segment,
    is_inside,
)
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
    segments: IntArray  # (n_arms,) where the arm's inverse was read, -1 beyond its ends or unread
    choice: IntArray  # (1,) the best arm at theta-hat, -1 if there are several or no theta-hat
    bounds: FloatArray  # (2,) an open interval of theta-hat for which the choice holds


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        thetas=np.zeros(n),
        total=np.zeros(1, np.int64),
        weighted=np.zeros(1),
        segments=np.full(n, -1),
        choice=np.full(1, -1),
        bounds=np.array([math.inf, -math.inf]),
    )


def select(setup: base.Setup, state: base.State, rng: np.random.Generator) -> int:
    """Greedy at the estimate (line 7); any arm at random before the first reward (line 5)."""
    if state.choice[0] >= 0:
        return int(state.choice[0])
    if state.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, estimate(setup, state)), rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Lines 10 to 15: only the played arm's mean and inverse change."""
    change(setup, state, arm, reward, 1)
    follow(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    change(setup, state, arm, -reward, -1)
    follow(setup, state)


def change(setup: base.Setup, state: base.State, arm: int, reward: float, by: int) -> None:
    """Add ``by`` observations whose rewards sum to ``reward``.

    The state may be that of any policy that keeps WAGP's fields among its own.
    """
    old = state.thetas[arm]
    count = state.counts[arm] + by
    state.counts[arm] = count
    state.total[0] += by
    if count > 0:
        state.sums[arm] += reward
        state.thetas[arm] = invert(setup, state, arm, state.sums[arm] / count)
    else:  # exactly as before the first reward, whatever rounding left in the sum
        state.sums[arm] = 0.0
        state.thetas[arm] = 0.0
        state.segments[arm] = -1
    # N_k theta-hat_k less what it was, in a form that cancels little.
    state.weighted[0] += count * (state.thetas[arm] - old) + by * old


def invert(setup: base.Setup, state: base.State, arm: int, mean: float) -> float:
    """`evaluate` of the arm's inverse; the segment it was read from last is tried first."""
    curves = setup.tables.inverse
    segment = state.segments[arm]
    if segment >= 0 and is_inside(curves, segment, mean):
        return evaluate_segment(curves, segment, mean)
    state.segments[arm] = -1
    if curves.low[arm] < mean < curves.high[arm]:
        state.segments[arm] = find_segment(curves, arm, mean)
    return evaluate(curves, arm, mean)


def follow(setup: base.Setup, state: base.State) -> None:
    """Bring the choice in line with the estimate; seldom more than a look at the bounds."""
    theta = estimate(setup, state)
    if state.bounds[0] < theta < state.bounds[1]:
        return
    state.choice[0] = -1
    state.bounds[0] = math.inf
    state.bounds[1] = -math.inf
    if state.total[0] > 0:
        envelope = setup.tables.envelope
        cell = find_cell(envelope, theta)
        start = envelope.starts[cell]
        if envelope.starts[cell + 1] - start == 1:
            state.choice[0] = envelope.arms[start]
            if cell % 2 == 1:  # an open interval, not an edge
                state.bounds[0] = envelope.breakpoints[cell // 2]
                state.bounds[1] = envelope.breakpoints[cell // 2 + 1]


def refresh(setup: base.Setup, state: base.State) -> None:
    """Rebuild what follows from counts and sums."""
    recount(setup, state)
    follow(setup, state)


def recount(setup: base.Setup, state: base.State) -> None:
    """Rebuild the estimates from counts and sums."""
    state.total[0] = 0
    state.weighted[0] = 0.0
    for arm in range(setup.tables.n_arms):
        count = state.counts[arm]
        state.thetas[arm] = 0.0
        state.segments[arm] = -1
        if count > 0:
            state.thetas[arm] = invert(setup, state, arm, state.sums[arm] / count)
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
