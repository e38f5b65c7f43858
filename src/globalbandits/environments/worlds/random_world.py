"""`sample`: draws a random world from a seed."""

import dataclasses
import math
from typing import Any

import numpy as np

from globalbandits._random import Stream, generator
from globalbandits._validation import as_integer, as_seed, require_known
from globalbandits.environments.environment import Environment
from globalbandits.environments.noises.arcsine import ArcsineBetaNoise
from globalbandits.environments.noises.noise import (
    BernoulliNoise,
    BetaNoise,
    MirroredBetaNoise,
    Noise,
)
from globalbandits.environments.noises.truncated_normal import TruncatedNormalNoise
from globalbandits.environments.worlds.conversion import draw_conversion_family
from globalbandits.environments.worlds.curve_errors import KINDS, draw_error
from globalbandits.environments.worlds.families import draw_family
from globalbandits.environments.worlds.two_numbers import ERRORS, draw_curves, draw_truth
from globalbandits.errors import ScenarioError

MIXTURES = ("all", "general", "conversion", "two_numbers")
MIN_HORIZON, MAX_HORIZON = 100, 10_000  # if the horizon is not given


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """A problem, and its description.

    Attributes:
        seed: the seed it was drawn from.
        family: family of the curves, such as "demand.logit".
        error: the kind of their error: "exact", "dense", "lone", "slope", "family", "reach" or
            "drift".
        text: a description.
        horizon: number of rounds.
        environment: the environment for `simulate`.
        rate: the mean of the best arm by the curves, for worlds with conversion rates; else None.
    """

    seed: int
    family: str
    error: str
    text: str
    horizon: int
    environment: Environment
    rate: float | None = None

    @property
    def floor(self) -> float:
        """A negligible regret: 0.01 * sqrt(horizon) times the length of the worth's range.

        With a conversion rate it is smaller in proportion to the standard deviation of a Bernoulli
        reward, which is largest at a rate of 1/2.
        """
        low, high = self.environment.model.worth_range
        share = 1.0 if self.rate is None else 2.0 * math.sqrt(self.rate * (1.0 - self.rate))
        return float(0.01 * math.sqrt(self.horizon) * (high - low) * share)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values."""
        names = ("seed", "family", "error", "text", "horizon", "rate")
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        return fields | {"environment": self.environment.to_dict()}


def sample(seed: int, horizon: int | None = None, *, mixture: str = "all") -> World:
    """Return the world of a seed: curves, parameter, noise, and the error of the curves.

    Half of the worlds are "general": curves are those of the catalogue, those of the paper, lines
    or powers, with 3 to 100 arms and one of five kinds of noise. The other half have conversion
    rates as shops and trials have them: shops with a cost and trials with a target, in which the
    mean of the best arm is log-uniform between 0.5 % and 60 %, mostly with Bernoulli rewards.
    Their errors are on the log-odds scale, with sizes between 0.1 and 0.8.

    In a quarter of the worlds the curves are exact. In an eighth of them each: all curves are
    wrong, one curve is wrong, differences between arms are wrong, the family is wrong, the
    parameter is outside of the model's domain, or the parameter drifts.

    The mixture "two_numbers" is not part of "all": demand with an unknown level and slope, and
    logistic dose response, with Bernoulli rewards. A fifth of these worlds each has exact curves,
    errors of all means with a standard deviation of .01, .02 or .05, or curves of another family.

    Args:
        seed: from 0 to 2**128 - 1. Use seeds below 1,000 to choose constants, and seeds from
            10,000 on to report results.
        horizon: number of rounds; drawn between 100 and 10,000 by default. It changes nothing else
            in the world, except that a drift extends over the horizon.
        mixture: "all", or only "general", "conversion" or "two_numbers" worlds.

    >>> world = sample(3)
    >>> world.text == sample(3).text, sample(3, horizon=500).horizon
    (True, 500)
    """
    seed = as_seed(seed, ScenarioError)
    require_known("mixture", mixture, MIXTURES, ScenarioError)
    # The choice has its own stream: a seed is the same world in "all" and in its own mixture.
    if mixture == "all":
        mixture = MIXTURES[1 + int(generator(Stream.WORLD, seed, 1).integers(2))]
    rng = generator(Stream.WORLD, seed)
    drawn = round(math.exp(rng.uniform(math.log(MIN_HORIZON), math.log(MAX_HORIZON))))
    if horizon is not None:
        drawn = as_integer("horizon", horizon, 10, ScenarioError)
    if mixture == "two_numbers":
        return _two_numbers(seed, drawn, rng)
    kind = KINDS[int(rng.integers(len(KINDS)))]
    rate = None
    if mixture == "general":
        family = draw_family(rng)
        low, high = family.domain
        theta = low + (high - low) * rng.uniform(0.05, 0.95)
    else:
        family, theta, rate = draw_conversion_family(rng)
    error = draw_error(kind, family, theta, drawn, rng)
    if rate is None:
        least, most = error.model.reward_range
        noise, sound = _draw_noise(most - least, rng)
    else:
        noise, sound = _CONVERSION_NOISES[int(rng.integers(len(_CONVERSION_NOISES)))]
    if error.words == "curves exact":
        kind = "exact"
    return World(
        seed=seed,
        family=family.name,
        error=kind,
        text=f"{family.words}; theta = {theta:.3g}; {sound}; {error.words}",
        horizon=drawn,
        environment=Environment(error.model, noise=noise, **error.options),
        rate=rate,
    )


def _two_numbers(seed: int, horizon: int, rng: np.random.Generator) -> World:
    error = ERRORS[int(rng.integers(len(ERRORS)))]
    curves = draw_curves(rng)
    words, options = draw_truth(curves, error, rng)
    return World(
        seed=seed,
        family=curves.family,
        error=error if error in ("exact", "family") else "dense",
        text=f"{curves.words}; {words}",
        horizon=horizon,
        environment=Environment(curves.model, noise=BernoulliNoise(), **options),
    )


# Two thirds of the worlds with conversion rates count single customers. In the others a reward is
# a share of several customers.
_CONVERSION_NOISES: tuple[tuple[Noise, str], ...] = (
    *((BernoulliNoise(), "Bernoulli noise"),) * 4,
    (BetaNoise(), "Beta noise"),
    (ArcsineBetaNoise(), "arcsine Beta noise"),
)


def _draw_noise(length: float, rng: np.random.Generator) -> tuple[Noise, str]:
    kind = int(rng.integers(6))
    sd = length * math.exp(rng.uniform(math.log(0.03), math.log(0.3)))
    if kind < 2:
        return TruncatedNormalNoise(sd=sd), f"normal noise, sd {sd:.2g}"
    if kind == 2:
        return BernoulliNoise(), "Bernoulli noise"
    beta: tuple[tuple[Noise, str], ...] = (
        (BetaNoise(), "Beta noise"),
        (MirroredBetaNoise(), "mirrored Beta noise"),
        (ArcsineBetaNoise(), "arcsine Beta noise"),
    )
    return beta[kind - 3]
