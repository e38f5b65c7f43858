"""`LinUCB` (Li, Chu, Langford and Schapire 2010) with the arms' features as contexts."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Rules, register
from globalbandits.policies.linear.features import FeaturePolicy, arm_features
from globalbandits.policies.linear.ridge import KEPT, State, init, rebuild, resume, update
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import (
    choose_bound_offered,
    choose_by_worth,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constant width."""

    tables: Tables
    features: FloatArray  # (n_arms, r) u_k
    offset: float  # added to a unit reward: the reward whose mean is linear in the features
    ridge: float
    width: float  # alpha


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest upper bound of its prediction."""
    widths, factor = state.spread.widths, setup.width
    return choose_by_worth(setup.tables, state.means, setup.offset, widths, factor, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest upper bound of its prediction."""
    widths, factor = state.spread.widths, setup.width
    return choose_bound_offered(
        setup.tables, state.means, setup.offset, widths, factor, offered, rng
    )


@register("lin_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class LinUCB(FeaturePolicy):
    """Ridge regression with ridge 1, and a bonus of constant width.

    The index of an arm with features u is ``u'z + alpha * sqrt(u' M**-1 u)`` with ``alpha = 1 +
    sqrt(log(2 / delta) / 2)`` (Li and others 2010, equation 5). In the paper each arm has its own
    coefficients, and contexts change. Here all arms share the coefficients, and an arm's context
    is its constant vector of features.

    Value: any. Features describe the observed rewards; the index is the largest worth of a mean
    within the bonus of the prediction.

    Args:
        features: one vector for each arm. None takes (p, p**2, p**3) of arms p that are numbers,
            or (1, p, p**2) if the model has a value, because sales are not zero at price 0. With
            fewer than three arms there are fewer powers.
        delta: probability that a bound may fail, between 0 and 1.

    >>> LinUCB().label
    'LinUCB'
    """

    delta: float = 0.05

    rules = Rules(
        init, select, update, no_estimate, rebuild, KEPT, resume, select_among=select_among
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return the features and the width."""
        low, high = model.reward_range
        return Setup(
            tables=model.tables,
            features=arm_features(self.features, model.arms, model.valued),
            offset=low / (high - low),
            ridge=1.0,
            width=1.0 + math.sqrt(math.log(2.0 / self.delta) / 2.0),
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the largest index."""
        widths, factor = state.spread.widths, setup.width
        largest = largest_bound(setup.tables, state.means, setup.offset, widths, factor)
        return f"largest upper bound of a prediction: {largest:.6g} on {unit_scale(setup.tables)}"
