"""What requests of the page and their answers look like."""

from typing import Any

from globalbandits.service.messages import Arm, DecisionOut, Incoming, Outgoing
from globalbandits.service.stores.records import State


class PreviewIn(Incoming):
    """A model to be drawn; nothing is stored."""

    model: dict[str, Any]


class RegionOut(Outgoing):
    """Where an arm is best."""

    arm: int
    low: float
    high: float


class CurvesOut(Outgoing):
    """Means and worths by arm over values of the parameter."""

    values: list[Arm]
    thetas: list[float]
    means: list[list[float | None]]
    worths: list[list[float | None]]
    valued: bool
    regions: list[RegionOut]
    reward_range: list[float]


class PointOut(Outgoing):
    """The evidence after so many events."""

    version: int
    theta: float | None
    low: float | None
    high: float | None
    log_e_value: float | None


class HistoryOut(Outgoing):
    """The evidence at versions, in order; the last one may lie back."""

    version: int
    points: list[PointOut]


class LatestDecision(Outgoing):
    """A decision and what has become of it."""

    decision: DecisionOut
    state: State
    reward: float | None


class LatestOut(Outgoing):
    """The latest decisions, the newest first."""

    decisions: list[LatestDecision]


class FamilyOut(Outgoing):
    """A family of models and its parameters beside the arms."""

    family: str
    summary: str
    parameters: list[str]


class CatalogueOut(Outgoing):
    """What a bandit can be made of."""

    families: list[FamilyOut]
    policies: list[str]
