"""`OFUL` (Abbasi-Yadkori, Pal and Szepesvari 2011): optimism in a linear model."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Rules, register, require_one_number
from globalbandits.policies.linear import ridge
from globalbandits.policies.linear.features import FeaturePolicy, arm_features
from globalbandits.policies.linear.least_squares import (
    Spread,
    Work,
    is_near,
    is_rebuild_due,
    tolerance_of,
)
from globalbandits.policies.linear.ridge import rebuild as rebuild_regression
from globalbandits.policies.linear.ridge import update as update_regression
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import (
    choose_bound_offered,
    choose_by_worth,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics

_GRID_POINTS = 257
_KEPT = (*ridge.KEPT, "log_det")


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constants of the confidence ellipsoid."""

    tables: Tables
    features: FloatArray  # (n_arms, r) u_k
    offset: float  # added to a unit reward: the reward whose mean is linear in the features
    ridge: float  # lambda
    noise: float  # R, a reward is R-sub-Gaussian
    norm: float  # S, a bound on the length of the true coefficients
    confidence: float  # 2 log(1 / delta)


class State(NamedTuple):
    """The ridge regression, as in `ridge.State`, and the determinant of its matrix."""

    spread: Spread
    means: FloatArray  # (n_arms,) predictions
    work: Work
    log_det: FloatArray  # (1,) log(det M / lambda**r)


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(*ridge.init(setup), log_det=np.zeros(1))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest upper bound of its prediction."""
    widths, factor = state.spread.widths, radius(setup, state)
    return choose_by_worth(setup.tables, state.means, setup.offset, widths, factor, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest upper bound of its prediction."""
    widths, factor = state.spread.widths, radius(setup, state)
    return choose_bound_offered(
        setup.tables, state.means, setup.offset, widths, factor, offered, rng
    )


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update regression and determinant, which one reward multiplies by 1 + u' M**-1 u."""
    due, growth = is_rebuild_due(stats, state.spread, arm), 1.0 + state.spread.variances[arm]
    update_regression(setup, stats, state, arm, reward)
    if due:
        state.log_det[0] = log_determinant(setup, stats, state)
    else:
        state.log_det[0] += math.log(growth)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute regression and determinant from counts and sums."""
    rebuild_regression(setup, stats, state)
    state.log_det[0] = log_determinant(setup, stats, state)


def log_determinant(setup: Setup, stats: Statistics, state: State) -> float:
    """Return log(det M / lambda**r). Call this right after the regression was rebuilt."""
    log_det = 0.0
    if stats.total[0] > 0:
        for i in range(setup.features.shape[1]):
            log_det -= 2.0 * math.log(state.work.matrix[i, i]) + math.log(setup.ridge)
    # The exact value is at least 0.
    return max(0.0, log_det)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether saved numbers agree with the statistics, up to rounding."""
    fresh = init(setup)
    rebuild(setup, stats, fresh)
    slack = tolerance_of(setup.features, stats.counts, setup.ridge)
    return ridge.resume(setup, stats, state) and is_near(state.log_det, fresh.log_det, slack)


def radius(setup: Setup, state: State) -> float:
    """Return R sqrt(2 log(1/delta) + log(det M / lambda**r)) + sqrt(lambda) S (Theorem 2)."""
    spread = setup.confidence + state.log_det[0]
    return float(setup.noise * math.sqrt(spread) + math.sqrt(setup.ridge) * setup.norm)


def coefficient_norm(features: FloatArray, model: RewardModel) -> float:
    """Return the largest length of the model's least-squares coefficients over the domain."""
    low, high = model.reward_range
    means = model.means(np.linspace(*model.domain, _GRID_POINTS)) / (high - low)
    coefficients = np.linalg.lstsq(features, means.T, rcond=None)[0]
    return float(np.max(np.linalg.norm(coefficients, axis=0)))


@register("oful")
@dataclasses.dataclass(frozen=True, kw_only=True)
class OFUL(FeaturePolicy):
    """Ridge regression on features of the arms, and the largest upper bound of a prediction.

    The index of an arm with features u is ``u'z + radius * sqrt(u' M**-1 u)``. Here z are the
    ridge coefficients, ``M = ridge * 1 + sum uu'``, and ``radius = R * sqrt(2 * log(1 / delta) +
    log(det M / ridge**r)) + sqrt(ridge) * S`` (Theorem 2 of the paper). R = 1/2 covers all rewards
    in [0, 1]. S bounds the length of the coefficients. It is taken from the model: the largest
    length of the least-squares coefficients of its means over the domain. If vectors of features
    are short, the ridge outweighs them for a long time, and regret is linear over any practical
    horizon. Then use a smaller ridge.

    Value: any. Features describe the observed rewards; the index is the largest worth of a mean
    within the bonus of the prediction.

    Args:
        features: one vector for each arm. None takes (p, p**2, p**3) of arms p that are numbers,
            or (1, p, p**2) if the model has a value, because sales are not zero at price 0. With
            fewer than three arms there are fewer powers.
        ridge: the ridge, positive.
        delta: probability, between 0 and 1, that the ellipsoid misses the true coefficients.

    >>> OFUL(delta=0.1).label
    'OFUL(delta=0.1)'
    """

    ridge: float = 1.0
    delta: float = 0.05

    rules = Rules(
        init, select, update, no_estimate, rebuild, _KEPT, resume, select_among=select_among
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return the features and the constants on the unit reward scale."""
        require_one_number(model, "OFUL")
        features = arm_features(self.features, model.arms, model.valued)
        low, high = model.reward_range
        return Setup(
            tables=model.tables,
            features=features,
            offset=low / (high - low),
            ridge=self.ridge,
            noise=0.5,
            norm=coefficient_norm(features, model),
            confidence=2.0 * math.log(1.0 / self.delta),
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the largest index."""
        widths, factor = state.spread.widths, radius(setup, state)
        largest = largest_bound(setup.tables, state.means, setup.offset, widths, factor)
        return f"largest upper bound of a prediction: {largest:.6g} on {unit_scale(setup.tables)}"

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the radius of the ellipsoid, and the bound S."""
        return {"radius": radius(setup, state), "norm": setup.norm}
