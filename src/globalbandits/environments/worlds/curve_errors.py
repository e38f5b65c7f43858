"""Errors of the curves of random worlds: seven kinds, each with a random size.

Errors of single means are on the reward scale, or on the log-odds scale for families of conversion
rates (`Family.log_odds_errors`).
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.environments.bias import FixedBias, UniformBias
from globalbandits.environments.drift import Drift, Jumps, LinearDrift, RandomWalk, SinusoidalDrift
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.worlds.families import Domain, Family
from globalbandits.model import RewardModel

# Exact curves occur twice, so they are a quarter of the worlds.
KINDS = ("exact", "exact", "dense", "lone", "slope", "family", "reach", "drift")

# Distance of means from the ends of the reward range, as a share of it, on the reward scale.
MIN_SHARE = 0.005
# Sizes of errors on the log-odds scale.
MIN_LOG_ODDS_ERROR, MAX_LOG_ODDS_ERROR = 0.1, 0.8
# Sizes drawn until one of them can make an arm the best one.
_N_TRIES = 20
# Grid of an arm's means in the search for a higher worth.
_N_LEVELS = 201
# Grid of another family's parameters in the search for the nearest curves.
_N_THETAS = 41


class Error(NamedTuple):
    """The model that policies know, and the other arguments of `Environment`."""

    words: str
    model: RewardModel
    options: dict[str, Any]


def draw_error(
    kind: str, family: Family, theta: float, horizon: int, rng: np.random.Generator
) -> Error:
    """Draw the error of the curves of a family whose parameter is theta.

    Only the times of a drift depend on the horizon.
    """
    if kind == "reach":
        return _reach(family, theta, rng)
    model = family.build(domain=family.domain)
    if kind == "exact":
        return Error("curves exact", model, {"theta": theta})
    if family.log_odds_errors and kind in ("dense", "lone", "slope"):
        return _log_odds(kind, model, theta, rng)
    if kind == "dense":
        size = _size(0.01, 0.15, rng) * _length(model)
        words = f"every mean off by up to {size:.2g}"
        return Error(words, model, {"theta": theta, "bias": UniformBias(size)})
    if kind == "lone":
        return _lone(model, theta, rng)
    if kind == "drift":
        drift, words = _drift(family.domain, theta, horizon, rng)
        return Error(words, model, {"theta": theta, "drift": drift})
    if kind == "slope":
        return _slope(model, theta, rng)
    return _family(model, family, theta, rng)


def _log_odds(kind: str, model: RewardModel, theta: float, rng: np.random.Generator) -> Error:
    """Every mean, the mean of one arm, or differences between means are off in log-odds."""
    means = model.means(theta)
    odds = np.log(means) - np.log1p(-means)
    best = int(worth_of_means(model, means).argmax())
    size = _size(MIN_LOG_ODDS_ERROR, MAX_LOG_ODDS_ERROR, rng)
    if kind == "dense":
        odds = odds + size * rng.standard_normal(model.n_arms)
        words = f"log-odds of every mean off by {size:.2g} (standard deviation)"
    elif kind == "slope":
        factor = 1.0 + size * (1.0 if rng.random() < 0.5 else -1.0)
        odds = odds[best] + factor * (odds - odds[best])
        words = f"differences between log-odds are {factor:.2g} times what the curves say"
    else:
        arm, shift = _lone_shift(model, odds, best, rng)
        if shift == 0.0:
            return Error("curves exact", model, {"theta": theta})
        odds[arm] += shift
        words = f"arm {arm} alone is wrong, by {shift:+.2g} in log-odds, and the best"
    return Error(words, model, {"theta": theta, "truth": _probabilities(odds).tolist()})


def _lone_shift(
    model: RewardModel, odds: FloatArray, best: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Draw an arm and a shift of its log-odds that makes it the best; no shift if none does."""
    for _ in range(_N_TRIES):
        size = _size(MIN_LOG_ODDS_ERROR, MAX_LOG_ODDS_ERROR, rng)
        shifts = [(arm, sign * size) for arm in range(model.n_arms) for sign in (-1.0, 1.0)]
        wrong = [shift for shift in shifts if shift[0] != best and _is_best(model, odds, *shift)]
        if wrong:
            return wrong[int(rng.integers(len(wrong)))]
    return best, 0.0


def _is_best(model: RewardModel, odds: FloatArray, arm: int, shift: float) -> bool:
    """Whether the arm is the best one if its log-odds are shifted."""
    shifted = odds.copy()
    shifted[arm] += shift
    worth = worth_of_means(model, _probabilities(shifted))
    return bool(worth[arm] > np.delete(worth, arm).max())


