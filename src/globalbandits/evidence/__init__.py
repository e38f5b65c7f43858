"""Anytime-valid statistics for adaptively collected rewards.

The statements hold at all times at once, whatever rule chooses the arms: where theta is
(`Evidence.interval`, or `Evidence.region` for several numbers), whether the model is wrong
(`Evidence.against_model`), which arms can still be best (`Evidence.contenders`), and whether
theta has changed (`Evidence.drift`). Every `Learner` has evidence; `evidence_from_log` computes
it from a log of plays:

>>> import globalbandits as gb
>>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
>>> print(gb.evidence_from_log(model, arms=[0, 1], rewards=[0.3, 0.2]).interval())
theta in [..., 1] (confidence 0.95, 2 observations)
"""

from globalbandits.evidence.evidence import Evidence, evidence_from_log
from globalbandits.evidence.off_policy import DecisionLog, OffPolicyEstimate, off_policy
from globalbandits.evidence.statements import (
    ConfidenceSet,
    Contenders,
    Drift,
    Earnings,
    Interval,
    ModelEvidence,
)

__all__ = [
    "ConfidenceSet",
    "Contenders",
    "DecisionLog",
    "Drift",
    "Earnings",
    "Evidence",
    "Interval",
    "ModelEvidence",
    "OffPolicyEstimate",
    "evidence_from_log",
    "off_policy",
]
