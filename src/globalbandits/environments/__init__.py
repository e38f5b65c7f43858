"""Environments: where rewards come from; noise, drift, bias, and truths other than the model.

Every registered noise, drift and bias of ours is an attribute of this package, such as
``environments.BetaNoise``.
"""

from typing import TYPE_CHECKING

from globalbandits._registry import load_package
from globalbandits.environments import worlds
from globalbandits.environments.bias import Bias
from globalbandits.environments.drift import Drift, DriftRules
from globalbandits.environments.environment import Environment
from globalbandits.environments.noise import Noise, NoiseRules
from globalbandits.environments.population import Population

__all__ = [
    "Bias",
    "Drift",
    "DriftRules",
    "Environment",
    "Noise",
    "NoiseRules",
    "Population",
    "worlds",
]

globals().update(load_package(__name__, __path__, ["noise", "drift", "bias"]))

if TYPE_CHECKING:
    # The stub of the whole package is the one list of names that type checkers read.
    from globalbandits import *
