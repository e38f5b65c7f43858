"""The forecasts a verdict rests on: with the bias as found, and with the bias at its upper end."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits.fitting.bootstrap import Errors, error_size
from globalbandits.fitting.candidates import BELIEVER, ELASTIC, candidates
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.forecast import Forecast, Playing, foresee
from globalbandits.fitting.steps import RHO_LARGEST
from globalbandits.fitting.theta import ThetaScale
from globalbandits.fitting.verdict import TRUSTED_GROUPS, may_be_exact
from globalbandits.fitting.worth import Worth

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Prospects(NamedTuple):
    """What is expected in new groups."""

    forecast: Forecast
    cautious: Forecast | None  # with the bias at its upper 90 % point; only where that is asked


def look_ahead(
    fitted: Fitted,
    model: "RewardModel",
    worth: Worth,
    scale: ThetaScale,
    errors: Errors,
    n_groups: int,
    playing: Playing,
) -> Prospects:
    """Simulate the candidates in new groups; those that cannot unlearn with a larger bias too.

    Args:
        fitted: The population, with the offered arms.
        model: Its model.
        worth: Of the offered arms.
        scale: Theta at the population's points.
        errors: Of the fit; they say how large the bias may be.
        n_groups: Of the history.
        playing: How long, how often, and with which seed.
    """
    policies = candidates(error_size(fitted, errors), model)
    forecast = foresee(fitted, model, worth, scale, policies, playing)
    cautious = None
    if n_groups >= TRUSTED_GROUPS and may_be_exact(forecast):
        few = {name: policies[name] for name in (ELASTIC, BELIEVER) if name in policies}
        doubtful = with_bias(fitted, max(errors.bias_scale_high, fitted.bias_scale))
        cautious = foresee(doubtful, model, worth, scale, few, playing)
    return Prospects(forecast, cautious)


def with_bias(fitted: Fitted, bias_scale: float) -> Fitted:
    """The same population with errors of another size."""
    factor = (bias_scale / fitted.bias_scale) ** 2
    rho = np.minimum(fitted.rho * factor, RHO_LARGEST)
    return fitted._replace(rho=rho, phi=1.0 - rho if fitted.binary else fitted.phi)
