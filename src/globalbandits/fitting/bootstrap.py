"""How sure the printed numbers are: the fit repeated on groups drawn anew."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.factor import MANY_GROUPS, climb, sample_groups
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.knowing import worth_of_knowing
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.share import explained_share
from globalbandits.fitting.worth import Worth

N_REFITS = 20
N_STEPS = 40


class Errors(NamedTuple):
    """Standard errors over groups."""

    share: float
    bias_scale: float  # of the offered arms
    total: float
    through: float
    bias_scale_high: float  # the 90 % point of the refits' bias scale


def error_size(fitted: Fitted, errors: Errors | None) -> float:
    """The errors' size that a policy should expect: rms, what is not known of it included.

    A history with few rewards may happen to show none; that is no reason to expect none.
    """
    return math.hypot(fitted.bias_scale, 0.0 if errors is None else errors.bias_scale)


def bootstrap_errors(
    panel: Panel,
    scale: ArmScale,
    worth: Worth,
    shared: Fitted,
    independent: Fitted,
    offer: Callable[[Fitted], tuple[Fitted, Worth]],
    seed: int = 0,
) -> Errors:
    """Draw groups with replacement, refit by 40 steps from the fit, 20 times.

    A large panel is refitted on 2,000 of its groups, and the errors made smaller accordingly.

    Args:
        panel: The history.
        scale: Of its arms.
        worth: Of its arms.
        shared: The fit whose numbers are printed.
        independent: Every arm for itself.
        offer: Turns a fit into that of the offered arms, with their worth.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    shrink = 1.0
    if panel.n_groups > MANY_GROUPS:
        whole = panel.n_groups
        panel = sample_groups(panel, seed)
        shrink = float(np.sqrt(panel.n_groups / whole))
    found = []
    for _ in range(N_REFITS):
        drawn = panel.take(rng.integers(0, panel.n_groups, panel.n_groups))
        again = climb(drawn, scale, shared, N_STEPS)
        alone = climb(drawn, scale, independent, N_STEPS)
        offered, offered_worth = offer(again)
        knowing = worth_of_knowing(offered, offered_worth, seed)
        share = explained_share(again, alone, worth)
        found.append((share, offered.bias_scale, knowing.total, knowing.through))
    numbers = np.array(found)
    share_se, bias_se, total_se, through_se = (numbers.std(axis=0, ddof=1) * shrink).tolist()
    return Errors(
        share=share_se,
        bias_scale=bias_se,
        total=total_se,
        through=through_se,
        bias_scale_high=float(np.quantile(numbers[:, 1], 0.9)),
    )
