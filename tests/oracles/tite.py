"""The TITE-CRM of Cheung and Chappell (2000), plainly: numerical integration, nothing shared."""

import numpy as np
from scipy.integrate import quad


def posterior_mean(skeleton, levels, events, weights, variance=1.34):
    """Posterior mean of beta in the model p_i**exp(beta) with a normal prior around 0.

    A patient at dose i with weight w has the likelihood (w p_i)**y (1 - w p_i)**(1 - y).
    """

    def density(beta):
        value = np.exp(-0.5 * beta**2 / variance)
        for level, event, weight in zip(levels, events, weights, strict=True):
            rate = weight * skeleton[level] ** np.exp(beta)
            value *= rate if event else 1.0 - rate
        return value

    options = {"epsabs": 0.0, "epsrel": 1e-10, "limit": 400, "points": [-2.0, 0.0, 2.0]}
    whole = quad(density, -6.0, 6.0, **options)[0]
    return quad(lambda beta: beta * density(beta), -6.0, 6.0, **options)[0] / whole
