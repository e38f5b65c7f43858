"""Standard errors over groups: the fit is repeated on bootstrap samples of the groups."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from globalbandits.fitting.assessment.held_out_scores import explained_share
from globalbandits.fitting.assessment.value_of_information import value_of_information
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import MAX_GROUPS_IN_FULL, run_em, sample_groups
from globalbandits.fitting.estimation.fitted_population import FittedPopulation
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel

N_REFITS = 20
STEPS_PER_REFIT = 40
HIGH_QUANTILE = 0.9


class StandardErrors(NamedTuple):
    """Standard errors over groups."""

    share: float
    bias_scale: float  # of the offered arms
    total: float  # of the value of information
    through: float  # of the value of knowing the group's number only
    bias_scale_high: float  # 90 % quantile of the bias scale over the refits


def expected_bias_scale(fitted: FittedPopulation, errors: StandardErrors | None) -> float:
    """Return the rms bias that a policy should expect, including its own uncertainty.

    A short history may show no bias by chance; the standard error keeps the expectation above 0.
    """
    return math.hypot(fitted.bias_scale, 0.0 if errors is None else errors.bias_scale)


def bootstrap_errors(
    panel: Panel,
    scale: ArmScale,
    worth: Worth,
    shared: FittedPopulation,
    independent: FittedPopulation,
    offer: Callable[[FittedPopulation], tuple[FittedPopulation, Worth]],
    seed: int = 0,
) -> StandardErrors:
    """Draw groups with replacement and refit by 40 steps from the fit, 20 times.

    A large panel is refitted on 2,000 of its groups, and the errors are scaled accordingly.

    Args:
        panel: The history.
        scale: The places of its arms.
        worth: The worth of its arms.
        shared: The fit whose errors are wanted.
        independent: The fit of every arm for itself.
        offer: Returns a fit for the offered arms, with their worth.
        seed: The seed of the draws.
    """
    rng = np.random.default_rng(seed)
    shrink = 1.0
    if panel.n_groups > MAX_GROUPS_IN_FULL:
        n_all = panel.n_groups
        panel = sample_groups(panel, seed)
        shrink = float(np.sqrt(panel.n_groups / n_all))
    found = []
    for _ in range(N_REFITS):
        drawn = panel.take(rng.integers(0, panel.n_groups, panel.n_groups))
        shared_refit = run_em(drawn, scale, shared, STEPS_PER_REFIT)
        independent_refit = run_em(drawn, scale, independent, STEPS_PER_REFIT)
        offered, offered_worth = offer(shared_refit)
        information = value_of_information(offered, offered_worth, seed)
        share = explained_share(shared_refit, independent_refit, worth)
        found.append((share, offered.bias_scale, information.total, information.through))
    numbers = np.array(found)
    share_se, bias_se, total_se, through_se = (numbers.std(axis=0, ddof=1) * shrink).tolist()
    return StandardErrors(
        share=share_se,
        bias_scale=bias_se,
        total=total_se,
        through=through_se,
        bias_scale_high=float(np.quantile(numbers[:, 1], HIGH_QUANTILE)),
    )
