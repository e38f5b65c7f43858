"""Policies, one file each, and the learner that puts one of them to work."""

from globalbandits.policies.base import Policy, Rules, register, registered
from globalbandits.policies.buw import BUW
from globalbandits.policies.explain import ArmReport, Explanation
from globalbandits.policies.learner import Learner
from globalbandits.policies.nonstationary_wagp import NonStationaryWAGP
from globalbandits.policies.ucb1 import UCB1
from globalbandits.policies.uncertainty_ellipsoid import UncertaintyEllipsoid
from globalbandits.policies.wagp import WAGP

__all__ = [
    "BUW",
    "UCB1",
    "WAGP",
    "ArmReport",
    "Explanation",
    "Learner",
    "NonStationaryWAGP",
    "Policy",
    "Rules",
    "UncertaintyEllipsoid",
    "register",
    "registered",
]
