"""`Probabilities`: the chance of every arm to be chosen next.

A policy draws only from the generator that `select` gets. `follow_draws` calls `select` with a
generator whose uniform numbers are not numbers yet: each comparison and each rounding splits the
interval of the uniform number, and every side is followed. The shares of the paths are the exact
probabilities. A policy that draws nothing has one path. Normal and Beta numbers cannot be followed;
such policies are drawn from many times.
"""

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.pages import table

DEFAULT_DRAWS = 2_000
# A policy whose draws part in more ways, over all paths together, is drawn from instead. To follow
# this many takes about 10 milliseconds.
MAX_FORKS = 2_000
# Arms with the largest probabilities that a text shows.
_MAX_SHOWN_ARMS = 8


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Probabilities(Sequence[float]):
    """The chance of every arm to be chosen next, given the present state.

    It is a sequence with one number per arm; ``np.asarray`` makes it an array.

    Attributes:
        values: the probability of each arm, by index.
        arms: the values of the arms, such as prices.
        exact: whether the numbers are exact; otherwise they are shares of draws.
        draws: the number of draws; 0 if the numbers are exact.

    >>> chances = Probabilities(values=np.array([0.25, 0.75]), arms=(5.0, 6.0), exact=True)
    >>> chances[1], list(chances), str(chances)
    (0.75, [0.25, 0.75], '6: 0.75, 5: 0.25 (exact)')
    """

    values: FloatArray
    arms: tuple[Any, ...]
    exact: bool
    draws: int = 0

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each probability; 0 if it is exact."""
        if self.exact:
            return np.zeros(len(self.values))
        return np.asarray(np.sqrt(self.values * (1.0 - self.values) / self.draws))

    def of_chosen(self, arm: int) -> float:
        """The probability to log for a decision that chose this arm.

        Among draws the decision itself counts as one more. The number is then never 0, and the
        mean of its inverse is at most that of the true probability, so that weights of off-policy
        estimates are not too large on average.
        """
        share = float(self.values[arm])
        return share if self.exact else (share * self.draws + 1.0) / (self.draws + 1.0)

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, arm: int) -> float: ...

    @overload
    def __getitem__(self, arm: slice) -> list[float]: ...

    def __getitem__(self, arm: int | slice) -> float | list[float]:
        found = self.values[arm]
        return float(found) if isinstance(arm, int) else found.tolist()

    def __iter__(self) -> Iterator[float]:
        return iter(self.values.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Probabilities):
            return NotImplemented
        mine, theirs = (self.exact, self.draws), (other.exact, other.draws)
        return mine == theirs and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    @property
    def source(self) -> str:
        """Where the numbers come from, for a reader."""
        if self.exact:
            return "exact"
        error = float(self.standard_errors.max())
        return f"{self.draws:,} draws, standard error up to {error:.2g}"

    def __str__(self) -> str:
        order = np.argsort(-self.values.round(12), kind="stable")
        shown = [arm for arm in order.tolist() if self.values[arm] > 0.0][:_MAX_SHOWN_ARMS]
        n_left = int(np.count_nonzero(self.values)) - len(shown)
        listed = [f"{_text(self.arms[arm])}: {self.values[arm]:.3g}" for arm in shown]
        rest = [f"{n_left} other arms"] if n_left > 0 else []
        return f"{', '.join(listed + rest)} ({self.source})"

    def _repr_html_(self) -> str:
        errors = self.standard_errors
        rows = [
            [_text(arm), f"{value:.4g}", "exact" if self.exact else f"{error:.2g}"]
            for arm, value, error in zip(self.arms, self.values, errors, strict=True)
        ]
        return table(["arm", "probability", "standard error"], rows)


def _text(arm: Any) -> str:
    return f"{arm:g}" if isinstance(arm, float | int) else str(arm)


def follow_draws(choose: Callable[[Any], int], n_arms: int) -> FloatArray | None:
    """Return the exact probabilities of the arms, or None if the draws cannot be followed.

    Args:
        choose: returns an arm, and draws only from the generator that it is given. It must
            return the same arm if it is called again with the same numbers.
        n_arms: number of arms.

    >>> def epsilon_greedy(rng):
    ...     return int(rng.random() * 3) if rng.random() < 0.3 else 2
    >>> follow_draws(epsilon_greedy, 3).round(12).tolist()
    [0.1, 0.1, 0.8]
    >>> follow_draws(lambda rng: int(rng.standard_normal() > 0.0), 2) is None
    True
    """
    chances = np.zeros(n_arms)
    forks: list[_Fork] = []
    n_left = MAX_FORKS
    while True:
        draws = _Draws(forks, n_left)
        try:
            arm = choose(draws)
        except _CannotFollowError:
            return None
        n_left -= draws.n_passed
        chances[arm] += math.prod(fork.share for fork in forks)
        while forks and not forks[-1].turn():
            forks.pop()
        if not forks:
            return chances


class _CannotFollowError(Exception):
    """A draw was used in a way that has no finite number of outcomes."""


class _Fork:
    """A point at which paths part: the shares of its sides, and the side that is followed."""

    def __init__(self, shares: list[float]) -> None:
        self._sides = [side for side, share in enumerate(shares) if share > 0.0]
        self._shares = shares

    @property
    def side(self) -> int:
        return self._sides[0]

    @property
    def share(self) -> float:
        return self._shares[self._sides[0]]

    def turn(self) -> bool:
        """Follow the next side; False if there is none."""
        del self._sides[0]
        return bool(self._sides)


class _Draws:
    """A generator for one path: it takes the sides of the forks in order, and adds new forks."""

    def __init__(self, forks: list[_Fork], max_forks: int) -> None:
        self._forks = forks
        self._max_forks = max_forks
        self.n_passed = 0

    def random(self) -> "_Uniform":
        return _Uniform(_Range(self), 1.0, 0.0)

    def side(self, shares: list[float]) -> int:
        """Return the side of the next fork."""
        if self.n_passed == self._max_forks:
            raise _CannotFollowError("too many forks")
        if self.n_passed == len(self._forks):
            self._forks.append(_Fork(shares))
        self.n_passed += 1
        return self._forks[self.n_passed - 1].side

    def __getattr__(self, name: str) -> Any:
        raise _CannotFollowError(name)


class _Range:
    """What is known about one uniform number: it lies in [low, high)."""

    def __init__(self, draws: _Draws) -> None:
        self.draws = draws
        self.low, self.high = 0.0, 1.0

    def is_below(self, edge: float) -> bool:
        """Whether the number is below an edge; from now on that is known."""
        share = (edge - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        below = self.draws.side([share, 1.0 - share]) == 0
        if below:
            self.high = min(self.high, edge)
        else:
            self.low = max(self.low, edge)
        return below


_OPERATIONS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


class _Uniform:
    """The number ``factor * u**power + shift`` of a uniform number u that is not drawn yet."""

    def __init__(self, range_: _Range, factor: float, shift: float, power: int = 1) -> None:
        self._range = range_
        self._factor = factor
        self._shift = shift
        self._power = power

    def _linear(self, factor: Any, shift: Any) -> "_Uniform":
        if isinstance(shift, _Uniform):
            raise _CannotFollowError("a sum of two draws")
        factor, shift = float(factor), float(shift)
        scaled, moved = factor * self._factor, factor * self._shift + shift
        return _Uniform(self._range, scaled, moved, self._power)

    def __mul__(self, other: Any) -> "_Uniform":
        if not isinstance(other, _Uniform):
            return self._linear(other, 0.0)
        if other._range is not self._range or self._shift != 0.0 or other._shift != 0.0:
            raise _CannotFollowError("a product of two draws")
        power = self._power + other._power
        return _Uniform(self._range, self._factor * other._factor, 0.0, power)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "_Uniform":
        if isinstance(other, _Uniform) or other == 0.0:
            raise _CannotFollowError("a quotient of two draws")
        return self._linear(1.0 / other, 0.0)

    def __add__(self, other: Any) -> "_Uniform":
        return self._linear(1.0, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "_Uniform":
        return self._linear(1.0, -other)

    def __rsub__(self, other: Any) -> "_Uniform":
        return self._linear(-1.0, other)

    def __neg__(self) -> "_Uniform":
        return self._linear(-1.0, 0.0)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with NumPy's numbers as with plain ones."""
        operation = _OPERATIONS.get(function)
        if operation is None or method != "__call__" or options:
            raise _CannotFollowError(function.__name__)
        return operation(*(x if isinstance(x, _Uniform) else float(x) for x in inputs))

    def _at(self, u: float) -> float:
        return float(self._factor * u**self._power + self._shift)

    def _edge(self, value: float) -> float:
        """Return the u at which this number has a value; 0 if it is above the value from 0 on."""
        share = (value - self._shift) / self._factor
        return float(max(share, 0.0) ** (1.0 / self._power))

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, _Uniform):
            raise _CannotFollowError("a comparison of two draws")
        if self._factor == 0.0:
            return self._shift < float(other)
        below = self._range.is_below(self._edge(float(other)))
        return below if self._factor > 0.0 else not below

    # A uniform number is equal to a given one with probability 0.
    __le__ = __lt__

    def __gt__(self, other: Any) -> bool:
        return not self < other

    __ge__ = __gt__

    def __int__(self) -> int:
        """Round towards 0, as `int` does; one fork for all integers that are possible."""
        low, high = self._range.low, self._range.high
        if self._factor <= 0.0 or self._at(low) < 0.0:
            raise _CannotFollowError("a rounded number that falls or is negative")
        first, last = math.floor(self._at(low)), math.ceil(self._at(high)) - 1
        if last - first >= MAX_FORKS:
            raise _CannotFollowError("too many integers")
        edges = [low, *(self._edge(k) for k in range(first + 1, last + 1)), high]
        shares = [(end - start) / (high - low) for start, end in pairwise(edges)]
        side = self._range.draws.side(shares)
        self._range.low, self._range.high = edges[side], edges[side + 1]
        return first + side

    def _refuse(self, *arguments: Any) -> Any:
        raise _CannotFollowError("a number that was not drawn yet")

    __float__ = __index__ = __bool__ = __eq__ = __ne__ = __array__ = __round__ = _refuse
    __hash__ = None  # type: ignore[assignment]
