"""Checks of a history, with the same error messages for every kind of source."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_interval
from globalbandits.errors import FitError
from globalbandits.fitting.panel.panel import Panel

MIN_GROUPS = 3
MIN_GROUPS_WITHOUT_ORDER = 20  # fewer groups are fitted with a warning if arms have no order
MAX_ARMS = 100_000  # more arms are refused before their cells fill the memory
# Beyond this number of arms, most of them must occur in several groups.
MAX_RARE_ARMS = 50
RARE_ARM_GROUPS = 5  # an arm with rewards in fewer groups is rare

# The highest reward of a history whose rewards have no highest value, times this number, is the end
# of the range. Curves are then far from the end, where logits are logarithms.
UNBOUNDED_FACTOR = 4.0

REWARD_RANGE_NEEDED = (
    "reward_range is needed for rewards that are not 0 or 1, and are no counts: "
    "the lowest and highest a reward can ever be; (0, None) if there is no highest"
)

# The lowest and the highest possible reward; the highest is None if there is none.
GivenRange = tuple[float, float | None]


class RewardCounts(NamedTuple):
    """Number of rows by what their reward is."""

    missing: int
    infinite: int
    inside: int  # finite, and at neither end of the range
    outside: int  # finite, and beyond the range


class RewardFacts(NamedTuple):
    """What decides about the range of finite rewards."""

    lowest: float
    highest: float
    whole: bool  # whether all of them are whole numbers

    @property
    def counts(self) -> bool:
        """Whether they are counts, such as units sold, with a value above 1."""
        return self.whole and self.lowest >= 0.0 and self.highest > 1.0


def is_unbounded(reward_range: object) -> bool:
    """Whether the user's range has no highest value: ``(0, None)``."""
    if not isinstance(reward_range, (tuple, list)) or len(reward_range) != 2:
        return False
    return reward_range[1] is None


def check_reward_range(reward_range: object) -> tuple[float, float]:
    """Return the range of the rewards; None means that rewards are 0 or 1."""
    if reward_range is None:
        return 0.0, 1.0
    return as_interval("reward_range", reward_range, FitError)


def range_of_unbounded(reward_range: GivenRange | None, facts: RewardFacts) -> tuple[float, float]:
    """Return a range for rewards without a highest value, from the history's highest one.

    >>> range_of_unbounded(None, RewardFacts(0.0, 137.0, True))
    (0.0, 550.0)
    """
    low = 0.0 if reward_range is None else as_float("reward_range", reward_range[0], FitError)
    if not low <= facts.lowest or not facts.highest > low:
        raise FitError(
            f"reward must be at least {low:g} and sometimes above, got rewards from "
            f"{facts.lowest:g} to {facts.highest:g}"
        )
    top = UNBOUNDED_FACTOR * (facts.highest - low)
    digit = 10.0 ** (math.floor(math.log10(top)) - 1)
    return low, low + math.ceil(round(top / digit, 9)) * digit


def check_trials(reward_range: object, wrong_trials: tuple[int, float] | None) -> None:
    """Refuse trials that are not counts, and a range together with trials.

    Args:
        reward_range: The user's range, or None.
        wrong_trials: Number of the first row with wrong trials, and the trials; None without one.
    """
    if reward_range is not None:
        raise FitError(f"reward_range must be left out where there are trials, got {reward_range}")
    if wrong_trials is not None:
        row, trials = wrong_trials
        raise FitError(f"trials must be whole numbers of at least 0, row {row} has {trials:g}")


def wrong_successes(row: int, reward: float, trials: float) -> FitError:
    """Return the error for a reward that is no number of successes among the trials."""
    return FitError(
        f"reward must be a whole number from 0 to the row's trials, row {row} has {reward:g} of "
        f"{trials:g}"
    )


def row_dispersion(
    n_rows: FloatArray, trials: FloatArray, successes: FloatArray, squares: FloatArray
) -> float:
    """Return how much more rows of one cell vary than single trials would; at least 1.

    It is Pearson's statistic of the rows around the rate of their cell, per degree of freedom.

    Args:
        n_rows: Number of rows of each cell.
        trials: Their trials.
        successes: Their successes.
        squares: Sum over rows of successes² / trials.
    """
    rates = successes / np.maximum(trials, 1.0)
    found = float((squares - successes * rates).sum())
    expected = float((np.maximum(n_rows - 1.0, 0.0) * rates * (1.0 - rates)).sum())
    return max(1.0, found / expected) if expected > 0.0 else 1.0


