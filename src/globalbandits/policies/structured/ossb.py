"""`OSSB`: Optimal Sampling for Structured Bandits (Combes, Magureanu and Proutiere 2017).

OSSB explores each arm k about ``c_k * log t`` times. The rates c solve the linear program of
Graves and Lai (1997): minimise ``sum_k c_k * gap_k`` subject to ``sum_k c_k * kl(mu_k(theta),
mu_k(other)) >= 1`` for every *confusing* parameter. A parameter is confusing if it has another
best arm but the same means of theta's best arms.

With one parameter and strictly monotone means no parameter is confusing, because the mean of a
single arm determines the parameter. So the program has no constraints, all rates are zero, and the
lower bound on regret of order log t is zero too. With zero rates OSSB's test "every arm has been
explored enough" always holds. It never enters its estimation or exploration phases, and plays
greedily by its estimate.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables, choose_in_cell, evaluate, find_cell
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.shared.divergence import bernoulli_loss
from globalbandits.policies.shared.weighted_mean import require_inverses
from globalbandits.policies.shared.worth import choose_any, choose_best_offered
from globalbandits.statistics import Statistics

_GOLDEN_SECTION = 0.5 * (3.0 - math.sqrt(5.0))
# Smallest distance of a mean from 0 and 1, where the divergence is infinite.
_MIN_MEAN = 1e-12
# Share of the domain within which the distance is constant in floats.
_MINIMUM_TOLERANCE = 3e-8
# Share of the domain at which a saved minimum is compared with its neighbours.
_NEIGHBOUR_DISTANCE = 1e-6
# Relative rounding error of a distance.
_DISTANCE_ROUNDING = 1e-12
# Number of steps in the search for a first estimate.
_N_STARTS = 64


class Setup(NamedTuple):
    """The model's tables; with zero rates OSSB has no constants."""

    tables: Tables


