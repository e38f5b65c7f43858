"""`ScaledCoinNoise`: scaled Bernoulli noise, two values around the mean with a given variance."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_floats, require
from globalbandits.environments.noises.noise import Noise, NoiseRules, prepare_mean
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel


class Parameters(NamedTuple):
    """Square roots of the shares."""

    roots: FloatArray  # (n_arms,)


def draw(parameters: Parameters, arm: int, shape: float, u: float) -> float:
    """Return ``mean + sqrt(share) * (x - mean)``, where x is Bernoulli with this mean."""
    x = 1.0 if u < shape else 0.0
    return float(shape + parameters.roots[arm] * (x - shape))


@register("scaled-coin")
@dataclasses.dataclass(frozen=True)
class ScaledCoinNoise(Noise):
    """Rewards with a given variance: ``share * m (1 - m)`` at mean m, on the unit scale.

    A reward is one of two values, ``m + sqrt(share) (1 - m)`` with probability m and
    ``m - sqrt(share) m`` otherwise. It simulates noise of which only the variance is known, at the
    cost of Bernoulli noise. A share of 1 is `BernoulliNoise`.

    Args:
        share: the variance as a share of the Bernoulli variance at the same mean, in [0, 1]; one
            number, or one per arm.

    >>> import globalbandits as gb
    >>> noise = ScaledCoinNoise(0.25)
    >>> parameters = noise.parameters(gb.demand.linear([1.0, 2.0], domain=(0.0, 0.4)))
    >>> [noise.rules.draw(parameters, 0, 0.6, u) for u in (0.5, 0.7)]
    [0.8, 0.3]
    """

    share: float | tuple[float, ...] = 0.25

    rules = NoiseRules(prepare_mean, draw)

    def __post_init__(self) -> None:
        """Check the shares."""
        given: Any = self.share
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
            shares = as_floats("share", given, ScenarioError)
            object.__setattr__(self, "share", shares)
        else:
            shares = (as_float("share", given, ScenarioError),)
            object.__setattr__(self, "share", shares[0])
        for share in shares:
            require(0.0 <= share <= 1.0, "share", "lie in [0, 1]", share, ScenarioError)

    def parameters(self, model: RewardModel) -> Parameters:
        """Return the square roots, one per arm."""
        if isinstance(self.share, tuple):
            rule = f"be one number, or {model.n_arms}, one per arm"
            enough = len(self.share) == model.n_arms
            require(enough, "share", rule, self.share, ScenarioError)
        return Parameters(np.sqrt(np.broadcast_to(self.share, model.n_arms)))
