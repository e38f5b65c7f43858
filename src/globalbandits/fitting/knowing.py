"""What knowing a group is worth, and what the arms tell about it."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.population import draw_groups
from globalbandits.fitting.worth import Worth

N_DRAWN = 4_000
DULL = 0.2  # an arm with less information per reward tells hardly anything
OFTEN = 0.1  # an arm that is best this often is played for its worth


class Knowing(NamedTuple):
    """Worth per round of choosing the best arm of each group, beyond the best fixed arm."""

    fixed: int  # the arm to play always, an index
    total: float  # knowing all means of the group
    through: float  # knowing its number only


def worth_of_knowing(fitted: Fitted, worth: Worth, seed: int = 0) -> Knowing:
    """Averages over 4,000 groups drawn from the population, their own errors included."""
    drawn = draw_groups(fitted, N_DRAWN, np.random.default_rng(seed))
    true, known = worth(drawn.means), worth(drawn.curves)
    fixed = int(true.mean(axis=0).argmax())
    chosen = np.take_along_axis(true, known.argmax(axis=1)[:, None], axis=1)[:, 0]
    total = true.max(axis=1) - true[:, fixed]
    return Knowing(fixed, float(total.mean()), float((chosen - true[:, fixed]).mean()))


class ArmFacts(NamedTuple):
    """What a fit says about every arm: shape (n_arms,) each."""

    information: FloatArray  # spread of the arm's mean over groups, per noise of one reward
    best: FloatArray  # how often the curves make it the best arm
    stalls: BoolArray  # often best and telling nothing: greedy play stays there


def arm_facts(fitted: Fitted, worth: Worth) -> ArmFacts:
    """Information per reward, and the probability of being best, over the population."""
    centred = fitted.curves - fitted.means
    spread = np.sqrt(fitted.weights @ centred**2)
    information = spread / np.sqrt(np.maximum(fitted.phi * fitted.spread, 1e-300))
    winners = worth(fitted.curves).argmax(axis=1)
    best: FloatArray = np.bincount(winners, fitted.weights, fitted.rho.size).astype(np.float64)
    return ArmFacts(information, best, np.asarray((information < DULL) & (best > OFTEN)))
