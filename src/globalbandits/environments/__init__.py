"""Environments: what the world does with a decision; noise, drift and bias."""

from globalbandits.environments.bias import Bias, FixedBias, UniformBias
from globalbandits.environments.drift import (
    Drift,
    DriftRules,
    LinearDrift,
    RandomWalk,
    SinusoidalDrift,
)
from globalbandits.environments.environment import Environment
from globalbandits.environments.noise import BernoulliNoise, BetaNoise, Noise, NoiseRules, NoNoise
from globalbandits.environments.paths import GivenPath, Jumps
from globalbandits.environments.truncated_normal import TruncatedNormalNoise

__all__ = [
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
    "NoNoise",
    "Noise",
    "NoiseRules",
    "RandomWalk",
    "SinusoidalDrift",
    "TruncatedNormalNoise",
    "UniformBias",
]
