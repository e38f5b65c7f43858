"""GLM-UCB (Filippi, Cappe, Garivier and Szepesvari 2010) with a logistic link."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_fraction, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound
from globalbandits.policies.features import arm_features, as_features, spread_arms
from globalbandits.policies.uncertainty_ellipsoid import REFRESH_EVERY, invert

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

_N_GRID = 257
_CLOSE = 1e-2  # how well default features reproduce the means, on the unit reward scale
_CLIP = 1e-6  # means are kept this far from 0 and 1, where the logistic link is infinite
_RIDGE = 1e-3  # keeps the estimate finite while all rewards are 0, or all are 1
_LONGEST_STEP = 4.0


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constants of the bonus."""

    tables: Tables
    features: FloatArray  # (n_arms, d) m_k
    design: IntArray  # (d,) arms of the first plays, linearly independent
    factor: float  # scale * (2 k kappa R / c) * sqrt(2 d)
    confidence: float  # log(2 d / delta)


class State(NamedTuple):
    """Statistics per arm, the quasi-likelihood estimate, and the arms' widths."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    total: IntArray  # (1,) number of observations
    ready: IntArray  # (1,) 1 once all arms of the design are observed
    coefficients: FloatArray  # (d,) the estimate
    inverse: FloatArray  # (d, d) M**-1, M = sum_k N_k m_k m_k'
    means: FloatArray  # (n_arms,) predictions g(m_k' coefficients)
    variances: FloatArray  # (n_arms,) m_k' M**-1 m_k
    widths: FloatArray  # (n_arms,) square roots of the variances
    matrix: FloatArray  # (d, d) room for the work of one update
    solved: FloatArray  # (d, d)
    vector: FloatArray  # (d,)


def init(setup: Setup) -> State:
    """No observation yet."""
    n, d = setup.features.shape
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        total=np.zeros(1, np.int64),
        ready=np.zeros(1, np.int64),
        coefficients=np.zeros(d),
        inverse=np.zeros((d, d)),
        means=np.full(n, 0.5),
        variances=np.zeros(n),
        widths=np.zeros(n),
        matrix=np.zeros((d, d)),
        solved=np.zeros((d, d)),
        vector=np.zeros(d),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The arms of the design first; then the largest prediction with its bonus."""
    if state.ready[0] == 0:
        return first_missing(setup, state)
    return choose_upper_bound(state.means, state.widths, bonus(setup, state), rng)


def first_missing(setup: Setup, state: State) -> int:
    """The first arm of the design without an observation, or -1."""
    for i in range(setup.design.shape[0]):
        if state.counts[setup.design[i]] == 0:
            return int(setup.design[i])
    return -1


