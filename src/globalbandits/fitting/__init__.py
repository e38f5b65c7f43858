"""From history to a model: many groups, each with its own number, and their rewards."""

from globalbandits._extras import needs_extra

with needs_extra("lab", "pandas"):
    from globalbandits.fitting import histories
    from globalbandits.fitting.context_fit import ContextFit
    from globalbandits.fitting.estimation.group_posterior import GroupPosterior
    from globalbandits.fitting.fit import fit
    from globalbandits.fitting.fit_result import Fit
    from globalbandits.fitting.panel import Panel
    from globalbandits.fitting.vector_fit import VectorFit

__all__ = ["ContextFit", "Fit", "GroupPosterior", "Panel", "VectorFit", "fit", "histories"]
