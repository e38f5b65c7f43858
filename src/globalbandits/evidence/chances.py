"""The two kinds of probability, kept apart: how sure a set is, and how often a test is wrong."""

from globalbandits._validation import as_fraction, require
from globalbandits.errors import EvidenceError


def as_confidence(confidence: object) -> float:
    """The confidence of an interval or of a set of contenders, such as 0.95.

    >>> as_confidence(0.05)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: confidence must be 0.5 or more, got 0.05
    """
    number = as_fraction("confidence", confidence, EvidenceError)
    require(number >= 0.5, "confidence", "be 0.5 or more", confidence, EvidenceError)
    return number


def as_alpha(alpha: object) -> float:
    """The largest probability of a false alarm, such as 0.05.

    >>> as_alpha(0.95)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: alpha must be 0.5 or less, got 0.95
    """
    number = as_fraction("alpha", alpha, EvidenceError)
    require(number <= 0.5, "alpha", "be 0.5 or less", alpha, EvidenceError)
    return number
