"""Format numbers with the digits that their error justifies."""

import math

from globalbandits._means import Z95


def format_value(value: float, half_width: float) -> tuple[str, str]:
    """Return a number and the half width of its interval, to two digits of the half width.

    >>> format_value(1.3321, 0.0784)
    ('1.332', '0.078')
    >>> format_value(524.72, 25.3), format_value(0.1604, 0.0)
    (('525', '25'), ('0.16', ''))
    """
    if half_width <= 0.0:
        return f"{value:.3g}", ""
    decimals = max(0, 1 - math.floor(math.log10(half_width)))
    return f"{value:.{decimals}f}", f"{half_width:.{decimals}f}"


def format_mean(value: float, sem: float) -> str:
    """Return a mean and the half width of its 95 % interval.

    >>> format_mean(1.3321, 0.04)
    '1.332 ± 0.078'
    """
    shown, half = format_value(value, Z95 * sem)
    return f"{shown} ± {half}" if half else shown


def format_seconds(seconds: float) -> str:
    """Return a duration in seconds, or in minutes and seconds.

    >>> format_seconds(4.21), format_seconds(75.0)
    ('4.2 s', '1 min 15 s')
    """
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
