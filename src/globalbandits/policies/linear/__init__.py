"""Policies that take means, or their logits, to be linear in features of the arms."""

from globalbandits.policies.linear.glm_ucb import GLMUCB
from globalbandits.policies.linear.lin_ucb import LinUCB
from globalbandits.policies.linear.linear_greedy import LinearGreedy
from globalbandits.policies.linear.oful import OFUL
from globalbandits.policies.linear.uncertainty_ellipsoid import UncertaintyEllipsoid

__all__ = ["GLMUCB", "OFUL", "LinUCB", "LinearGreedy", "UncertaintyEllipsoid"]
