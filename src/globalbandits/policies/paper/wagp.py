"""WAGP, the Weighted-Arm Greedy Policy (Algorithm 1 of the paper).

After rewards with these counts and means per arm, Algorithm 1 is three lines:

>>> import numpy as np
>>> import globalbandits as gb
>>> model = gb.demand.linear_power([0.4, 0.6, 0.8])
>>> counts, means = [2, 1, 4], [0.3, 0.25, 0.375]
>>> own = [float(model.invert(arm, mean)) for arm, mean in enumerate(means)]  # lines 10 to 12
>>> theta = np.average(own, weights=counts)  # lines 13 to 15
>>> arm = model.best_arms(theta)[0]  # line 7
>>> arm, round(float(theta), 4)
(2, 0.4053)

The rules below decide the same. They keep the weighted sum, of which one reward changes one term,
and the bounds between which the chosen arm stays the best one.

>>> learner = gb.Learner(gb.WAGP(), model, seed=0)
>>> learner.update(np.repeat([0, 1, 2], counts), np.repeat(means, counts))
>>> learner.select(), round(learner.estimate, 4)
(2, 0.4053)
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables, choose_in_cell, find_cell
from globalbandits.policies import base
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.shared.weighted_mean import (
    Estimates,
    as_grains,
    is_between,
    no_estimates,
    rebuild_estimates,
    require_inverses,
    update_estimate,
    weighted_mean,
)
from globalbandits.policies.shared.worth import choose_any, choose_best_offered, is_offered
from globalbandits.statistics import Statistics

EMPTY_BOUNDS = (1.0, -1.0)  # no number lies between these


class Setup(NamedTuple):
    """The model's tables; WAGP has no constants of its own."""

    tables: Tables


class State(NamedTuple):
    """The arms' own estimates, and the choice that follows from them."""

    own: Estimates
    choice: IntArray  # (1,) the best arm at theta-hat, -1 if there are several or no theta-hat
    bounds: FloatArray  # (2,) the choice holds for theta-hat between these, see `as_grains`


def init(setup: base.Setup) -> State:
    """No reward yet."""
    return State(
        own=no_estimates(setup.tables.n_arms),
        choice=np.full(1, -1),
        bounds=np.array([*EMPTY_BOUNDS]),
    )


def select(setup: base.Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Greedy at the estimate (line 7); any arm at random before the first reward (line 5)."""
    if state.choice[0] >= 0:
        return int(state.choice[0])
    if stats.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, estimate(setup, stats, state)), rng)


def select_among(
    setup: base.Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm at the estimate; any of them before the first reward."""
    if state.choice[0] >= 0 and is_offered(offered, state.choice[0]):
        return int(state.choice[0])
    if stats.total[0] == 0:
        return choose_any(offered, rng)
    return choose_best_offered(setup.tables, estimate(setup, stats, state), offered, rng)


def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Lines 10 to 15: only the played arm's mean and inverse change."""
    update_estimate(setup.tables, stats, state.own, arm)
    update_choice(setup, stats, state)


def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
    """The estimates of all arms, and the choice."""
    rebuild_estimates(setup.tables, stats, state.own)
    state.bounds[0] = EMPTY_BOUNDS[0]
    state.bounds[1] = EMPTY_BOUNDS[1]
    update_choice(setup, stats, state)


def update_choice(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Update the choice. Most rewards leave the estimate between the bounds: nothing to do."""
    if is_between(state.own, stats, state.bounds[0], state.bounds[1]):
        return
    state.choice[0] = -1
    state.bounds[0] = EMPTY_BOUNDS[0]
    state.bounds[1] = EMPTY_BOUNDS[1]
    if stats.total[0] > 0:
        tables = setup.tables
        envelope = tables.envelope
        cell = find_cell(envelope, estimate(setup, stats, state))
        start = envelope.starts[cell]
        if envelope.starts[cell + 1] - start == 1:
            state.choice[0] = envelope.arms[start]
            # Odd cells of the envelope are open intervals, even ones are edges between them.
            if cell % 2 == 1:
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

    The estimate is ``sum_k (N_k / t) * inverse_k(mean reward of arm k)``.

    Value: any. The estimate comes from what is observed, the choice from what arms are worth.
    """

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)

    def setup(self, model: RewardModel) -> Setup:
        """The model's tables."""
        require_one_number(model, "WAGP")
        require_inverses(model.tables, "WAGP")
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Greedy, or random at the start."""
        if stats.total[0] == 0:
            return "no reward yet: any arm, at random"
        return f"greedy: the best arm at the estimate {estimate(setup, stats, state):.6g}"
