"""How much of the difference between groups one number explains."""

import numpy as np

from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.worth import Worth


def explained_share(shared: Fitted, independent: Fitted, worth: Worth) -> float:
    """1 - Σ (v_k lambda_k)² / Σ (v_k lambda0_k)², at least 0.

    lambda_k is what is left around the curves, lambda0_k what every arm varies between groups
    for itself, noise removed from both, and v_k what a unit of the mean is worth.
    """
    slopes = worth.slopes(shared.curves, shared.weights)
    left = float(np.sum((slopes * shared.bias) ** 2))
    whole = float(np.sum((slopes * independent.bias) ** 2))
    return max(0.0, 1.0 - left / whole)
