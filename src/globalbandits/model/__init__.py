"""Reward functions, analysed once into what every decision looks up."""

from globalbandits.model import demand, dose
from globalbandits.model.decisions import Region
from globalbandits.model.expressions import Expression
from globalbandits.model.files import load_model
from globalbandits.model.holder import Holder
from globalbandits.model.regional import RegionalModel
from globalbandits.model.reward_model import RewardModel

__all__ = [
    "Expression",
    "Holder",
    "Region",
    "RegionalModel",
    "RewardModel",
    "demand",
    "dose",
    "load_model",
]
