"""The value of information about a group, and how informative each arm is."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.fitted_population import FittedPopulation, draw_groups

N_DRAWN_GROUPS = 4_000
MIN_INFORMATION = 0.2  # per reward; an arm with less is hardly informative
MIN_BEST_PROBABILITY = 0.1  # an arm that is best more often is played for its worth


class ValueOfInformation(NamedTuple):
    """Worth per round of playing each group's best arm, beyond the best fixed arm."""

    fixed: int  # index of the best fixed arm
    total: float  # if all means of the group are known
    through: float  # if only its number is known


def value_of_information(
    fitted: FittedPopulation, worth: Worth, seed: int = 0
) -> ValueOfInformation:
    """Average over 4,000 groups drawn from the population, with errors of their own."""
    drawn = draw_groups(fitted, N_DRAWN_GROUPS, np.random.default_rng(seed))
    true, known = worth(drawn.means), worth(drawn.curves)
    fixed = int(true.mean(axis=0).argmax())
    chosen = np.take_along_axis(true, known.argmax(axis=1)[:, None], axis=1)[:, 0]
    total = true.max(axis=1) - true[:, fixed]
    return ValueOfInformation(fixed, float(total.mean()), float((chosen - true[:, fixed]).mean()))


class ArmFacts(NamedTuple):
    """What a fit says about every arm: shape (n_arms,) each."""

    information: FloatArray  # spread of the arm's mean over groups, per noise of one reward
    best: FloatArray  # probability that the curves make it the best arm
    stalls: BoolArray  # often best and hardly informative: greedy play stays there


def arm_facts(fitted: FittedPopulation, worth: Worth) -> ArmFacts:
    """Return each arm's information per reward and its probability of being best."""
    centred = fitted.curves - fitted.means
    spread = np.sqrt(fitted.weights @ centred**2)
    information = spread / np.sqrt(np.maximum(fitted.phi * fitted.spread, 1e-300))
    winners = worth(fitted.curves).argmax(axis=1)
    best: FloatArray = np.bincount(winners, fitted.weights, fitted.rho.size).astype(np.float64)
    stalls = (information < MIN_INFORMATION) & (best > MIN_BEST_PROBABILITY)
    return ArmFacts(information, best, np.asarray(stalls))
