"""How rewards scatter around their mean: one uniform number gives one reward, by inversion.

A noise works on the unit reward scale through two plain functions in the subset of Python
that Numba compiles: ``prepare(parameters, mean) -> shape`` turns a mean into the one number
the distribution needs, and ``draw(parameters, shape, u) -> reward`` is its quantile function.
The mean of ``draw`` over u in [0, 1) is exactly the mean that was prepared.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from globalbandits.environments.parts import Part, register


class NoiseRules(NamedTuple):
    """The two functions of a noise; both are compiled into the simulator's loop."""

    prepare: Callable[[Any, float], float]
    draw: Callable[[Any, float, float], float]


class NoParameters(NamedTuple):
    """The parameters of a noise that has none."""


@dataclasses.dataclass(frozen=True)
class Noise(Part):
    """Base of all noises: a subclass gives its `rules`, and its parameters if it has any."""

    family: ClassVar[str] = "noise"
    rules: ClassVar[NoiseRules]

    def parameters(self, scale: float) -> Any:
        """A NamedTuple of numbers for the rules; ``scale`` is the length of the reward range."""
        return NoParameters()


def prepare_beta(parameters: NoParameters, mean: float) -> float:
    """1 / b of Beta(1, b) with this mean: b = (1 - mean) / mean."""
    if mean >= 1.0:
        return math.inf
    return mean / (1.0 - mean)


def draw_beta(parameters: NoParameters, shape: float, u: float) -> float:
    """Quantile of Beta(1, 1 / shape) at 1 - u."""
    return 1.0 - math.pow(u, shape)


@register("beta")
@dataclasses.dataclass(frozen=True)
class BetaNoise(Noise):
    """Rewards Beta(1, (1 - mean) / mean), the noise of the paper's experiments.

    By inversion ``reward = 1 - u**(mean / (1 - mean))``; means 0 and 1 give 0 and 1.

    >>> noise = BetaNoise()
    >>> shape = noise.rules.prepare(noise.parameters(1.0), 0.5)
    >>> noise.rules.draw(noise.parameters(1.0), shape, 0.25)
    0.75
    """

    rules = NoiseRules(prepare_beta, draw_beta)


def prepare_mean(parameters: NoParameters, mean: float) -> float:
    """The mean itself is all that is needed."""
    return mean


def draw_bernoulli(parameters: NoParameters, shape: float, u: float) -> float:
    """1 with probability ``shape``."""
    return 1.0 if u < shape else 0.0


@register("bernoulli")
@dataclasses.dataclass(frozen=True)
class BernoulliNoise(Noise):
    """A reward is the upper end of the range, with the right probability, or the lower end.

    >>> noise = BernoulliNoise()
    >>> [noise.rules.draw(noise.parameters(1.0), 0.3, u) for u in (0.1, 0.5)]
    [1.0, 0.0]
    """

    rules = NoiseRules(prepare_mean, draw_bernoulli)


def draw_mean(parameters: NoParameters, shape: float, u: float) -> float:
    """The mean, whatever u."""
    return shape


@register("none")
@dataclasses.dataclass(frozen=True)
class NoNoise(Noise):
    """Every reward is its mean.

    >>> NoNoise().rules.draw(NoNoise().parameters(1.0), 0.3, 0.9)
    0.3
    """

    rules = NoiseRules(prepare_mean, draw_mean)
