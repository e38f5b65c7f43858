"""Assumption 1 of the paper: how fast means can and must change with the parameter.

For every arm k and all theta, theta' in the domain,

``D1_k |theta - theta'|**g1_k <= |mu_k(theta) - mu_k(theta')| <= D2_k |theta - theta'|**g2_k``

with g1_k >= 1 >= g2_k > 0. The lower inequality says how well rewards of arm k identify the
parameter, the upper one how much a wrong parameter can cost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits._validation import as_positive, require
from globalbandits.errors import ModelError
from globalbandits.model.orders import Approach
from globalbandits.model.pairs import extreme_ratios
from globalbandits.model.secants import Evaluate, Family, Spots, extreme_secants, tabulate

_ARMS_AT_ONCE = 1_000
_CELLS_AT_ONCE = 1_000_000
_SHADE = 1e-7  # constants are moved outward by this much, to be valid and not only accurate
_TOLERANCE = 1e-6  # relative slack a user's constants are granted


@dataclass(frozen=True, eq=False)
class Holder:
    """Constants and exponents of Assumption 1 per arm, and the paper's aggregates of them.

    Args:
        lower_constant: D1_k, positive.
        lower_exponent: g1_k, at least 1.
        upper_constant: D2_k, positive.
        upper_exponent: g2_k, in (0, 1].

    Scalars, and sequences with one entry per arm, may be mixed.

    >>> holder = Holder([0.5, 1.0], [1.0, 2.0], [1.0, 2.0], [0.5, 1.0])
    >>> holder.inverse_constant, holder.inverse_exponent, holder.informativeness
    (2.0, 0.5, 0.25)
    """

    lower_constant: FloatArray
    lower_exponent: FloatArray
    upper_constant: FloatArray
    upper_exponent: FloatArray

    def __post_init__(self) -> None:
        names = [field.name for field in fields(self)]
        arrays = [_as_array(name, getattr(self, name)) for name in names]
        sizes = sorted({array.size for array in arrays} - {1})
        rule = "have one entry per arm, the same number in each"
        require(len(sizes) <= 1, "holder constants and exponents", rule, sizes, ModelError)
        for name, array in zip(names, arrays, strict=True):
            array = np.broadcast_to(array, (sizes[0] if sizes else 1,)).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        _require_all("lower_constant", self.lower_constant, "be positive", self.lower_constant > 0)
        _require_all("upper_constant", self.upper_constant, "be positive", self.upper_constant > 0)
        rule = "be at least 1"
        _require_all("lower_exponent", self.lower_exponent, rule, self.lower_exponent >= 1.0)
        allowed = (self.upper_exponent > 0.0) & (self.upper_exponent <= 1.0)
        _require_all("upper_exponent", self.upper_exponent, "lie in (0, 1]", allowed)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.lower_constant)

    @property
    def inverse_constant(self) -> float:
        """D1bar = max_k (1 / D1_k)**(1 / g1_k), the constant of all inverses together."""
        return float(np.max(self.lower_constant ** (-1.0 / self.lower_exponent)))

    @property
    def inverse_exponent(self) -> float:
        """g1bar = min_k 1 / g1_k, the exponent of all inverses together."""
        return float(np.min(1.0 / self.lower_exponent))

    @property
    def constant(self) -> float:
        """D2 = max_k D2_k."""
        return float(np.max(self.upper_constant))

    @property
    def exponent(self) -> float:
        """g2 = min_k g2_k."""
        return float(np.min(self.upper_exponent))

    @property
    def informativeness(self) -> float:
        """Gamma = g1bar * g2 (Definition 2): 1 when all arms tell all they can, less otherwise."""
        return self.inverse_exponent * self.exponent

    def scaled(self, factor: float) -> "Holder":
        """The constants of the means times ``factor``; exponents do not change.

        >>> Holder(0.5, 1.0, 2.0, 1.0).scaled(0.5).constant
        1.0
        """
        factor = as_positive("factor", factor, ModelError)
        return Holder(
            self.lower_constant * factor,
            self.lower_exponent,
            self.upper_constant * factor,
            self.upper_exponent,
        )


def estimate_holder(evaluate: Evaluate, n_arms: int, domain: tuple[float, float]) -> Holder:
    """The tightest exponents, and the tightest constants for them, of strictly monotone means.

    Args:
        evaluate: ``evaluate(arms, thetas)``, the mean of each arm index at each parameter,
            elementwise over arrays of one shape.
        n_arms: Number of arms.
        domain: Ends of the parameter's range.

    >>> holder = estimate_holder(lambda arms, thetas: thetas**2, 1, (0.0, 1.0))
    >>> holder.lower_exponent, holder.lower_constant.round(4), holder.upper_constant.round(4)
    (array([2.]), array([1.]), array([2.]))
    """
    parts = [_estimate(family) for family in _families(evaluate, n_arms, domain)]
    return Holder(*np.concatenate(parts, axis=1))


def verify_holder(
    holder: Holder, evaluate: Evaluate, n_arms: int, domain: tuple[float, float]
) -> None:
    """Raise a ModelError that names arm, inequality and parameters where ``holder`` fails.

    Arguments as in `estimate_holder`.

    >>> verify_holder(Holder(1.0, 1.0, 1.0, 1.0), lambda arms, thetas: 0.5 * thetas, 1, (0.0, 1.0))
    Traceback (most recent call last):
        ...
    globalbandits.errors.ModelError: lower_constant[0] must be at most 0.5, ...
    """
    rule = f"have one entry per arm, {n_arms} in all"
    require(holder.n_arms == n_arms, "holder", rule, holder.n_arms, ModelError)
    sides = (
        ("lower_constant", 1, holder.lower_constant, holder.lower_exponent, "at most"),
        ("upper_constant", -1, holder.upper_constant, holder.upper_exponent, "at least"),
    )
    for family in _families(evaluate, n_arms, domain):
        for name, sign, constants, exponents, relation in sides:
            claimed, exponent = constants[family.arms], exponents[family.arms]
            secants, spots = extreme_secants(family, sign)
            seen = extreme_ratios(family, secants, spots, exponent, sign)
            wrong = sign * (claimed - seen.ratio) > _TOLERANCE * claimed
            if not wrong.any():
                continue
            row = int(np.argmax(wrong))
            given = "" if exponent[row] == 1.0 else f" with exponent {exponent[row]:.6g}"
            raise ModelError(
                f"{name}[{family.arms[row]}] must be {relation} {seen.ratio[row]:.6g}"
                f"{given}, as the means of this arm at theta = "
                f"{seen.left[row]:.10g} and {seen.right[row]:.10g} show, "
                f"got {float(claimed[row])!r}"
            )


def _families(evaluate: Evaluate, n_arms: int, domain: tuple[float, float]) -> Iterator[Family]:
    """All arms in batches of bounded memory; few arms get a finer grid."""
    n_cells = int(np.clip(_CELLS_AT_ONCE // n_arms, 64, 512))
    for start in range(0, n_arms, _ARMS_AT_ONCE):
        arms = np.arange(start, min(start + _ARMS_AT_ONCE, n_arms))
        yield tabulate(evaluate, arms, domain, n_cells)


def _estimate(family: Family) -> FloatArray:
    """Rows D1, g1, D2, g2 of the family's curves."""
    rows = np.arange(len(family.arms))
    ends = [
        family.approach(Spots(rows, np.full(len(rows), end), np.zeros(len(rows))), side)
        for end, side in ((family.low, 1), (family.high, -1))
    ]
    end_orders = [end.order(exact=True) for end in ends]
    lower = _one_side(family, ends, end_orders, 1)
    upper = _one_side(family, ends, end_orders, -1)
    return np.array([*lower, *upper])


