"""Online learning with one policy: `Learner`, its explanations, and rules for stopping."""

from globalbandits.policies.learner.explanation import ArmReport, Explanation
from globalbandits.policies.learner.learner import Learner
from globalbandits.policies.learner.probabilities import Probabilities
from globalbandits.policies.learner.stop_when import StopWhen

__all__ = ["ArmReport", "Explanation", "Learner", "Probabilities", "StopWhen"]
