"""Uncertainty Ellipsoid (Rusmevichientong and Tsitsiklis, arXiv 0812.3465).

The paper's benchmark for linear models: mean rewards are taken to be linear in a known vector
of features of each arm, and the arm with the largest upper bound of its prediction is played.
"""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound
from globalbandits.policies.features import arm_features, as_features, spread_arms, whiten

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

# Sherman-Morrison updates gather rounding errors; so often all is rebuilt from the counts.
REFRESH_EVERY = 1000


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constants of the index."""

    tables: Tables
    features: FloatArray  # (n_arms, r) u_k, in coordinates where sum_k u_k u_k' = 1
    design: IntArray  # (r,) arms of the first r plays, linearly independent
    alpha: float  # scale * 4 * sigma * kappa**2
    offset: float  # added to a unit reward: the reward whose mean is linear in the features


class State(NamedTuple):
    """Statistics per arm, and least squares kept current from them."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    ready: IntArray  # (1,) 1 once all arms of the design are observed
    inverse: FloatArray  # (r, r) C = (sum_k N_k u_k u_k')**-1
    means: FloatArray  # (n_arms,) u_k' z, z the coefficients of least squares
    variances: FloatArray  # (n_arms,) u_k' C u_k
    widths: FloatArray  # (n_arms,) square roots of the variances


def init(setup: Setup) -> State:
    """No observation yet."""
    n, r = setup.features.shape
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        ready=np.zeros(1, np.int64),
        inverse=np.zeros((r, r)),
        means=np.zeros(n),
        variances=np.zeros(n),
        widths=np.zeros(n),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The arms of the design first; then the largest upper bound of a prediction."""
    if state.ready[0] == 0:
        return int(setup.design[n_designed(setup, state)])
    return choose_upper_bound(state.means, state.widths, bonus(setup, state), rng)


def n_designed(setup: Setup, state: State) -> int:
    """How many arms of the design, from its first on, have been observed."""
    n = 0
    while n < setup.design.shape[0] and state.counts[setup.design[n]] > 0:
        n += 1
    return n


def bonus(setup: Setup, state: State) -> float:
    """What a width is multiplied by: alpha sqrt(log t) sqrt(min(r log t, n_arms))."""
    n, r = setup.features.shape
    log_t = math.log(state.total[0])
    return setup.alpha * math.sqrt(log_t) * math.sqrt(min(r * log_t, float(n)))


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward; Sherman-Morrison, O(r**2) for the matrix and O(n_arms r) for the index."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.total[0] += 1
    if state.ready[0] == 0 or state.total[0] % REFRESH_EVERY == 0:
        refresh(setup, state)
    else:
        absorb(setup, state, arm, reward)


def absorb(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Add one observation to the least squares: C becomes C - (Cu)(Cu)' / (1 + u'Cu)."""
    features = setup.features
    n, r = features.shape
    inverse = state.inverse
    direction = np.zeros(r)
    for i in range(r):
        for j in range(r):
            direction[i] += inverse[i, j] * features[arm, j]
    scale = 1.0 / (1.0 + state.variances[arm])
    for i in range(r):
        for j in range(r):
            inverse[i, j] -= scale * (direction[i] * direction[j])
    # The coefficients z move along the old C u, by the error of the prediction.
    error = scale * (reward + setup.offset - state.means[arm])
    for k in range(n):
        along = 0.0
        for i in range(r):
            along += features[k, i] * direction[i]
        state.means[k] += along * error
        state.variances[k] = max(0.0, state.variances[k] - scale * (along * along))
        state.widths[k] = math.sqrt(state.variances[k])


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back, and rebuild the rest."""
    state.counts[arm] -= 1
    state.sums[arm] -= reward
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    refresh(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums: least squares from scratch."""
    features = setup.features
    n, r = features.shape
    gram = np.zeros((r, r))
    moments = np.zeros(r)
    state.total[0] = 0
    for k in range(n):
        count = state.counts[k]
        state.total[0] += count
        for i in range(r):
            moments[i] += (state.sums[k] + count * setup.offset) * features[k, i]
            for j in range(r):
                gram[i, j] += count * (features[k, i] * features[k, j])
    state.inverse[:] = 0.0
    state.ready[0] = 0
    if n_designed(setup, state) == r:
        state.ready[0] = 1
        invert(gram, state.inverse)
    coefficients = np.zeros(r)
    for i in range(r):
        for j in range(r):
            coefficients[i] += state.inverse[i, j] * moments[j]
    for k in range(n):
        mean = 0.0
        variance = 0.0
        for i in range(r):
            mean += features[k, i] * coefficients[i]
            for j in range(r):
                variance += features[k, i] * state.inverse[i, j] * features[k, j]
        state.means[k] = mean
        state.variances[k] = max(0.0, variance)
        state.widths[k] = math.sqrt(state.variances[k])


