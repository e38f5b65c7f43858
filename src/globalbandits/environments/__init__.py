"""Environments: the source of simulated rewards, with noise, drift, bias, delay, or another truth.

Every built-in noise, drift, bias and delay is an attribute of this package, such as
``environments.BetaNoise``.
"""

from typing import TYPE_CHECKING

from globalbandits._registry import load_package
from globalbandits.environments import worlds
from globalbandits.environments.bias import Bias
from globalbandits.environments.delay import Delay, DelayRules
from globalbandits.environments.drift import Drift, DriftRules
from globalbandits.environments.environment import Environment
from globalbandits.environments.noises.noise import Noise, NoiseRules
from globalbandits.environments.open_decisions import Pending
from globalbandits.environments.population import Population

__all__ = [
    "Bias",
    "Delay",
    "DelayRules",
    "Drift",
    "DriftRules",
    "Environment",
    "Noise",
    "NoiseRules",
    "Pending",
    "Population",
    "worlds",
]

globals().update(load_package(__name__, __path__, ["noise", "drift", "bias", "delay"]))

if TYPE_CHECKING:
    # Type checkers read the names from the stub of the whole package.
    from globalbandits import *
