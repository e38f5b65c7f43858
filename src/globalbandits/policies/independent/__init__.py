"""Policies that do not use the model: every arm learns for itself."""

from globalbandits.policies.independent.epsilon_greedy import EpsilonGreedy
from globalbandits.policies.independent.explore_then_commit import ExploreThenCommit
from globalbandits.policies.independent.fixed_arm import FixedArm
from globalbandits.policies.independent.imed import IMED
from globalbandits.policies.independent.independent_gittins import IndependentGittins
from globalbandits.policies.independent.kl_ucb import KLUCB
from globalbandits.policies.independent.moss import MOSS
from globalbandits.policies.independent.thompson_sampling import ThompsonSampling
from globalbandits.policies.independent.ucb1 import UCB1
from globalbandits.policies.independent.ucb_tuned import UCBTuned
from globalbandits.policies.independent.uniform import Uniform

__all__ = [
    "IMED",
    "KLUCB",
    "MOSS",
    "UCB1",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FixedArm",
    "IndependentGittins",
    "ThompsonSampling",
    "UCBTuned",
    "Uniform",
]
