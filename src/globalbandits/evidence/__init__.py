"""Statements that stay true while data are collected adaptively and looked at all the time.

Where theta is (`Evidence.interval`), whether the model is wrong (`Evidence.against_model`),
which arms can still be best (`Evidence.contenders`), and whether theta has moved
(`Evidence.drift`). A `Learner` carries its evidence along; a log of plays has it too:

>>> import globalbandits as gb
>>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
>>> print(gb.evidence(model, arms=[0, 1], rewards=[0.3, 0.2]).interval())
theta in [..., 1] (level 0.95, 2 observations)
"""

import sys
from types import ModuleType
from typing import Any

from globalbandits.evidence.ledger import Evidence
from globalbandits.evidence.logged import evidence as from_log
from globalbandits.evidence.statements import Contenders, Drift, Interval, ModelEvidence

__all__ = ["Contenders", "Drift", "Evidence", "Interval", "ModelEvidence", "from_log"]


class _Room(ModuleType):
    """This package is named like the function it is about, so calling it calls the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evidence:
        return from_log(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
