"""Two closed forms of the Gittins index of a Normal arm, and how noisy rewards are taken to be.

For an arm whose mean is Normal(m, c) given the data, with rewards of variance v and a horizon
of h rounds, the index is ``m + sqrt(c) * psi(h * c / v)``.
"""

import math

from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.policies import base

BREZZI_LAI, LOG = 0, 1
FORMS = ("brezzi-lai", "log")  # by code

PRIOR_ROUNDS = 20.0  # how many rewards the expected variance of an arm is worth
LEAST_VARIANCE = 1e-5


def psi(x: float, form: int) -> float:
    """How many standard deviations of its mean an arm is worth above it.

    Brezzi and Lai (2002), "Optimal learning and experimentation in bandit problems", fit the
    piecewise form to the index under discounting; the pieces do not meet exactly (at 0.2 the
    first ends at 0.316 and the second starts at 0.244). The constants agree with five public
    implementations; the paper itself was not at hand. The other form is smooth and larger,
    ``sqrt(log(1 + x**2 / 2))``; both grow as ``sqrt(2 * log(x))``.

    >>> round(psi(10.0, BREZZI_LAI), 6), round(psi(10.0, LOG), 6)
    (0.586588, 1.982883)
    """
    if form == LOG:
        return math.sqrt(math.log(1.0 + 0.5 * x * x))
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


def learn_noise(state: base.State) -> None:
    """What variance an arm's rewards would have by the others, into ``expected_variances``.

    Rewards in [0, 1] with mean e have a variance of at most ``e * (1 - e)``; ``share`` is the
    part of it that all arms together show. An arm that may turn out best is given the largest
    variance between its own mean and the best one's.
    """
    n_arms = state.counts.shape[0]
    seen = 0.5
    possible = 0.5
    best = state.means[0]
    for arm in range(n_arms):
        best = max(best, state.means[arm])
        count = state.counts[arm]
        if count >= 2:
            mean = state.sums[arm] / count
            seen += max(0.0, state.squares[arm] - state.sums[arm] * mean)
            possible += (count - 1) * max(mean * (1.0 - mean), 0.001)
    share = min(1.0, seen / possible)
    for arm in range(n_arms):
        mean = state.means[arm]
        bound = max(mean * (1.0 - mean), best * (1.0 - best))
        if mean < 0.5 < best:
            bound = 0.25
        state.expected_variances[arm] = share * max(bound, 0.001)
        renew_variance(state, arm)


def renew_variance(state: base.State, arm: int) -> None:
    """An arm's variance: the expected one and that of its own rewards, weighed together."""
    variance = state.expected_variances[arm]
    count = state.counts[arm]
    if count >= 2:
        own = max(0.0, state.squares[arm] - state.sums[arm] * state.sums[arm] / count)
        variance = (PRIOR_ROUNDS * variance + own) / (PRIOR_ROUNDS - 1.0 + count)
    state.variances[arm] = max(variance, LEAST_VARIANCE)


def record(state: base.State, arm: int, reward: float, by: int) -> None:
    """Add (1) or take back (-1) one reward."""
    state.counts[arm] += by
    state.total[0] += by
    state.sums[arm] += by * reward
    state.squares[arm] += by * reward * reward
    if state.counts[arm] == 0:  # whatever rounding left
        state.sums[arm] = 0.0
        state.squares[arm] = 0.0


def schedule(state: base.State) -> None:
    """Count the rewards; renew all every round up to 20, then after a twentieth more of them."""
    total = 0
    for arm in range(state.counts.shape[0]):
        total += state.counts[arm]
    state.total[0] = total
    state.refit[0] = total + 1
    if total >= 20:
        state.refit[0] = max(total + 1, math.ceil(1.05 * total))


def as_form(name: str) -> int:
    """The code of a form of psi.

    >>> as_form("log") == LOG
    True
    """
    require(name in FORMS, "psi", f"be one of {', '.join(FORMS)}", name, PolicyError)
    return FORMS.index(name)
