"""`TruncatedNormalNoise`: normal noise truncated to the reward range, with an exact mean.

Truncation changes the mean, so `find_location` solves for the location of the normal. The location
increases with the mean, and a bracket is known. Everything is computed for locations up to 1/2;
the other half follows by symmetry.
"""

import dataclasses
import math
from typing import NamedTuple

from globalbandits._registry import register
from globalbandits._validation import as_positive, require
from globalbandits.environments.noises.noise import Noise, NoiseRules
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

_ROOT_HALF = math.sqrt(0.5)
_DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)
# Number of standard deviations from which the tail is computed by its hazard.
_FAR_TAIL_SDS = 30.0
# Levels of the continued fraction. They give full precision at _FAR_TAIL_SDS.
_N_FRACTIONS = 24
# Shares of the reward range. At the largest standard deviation the distribution is flat to 1e-3.
# The inverse of a smaller one than the smallest is infinite. A smaller mean than the smallest is
# replaced by 0, because its square underflows.
_MAX_SD = 10.0
_MIN_SD = 1e-300
_MIN_MEAN = 1e-150
_MIN_TAIL = 5e-324


class Parameters(NamedTuple):
    """The standard deviation of the normal before truncation, on the unit scale."""

    sd: float


def normal_tail(z: float) -> float:
    """Return the probability that a standard normal variable exceeds z."""
    return 0.5 * math.erfc(z * _ROOT_HALF)


def normal_density(z: float) -> float:
    """Return the density of the standard normal distribution."""
    return _DENSITY_AT_0 * math.exp(-0.5 * z * z)


def hazard_excess(z: float) -> float:
    """Return density(z) / tail(z) - z for z >= 30, by Laplace's continued fraction.

    The fraction avoids cancellation.
    """
    value = 0.0
    for level in range(_N_FRACTIONS, 1, -1):
        value = level / (z + value)
    return 1.0 / (z + value)


