"""`GLMUCB`: logistic regression on features of the arms, with an optimistic bonus.

Filippi, Cappe, Garivier and Szepesvari (2010). The regression is updated one reward at a time.
"""

import copy
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.base import Rules, register, require_one_number
from globalbandits.policies.linear.features import (
    FeaturePolicy,
    arm_features,
    first_unobserved,
    independent_columns,
    spread_arms,
)
from globalbandits.policies.linear.least_squares import (
    Spread,
    Work,
    add_reward,
    clear_spread,
    compute_spread,
    invert,
    is_rebuild_due,
    multiply,
    no_spread,
    no_work,
    tolerance_of,
)
from globalbandits.policies.linear.least_squares import resume as resume_spread
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_bound_offered,
    choose_by_worth,
    is_offered,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics

# These fields are saved with a learner, because their last bits depend on the order of rewards.
KEPT = ("spread", "coefficients")

# A ridge keeps the estimate finite while all rewards are 0, or all are 1.
_RIDGE = 1e-3
_MAX_NEWTON_STEP = 4.0
# Largest change of a saved prediction in one more fit.
_PREDICTION_TOLERANCE = 1e-6

_GRID_POINTS = 257
# Above this number of arms a faster decomposition is used. It changes features in the tenth digit.
_MAX_SVD_ARMS = 1_000
# Largest error of a mean with the default features, on the unit reward scale.
_MEAN_TOLERANCE = 1e-2
# Smallest distance of a mean from 0 and 1, where the logistic link is infinite.
_MIN_MEAN = 1e-6


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constants of the bonus."""

    tables: Tables
    features: FloatArray  # (n_arms, d) m_k
    design: IntArray  # (d,) arms of the first plays, linearly independent
    factor: float  # scale * (2 k kappa R / c) * sqrt(2 d)
    confidence: float  # log(2 d / delta)


class State(NamedTuple):
    """The quasi-likelihood estimate, and the uncertainty of the predictions."""

    spread: Spread  # of M = sum_k N_k m_k m_k', once all arms of the design are observed
    coefficients: FloatArray  # (d,) the estimate
    means: FloatArray  # (n_arms,) predictions g(m_k' coefficients)
    ready: IntArray  # (1,) 1 once all arms of the design are observed
    work: Work
    solved: FloatArray  # (d, d) scratch array of one update


def init(setup: base.Setup) -> State:
    """No reward yet."""
    n, d = setup.features.shape
    return State(
        spread=no_spread(setup.features),
        coefficients=np.zeros(d),
        means=np.full(n, 0.5),
        ready=np.zeros(1, np.int64),
        work=no_work(setup.features),
        solved=np.zeros((d, d)),
    )


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the next arm of the design, then the arm with the largest prediction plus bonus."""
    if state.ready[0] == 0:
        return first_unobserved(setup.design, stats)
    widths, factor = state.spread.widths, bonus(setup, stats)
    return choose_by_worth(setup.tables, state.means, 0.0, widths, factor, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """`select` among the offered arms. Any of them, at random, if the design lacks others."""
    if state.ready[0] == 0:
        for i in range(setup.design.shape[0]):
            arm = int(setup.design[i])
            if stats.counts[arm] == 0 and is_offered(offered, arm):
                return arm
        return choose_any(offered, rng)
    widths, factor = state.spread.widths, bonus(setup, stats)
    return choose_bound_offered(setup.tables, state.means, 0.0, widths, factor, offered, rng)


def bonus(setup: Setup, stats: Statistics) -> float:
    """Return the paper's rho(t), with the current round in place of the horizon."""
    log_t = math.log(stats.total[0] + 1)
    return setup.factor * math.sqrt(log_t * (setup.confidence + log_t))


def update(setup: base.Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update widths by Sherman-Morrison, and the estimate by Newton's method."""
    if state.ready[0] == 0 or is_rebuild_due(stats, state.spread, arm):
        compute_widths(setup, stats, state)
    else:
        # Only the spread is updated here; `fit` computes the means.
        add_reward(setup.features, state.spread, state.work, state.means, arm, 0.0)
    fit(setup, stats, state)


def rebuild(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Compute widths and estimate from counts and sums."""
    for i in range(setup.features.shape[1]):
        state.coefficients[i] = 0.0
    compute_widths(setup, stats, state)
    fit(setup, stats, state)


def compute_widths(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Compute M**-1 and the widths from the counts, if all arms of the design are observed."""
    state.ready[0] = 1 if first_unobserved(setup.design, stats) < 0 else 0
    if state.ready[0] == 1:
        compute_spread(setup.features, stats.counts, 0.0, state.spread, state.work)
    else:
        clear_spread(state.spread)


def fit(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Maximise the concave quasi-likelihood by Newton's method from the last estimate."""
    work = state.work
    d = setup.features.shape[1]
    for _ in range(50):
        linearise(setup, stats, state)
        invert(work.matrix, state.solved)
        multiply(state.solved, work.vector, work.solution)
        length = 0.0
        for i in range(d):
            length += work.solution[i] * work.solution[i]
        length = math.sqrt(length)
        shrink = min(1.0, _MAX_NEWTON_STEP / length) if length > 0.0 else 1.0
        for i in range(d):
            state.coefficients[i] += shrink * work.solution[i]
        if length < 1e-9:
            break
    predict(setup, state)


def linearise(setup: base.Setup, stats: Statistics, state: State) -> None:
    """Write the gradient to `work.vector` and minus the Hessian to `work.matrix`."""
    n, d = setup.features.shape
    vector, matrix = state.work.vector, state.work.matrix
    predict(setup, state)
    for i in range(d):
        vector[i] = -_RIDGE * state.coefficients[i]
        for j in range(d):
            matrix[i, j] = _RIDGE if i == j else 0.0
    for k in range(n):
        count = stats.counts[k]
        if count == 0:
            continue
        mean = state.means[k]
        weight = count * mean * (1.0 - mean)
        surprise = stats.sums[k] - count * mean
        for i in range(d):
            vector[i] += surprise * setup.features[k, i]
            for j in range(d):
                matrix[i, j] += weight * setup.features[k, i] * setup.features[k, j]


def predict(setup: base.Setup, state: State) -> None:
    """Compute the mean rewards at the estimate."""
    n, d = setup.features.shape
    for k in range(n):
        x = 0.0
        for i in range(d):
            x += setup.features[k, i] * state.coefficients[i]
        state.means[k] = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def resume(setup: base.Setup, stats: Statistics, state: State) -> bool:
    """Compute the predictions; return whether saved numbers agree with the statistics.

    Saved coefficients are right if one more run of Newton's method hardly changes them.
    """
    predict(setup, state)
    fresh = copy.deepcopy(state)
    compute_widths(setup, stats, fresh)
    fit(setup, stats, fresh)
    settled = np.abs(fresh.means - state.means) <= _PREDICTION_TOLERANCE
    slack = tolerance_of(setup.features, stats.counts, 0.0) if state.ready[0] == 1 else 0.0
    return bool(np.all(settled)) and resume_spread(state.spread, fresh.spread, slack)


def logit_features(means: FloatArray) -> FloatArray:
    """Return the fewest features in which the logits of all means are approximately linear.

    Args:
        means: shape (n_thetas, n_arms), between 0 and 1.
    """
    logits = np.log(means) - np.log1p(-means)
    if logits.shape[1] <= _MAX_SVD_ARMS:
        left, strength, right = np.linalg.svd(logits, full_matrices=False)
    else:
        # The eigenvectors of the small matrix of products are the same, in a tenth of the time.
        left = np.linalg.eigh(logits @ logits.T)[1][:, ::-1]
        strength, right = np.ones(len(left)), left.T @ logits
    rank = 1
    while rank < len(strength):
        fitted = (left[:, :rank] * strength[:rank]) @ right[:rank]
        if np.max(np.abs(1.0 / (1.0 + np.exp(-fitted)) - means)) <= _MEAN_TOLERANCE:
            break
        rank += 1
    return np.ascontiguousarray(right[:rank].T * (strength[:rank] / math.sqrt(len(means))))


@register("glm_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GLMUCB(FeaturePolicy):
    """Logistic regression on features of the arms, and the largest prediction with a bonus.

    After d plays of linearly independent arms, the index of an arm with features m is ``g(m'b) +
    rho(t) * sqrt(m' M**-1 m)``. Here b is the quasi-likelihood estimate, ``M = sum mm'``, g the
    logistic function, ``rho(t) = (2 * k * kappa * R / c) * sqrt(2 * d * log(t) * log(2 * d * T /
    delta))`` and ``kappa = sqrt(3 + 2 * log(1 + 2 * c_m**2 / lambda0))`` (Filippi and others
    2010). k = 1/4 bounds the slope of g from above and c from below, R = 1 bounds a reward, c_m
    bounds the length of a vector of features, and lambda0 is the smallest eigenvalue of M after
    the first d plays. The constants were not compared with the paper's text (Theorem 2).

    Differences from the paper: the current round replaces the horizon T; c is the smallest slope
    over the model's domain; the estimate has a ridge of 0.001 instead of the projection onto the
    set of allowed parameters. With the proven constants the bonus stays far above 1 for a long
    time. The policy then tries all arms in turn, with linear regret over any practical horizon.
    The paper itself uses a smaller bonus, which ``scale`` sets. Tune it on your model.

    Value: any. Features describe the observed rewards; the index is the largest worth of a mean
    within the bonus of the prediction.

    Args:
        features: one vector for each arm. None takes the fewest features in which the logits of
            the model's means are linear, with errors of the means below 0.01.
        scale: multiplies rho; positive.
        delta: probability that a bound may fail, between 0 and 1.

    >>> GLMUCB(scale=0.001).label
    'GLMUCB(scale=0.001)'
    """

    scale: float = 1.0
    delta: float = 0.05

    rules = Rules(
        init, select, update, no_estimate, rebuild, KEPT, resume, select_among=select_among
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return features, the arms of the first plays, and the constants of rho."""
        require_one_number(model, type(self).__name__)
        low, high = model.reward_range
        means = (model.means(np.linspace(*model.domain, _GRID_POINTS)) - low) / (high - low)
        means = np.clip(means, _MIN_MEAN, 1.0 - _MIN_MEAN)
        if self.features is None:
            features = logit_features(means)
        else:
            features = arm_features(self.features, model.arms, model.valued)
            independent_columns(features)
        d = features.shape[1]
        design = spread_arms(features)
        smallest = float(np.linalg.svd(features[design], compute_uv=False)[-1]) ** 2
        longest = float(np.max(np.sum(features * features, axis=1)))
        kappa = math.sqrt(3.0 + 2.0 * math.log1p(2.0 * longest / smallest))
        slope = float(np.min(means * (1.0 - means)))
        return Setup(
            tables=model.tables,
            features=features,
            design=design,
            factor=self.scale * (2.0 * 0.25 * kappa / slope) * math.sqrt(2.0 * d),
            confidence=math.log(2.0 * d / self.delta),
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the largest index."""
        if state.ready[0] == 0:
            return f"first plays: {len(setup.design)} linearly independent arms"
        widths, factor = state.spread.widths, bonus(setup, stats)
        largest = largest_bound(setup.tables, state.means, 0.0, widths, factor)
        return f"largest prediction with its bonus: {largest:.6g} on {unit_scale(setup.tables)}"

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the estimated coefficients, and the current factor of the widths."""
        factor = bonus(setup, stats) if state.ready[0] == 1 else math.inf
        return {"coefficients": state.coefficients.tolist(), "bonus": factor}
