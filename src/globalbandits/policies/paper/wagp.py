"""WAGP, the Weighted-Arm Greedy Policy (Algorithm 1 of the paper)."""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, choose_in_cell, find_cell
from globalbandits.policies import base
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts.inverting import require_inverses
from globalbandits.policies.parts.weighting import (
    Estimates,
    as_grains,
    is_between,
    no_estimates,
    weigh,
    weigh_all,
    weighted_mean,
)
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


NOWHERE = (1.0, -1.0)  # bounds that nothing lies between


class Setup(NamedTuple):
    """The model's tables; WAGP has no constants of its own."""

    tables: Tables


class State(NamedTuple):
    """The arms' own estimates, and the choice that follows from them."""

    own: Estimates
    choice: IntArray  # (1,) the best arm at theta-hat, -1 if there are several or no theta-hat
    bounds: FloatArray  # (2,) for theta-hat between these the choice holds, see `as_grains`


def init(setup: base.Setup) -> State:
    """No observation yet."""
    return State(
        own=no_estimates(setup.tables.n_arms),
        choice=np.full(1, -1),
        bounds=np.array([*NOWHERE]),
    )


def select(setup: base.Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Greedy at the estimate (line 7); any arm at random before the first reward (line 5)."""
    if state.choice[0] >= 0:
        return int(state.choice[0])
    if stats.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, estimate(setup, stats, state)), rng)


def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Lines 10 to 15: only the played arm's mean and inverse change."""
    weigh(setup.tables, stats, state.own, arm)
    follow(setup, stats, state)


def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
    """All estimates, and the choice."""
    weigh_all(setup.tables, stats, state.own)
    state.bounds[0] = NOWHERE[0]
    state.bounds[1] = NOWHERE[1]
    follow(setup, stats, state)


def follow(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Bring the choice in line with the estimate; seldom more than a look at the bounds."""
    if is_between(state.own, stats, state.bounds[0], state.bounds[1]):
        return
    state.choice[0] = -1
    state.bounds[0] = NOWHERE[0]
    state.bounds[1] = NOWHERE[1]
    if stats.total[0] > 0:
        tables = setup.tables
        envelope = tables.envelope
        cell = find_cell(envelope, estimate(setup, stats, state))
        start = envelope.starts[cell]
        if envelope.starts[cell + 1] - start == 1:
            state.choice[0] = envelope.arms[start]
            if cell % 2 == 1:  # an open interval, not an edge
                left, right = envelope.breakpoints[cell // 2], envelope.breakpoints[cell // 2 + 1]
                state.bounds[0] = as_grains(tables.low, tables.high, left)
                state.bounds[1] = as_grains(tables.low, tables.high, right)


def estimate(setup: base.Setup, stats: Statistics, state: State) -> float:
    """The weighted estimate theta-hat_t, kept inside the domain; nan before any reward."""
    return weighted_mean(setup.tables, stats, state.own)


@register("wagp")
@dataclasses.dataclass(frozen=True, kw_only=True)
class WAGP(Policy):
    """Play the arm that is best at the average of the arms' own parameter estimates.

    The estimate is ``sum_k (N_k / t) * inverse_k(mean reward of arm k)``. Value: any. The
    estimate comes from what is observed, the choice from what decisions are worth.
    """

    rules = Rules(init, select, update, estimate, rebuild)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables."""
        require_inverses(model.tables, "WAGP")
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Greedy, or random at the start."""
        if stats.total[0] == 0:
            return "no reward yet: any arm, at random"
        return f"greedy: the best arm at the estimate {estimate(setup, stats, state):.6g}"