def _one_side(
    family: Family, ends: list[Approach], end_orders: list[FloatArray], sign: int
) -> tuple[FloatArray, FloatArray]:
    """Constants and exponents of the lower (sign 1) or the upper (sign -1) inequality."""
    secants, spots = extreme_secants(family, sign)
    approaches = [*ends, family.approach(spots, 0)]
    orders = [*end_orders, _spot_order(family, spots, approaches[-1].order(exact=False), sign)]
    exponent = np.ones(len(family.arms))
    furthest = np.maximum if sign > 0 else np.minimum
    for approach, order in zip(approaches, orders, strict=True):
        furthest.at(exponent, approach.rows, order)
    constant = extreme_ratios(family, secants, spots, exponent, sign).ratio
    # Close to a point the ratio may improve without end. Then its limit counts, not a pair.
    least = np.minimum if sign > 0 else np.maximum
    for approach, order in zip(approaches, orders, strict=True):
        limit, doubt = approach.constant(exponent[approach.rows])
        clear = (order == exponent[approach.rows]) & (doubt < 0.05 * limit)
        least.at(constant, approach.rows[clear], (limit - sign * doubt)[clear])
    return constant * (1.0 - sign * _SHADE), exponent


def _spot_order(family: Family, spots: Spots, both: FloatArray, sign: int) -> FloatArray:
    """Order at inner spots: that of both sides together unless one side is clearly flatter."""
    if sign < 0:  # the steeper side always shows in the sum of both
        return both
    for side in (-1, 1):
        single = family.approach(spots, side).order(exact=False)
        both = np.where(single > 1.25 * both, single, both)
    return both


def _as_array(name: str, value: object) -> FloatArray:
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ModelError(f"{name} must be a number or one number per arm, got {value!r}") from None
    rule = "be a number or one number per arm"
    require(array.ndim == 1 and array.size > 0, name, rule, value, ModelError)
    return array


def _require_all(name: str, array: FloatArray, rule: str, allowed: BoolArray) -> None:
    allowed = allowed & np.isfinite(array)
    if not allowed.all():
        arm = int(np.argmin(allowed))
        raise ModelError(f"{name}[{arm}] must {rule}, got {float(array[arm])!r}")
