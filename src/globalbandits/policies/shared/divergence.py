"""Log-likelihood and Kullback-Leibler divergence of Bernoulli rewards, with few logarithms."""

import math


def bernoulli_loss(ones: float, zeros: float, log_q: float, log_rest: float) -> float:
    """Return ``-ones log q - zeros log(1 - q)`` from the two logarithms, with 0 log 0 = 0.

    This is minus the log-likelihood of this number of ones and zeros with mean q. Both may be
    fractions: sums of rewards x and 1 - x in [0, 1].

    >>> round(bernoulli_loss(1.0, 3.0, math.log(0.25), math.log(0.75)), 6)
    2.249341
    """
    value = 0.0
    if ones > 0.0:
        value -= ones * log_q
    if zeros > 0.0:
        value -= zeros * log_rest
    return value


def negative_entropy(p: float) -> float:
    """Return ``p log p + (1 - p) log(1 - p)``, the part of kl(p, q) that does not depend on q.

    >>> negative_entropy(0.5) == -math.log(2.0)
    True
    """
    return -cross_entropy(p, log_or_minus_infinity(p), log_or_minus_infinity(1.0 - p))


def cross_entropy(p: float, log_q: float, log_rest: float) -> float:
    """Return ``-p log q - (1 - p) log(1 - q)`` from the two logarithms, with 0 log 0 = 0.

    >>> round(negative_entropy(0.5) + cross_entropy(0.5, math.log(0.25), math.log(0.75)), 6)
    0.143841
    """
    return bernoulli_loss(p, 1.0 - p, log_q, log_rest)


def log_or_minus_infinity(x: float) -> float:
    """Return the logarithm, and -inf at 0 instead of an error."""
    return math.log(x) if x > 0.0 else -math.inf


def kl_upper_bound(p: float, negative_entropy_p: float, divergence: float) -> float:
    """Return ``-log(1 - q)`` for the largest q in [p, 1] with ``kl(p, q) <= divergence``.

    The divergence must be positive. The logarithm distinguishes values of q that round to 1.

    In ``y = -log(1 - q)`` the divergence is convex and increasing beyond p. So the first step of
    Newton's method lands at or to the right of the root, and the next steps descend to it. The
    start is the expansion of q in powers of ``z = sqrt(2 * divergence)`` for small z. For large z
    it is the smaller of two upper bounds: Pinsker's ``p + z / 2``, and the bound without the term
    ``-p log q`` of the divergence. The result depends only on p and the divergence, so arms with
    equal statistics tie exactly.

    >>> q = 1.0 - math.exp(-kl_upper_bound(0.5, negative_entropy(0.5), 0.143841036))
    >>> round(q, 6)
    0.75
    >>> kl_upper_bound(0.0, 0.0, 1.5), kl_upper_bound(1.0, 0.0, 1.5)
    (1.5, inf)
    """
    if p >= 1.0:
        return math.inf
    if p <= 0.0:
        return divergence
    y = (divergence - negative_entropy_p) / (1.0 - p)
    pinsker = p + math.sqrt(0.5 * divergence)
    if pinsker < 1.0:
        variance = p * (1.0 - p)
        if 2.0 * divergence < variance:
            z = math.sqrt(2.0 * divergence)
            pinsker = min(pinsker, p + z * math.sqrt(variance) + z * z * (1.0 - 2.0 * p) / 3.0)
        y = min(y, -math.log(1.0 - pinsker))
    for _ in range(60):
        q = 1.0 - math.exp(-y)
        # The divergence is too small: in floats q equals p.
        if q <= p:
            return -math.log(1.0 - p)
        excess = negative_entropy_p + cross_entropy(p, math.log(q), -y) - divergence
        step = excess * q / (q - p)
        y -= step
        # The next step would be of the order of the square of this one.
        if abs(step) < 1e-8 * (1.0 + y):
            break
    return y
