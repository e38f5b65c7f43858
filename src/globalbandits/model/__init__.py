"""Reward models: known mean rewards of arms as functions of unknown numbers."""

from globalbandits.model.analysis.holder import Holder
from globalbandits.model.catalogue import demand, dose
from globalbandits.model.context_model import ContextModel
from globalbandits.model.files import load_model
from globalbandits.model.formulas import Expression
from globalbandits.model.regional import RegionalModel
from globalbandits.model.reward_model import Region, RewardModel
from globalbandits.model.vector.prior import NormalPrior
from globalbandits.model.vector_model import AnyModel, VectorModel

__all__ = [
    "AnyModel",
    "ContextModel",
    "Expression",
    "Holder",
    "NormalPrior",
    "Region",
    "RegionalModel",
    "RewardModel",
    "VectorModel",
    "demand",
    "dose",
    "load_model",
]
