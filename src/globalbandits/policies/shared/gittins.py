"""Closed forms of the Gittins index of a Normal arm, and bounds of an index.

For an arm whose mean is Normal(m, c) given the data, with rewards of variance v and a horizon
of h rounds, the index is ``m + sqrt(c) * psi(h * c / v)``.
"""

import math

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.statistics import Statistics

BREZZI_LAI, LOG = 0, 1
FORMS = ("brezzi-lai", "log")  # by code


def psi(x: float, form: int) -> float:
    """Return the bonus of an arm, in standard deviations of its mean.

    Brezzi and Lai (2002), "Optimal learning and experimentation in bandit problems", fit the
    piecewise form to the index under discounting. The pieces do not meet exactly: at 0.2 the
    first ends at 0.316 and the second starts at 0.244. The constants agree with five public
    implementations; the paper itself was not available. The other form,
    ``sqrt(log(1 + x**2 / 2))``, is smooth and larger. Both grow as ``sqrt(2 * log(x))``.

    >>> round(psi(10.0, BREZZI_LAI), 6), round(psi(10.0, LOG), 6)
    (0.586588, 1.982883)
    """
    if form == LOG:
        return psi_log(x)
    if x <= 0.2:
        return math.sqrt(0.5 * x)
    if x <= 1.0:
        return 0.49 - 0.11 / math.sqrt(x)
    if x <= 5.0:
        return 0.63 - 0.26 / math.sqrt(x)
    if x <= 15.0:
        return 0.77 - 0.58 / math.sqrt(x)
    log = math.log(x)
    return math.sqrt(2.0 * log - math.log(log) - math.log(16.0 * math.pi))


def psi_log(x: float) -> float:
    """Return the smooth form of `psi`."""
    return math.sqrt(math.log(1.0 + 0.5 * x * x))


def as_form(name: str) -> int:
    """Return the code of a form of psi.

    >>> as_form("log") == LOG
    True
    """
    require(name in FORMS, "psi", f"be one of {', '.join(FORMS)}", name, PolicyError)
    return FORMS.index(name)


# A floor and a ceiling for an arm's index, from its own rewards.
#
# For an arm with N rewards of mean m, whose variance is at most v, in round t:
#
#     floor   = m + sqrt(v / N) * psi(eps * t / N)
#     ceiling = m + sqrt(v / N) * psi(10 * t / N)
#
# The arm with the largest ``min(max(index, floor), ceiling)`` is played. For any index, the best
# arm is then played infinitely often, and bad arms become rare: see the lemma in docs/elastic.md.

CEILING_LOOKAHEAD = 10.0  # times the rounds so far
LARGEST_VARIANCE = 0.25  # of rewards in [0, 1]
# The eps of the floor in the proof. It costs almost no regret.
PROVED_CAUTION = 1e-4


def own_bonus(variance: float, count: int, ahead: float) -> float:
    """Return the bonus of an arm above its own mean, for a horizon and without a curve.

    >>> round(own_bonus(0.25, 100, 1000.0), 4)
    0.0991
    """
    return math.sqrt(variance / count) * psi_log(ahead / count)


def clamp(index: float, own: float, least: float, most: float) -> float:
    """Clamp an index between an arm's own mean plus ``least`` and plus ``most``.

    >>> clamp(0.9, 0.5, 0.1, 0.2), clamp(0.5, 0.5, 0.1, 0.2)
    (0.7, 0.6)
    """
    return min(max(index, own + least), own + most)


def cautious_variance(stats: Statistics, arm: int, variance: float) -> float:
    """Return an upper bound of an arm's variance that rarely fails; it is large for few rewards."""
    count = stats.counts[arm]
    own = stats.sums[arm] / count
    squares = max(0.0, stats.squares[arm] - stats.sums[arm] * own)
    return float(max(variance, (0.5 + squares) / (2.0 + count)))


def is_forced(rounds: float, caution: float) -> bool:
    """Whether an arm without rewards must be played now: from round 1 / eps on.

    >>> is_forced(99.0, 0.01), is_forced(100.0, 0.01)
    (False, True)
    """
    return rounds * caution >= 1.0


def largest_of(values: FloatArray) -> int:
    """Return the first position of the largest value."""
    best = 0
    for arm in range(1, values.shape[0]):
        if values[arm] > values[best]:
            best = arm
    return best
