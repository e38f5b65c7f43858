"""Which model a learner's rewards belong to: the arms' values, and what is observed of them.

What decisions are worth is no part of it, and neither is the last bit of a curve: a changed
cost or target, or the same formula written in another way, does not part a learner from its
data.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from globalbandits._encoding import check_keys
from globalbandits._validation import show
from globalbandits.errors import StateError
from globalbandits.statistics import Statistics, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def encode_model(model: "RewardModel") -> dict[str, Any]:
    """The arms' values and samples of what is observed, as plain data."""
    return {"arms": [_plain(arm) for arm in model.arms], "observed": model.observed_samples()}


def check_same(model: "RewardModel", saved: Any) -> None:
    """Refuse rewards of other arms, or of arms that other curves describe."""
    arms = saved_arms(saved)
    mine = [_plain(arm) for arm in model.arms]
    if arms != mine:
        raise StateError(f"state must be of a model with the arms {show(mine)}, got {show(arms)}")
    if not model.same_observed(saved["observed"]):
        raise StateError(
            "state must be of a model with the same curves, domain and reward range, "
            f"got another one with the arms {show(arms)}"
        )


def match_arms(model: "RewardModel", saved: Any, stats: Statistics) -> list[int | None]:
    """For each arm of a model the arm of the saved one with the same value, None for a new one.

    Args:
        model: the model to move to.
        saved: what `encode_model` wrote.
        stats: of the saved model's arms.

    Raises:
        StateError: if the curves of a common arm differ, or an arm with rewards would be lost.
    """
    arms = saved_arms(saved)
    mine = [_plain(arm) for arm in model.arms]
    rows = [arms.index(arm) if arm in arms else None for arm in mine]
    lost = [arm for row, arm in enumerate(arms) if row not in rows and stats.counts[row] > 0]
    if lost:
        raise StateError(
            f"model must keep the arms that have rewards, got one without {show(lost)}"
        )
    if not model.same_observed(saved["observed"], rows):
        raise StateError(
            "model must have the same domain and reward range and the same curves for the arms "
            f"{show([arm for arm, row in zip(mine, rows, strict=True) if row is not None])}, "
            "got another one"
        )
    return rows


def move(stats: Statistics, rows: list[int | None]) -> Statistics:
    """Statistics with arms in other places."""
    moved = no_statistics(len(rows))
    for arm, row in enumerate(rows):
        if row is not None:
            moved.counts[arm] = stats.counts[row]
            moved.sums[arm] = stats.sums[row]
            moved.squares[arm] = stats.squares[row]
    moved.total[0] = stats.total[0]
    return moved


def saved_arms(saved: Any) -> list[Any]:
    """The arms of a saved model."""
    check_keys("model", saved, ("arms", "observed"))
    arms, observed = saved["arms"], saved["observed"]
    if not isinstance(arms, list) or not isinstance(observed, Mapping):
        raise StateError(f"model must have a list of arms and their samples, got {show(saved)}")
    return arms


def _plain(arm: Any) -> Any:
    """An arm's value as JSON gives it back; whatever is no number is its text."""
    if isinstance(arm, (bool, str)):
        return arm
    try:
        return float(arm)
    except (TypeError, ValueError, OverflowError):
        return repr(arm)
