"""A policy at work, one decision and one reward at a time."""

from globalbandits.policies.learner.explanation import ArmReport, Explanation
from globalbandits.policies.learner.learner import Learner
from globalbandits.policies.learner.stop_when import StopWhen

__all__ = ["ArmReport", "Explanation", "Learner", "StopWhen"]
