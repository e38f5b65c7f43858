"""What history says about the size of the curves' errors, in the form `Elastic` takes."""

import math

from globalbandits.policies.parts.curve_grid import SCALES

SPREAD = 0.7  # of the logarithm of the errors' size
LEAST = 0.001
EXACT = 0.01


def error_prior(bias_scale: float) -> tuple[float, ...]:
    """Nine weights, log-normal around the bias scale; a little for exact curves.

    ``exp(-(ln(s / bias_scale) / 0.7)² / 2)``, at least .001, and .01 for s = 0.

    >>> [round(weight, 3) for weight in error_prior(0.04)]
    [0.01, 0.001, 0.012, 0.141, 0.613, 1.0, 0.613, 0.141, 0.012]
    """
    size = max(bias_scale, 1e-6)
    return tuple(
        EXACT
        if s == 0
        else round(max(LEAST, math.exp(-0.5 * (math.log(s / size) / SPREAD) ** 2)), 4)
        for s in SCALES
    )
