"""The two kinds of level, kept apart: how sure a set is, and how often a test cries wolf."""

from globalbandits._validation import as_fraction, require
from globalbandits.errors import EvidenceError


def as_confidence(level: object) -> float:
    """The level of an interval or of a set of contenders, such as 0.95.

    >>> as_confidence(0.05)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: level must be a confidence of 0.5 or more, got 0.05
    """
    number = as_fraction("level", level, EvidenceError)
    require(number >= 0.5, "level", "be a confidence of 0.5 or more", level, EvidenceError)
    return number


def as_alarm_rate(level: object) -> float:
    """The level of a test, the largest probability of a false alarm, such as 0.05.

    >>> as_alarm_rate(0.95)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: level must be a false-alarm rate of 0.5 or less, got 0.95
    """
    number = as_fraction("level", level, EvidenceError)
    require(number <= 0.5, "level", "be a false-alarm rate of 0.5 or less", level, EvidenceError)
    return number
