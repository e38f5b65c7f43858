"""The paper's bounds as functions of a model: Theorems 1 to 4 and 6 to 8.

Theorem 5 (WAGP plays a suboptimal arm only finitely often) has no formula; the simulator
reports the last suboptimal play of every run instead. All results are in the model's units.
"""

from globalbandits.theory.buw_bounds import (
    bayes_risk_growth,
    buw_regret,
    buw_switch_time,
    buw_worst_case_regret,
)
from globalbandits.theory.drift_bounds import average_regret_under_drift, regret_under_drift
from globalbandits.theory.holder_constants import Constants, constants
from globalbandits.theory.lower_bound import LowerBoundInstance, lower_bound_instance
from globalbandits.theory.wagp_bounds import (
    Regimes,
    bounded_time,
    glog,
    linear_beats_log,
    logarithmic_time,
    mean_squared_error,
    one_step_regret,
    regimes,
    worst_case_constants,
    worst_case_regret,
)

__all__ = [
    "Constants",
    "LowerBoundInstance",
    "Regimes",
    "average_regret_under_drift",
    "bayes_risk_growth",
    "bounded_time",
    "buw_regret",
    "buw_switch_time",
    "buw_worst_case_regret",
    "constants",
    "glog",
    "linear_beats_log",
    "logarithmic_time",
    "lower_bound_instance",
    "mean_squared_error",
    "one_step_regret",
    "regimes",
    "regret_under_drift",
    "worst_case_constants",
    "worst_case_regret",
]