class State(NamedTuple):
    """The parameter nearest to each mean, and to all of them."""

    thetas: FloatArray  # (n_arms,) parameter of each arm's mean, 0 where N_k = 0
    theta: FloatArray  # (1,) the projection of all means onto the model


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(np.zeros(setup.tables.n_arms), np.zeros(1))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best arm at the projection; a random arm before the first reward."""
    if stats.total[0] == 0:
        return int(rng.random() * setup.tables.n_arms)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, state.theta[0]), rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm at the projection; a random one before the first reward."""
    if stats.total[0] == 0:
        return choose_any(offered, rng)
    return choose_best_offered(setup.tables, state.theta[0], offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the arm's parameter and the projection."""
    invert_mean(setup, stats, state, arm)
    project(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute every arm's parameter, and the projection, from counts and sums."""
    for arm in range(setup.tables.n_arms):
        invert_mean(setup, stats, state, arm)
    state.theta[0] = 0.0
    if stats.total[0] > 0:
        low, high = span(setup, stats, state)
        state.theta[0] = lowest_of_many(setup, stats, low, high)
        state.theta[0] = minimise(setup, stats, state.theta[0], low, high)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether the saved projection is a minimum of the distance, up to rounding."""
    if stats.total[0] == 0:
        return bool(state.theta[0] == 0.0)
    theta, own = float(state.theta[0]), state.thetas[stats.counts > 0]
    if not own.min() <= theta <= own.max():
        return False
    near = _NEIGHBOUR_DISTANCE * (setup.tables.high - setup.tables.low)
    around = [x for x in (theta - near, theta + near) if own.min() <= x <= own.max()]
    found = distance(setup, stats, theta) * (1.0 - _DISTANCE_ROUNDING) - _DISTANCE_ROUNDING
    return all(found <= distance(setup, stats, x) for x in around)


def invert_mean(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
    """Compute the parameter of the arm's own mean."""
    state.thetas[arm] = 0.0
    if stats.counts[arm] > 0:
        mean = stats.sums[arm] / stats.counts[arm]
        state.thetas[arm] = evaluate(setup.tables.inverse, arm, mean)


def distance(setup: Setup, stats: Statistics, theta: float) -> float:
    """Return ``sum_k N_k kl(mean_k, mu_k(theta))`` up to a constant: minus the log-likelihood."""
    value = 0.0
    for arm in range(setup.tables.n_arms):
        if stats.counts[arm] > 0:
            mu = evaluate(setup.tables.mean, arm, theta)
            mu = min(max(mu, _MIN_MEAN), 1.0 - _MIN_MEAN)
            rest = stats.counts[arm] - stats.sums[arm]
            value += bernoulli_loss(stats.sums[arm], rest, math.log(mu), math.log(1.0 - mu))
    return value


def project(setup: Setup, stats: Statistics, state: State) -> None:
    """Find the minimum of the distance by Brent's method.

    Every arm's term falls towards the parameter of its own mean and rises beyond. So the minimum
    lies between the smallest and the largest of these parameters.
    """
    low, high = span(setup, stats, state)
    state.theta[0] = minimise(setup, stats, state.theta[0], low, high)


def span(setup: Setup, stats: Statistics, state: State) -> tuple[float, float]:
    """Return the smallest and the largest parameter of an arm's own mean."""
    low, high = setup.tables.high, setup.tables.low
    for arm in range(setup.tables.n_arms):
        if stats.counts[arm] > 0:
            low = min(low, state.thetas[arm])
            high = max(high, state.thetas[arm])
    return low, high


def lowest_of_many(setup: Setup, stats: Statistics, low: float, high: float) -> float:
    """Return the best of evenly spaced parameters, as a start without a last estimate."""
    best, smallest = low, math.inf
    for step in range(1, _N_STARTS):
        theta = low + (high - low) * step / _N_STARTS
        value = distance(setup, stats, theta)
        if value < smallest:
            best, smallest = theta, value
    return best


def minimise(setup: Setup, stats: Statistics, last: float, low: float, high: float) -> float:
    """Minimise the distance on [low, high] by Brent's method: parabolas or golden sections.

    One more reward moves the minimum by the order of 1/t. So a bracket of that width around the
    last estimate is tried first.
    """
    length = setup.tables.high - setup.tables.low
    tolerance = _MINIMUM_TOLERANCE * length
    if high - low <= 2.0 * tolerance:
        return 0.5 * (low + high)
    x = last
    if not low < x < high:
        x = low + _GOLDEN_SECTION * (high - low)
    f = distance(setup, stats, x)
    second, f_second = max(low, x - 4.0 * length / stats.total[0]), math.inf
    third, f_third = min(high, x + 4.0 * length / stats.total[0]), math.inf
    if stats.total[0] > 8:
        f_second = distance(setup, stats, second)
        f_third = distance(setup, stats, third)
    if f_second > f and f_third > f and not math.isinf(f_second):
        low, high = second, third
        if f_third < f_second:
            second, f_second, third, f_third = third, f_third, second, f_second
    else:
        second = third = x
        f_second = f_third = f
    step = before = high - low if second != third else 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if abs(x - middle) <= 2.0 * tolerance - 0.5 * (high - low):
            break
        # Numerator and denominator of the step to the parabola's vertex.
        r = (x - second) * (f - f_third)
        q = (x - third) * (f - f_second)
        p = (x - third) * q - (x - second) * r
        q = 2.0 * (q - r)
        if q > 0.0:
            p = -p
        q = abs(q)
        fits = abs(p) < abs(0.5 * q * before) and q * (low - x) < p < q * (high - x)
        if fits:
            before, step = step, p / q
        else:
            before = (high - x) if x < middle else (low - x)
            step = _GOLDEN_SECTION * before
        trial = x + step
        if fits and (trial - low < 2.0 * tolerance or high - trial < 2.0 * tolerance):
            step = tolerance if x < middle else -tolerance
            trial = x + step
        elif abs(step) < tolerance:
            trial = x + (tolerance if step > 0.0 else -tolerance)
        value = distance(setup, stats, trial)
        if value <= f:
            if trial < x:
                high = x
            else:
                low = x
            third, f_third = second, f_second
            second, f_second = x, f
            x, f = trial, value
        else:
            if trial < x:
                low = trial
            else:
                high = trial
            if value <= f_second or second == x:
                third, f_third = second, f_second
                second, f_second = trial, value
            elif value <= f_third or third in (x, second):
                third, f_third = trial, value
    return float(x)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the projection; nan before any reward."""
    return math.nan if stats.total[0] == 0 else float(state.theta[0])


@register("ossb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class OSSB(Policy):
    """Play greedily at the parameter nearest to the mean rewards: OSSB with one parameter.

    The estimate minimises ``sum_k N_k * kl(mean_k, mu_k(theta))`` with the Bernoulli divergence,
    which is a quasi-likelihood for all rewards in [0, 1]. With one parameter OSSB does not explore:
    no other parameter leaves the means of the best arms unchanged. If the means contradict the
    model, the distance can have several minima. Then the one found from the last estimate is used;
    after rewards were forgotten or merged, the lowest one. Value: any; the observed mean of the
    best arm determines the parameter.

    >>> OSSB().to_dict()
    {'policy': 'ossb'}
    """

    rules = Rules(
        init, select, update, estimate, rebuild, ("theta",), resume, select_among=select_among
    )

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        require_one_number(model, "OSSB")
        require_inverses(model.tables, "OSSB")
        return Setup(model.tables)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the estimate, or say that there is none."""
        if stats.total[0] == 0:
            return "no reward yet: any arm, at random"
        return (
            "no parameter is confusing, so greedy: the best arm at the estimate "
            f"{estimate(setup, stats, state):.6g}"
        )
