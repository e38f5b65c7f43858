"""Noises: distributions of rewards around their mean, drawn by inversion.

A noise consists of two plain functions on the unit reward scale, written in the subset of Python
that Numba compiles. ``prepare(parameters, arm, mean) -> shape`` turns a mean into the one number
that the distribution needs. ``draw(parameters, arm, shape, u) -> reward`` is its quantile
function. Most noises ignore the arm. The mean of ``draw`` over u in [0, 1) is exactly the mean
given to ``prepare``.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from globalbandits._registry import register
from globalbandits.environments.part import Part
from globalbandits.model import RewardModel


class NoiseRules(NamedTuple):
    """The two functions of a noise. Both are compiled into the simulator's loop."""

    prepare: Callable[[Any, int, float], float]
    draw: Callable[[Any, int, float, float], float]


class NoParameters(NamedTuple):
    """The parameters of a noise that has none."""


@dataclasses.dataclass(frozen=True)
class Noise(Part):
    """Base of all noises. A subclass has `rules`, and `parameters` if it needs any."""

    family: ClassVar[str] = "noise"
    rules: ClassVar[NoiseRules]

    def parameters(self, model: RewardModel) -> Any:
        """Return a NamedTuple of numbers and arrays for the rules; raise for unsuitable models."""
        return NoParameters()


def prepare_beta(parameters: NoParameters, arm: int, mean: float) -> float:
    """Return 1 / b of Beta(1, b) with this mean: b = (1 - mean) / mean."""
    if mean <= 0.0:
        return 0.0
    if mean >= 1.0:
        return math.inf
    return mean / (1.0 - mean)


def draw_beta(parameters: NoParameters, arm: int, shape: float, u: float) -> float:
    """Return the quantile of Beta(1, 1 / shape) at 1 - u."""
    return 1.0 - power(u, shape)


def power(u: float, shape: float) -> float:
    """Return ``u**shape`` for u in [0, 1), to about 1e-16; a third faster than `math.pow`."""
    if u <= 0.0:
        return 0.0 if shape > 0.0 else 1.0
    return math.exp(shape * math.log(u))


@register("beta")
@dataclasses.dataclass(frozen=True)
class BetaNoise(Noise):
    """Rewards Beta(1, (1 - mean) / mean), the noise of the paper's experiments.

    By inversion ``reward = 1 - u**(mean / (1 - mean))``; means 0 and 1 give 0 and 1.

    >>> prepare, draw = BetaNoise.rules
    >>> draw(NoParameters(), 0, prepare(NoParameters(), 0, 0.5), 0.25)
    0.75
    """

    rules = NoiseRules(prepare_beta, draw_beta)


def prepare_mirrored(parameters: NoParameters, arm: int, mean: float) -> float:
    """Return 1 / a of Beta(a, 1) with this mean: a = mean / (1 - mean)."""
    if mean <= 0.0:
        return math.inf
    if mean >= 1.0:
        return 0.0
    return (1.0 - mean) / mean


def draw_mirrored(parameters: NoParameters, arm: int, shape: float, u: float) -> float:
    """Return the quantile of Beta(1 / shape, 1) at u."""
    return power(u, shape)


@register("mirrored-beta")
@dataclasses.dataclass(frozen=True)
class MirroredBetaNoise(Noise):
    """Rewards Beta(mean / (1 - mean), 1): the mirror image of `BetaNoise` at mean 1/2.

    By inversion ``reward = u**((1 - mean) / mean)``; means 0 and 1 give 0 and 1.

    >>> prepare, draw = MirroredBetaNoise.rules
    >>> round(draw(NoParameters(), 0, prepare(NoParameters(), 0, 0.25), 0.5), 6)
    0.125
    """

    rules = NoiseRules(prepare_mirrored, draw_mirrored)


def prepare_mean(parameters: NoParameters, arm: int, mean: float) -> float:
    """Return the mean itself as the shape."""
    return mean


def draw_bernoulli(parameters: NoParameters, arm: int, shape: float, u: float) -> float:
    """Return 1 with probability ``shape``, or 0."""
    return 1.0 if u < shape else 0.0


@register("bernoulli")
@dataclasses.dataclass(frozen=True)
class BernoulliNoise(Noise):
    """Bernoulli rewards: the upper end of the reward range, or the lower one.

    On the unit scale the probability of the upper end is the mean. Use it for models that observe
    yes or no: sold or not (``observe="sales"``), cured or not. For models that observe revenue,
    where a sale pays the price, use `SaleNoise`.

    >>> [BernoulliNoise.rules.draw(NoParameters(), 0, 0.3, u) for u in (0.1, 0.5)]
    [1.0, 0.0]
    """

    rules = NoiseRules(prepare_mean, draw_bernoulli)


def draw_mean(parameters: NoParameters, arm: int, shape: float, u: float) -> float:
    """Return the mean. The number u is ignored."""
    return shape


@register("none")
@dataclasses.dataclass(frozen=True)
class NoNoise(Noise):
    """Every reward is its mean.

    >>> NoNoise.rules.draw(NoParameters(), 0, 0.3, 0.9)
    0.3
    """

    rules = NoiseRules(prepare_mean, draw_mean)
