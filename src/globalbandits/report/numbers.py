"""Numbers as text: as many digits as their error leaves meaning to."""

import math

from globalbandits.experiments import Entry
from globalbandits.experiments.verdicts import Z95, Verdict

MARKS = {
    Verdict.REPRODUCED: "✓",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.TOO_NOISY: "?",
    Verdict.NOT_IDENTIFIED: "·",
    Verdict.NOT_STATED: "–",
}


def format_value(value: float, half_width: float) -> tuple[str, str]:
    """A number and the half width of its interval, both to two digits of the latter.

    >>> format_value(1.3321, 0.0784)
    ('1.332', '0.078')
    >>> format_value(524.72, 25.3), format_value(0.1604, 0.0)
    (('525', '25'), ('0.16', ''))
    """
    if half_width <= 0.0:
        return f"{value:.3g}", ""
    decimals = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{value:.{decimals}f}", f"{half_width:.{decimals}f}"


def format_entry(entry: Entry) -> str:
    """An entry in one line: value and half width of its 95 % interval.

    >>> format_entry(Entry(label="regret", value=1.3321, sem=0.04, runs=1000))
    '1.332 ± 0.078'
    """
    value, half = format_value(entry.value, Z95 * entry.sem)
    return f"{value} ± {half}" if half else value


def format_seconds(seconds: float) -> str:
    """A duration for a person.

    >>> format_seconds(4.21), format_seconds(75.0)
    ('4.2 s', '1 min 15 s')
    """
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
