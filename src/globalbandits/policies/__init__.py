"""Policies by room, and the learner that puts one of them to work.

Every registered policy of the rooms is an attribute of this package, such as ``policies.WAGP``.
"""

from typing import TYPE_CHECKING

from globalbandits._registry import load_package
from globalbandits.policies.base import Policy, Rules, Setup, State, register, registered, stateless
from globalbandits.policies.learner import ArmReport, Explanation, Learner, Probabilities, StopWhen

__all__ = [
    "ArmReport",
    "Explanation",
    "Learner",
    "Policy",
    "Probabilities",
    "Rules",
    "Setup",
    "State",
    "StopWhen",
    "register",
    "registered",
    "stateless",
]

globals().update(load_package(__name__, __path__, ["policy"]))

if TYPE_CHECKING:
    # The stub of the whole package is the one list of names that type checkers read.
    from globalbandits import *