def normal_upper_quantile(p: float) -> float:
    """Return the z that a standard normal variable exceeds with probability p.

    The rational approximations are those of Wichura (1988), Algorithm AS 241, PPND16. Their
    relative error is about 1e-16.
    """
    q = 0.5 - p
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        top = (top * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4
        top = (top * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3
        top = (top * r + 1.3314166789178437745e2) * r + 3.3871328727963666080e0
        low = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        low = (low * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4
        low = (low * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2
        low = (low * r + 4.2313330701600911252e1) * r + 1.0
        return q * top / low
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    if r <= 5.0:
        r -= 1.6
        top = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
        top = (top * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0
        top = (top * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0
        top = (top * r + 4.63033784615654529590e0) * r + 1.42343711074968357734e0
        low = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
        low = (low * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1
        low = (low * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0
        low = (low * r + 2.05319162663775882187e0) * r + 1.0
    else:
        r -= 5.0
        top = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
        top = (top * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2
        top = (top * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0
        top = (top * r + 5.46378491116411436990e0) * r + 6.65790464350110377720e0
        low = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
        low = (low * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4
        low = (low * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1
        low = (low * r + 5.99832206555887937690e-1) * r + 1.0
    return top / low if p < 0.5 else -top / low


def truncated_mean(sd: float, location: float) -> float:
    """Return the mean of Normal(location, sd**2) truncated to [0, 1], for a location up to 1/2."""
    a = -location / sd
    b = a + 1.0 / sd
    if a <= _FAR_TAIL_SDS:
        mass = normal_tail(a) - normal_tail(b)
        return location + sd * (normal_density(a) - normal_density(b)) / mass
    left, right = hazard_excess(a), hazard_excess(b)
    mills_left, mills_right = 1.0 / (a + left), 1.0 / (b + right)
    # This is density(b) / density(a).
    ratio = math.exp(-0.5 * (a + b) / sd)
    top = left * mills_left - ratio * (1.0 / sd + right) * mills_right
    return sd * top / (mills_left - ratio * mills_right)


def find_location(sd: float, mean: float) -> float:
    """Return the location whose truncated normal has this mean, 0 < mean <= 1/2.

    The bracket holds for two reasons. A normal with location -m, m > 0, falls off at least as fast
    as an exponential of mean sd**2 / m. Truncation raises a mean up to 1/2. The function
    1 / truncated_mean is nearly linear for locations far outside, so regula falsi (Illinois) on it
    ends after a few steps.
    """
    low, high = -sd * sd / mean, mean
    at_low = 1.0 / truncated_mean(sd, low) - 1.0 / mean
    at_high = 1.0 / truncated_mean(sd, high) - 1.0 / mean
    if at_low <= 0.0 or at_high >= 0.0:
        return low if at_low <= 0.0 else high
    location = high
    side = 0
    for _ in range(100):
        previous = location
        location = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < location < high:
            location = 0.5 * (low + high)
        value = 1.0 / truncated_mean(sd, location) - 1.0 / mean
        if value == 0.0 or abs(location - previous) <= 1e-15 * (abs(location) + sd):
            break
        if value > 0.0:
            low, at_low = location, value
            if side == 1:
                at_high *= 0.5
            side = 1
        else:
            high, at_high = location, value
            if side == -1:
                at_low *= 0.5
            side = -1
    return location


def prepare(parameters: Parameters, arm: int, mean: float) -> float:
    """Return the location of the normal; infinite for the means 0 and 1."""
    if mean <= _MIN_MEAN:
        return -math.inf
    if mean >= 1.0:
        return math.inf
    if mean > 0.5:
        return 1.0 - find_location(parameters.sd, 1.0 - mean)
    return find_location(parameters.sd, mean)


def draw(parameters: Parameters, arm: int, shape: float, u: float) -> float:
    """Return the quantile of the truncated normal with location ``shape`` at u."""
    if shape > 0.5:
        return 1.0 - quantile(parameters.sd, 1.0 - shape, 1.0 - u)
    return quantile(parameters.sd, shape, u)


def quantile(sd: float, location: float, u: float) -> float:
    """Return the quantile of Normal(location, sd**2) truncated to [0, 1], for location <= 1/2."""
    if math.isinf(location) or u <= 0.0:
        return 0.0
    if u >= 1.0:
        return 1.0
    a = -location / sd
    b = a + 1.0 / sd
    if a <= _FAR_TAIL_SDS:
        above = normal_tail(a)
        p = above - u * (above - normal_tail(b))
        # In the first case u is below the rounding error of 1; in the second, 1 - u is.
        if p >= 1.0:
            return 0.0
        if p <= 0.0:
            p = _MIN_TAIL
        value = location + sd * normal_upper_quantile(p)
    else:
        value = sd * far_quantile(a, b, u)
    if value < 0.0:
        return 0.0
    return 1.0 if value > 1.0 else value


def far_quantile(a: float, b: float, u: float) -> float:
    """Return the u-quantile of a standard normal truncated to [a, b], minus a, for a >= 30.

    With tail(z) = density(z) / (z + excess(z)), log(tail(a) / tail(a + d)) is convex in d.
    Newton's method on it starts from the right: at the quantile of the exponential distribution
    with the hazard at a.
    """
    at_a = a + hazard_excess(a)
    beyond = math.exp(-0.5 * (b - a) * (a + b)) * at_a / (b + hazard_excess(b))
    wanted = -math.log1p(-u * (1.0 - beyond))
    d = wanted / at_a
    for _ in range(4):
        hazard = a + d + hazard_excess(a + d)
        d -= (d * (a + 0.5 * d) + math.log(hazard / at_a) - wanted) / hazard
    return d


@register("truncated-normal")
@dataclasses.dataclass(frozen=True)
class TruncatedNormalNoise(Noise):
    """A normal truncated to the reward range, with a location that makes the mean exact.

    Args:
        sd: standard deviation before truncation, in the units of the rewards; at most ten
            lengths of the reward range.

    >>> TruncatedNormalNoise(sd=0.1)
    TruncatedNormalNoise(sd=0.1)
    """

    sd: float = 0.1

    rules = NoiseRules(prepare, draw)

    def __post_init__(self) -> None:
        """Check the standard deviation."""
        object.__setattr__(self, "sd", as_positive("sd", self.sd, ScenarioError))

    def parameters(self, model: RewardModel) -> Parameters:
        """Return the standard deviation on the unit scale."""
        low, high = model.reward_range
        sd = self.sd / (high - low)
        rule = f"be at most {_MAX_SD * (high - low):g}, ten lengths of the reward range"
        require(sd <= _MAX_SD, "sd", rule, self.sd, ScenarioError)
        rule = f"be at least {_MIN_SD * (high - low):g} (NoNoise has no scatter)"
        require(sd >= _MIN_SD, "sd", rule, self.sd, ScenarioError)
        return Parameters(sd)
