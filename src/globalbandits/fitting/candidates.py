"""The policies a verdict compares, and which of them can unlearn a curve."""

from typing import TYPE_CHECKING

from globalbandits.errors import PolicyError
from globalbandits.fitting.prior import error_prior

if TYPE_CHECKING:
    from globalbandits.model import RewardModel
    from globalbandits.policies import Elastic, Policy

ELASTIC = "Elastic(history)"
ALONE = "IndependentGittins"
BELIEVER = "WAGP"
STUBBORN = (BELIEVER, "IDS")  # they take the curves for true, whatever the rewards
IDS_CELLS = 500  # of the parameter; regret is that of 2,000 at a quarter of the time


def history_policy(bias_scale: float) -> "Elastic":
    """Elastic with the errors' size that history shows."""
    from globalbandits.policies import Elastic

    return Elastic(prior=error_prior(bias_scale))


def candidates(bias_scale: float, model: "RewardModel") -> "dict[str, Policy]":
    """By name; policies that cannot play this model are left out.

    Args:
        bias_scale: Rms size of the curves' errors on the unit scale.
        model: What they are to play.
    """
    from globalbandits.policies import (
        IDS,
        WAGP,
        Elastic,
        IndependentGittins,
        RandomEffectsThompson,
        ThompsonSampling,
    )

    every: dict[str, Policy] = {
        ELASTIC: history_policy(bias_scale),
        "Elastic": Elastic(),
        "RandomEffectsThompson(history)": RandomEffectsThompson(prior=error_prior(bias_scale)),
        ALONE: IndependentGittins(),
        "IDS": IDS(cells=IDS_CELLS),
        BELIEVER: WAGP(),
        "ThompsonSampling": ThompsonSampling(),
    }
    return {name: policy for name, policy in every.items() if _can_play(policy, model)}


def _can_play(policy: "Policy", model: "RewardModel") -> bool:
    try:
        policy.setup(model)
    except PolicyError:
        return False
    return True
