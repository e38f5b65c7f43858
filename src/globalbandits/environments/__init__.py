"""Environments: where rewards come from; noise, drift, bias, and truths other than the model."""

from globalbandits.environments import worlds
from globalbandits.environments.arcsine import ArcsineBetaNoise
from globalbandits.environments.bias import Bias, FixedBias, UniformBias
from globalbandits.environments.drift import (
    Drift,
    DriftRules,
    LinearDrift,
    RandomWalk,
    SinusoidalDrift,
)
from globalbandits.environments.environment import Environment
from globalbandits.environments.noise import (
    BernoulliNoise,
    BetaNoise,
    MirroredBetaNoise,
    Noise,
    NoiseRules,
    NoNoise,
)
from globalbandits.environments.paths import GivenPath, Jumps
from globalbandits.environments.population import Population
from globalbandits.environments.sale import SaleNoise
from globalbandits.environments.scaled_coin import ScaledCoinNoise
from globalbandits.environments.truncated_normal import TruncatedNormalNoise

__all__ = [
    "ArcsineBetaNoise",
    "BernoulliNoise",
    "BetaNoise",
    "Bias",
    "Drift",
    "DriftRules",
    "Environment",
    "FixedBias",
    "GivenPath",
    "Jumps",
    "LinearDrift",
    "MirroredBetaNoise",
    "NoNoise",
    "Noise",
    "NoiseRules",
    "Population",
    "RandomWalk",
    "SaleNoise",
    "ScaledCoinNoise",
    "SinusoidalDrift",
    "TruncatedNormalNoise",
    "UniformBias",
    "worlds",
]