def _probabilities(odds: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def _size(low: float, high: float, rng: np.random.Generator) -> float:
    """Draw a log-uniform size."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _length(model: RewardModel) -> float:
    low, high = model.reward_range
    return high - low


def _inside(model: RewardModel, means: FloatArray, share: float = MIN_SHARE) -> list[float]:
    """Clip means to the inside of the reward range, away from its ends by a share of it."""
    low, high = model.reward_range
    slack = share * (high - low)
    found: list[float] = np.clip(means, low + slack, high - slack).tolist()
    return found


def _lone(model: RewardModel, theta: float, rng: np.random.Generator) -> Error:
    """One arm is worth more than any other, contrary to its curve."""
    means = model.means(theta)
    worth = worth_of_means(model, means)
    low, high = model.worth_range
    wanted = float(worth.max() + _size(0.03, 0.2, rng) * (high - low))
    levels = np.array(_inside(model, np.linspace(*model.reward_range, _N_LEVELS)))
    reached = np.asarray([model.worth_of(arm, levels) for arm in range(model.n_arms)])
    possible = np.minimum(reached.max(axis=1), wanted)
    others = np.flatnonzero(possible > worth.max() + 0.01 * (high - low))
    others = others[worth[others] < worth.max()]
    # If an arm meets a target exactly, no other arm can be worth more.
    if others.size == 0:
        return Error("curves exact", model, {"theta": theta})
    arm = int(rng.choice(others))
    enough = np.flatnonzero(reached[arm] >= possible[arm])
    level = float(levels[enough[np.argmin(np.abs(levels[enough] - means[arm]))]])
    shifts = np.zeros(model.n_arms)
    shifts[arm] = level - means[arm]
    gain = float(model.worth_of(arm, level) - worth.max())
    words = f"arm {arm} alone is wrong and worth {gain:.2g} more than any other"
    return Error(words, model, {"theta": theta, "bias": FixedBias(tuple(shifts.tolist()))})


def _slope(model: RewardModel, theta: float, rng: np.random.Generator) -> Error:
    """Differences between arms are larger or smaller than those of the curves."""
    means = model.means(theta)
    factor = 1.0 + _size(0.1, 0.6, rng) * (1.0 if rng.random() < 0.5 else -1.0)
    centre = means.mean()
    truth = _inside(model, centre + factor * (means - centre))
    words = f"differences between means are {factor:.2g} times what the curves say"
    return Error(words, model, {"theta": theta, "truth": truth})


def _family(model: RewardModel, family: Family, theta: float, rng: np.random.Generator) -> Error:
    """The nearest curves of another family; a mixture of two parameters if there is none."""
    if family.relatives:
        words, domain, build = family.relatives[int(rng.integers(len(family.relatives)))]
        candidates = build(domain=domain).means(np.linspace(*domain, _N_THETAS))
        distances = ((candidates - model.means(theta)) ** 2).sum(axis=-1)
        truth = candidates[int(np.argmin(distances))]
        words = f"truly of another family, {words}"
    else:
        low, high = family.domain
        share, other = rng.uniform(0.2, 0.5), rng.uniform(low, high)
        truth = (1.0 - share) * model.means(theta) + share * model.means(other)
        words = f"a mixture: {share:.0%} of the customers have theta = {other:.2g}"
    share = 0.0 if family.log_odds_errors else MIN_SHARE
    return Error(words, model, {"theta": theta, "truth": _inside(model, truth, share)})


def _reach(family: Family, theta: float, rng: np.random.Generator) -> Error:
    """The domain of the model ends before theta."""
    low, high = family.domain
    distance = _size(0.05, 0.3, rng) * (high - low)
    left = theta - low > high - theta
    domain = (low, max(theta - distance, low + 0.1 * (high - low)))
    if not left:
        domain = (min(theta + distance, high - 0.1 * (high - low)), high)
    whole, model = family.build(domain=family.domain), family.build(domain=domain)
    words = f"theta is believed to lie in [{domain[0]:.2g}, {domain[1]:.2g}]"
    share = 0.0 if family.log_odds_errors else MIN_SHARE
    return Error(words, model, {"truth": _inside(whole, whole.means(theta), share)})


def _drift(
    domain: Domain, theta: float, horizon: int, rng: np.random.Generator
) -> tuple[Drift, str]:
    """A random walk, jumps, a wave or a line over the whole horizon."""
    low, high = domain
    length = high - low
    kind = int(rng.integers(4))
    size, place, where = _size(0.3, 1.5, rng), rng.random(3), rng.uniform(low, high, 3)
    if kind == 0:
        up = 0.5 + 0.1 * float(place[0] < 0.5)
        # The sum of all steps of the game, in lengths of the domain.
        path = 10.0 * size
        words = f"theta walks, up with probability {up:g}, {path:.2g} domains in all"
        return RandomWalk(drift_time=horizon / (path * length), up=up), words
    if kind == 1:
        number = 1 + int(3.0 * place[0])
        shares = (np.arange(number) + 0.2 + 0.6 * place[:number]) / number
        times = [max(2, round(share * horizon)) for share in shares.tolist()]
        words = f"theta jumps at {', '.join(f'{share:.0%}' for share in shares)} of the game"
        return Jumps(times=tuple(times), values=tuple(where[:number].tolist())), words
    if kind == 2:
        amplitude = 0.3 * size * length
        period = horizon * (0.3 + 1.7 * place[0])
        words = f"theta swings by {amplitude:.2g}, {horizon / period:.2g} times"
        return SinusoidalDrift(amplitude=amplitude, period=period), words
    rate = (1.0 if place[0] < 0.5 else -1.0) * size * length / horizon
    return LinearDrift(rate=rate), f"theta moves evenly, {size:.2g} domains in all"
