"""Can you trust it? What the rewards of the paper's worlds say, and how often they mislead."""

from globalbandits.experiments.trust.together import N_SIMULATIONS, run

__all__ = ["N_SIMULATIONS", "run"]
