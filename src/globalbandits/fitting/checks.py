"""Histories that cannot be fitted, and what a user should know about those that can."""

from typing import Any

import numpy as np

from globalbandits.errors import FitError
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.panel import Panel

FEWEST_GROUPS = 3
ENOUGH_GROUPS = 20  # for arms without an order


def check_panel(panel: Panel, scale: ArmScale) -> None:
    """Refuse a history from which nothing can be learned about how arms hang together."""
    tried = panel.tried.sum(axis=1)
    if (tried >= 1).sum() >= FEWEST_GROUPS and not (tried >= 2).any():
        raise FitError("no group has rewards of two arms: nothing connects the arms")
    check_several(panel, "history", "each")
    parts = connected_arms(panel)
    if len(parts) > 1:
        named = " and ".join(f"({', '.join(repr(arm) for arm in part)})" for part in parts)
        raise FitError(f"arms must be connected by groups that tried both, but {named} are not")
    if not scale.ordered:
        for arm, groups in zip(panel.arms, panel.tried.sum(axis=0), strict=True):
            if groups < FEWEST_GROUPS:
                raise FitError(
                    f"arm {arm!r} must have rewards in at least {FEWEST_GROUPS} groups "
                    f"where arms have no order, has {groups}"
                )


def check_several(panel: Panel, what: str, where: str) -> None:
    """Refuse a panel with fewer groups than a fit needs; the rest says which panel it is."""
    several = int((panel.tried.sum(axis=1) >= 2).sum())
    if several < FEWEST_GROUPS:
        raise FitError(
            f"{what} must have at least {FEWEST_GROUPS} groups with rewards of 2 arms {where}, "
            f"has {several}"
        )


def connected_arms(panel: Panel) -> list[list[Any]]:
    """Arms in parts: two arms are connected if some group tried both."""
    together = (panel.tried.T.astype(float) @ panel.tried.astype(float)) > 0
    parts: list[list[Any]] = []
    left = set(range(panel.n_arms))
    while left:
        part, fresh = set[int](), {min(left)}
        while fresh:
            part |= fresh
            fresh = set(np.flatnonzero(together[sorted(fresh)].any(axis=0)).tolist()) - part
        left -= part
        parts.append([panel.arms[place] for place in sorted(part)])
    return parts


def few_groups(n_groups: int) -> str:
    """The warning for arms without an order."""
    return (
        f"{n_groups} groups: arms without an order need about {ENOUGH_GROUPS}; "
        "intervals below are wide"
    )