def bonus(setup: Setup, state: State) -> float:
    """The paper's rho(t), with the current round in place of the horizon."""
    log_t = math.log(state.total[0] + 1)
    return setup.factor * math.sqrt(log_t * (setup.confidence + log_t))


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward: widths by Sherman-Morrison, the estimate by Newton's method."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.total[0] += 1
    if state.ready[0] == 0 or state.total[0] % REFRESH_EVERY == 0:
        measure(setup, state)
    else:
        narrow(setup, state, arm)
    fit(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back, and rebuild the rest."""
    state.counts[arm] -= 1
    state.sums[arm] -= reward
    if state.counts[arm] == 0:
        state.sums[arm] = 0.0
    refresh(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    state.total[0] = 0
    for arm in range(setup.tables.n_arms):
        state.total[0] += state.counts[arm]
    for i in range(setup.features.shape[1]):
        state.coefficients[i] = 0.0
    measure(setup, state)
    fit(setup, state)


def narrow(setup: Setup, state: State, arm: int) -> None:
    """M**-1 and the widths after one more play of an arm."""
    n, d = setup.features.shape
    for i in range(d):
        along = 0.0
        for j in range(d):
            along += state.inverse[i, j] * setup.features[arm, j]
        state.vector[i] = along
    scale = 1.0 / (1.0 + state.variances[arm])
    for i in range(d):
        for j in range(d):
            state.inverse[i, j] -= scale * (state.vector[i] * state.vector[j])
    for k in range(n):
        along = 0.0
        for i in range(d):
            along += setup.features[k, i] * state.vector[i]
        state.variances[k] = max(0.0, state.variances[k] - scale * (along * along))
        state.widths[k] = math.sqrt(state.variances[k])


def measure(setup: Setup, state: State) -> None:
    """M**-1 and the widths from the counts, once the design has been played."""
    n, d = setup.features.shape
    state.ready[0] = 1 if first_missing(setup, state) < 0 else 0
    if state.ready[0] == 0:
        return
    for i in range(d):
        for j in range(d):
            state.matrix[i, j] = 0.0
            for k in range(n):
                square = setup.features[k, i] * setup.features[k, j]
                state.matrix[i, j] += state.counts[k] * square
    invert(state.matrix, state.inverse)
    for k in range(n):
        variance = 0.0
        for i in range(d):
            for j in range(d):
                variance += setup.features[k, i] * state.inverse[i, j] * setup.features[k, j]
        state.variances[k] = max(0.0, variance)
        state.widths[k] = math.sqrt(state.variances[k])


def fit(setup: Setup, state: State) -> None:
    """Newton's method on the concave quasi-likelihood, from the last estimate."""
    d = setup.features.shape[1]
    for _ in range(50):
        linearise(setup, state)
        invert(state.matrix, state.solved)
        length = 0.0
        for i in range(d):
            step = 0.0
            for j in range(d):
                step += state.solved[i, j] * state.vector[j]
            state.matrix[0, i] = step
            length += step * step
        length = math.sqrt(length)
        shrink = min(1.0, _LONGEST_STEP / length) if length > 0.0 else 1.0
        for i in range(d):
            state.coefficients[i] += shrink * state.matrix[0, i]
        if length < 1e-9:
            break
    predict(setup, state)


def linearise(setup: Setup, state: State) -> None:
    """Gradient into `vector`, negative second derivative into `matrix`."""
    n, d = setup.features.shape
    predict(setup, state)
    for i in range(d):
        state.vector[i] = -_RIDGE * state.coefficients[i]
        for j in range(d):
            state.matrix[i, j] = _RIDGE if i == j else 0.0
    for k in range(n):
        count = state.counts[k]
        if count == 0:
            continue
        mean = state.means[k]
        weight = count * mean * (1.0 - mean)
        surprise = state.sums[k] - count * mean
        for i in range(d):
            state.vector[i] += surprise * setup.features[k, i]
            for j in range(d):
                state.matrix[i, j] += weight * setup.features[k, i] * setup.features[k, j]


def predict(setup: Setup, state: State) -> None:
    """The mean rewards at the estimate."""
    n, d = setup.features.shape
    for k in range(n):
        x = 0.0
        for i in range(d):
            x += setup.features[k, i] * state.coefficients[i]
        state.means[k] = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def estimate(setup: Setup, state: State) -> float:
    """The policy knows a vector of coefficients, not the model's parameter."""
    return math.nan


def logit_features(means: FloatArray) -> FloatArray:
    """The fewest features in which the logits of all means are linear, nearly enough.

    Args:
        means: shape (n_thetas, n_arms), between 0 and 1.
    """
    logits = np.log(means) - np.log1p(-means)
    left, strength, right = np.linalg.svd(logits, full_matrices=False)
    rank = 1
    while rank < len(strength):
        fitted = (left[:, :rank] * strength[:rank]) @ right[:rank]
        if np.max(np.abs(1.0 / (1.0 + np.exp(-fitted)) - means)) <= _CLOSE:
            break
        rank += 1
    return np.ascontiguousarray(right[:rank].T * (strength[:rank] / math.sqrt(len(means))))


@register("glm_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GLMUCB(Policy):
    """Logistic regression on features of the arms, and the largest prediction with a bonus.

    After d plays of linearly independent arms the index of an arm with features m is ``g(m'b) +
    rho(t) * sqrt(m' M**-1 m)``, b the quasi-likelihood estimate, ``M = sum mm'``, g the logistic
    function, ``rho(t) = (2 * k * kappa * R / c) * sqrt(2 * d * log(t) * log(2 * d * T / delta))``
    and ``kappa = sqrt(3 + 2 * log(1 + 2 * c_m**2 / lambda0))`` (Filippi and others 2010): k =
    1/4 bounds the slope of g from above, c from below, R = 1 bounds a reward, c_m the length of
    a vector of features, lambda0 is the smallest eigenvalue of M after the first d plays. The
    constants are from memory of the paper's Theorem 2; its text could not be had to check them.

    What we changed: the current round stands for the horizon T; c is the smallest slope over
    the model's domain; the estimate has a ridge of 0.001 instead of the projection onto the set
    of allowed parameters. With the proven constants the bonus is far above 1 for long, and
    the policy tries all arms in turn; the paper itself tunes it down: ``scale`` does that.

    Args:
        features: one vector for each arm; None takes the fewest vectors in which the logits of
            the model's means are linear to within 0.01 of a mean.
        scale: multiplies rho; positive.
        delta: probability that a bound may fail, between 0 and 1.

    >>> GLMUCB(scale=0.001).label
    'GLMUCB(scale=0.001)'
    """

    features: tuple[tuple[float, ...], ...] | None = None
    scale: float = 1.0
    delta: float = 0.05

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.features is not None:
            object.__setattr__(self, "features", as_features(self.features))
        object.__setattr__(self, "scale", as_positive("scale", self.scale, PolicyError))
        object.__setattr__(self, "delta", as_fraction("delta", self.delta, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """Features, the arms of the first plays, and the constants of rho."""
        low, high = model.reward_range
        means = (model.means(np.linspace(*model.domain, _N_GRID)) - low) / (high - low)
        means = np.clip(means, _CLIP, 1.0 - _CLIP)
        if self.features is None:
            features = logit_features(means)
        else:
            features = arm_features(self.features, model.arms)
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

    def reason(self, setup: Setup, state: State) -> str:
        """The first plays, or the largest index."""
        if state.ready[0] == 0:
            return f"first plays: {len(setup.design)} linearly independent arms"
        largest = float(np.max(state.means + bonus(setup, state) * state.widths))
        return f"largest prediction with its bonus: {largest:.6g} on the unit reward scale"

    def details(self, setup: Setup, state: State) -> dict[str, Any]:
        """The estimated coefficients, and the factor of the widths now."""
        factor = bonus(setup, state) if state.ready[0] == 1 else math.inf
        return {"coefficients": state.coefficients.tolist(), "bonus": factor}
