"""`TSC`: Thompson sampling among competitive arms.

Gupta, Chaudhari, Mukherjee, Joshi and Yagan (2020).
"""

import dataclasses
import math
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.base import Rules, register
from globalbandits.policies.shared.index import first_unplayed_offered
from globalbandits.policies.shared.noise_variance import draw_student, learn_variances
from globalbandits.policies.shared.worth import worth_of
from globalbandits.policies.structured.confidence import ConfidenceSetPolicy, Setup
from globalbandits.policies.structured.several_confidence import several_numbers
from globalbandits.policies.structured.ucb_c import (
    State,
    estimate,
    init,
    rebuild,
    score_several,
    update,
)
from globalbandits.statistics import Statistics


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the lowest competitive arm without a reward, or the one with the largest draw."""
    for arm in range(setup.tables.n_arms):
        if state.indices[arm] == math.inf:
            return arm
    best = -1
    largest = -math.inf
    variances = learn_variances(stats) if setup.learned else stats.sums
    for arm in range(setup.tables.n_arms):
        if state.indices[arm] == -math.inf:
            continue
        value = draw_worth(setup, stats, state, variances, arm, rng)
        if best < 0 or value > largest:
            best = arm
            largest = value
    return best


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Do the same with the offered arms; all of them compete if none is competitive."""
    top = -math.inf
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        top = max(top, state.indices[arm])
        if state.indices[arm] == math.inf:
            return arm
    if top == -math.inf:
        arm = first_unplayed_offered(stats, offered)
        if arm >= 0:
            return arm
    best = -1
    largest = -math.inf
    variances = learn_variances(stats) if setup.learned else stats.sums
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        if state.indices[arm] == -math.inf and top > -math.inf:
            continue
        value = draw_worth(setup, stats, state, variances, arm, rng)
        if best < 0 or value > largest:
            best = arm
            largest = value
    return best


def draw_worth(
    setup: Setup,
    stats: Statistics,
    state: State,
    variances: FloatArray,
    arm: int,
    rng: np.random.Generator,
) -> float:
    """Draw the worth of an arm with rewards. The variances are read only if they are learned."""
    if setup.learned:
        mean = draw_student(stats, variances[arm], arm, rng)
    else:
        width = math.sqrt(setup.variance) * state.allowed.widths[arm]
        mean = state.allowed.means[arm] + width * rng.standard_normal()
    return worth_of(setup.tables, arm, mean)


@register("ts_c")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TSC(ConfidenceSetPolicy):
    """Thompson sampling among the arms that are best for some parameter in a confidence set.

    The competitive arms are those of `UCBC`. Among them the arm with the largest draw from
    ``Normal(mean_k, variance / N_k)`` is played (Gupta and others 2020; the paper has a factor of
    the variance, which is 1 here). With ``variance="learned"`` draws and competitive arms are
    those of `ThompsonSampling` and `UCBC` with that parameter. Value: any; draws are ranked by
    worth.

    Args:
        alpha: positive; larger values widen the confidence set.
        variance: variance of a reward on the unit scale; 1/4 covers every reward in [0, 1].
            "learned" estimates each arm's variance, at first from all arms' rewards.

    >>> TSC().to_dict()
    {'policy': 'ts_c', 'alpha': 3.0, 'variance': 0.25}
    """

    alpha: float = 3.0
    variance: float | str = 0.25

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)
    several = several_numbers(score_several, select, select_among)
    log_factor = 2.0

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the confidence set and the number of competitive arms."""
        competing = int(np.sum(state.indices > -np.inf))
        return f"largest draw of {competing} competitive arms: {self.explain_set(setup, state)}"
