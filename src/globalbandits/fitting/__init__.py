"""From history to a model: many groups, each with a number of its own, and what they earned."""

from globalbandits.fitting import histories
from globalbandits.fitting.fit import fit
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.posterior import GroupPosterior
from globalbandits.fitting.result import Fit

__all__ = ["Fit", "GroupPosterior", "Panel", "fit", "histories"]
