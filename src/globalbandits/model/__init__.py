"""Reward functions, analysed once into what every decision looks up."""

from globalbandits.model import demand, dose
from globalbandits.model.decisions import Region
from globalbandits.model.holder import Holder
from globalbandits.model.regional import RegionalModel
from globalbandits.model.reward_model import RewardModel

__all__ = ["Holder", "Region", "RegionalModel", "RewardModel", "demand", "dose"]