def check_rewards(
    counts: RewardCounts,
    reward_range: object,
    dropna: bool,
    first_row: Callable[[str], tuple[int, float]],
) -> None:
    """Refuse rewards that are not finite or lie outside the range.

    Args:
        counts: What the rewards are.
        reward_range: The user's range, or None.
        dropna: Whether missing rewards are allowed.
        first_row: Finds the first row whose reward is "missing or infinite", "infinite" or
            "outside"; returns the row's number and its reward.
    """
    if counts.infinite or (counts.missing and not dropna):
        row, reward = first_row("infinite" if dropna else "missing or infinite")
        raise FitError(f"reward must be finite, row {row} has {reward:g}")
    if counts.inside and reward_range is None:
        raise FitError(REWARD_RANGE_NEEDED)
    if counts.outside:
        low, high = check_reward_range(reward_range)
        row, reward = first_row("outside")
        raise FitError(
            f"reward must lie in [{low:g}, {high:g}], row {row} has {reward:g}: "
            "give reward_range=(low, high)"
        )


def check_column_names(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a history without one of the columns."""
    for name in wanted:
        if name not in names:
            raise FitError(f"history must have a column {name!r}, has: {', '.join(names)}")


def missing_value(name: str, row: int, value: Any = float("nan")) -> FitError:
    """Return the error for a group, an arm or a time that is missing."""
    return FitError(f"{name} must not be missing, row {row} has {value!r}")


def no_rows() -> FitError:
    """Return the error for an empty history."""
    return FitError("history must have rows, has none")


def check_number_of_arms(n_arms: int) -> None:
    """Refuse a number of arms whose cells would fill the memory."""
    if n_arms > MAX_ARMS:
        raise FitError(
            f"arms must be few enough to repeat, got more than {MAX_ARMS}: round or bin them first"
        )


def check_arms_repeat(groups: IntArray, arms: IntArray, n_arms: int) -> None:
    """Refuse arms that hardly repeat, such as prices that differ by cents.

    Args:
        groups: Code of the group of each row or cell.
        arms: Code of the arm of each row or cell.
        n_arms: Number of distinct arms.
    """
    if n_arms <= MAX_RARE_ARMS:
        return
    pairs = np.unique(groups * n_arms + arms)
    rare = int((np.bincount(pairs % n_arms) < RARE_ARM_GROUPS).sum())
    if rare > MAX_RARE_ARMS:
        raise FitError(
            f"arms must be few enough to repeat, got {n_arms}, of which {rare} have rewards in "
            f"fewer than {RARE_ARM_GROUPS} groups: round or bin them first"
        )


def check_panel(panel: Panel, ordered: bool) -> None:
    """Refuse a panel without information about how the arms are related.

    Args:
        panel: The history.
        ordered: Whether the arms are numbers with an order.
    """
    tried = panel.tried.sum(axis=1)
    if (tried >= 1).sum() >= MIN_GROUPS and not (tried >= 2).any():
        raise FitError("no group has rewards of two arms: nothing connects the arms")
    check_enough_groups(panel, "history", "each")
    parts = connected_arms(panel)
    if len(parts) > 1:
        named = " and ".join(f"({', '.join(repr(arm) for arm in part)})" for part in parts)
        raise FitError(f"arms must be connected by groups that tried both, but {named} are not")
    if not ordered:
        for arm, groups in zip(panel.arms, panel.tried.sum(axis=0), strict=True):
            if groups < MIN_GROUPS:
                raise FitError(
                    f"arm {arm!r} must have rewards in at least {MIN_GROUPS} groups "
                    f"where arms have no order, has {groups}"
                )


def check_enough_groups(panel: Panel, what: str, where: str) -> None:
    """Refuse a panel with fewer groups than a fit needs; ``what`` and ``where`` name it."""
    several = int((panel.tried.sum(axis=1) >= 2).sum())
    if several < MIN_GROUPS:
        raise FitError(
            f"{what} must have at least {MIN_GROUPS} groups with rewards of 2 arms {where}, "
            f"has {several}"
        )


def connected_arms(panel: Panel) -> list[list[Any]]:
    """Partition the arms: two arms are connected if a group tried both."""
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


def few_groups_warning(n_groups: int) -> str:
    """Return the warning for few groups whose arms have no order."""
    return (
        f"{n_groups} groups: arms without an order need about {MIN_GROUPS_WITHOUT_ORDER}; "
        "intervals below are wide"
    )
