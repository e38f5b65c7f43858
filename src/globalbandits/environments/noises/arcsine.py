"""`ArcsineBetaNoise`, Beta(mean, 1 - mean): most rewards are near the ends of the range.

Up to x = 1/2 the distribution function is a fast series, the integral of x**(a - 1) *
(1 - x)**(-a) term by term:

    I_x(a, 1 - a) = sin(pi a) / pi * x**a * sum_k (a)_k / k! * x**k / (a + k)

Above 1/2 it follows by symmetry. The logarithm of I is convex in the logarithm of x, so Newton's
method from the right converges monotonically.
"""

import dataclasses
import math

from globalbandits._registry import register
from globalbandits.environments.noises.noise import Noise, NoiseRules, NoParameters, prepare_mean

_EPSILON = 2.0**-53
# Largest number of terms of the series; at x = 1/2 about 55 are needed.
_MAX_TERMS = 120
# Largest number of steps of Newton's method; about 6 are needed.
_MAX_STEPS = 60
_LOG_HALF = math.log(0.5)
# Smaller logarithms of x underflow to x = 0.
_MIN_LOG = -745.0


def series(a: float, x: float) -> float:
    """Return a times the sum of the formula above, for x up to 1/2. It is 1 at x = 0."""
    total, factor = 1.0, 1.0
    for k in range(1, _MAX_TERMS):
        factor *= (a + (k - 1)) / k * x
        term = factor * a / (a + k)
        total += term
        if term <= _EPSILON * total:
            break
    return total


def log_constant(a: float, b: float) -> float:
    """Return log(sin(pi a) / (pi a)) for b = 1 - a: log I_x = a log x + log series + this."""
    return math.log(math.sin(math.pi * (a if a <= b else b)) / (math.pi * a))


def lower_quantile(a: float, b: float, u: float) -> float:
    """Return the x up to 1/2 with I_x(a, b) = u for b = 1 - a; u is at most I_x at 1/2."""
    if u <= 0.0:
        return 0.0
    target = math.log(u) - log_constant(a, b)
    # This is to the right of the solution, because the series is at least 1.
    log_x = target / a
    if log_x < _MIN_LOG:
        return 0.0
    if log_x > _LOG_HALF:
        log_x = _LOG_HALF
    for _ in range(_MAX_STEPS):
        x = math.exp(log_x)
        found = series(a, x)
        slope = a * math.exp(-a * math.log1p(-x)) / found
        step = (a * log_x + math.log(found) - target) / slope
        log_x -= step
        if step <= 4.0 * _EPSILON * (1.0 - log_x):
            break
    return math.exp(log_x)


def draw(parameters: NoParameters, arm: int, shape: float, u: float) -> float:
    """Return the quantile of Beta(shape, 1 - shape) at u."""
    # The probability of the upper half is below the distance of the largest u from 1.
    if shape <= _EPSILON:
        return 0.0
    if shape >= 1.0:
        return 1.0
    a, b = shape, 1.0 - shape
    lower_half = math.exp(a * _LOG_HALF + log_constant(a, b)) * series(a, 0.5)
    if u <= lower_half:
        return lower_quantile(a, b, u)
    return 1.0 - lower_quantile(b, a, 1.0 - u)


@register("arcsine-beta")
@dataclasses.dataclass(frozen=True)
class ArcsineBetaNoise(Noise):
    """Rewards Beta(mean, 1 - mean), at mean 1/2 the arcsine distribution.

    Means 0 and 1 give rewards 0 and 1.

    >>> round(ArcsineBetaNoise.rules.draw(NoParameters(), 0, 0.5, 1 / 3), 12)  # sin(pi/6)**2
    0.25
    """

    rules = NoiseRules(prepare_mean, draw)
