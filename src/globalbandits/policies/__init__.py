"""Policies by room, and the learner that puts one of them to work."""

from globalbandits.policies.base import Policy, Rules, register, registered
from globalbandits.policies.independent import (
    IMED,
    KLUCB,
    MOSS,
    UCB1,
    EpsilonGreedy,
    ExploreThenCommit,
    IndependentGittins,
    ThompsonSampling,
    UCBTuned,
    Uniform,
)
from globalbandits.policies.learner import ArmReport, Explanation, Learner
from globalbandits.policies.linear import GLMUCB, OFUL, LinearGreedy, LinUCB, UncertaintyEllipsoid
from globalbandits.policies.paper import BUW, WAGP, NonStationaryWAGP
from globalbandits.policies.robust import Elastic, Guarded, RandomEffectsThompson
from globalbandits.policies.structured import (
    IDS,
    OSSB,
    TSC,
    UCBC,
    UCBS,
    GridGreedy,
    GridThompson,
    RegionalUCB,
)
from globalbandits.policies.windows import DiscountedUCB, SlidingWindowUCB

__all__ = [
    "BUW",
    "GLMUCB",
    "IDS",
    "IMED",
    "KLUCB",
    "MOSS",
    "OFUL",
    "OSSB",
    "TSC",
    "UCB1",
    "UCBC",
    "UCBS",
    "WAGP",
    "ArmReport",
    "DiscountedUCB",
    "Elastic",
    "EpsilonGreedy",
    "Explanation",
    "ExploreThenCommit",
    "GridGreedy",
    "GridThompson",
    "Guarded",
    "IndependentGittins",
    "Learner",
    "LinUCB",
    "LinearGreedy",
    "NonStationaryWAGP",
    "Policy",
    "RandomEffectsThompson",
    "RegionalUCB",
    "Rules",
    "SlidingWindowUCB",
    "ThompsonSampling",
    "UCBTuned",
    "UncertaintyEllipsoid",
    "Uniform",
    "register",
    "registered",
]
