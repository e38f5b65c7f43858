"""Two closed forms of the Gittins index of a Normal arm.

For an arm whose mean is Normal(m, c) given the data, with rewards of variance v and a horizon
of h rounds, the index is ``m + sqrt(c) * psi(h * c / v)``.
"""

import math

from globalbandits._validation import require
from globalbandits.errors import PolicyError

BREZZI_LAI, LOG = 0, 1
FORMS = ("brezzi-lai", "log")  # by code


def psi(x: float, form: int) -> float:
    """The bonus of an arm, in standard deviations of its mean.

    Brezzi and Lai (2002), "Optimal learning and experimentation in bandit problems", fit the
    piecewise form to the index under discounting; the pieces do not meet exactly (at 0.2 the
    first ends at 0.316 and the second starts at 0.244). The constants agree with five public
    implementations; the paper itself was not available. The other form is smooth and larger,
    ``sqrt(log(1 + x**2 / 2))``; both grow as ``sqrt(2 * log(x))``.

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
    """The smooth form of `psi`."""
    return math.sqrt(math.log(1.0 + 0.5 * x * x))


def as_form(name: str) -> int:
    """The code of a form of psi.

    >>> as_form("log") == LOG
    True
    """
    require(name in FORMS, "psi", f"be one of {', '.join(FORMS)}", name, PolicyError)
    return FORMS.index(name)
