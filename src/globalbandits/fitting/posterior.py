"""What is known about a group that has some rewards already."""

import dataclasses
from typing import Any

import numpy as np

from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import Wanted, panel_from_table, panels_from_rows
from globalbandits.fitting.columns import column_names, read_columns
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.groups import arm_means, posterior_weights
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.theta import ThetaScale
from globalbandits.fitting.worth import Worth

LEVELS = np.array([0.05, 0.5, 0.95])  # of theta: an interval of 90 %, and its middle


@dataclasses.dataclass(frozen=True)
class GroupPosterior:
    """A group's number and arms, given its rewards.

    Attributes:
        theta: Median of the group's number.
        interval: Where it lies with probability .9.
        means: Expected mean reward per arm, in the rewards' units.
        worth: What these are worth.
        best: The arm with the largest worth.
    """

    theta: float
    interval: tuple[float, float]
    means: dict[Any, float]
    worth: dict[Any, float]
    best: Any


def group_panel(rows: Any, reference: Panel, arm: str, reward: str | None) -> Panel:
    """The rows of one group as a panel with the arms of another one."""
    names = column_names(rows)
    if reward is None or (reward not in names and "n" in names):
        reward = None
        wanted = [arm, "n", "mean"] + (["variance"] if "variance" in names else [])
    else:
        wanted = [arm, reward]
    taken = dict(zip(wanted, read_columns(rows, wanted), strict=True))
    group = "\0group"
    taken[group] = np.zeros(taken[arm].size, np.int64)
    if taken[arm].size == 0:
        return empty_panel(reference)
    if reward is None:
        found = panel_from_table(taken, group=group, arm=arm, reward_range=reference.reward_range)
    else:
        wanted_columns = Wanted(group, arm, reward, reward_range=reference.reward_range)
        found, _ = panels_from_rows(taken, wanted_columns)
    if reference.binary and not found.binary:
        low, high = reference.reward_range
        raise FitError(f"rewards must be {low:g} or {high:g}, as in the history")
    for each in found.arms:
        if each not in reference.arms:
            known = ", ".join(repr(known) for known in reference.arms)
            raise FitError(f"arm {each!r} must be one of the model's: {known}")
    return dataclasses.replace(found.with_arms(reference.arms), binary=reference.binary)


def empty_panel(reference: Panel) -> Panel:
    """One group without rewards."""
    none = np.zeros((1, reference.n_arms))
    return dataclasses.replace(reference, counts=none, sums=none, squares=none, groups=(0,))


def read_posterior(panel: Panel, fitted: Fitted, scale: ThetaScale, worth: Worth) -> GroupPosterior:
    """The posterior of a panel's only group."""
    weights = posterior_weights(panel, fitted)
    low, middle, high = scale.quantiles(weights, LEVELS)[0].tolist()
    unit = arm_means(panel, fitted, weights)[0]
    bottom, top = panel.reward_range
    valued = worth(unit)
    return GroupPosterior(
        theta=middle,
        interval=(low, high),
        means=dict(zip(panel.arms, (bottom + (top - bottom) * unit).tolist(), strict=True)),
        worth=dict(zip(panel.arms, valued.tolist(), strict=True)),
        best=panel.arms[int(valued.argmax())],
    )
