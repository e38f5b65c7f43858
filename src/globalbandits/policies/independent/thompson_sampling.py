"""`ThompsonSampling` with a posterior per arm: Beta, or Student's with learned variance."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.index import (
    NOT_PLAYED,
    first_unplayed_offered,
    no_estimate,
)
from globalbandits.policies.shared.noise_variance import (
    COIN,
    LEARNED,
    as_coin_or_learned,
    draw_student,
    learn_variances,
)
from globalbandits.policies.shared.worth import worth_of
from globalbandits.statistics import Statistics

# A mean is drawn only as far as it matters. The largest draw so far is a floor, and most draws lie
# below it. The density f of a Beta posterior is log-concave, so it lies below an exponential that
# touches it at a point t: f(x) <= f(t) exp(-(x - t) / scale). One number from the part of this
# exponential whose integral is 1 usually shows that the arm's draw is below the floor. See
# `draw_above`.

# The distance of t from the mean, in standard deviations. With 1.5 there are more draws from the
# exponential that are rejected, and with 2.5 more direct draws.
TANGENT_DEVIATIONS = 2.0
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


class Setup(NamedTuple):
    """The model's tables, whether the variance is learned, and all arms."""

    tables: Tables
    learned: bool
    arms: IntArray  # (n_arms,) 0, 1, 2, ...


class State(NamedTuple):
    """Exponentials above the posterior densities."""

    points: FloatArray  # (n_arms,) t, where the exponential touches the density
    scales: FloatArray  # (n_arms,)
    starts: FloatArray  # (n_arms,) the integral above this point is 1; infinite for no exponential


def init(setup: Setup) -> State:
    """No reward yet: posteriors are uniform, and no exponential touches them."""
    n = setup.tables.n_arms
    return State(points=np.zeros(n), scales=np.zeros(n), starts=np.full(n, math.inf))


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Bound the posterior of the arm."""
    bound_posterior(stats, state, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Bound the posteriors of all arms."""
    for arm in range(setup.tables.n_arms):
        bound_posterior(stats, state, arm)


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest draw from its posterior."""
    return select_among(setup, stats, state, setup.arms, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest draw from its posterior."""
    if setup.learned:
        return select_student(setup, stats, offered, rng)
    # The draw of the arm with the largest mean is a high floor for the others.
    first = largest_mean(stats, offered)
    best = first
    largest = worth_of(setup.tables, first, draw_beta(stats, first, rng))
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        if arm != first:
            floor = mean_worth_more(setup.tables, arm, largest)
            mean = draw_above(stats, state, arm, floor, rng)
            if mean > floor:
                value = worth_of(setup.tables, arm, mean)
                if value > largest:
                    best = arm
                    largest = value
    return best


def select_student(
    setup: Setup, stats: Statistics, offered: IntArray, rng: np.random.Generator
) -> int:
    """Return the first arm without a reward, then the one with the largest Student draw."""
    unplayed = first_unplayed_offered(stats, offered)
    if unplayed >= 0:
        return unplayed
    variances = learn_variances(stats)
    best = int(offered[0])
    largest = -math.inf
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        value = worth_of(setup.tables, arm, draw_student(stats, variances[arm], arm, rng))
        if value > largest:
            best = arm
            largest = value
    return best


def largest_mean(stats: Statistics, offered: IntArray) -> int:
    """Return the offered arm whose posterior has the largest mean, the lowest of several."""
    best = int(offered[0])
    largest = 0.0
    for i in range(offered.shape[0]):
        a, b = posterior(stats, offered[i])
        mean = a / (a + b)
        best = int(offered[i]) if mean > largest else best
        largest = max(mean, largest)
    return best


def mean_worth_more(tables: Tables, arm: int, worth: float) -> float:
    """Return a mean above which all means of the arm lie that are worth more than ``worth``."""
    if not tables.valued:
        return worth
    if tables.affine_increasing:
        return float((worth - tables.value_offset[arm]) / tables.value_slope[arm])
    return 0.0


def posterior(stats: Statistics, arm: int) -> tuple[float, float]:
    """Return a and b of the arm's posterior Beta(a, b), both at least 1."""
    # Rounding may take the sum outside [0, N_k]. A nan is replaced by 0.
    successes = 0.0
    if stats.sums[arm] > 0.0:
        successes = min(stats.sums[arm], float(stats.counts[arm]))
    return 1.0 + successes, 1.0 + (stats.counts[arm] - successes)