def invert(matrix: FloatArray, out: FloatArray) -> None:
    """Inverse of a symmetric positive definite matrix by Cholesky; the matrix is overwritten."""
    r = matrix.shape[0]
    # matrix = L L', L in the lower triangle; then L is replaced by its inverse.
    for j in range(r):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(matrix[j, j])
        for i in range(j + 1, r):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(r):
        matrix[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, r):
            entry = 0.0
            for k in range(j, i):
                entry -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = entry / matrix[i, i]
    for i in range(r):
        for j in range(r):
            out[i, j] = 0.0
            for k in range(max(i, j), r):
                out[i, j] += matrix[k, i] * matrix[k, j]


def estimate(setup: Setup, state: State) -> float:
    """The policy knows a vector of coefficients, not the model's parameter."""
    return math.nan


@register("uncertainty_ellipsoid")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UncertaintyEllipsoid(Policy):
    """Least squares on features of the arms, and the largest upper bound of a prediction.

    After r plays of linearly independent arms the index of an arm with features u is ``u'z +
    alpha * sqrt(log t) * sqrt(min(r log t, n_arms)) * sqrt(u'Cu)``, t the number of
    observations so far, ``C = (sum uu')**-1``, z the least-squares coefficients, ``alpha = 4 *
    sigma * kappa**2``, ``kappa = 2 * sqrt(1 + log(1 + 36 * ubar**2 / lambda0))``, lambda0 the
    smallest eigenvalue of ``sum uu'`` after the first r plays, ubar the largest length of a
    vector, and sigma = 1/2, which covers all rewards in [0, 1].

    Args:
        features: one vector for each arm; None takes (p, p**2, p**3) of arms p that are numbers
            (fewer powers where there are fewer arms).
        scale: multiplies alpha; 1 is as published, and very cautious.

    >>> UncertaintyEllipsoid(features=[[1, 0], [1, 1]], scale=0.01)
    UncertaintyEllipsoid(features=((1.0, 0.0), (1.0, 1.0)), scale=0.01)
    """

    features: tuple[tuple[float, ...], ...] | None = None
    scale: float = 1.0

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def __post_init__(self) -> None:
        """Check features and scale."""
        if self.features is not None:
            object.__setattr__(self, "features", as_features(self.features))
        object.__setattr__(self, "scale", as_positive("scale", self.scale, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """Features in good coordinates, the arms of the first plays, and alpha."""
        raw = arm_features(self.features, model.arms)
        features = whiten(raw)
        design = spread_arms(features)
        smallest = float(np.linalg.svd(raw[design], compute_uv=False)[-1]) ** 2
        largest = float(np.max(np.sum(raw * raw, axis=1)))
        kappa = 2.0 * math.sqrt(1.0 + math.log1p(36.0 * largest / smallest))
        low, high = model.reward_range
        return Setup(
            tables=model.tables,
            features=features,
            design=design,
            alpha=self.scale * 4.0 * 0.5 * kappa**2,
            offset=low / (high - low),
        )

    def reason(self, setup: Setup, state: State) -> str:
        """The first plays, or the largest index."""
        if state.ready[0] == 0:
            return f"first plays: {len(setup.design)} linearly independent arms"
        largest = float(np.max(state.means + bonus(setup, state) * state.widths))
        return f"largest upper bound of a prediction: {largest:.6g} on the unit reward scale"

    def details(self, setup: Setup, state: State) -> dict[str, Any]:
        """The constant alpha, and the factor of the widths now."""
        factor = bonus(setup, state) if state.ready[0] == 1 else math.inf
        return {"alpha": setup.alpha, "bonus": factor}
