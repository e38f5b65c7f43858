"""Policies, one file each, and the learner that puts one of them to work."""

from globalbandits.policies.base import Policy, Rules, register, registered
from globalbandits.policies.buw import BUW
from globalbandits.policies.d_ucb import DiscountedUCB
from globalbandits.policies.elastic import Elastic
from globalbandits.policies.epsilon_greedy import EpsilonGreedy
from globalbandits.policies.explain import ArmReport, Explanation
from globalbandits.policies.explore_then_commit import ExploreThenCommit
from globalbandits.policies.glm_ucb import GLMUCB
from globalbandits.policies.grid_posterior import GridGreedy, GridThompson
from globalbandits.policies.guarded import Guarded
from globalbandits.policies.ids import IDS
from globalbandits.policies.imed import IMED
from globalbandits.policies.independent_gittins import IndependentGittins
from globalbandits.policies.kl_ucb import KLUCB
from globalbandits.policies.learner import Learner
from globalbandits.policies.lin_ucb import LinUCB
from globalbandits.policies.linear_greedy import LinearGreedy
from globalbandits.policies.moss import MOSS
from globalbandits.policies.nonstationary_wagp import NonStationaryWAGP
from globalbandits.policies.oful import OFUL
from globalbandits.policies.ossb import OSSB
from globalbandits.policies.random_effects_thompson import RandomEffectsThompson
from globalbandits.policies.regional_ucb import RegionalUCB
from globalbandits.policies.sw_ucb import SlidingWindowUCB
from globalbandits.policies.thompson import ThompsonSampling
from globalbandits.policies.ts_c import TSC
from globalbandits.policies.ucb1 import UCB1
from globalbandits.policies.ucb_c import UCBC
from globalbandits.policies.ucb_s import UCBS
from globalbandits.policies.ucb_tuned import UCBTuned
from globalbandits.policies.uncertainty_ellipsoid import UncertaintyEllipsoid
from globalbandits.policies.uniform import Uniform
from globalbandits.policies.wagp import WAGP

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