def draw_beta(stats: Statistics, arm: int, rng: np.random.Generator) -> float:
    """Draw a mean from the posterior of an arm."""
    a, b = posterior(stats, arm)
    return float(rng.beta(a, b))


def draw_above(
    stats: Statistics, state: State, arm: int, floor: float, rng: np.random.Generator
) -> float:
    """Draw a mean from the posterior of an arm; return the floor if the mean is not above it.

    This is rejection sampling above the floor: a number x is drawn from the exponential, and
    accepted with the probability ``f(x) / exponential at x``. So accepted numbers have density f.
    Below the start of the exponential this is impossible, and the mean is drawn directly.
    """
    start, scale = state.starts[arm], state.scales[arm]
    # The comparison is false for nan.
    if not floor >= start:
        return max(draw_beta(stats, arm, rng), floor)
    x = start + scale * rng.standard_exponential()
    if not floor < x < 1.0:
        return floor
    a, b = posterior(stats, arm)
    t = state.points[arm]
    log_density = (a - 1.0) * math.log(x / t) + (b - 1.0) * math.log((1.0 - x) / (1.0 - t))
    log_exponential = (t - x) / scale
    is_accepted = rng.standard_exponential() >= log_exponential - log_density
    return float(x) if is_accepted else floor


def bound_posterior(stats: Statistics, state: State, arm: int) -> None:
    """Set the exponential above the posterior density of an arm."""
    a, b = posterior(stats, arm)
    mean = a / (a + b)
    deviation = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    t = min(mean + TANGENT_DEVIATIONS * deviation, 0.5 * (mean + 1.0))
    slope = (a - 1.0) / t - (b - 1.0) / (1.0 - t)  # of log f at t
    if slope < 0.0:
        scale = -1.0 / slope
        log_density = (a - 1.0) * math.log(t) + (b - 1.0) * math.log(1.0 - t) - log_beta(a, b)
        state.points[arm] = t
        state.scales[arm] = scale
        state.starts[arm] = t + scale * (log_density + math.log(scale))
    else:
        state.points[arm] = 0.0
        state.scales[arm] = 0.0
        state.starts[arm] = math.inf


def log_beta(a: float, b: float) -> float:
    """Return the logarithm of the beta function.

    >>> math.isclose(log_beta(2.0, 3.0), math.log(1 / 12))
    True
    """
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def log_gamma(x: float) -> float:
    """Return the logarithm of the gamma function for x of at least 1, by Stirling's series.

    Python's and Numba's `lgamma` differ in their last bits.
    """
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    square = 1.0 / (x * x)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    found = (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series
    return found if product == 1.0 else found - math.log(product)


@register("thompson_sampling")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ThompsonSampling(Policy):
    """Play each arm with the probability that it is best; the model's curves are not used.

    Each round draws a mean per arm from ``Beta(1 + sum of rewards, 1 + N_k - sum of rewards)`` and
    plays the arm with the largest draw. For Bernoulli rewards this is Thompson's rule with a
    uniform prior (Thompson 1933, Agrawal and Goyal 2012). For other rewards in [0, 1] Agrawal and
    Goyal replace a reward x by a Bernoulli draw with mean x. Here x itself is added, so that
    updates draw no random number and can be replayed, merged and undone. The posterior is as wide
    as for Bernoulli rewards; rewards with less variance can be learned faster.

    With ``variance="learned"`` every arm is played once. Then the draw is ``mean_k + sqrt(v_k /
    N_k) * t`` with t from Student's distribution with ``4 + N_k`` degrees of freedom. This is the
    posterior of a Normal arm with a flat prior of its mean. The prior of its variance is estimated
    from all arms and has the weight of five rewards. Honda and Takemura (2014) show that the rule
    can fail without such a prior.

    Value: any. The draws are ranked by worth.

    Args:
        variance: "coin" for the Beta posterior, "learned" for Student's.

    >>> ThompsonSampling(variance="learned").label
    "ThompsonSampling(variance='learned')"
    """

    variance: str = COIN

    rules = Rules(init, select, update, no_estimate, rebuild, select_among=select_among)

    def __post_init__(self) -> None:
        """Check the variance."""
        object.__setattr__(self, "variance", as_coin_or_learned(self.variance))

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables, self.variance == LEARNED, np.arange(model.n_arms))

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Name the posterior of the draws."""
        if not setup.learned:
            return "largest of one draw per arm from its Beta posterior"
        if int(np.min(stats.counts)) == 0:
            return NOT_PLAYED
        return "largest of one draw per arm from its Student posterior"
