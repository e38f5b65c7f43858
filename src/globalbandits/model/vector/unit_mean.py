"""The user's mean of several numbers and the arm, as one function of points of the unit box."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.analysis.functions import call_with_arrays
from globalbandits.model.formulas import Expression

# Points at which single calls and calls with arrays are compared.
_N_PROBES = 7

# Arms that are compared.
_N_PROBED_ARMS = 16


class BoxMeans:
    """The means of all arms at points of the unit box, in the user's units of rewards.

    A function may broadcast over numbers and arms, be vectorised over the numbers alone, or take
    one number at a time. Which of these holds is found out once, by comparing a few values with
    those of single calls.

    Args:
        mean: ``mean(first, ..., arm)``, a function or an `Expression`.
        arms: The user-facing values of the arms.
        names: The names of the parameters.
        low: The smallest value of each parameter, shape (n_parameters,).
        high: The largest value of each parameter.
    """

    def __init__(
        self,
        mean: Callable[..., Any],
        arms: tuple[Any, ...],
        names: Sequence[str],
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        self._mean = mean
        self._arms = arms
        self._names = tuple(names)
        self.low, self.high = low, high
        self._numbers: FloatArray | None = None
        if all(type(arm) in (int, float) for arm in arms):
            # An arm that is too large for a float is passed as it is.
            with suppress(OverflowError):
                self._numbers = np.array(arms, dtype=float)
        self._joint = self._separate = True
        if not isinstance(mean, Expression) or self._numbers is None:
            self._probe()

    def _probe(self) -> None:
        """Find out how the function may be called."""
        shares = (np.arange(_N_PROBES) + 0.5) / _N_PROBES
        columns = [np.roll(shares, 2 * axis) for axis in range(len(self.low))]
        thetas = self.low + (self.high - self.low) * np.stack(columns, axis=-1)
        n_arms = len(self._arms)
        sample = np.unique(np.linspace(0, n_arms - 1, min(n_arms, _N_PROBED_ARMS)).astype(int))
        single = np.stack([self._one_by_one(thetas, arm) for arm in sample.tolist()], axis=-1)
        joint = self._all_at_once(thetas)
        self._joint = joint is not None and _same(joint[:, sample], single)
        if not self._joint:
            by_arm = [self._one_arm(thetas, arm) for arm in sample.tolist()]
            found = [column for column in by_arm if column is not None]
            whole = len(found) == len(by_arm)
            self._separate = whole and _same(np.stack(found, axis=-1), single)

    def thetas(self, points: FloatArray) -> FloatArray:
        """Return points of the unit box in the user's units; the ends are exact."""
        inner = self.low + (self.high - self.low) * points
        return np.where(points >= 1.0, self.high, inner)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the means at points of the unit box: (n, n_parameters) to (n, n_arms)."""
        return self.at(self.thetas(points))

    def at(self, thetas: FloatArray) -> FloatArray:
        """Return the means at parameters in the user's units, shape (n, n_parameters)."""
        if self._joint:
            found = self._all_at_once(thetas)
            if found is not None:
                return found
        columns = []
        for arm in range(len(self._arms)):
            column = self._one_arm(thetas, arm) if self._separate else None
            columns.append(self._one_by_one(thetas, arm) if column is None else column)
        return np.stack(columns, axis=-1)

    def _all_at_once(self, thetas: FloatArray) -> FloatArray | None:
        if self._numbers is None:
            return None
        arguments = [thetas[:, axis, None] for axis in range(thetas.shape[1])]
        return call_with_arrays(
            self._mean, (len(thetas), len(self._arms)), *arguments, self._numbers
        )

    def _one_arm(self, thetas: FloatArray, arm: int) -> FloatArray | None:
        return call_with_arrays(self._mean, (len(thetas),), *thetas.T, self._arms[arm])

    def _one_by_one(self, thetas: FloatArray, arm: int) -> FloatArray:
        name = f"mean of arm {self._arms[arm]!r}"
        out = np.empty(len(thetas))
        with np.errstate(all="ignore"):
            for row, theta in enumerate(thetas.tolist()):
                try:
                    found = self._mean(*theta, self._arms[arm])
                except ArithmeticError:
                    # For example 1/0. The checks report a value that is not finite.
                    found = np.nan
                except Exception as error:
                    raise ModelError(
                        f"{name} must return a number, but raised {error!r} "
                        f"at {self.place(np.array(theta))}"
                    ) from error
                try:
                    array = np.asarray(found, dtype=float)
                except (TypeError, ValueError):
                    array = np.empty(0)
                if found is None or array.size != 1:
                    raise ModelError(
                        f"{name} must return a number, got {found!r} "
                        f"at {self.place(np.array(theta))}"
                    )
                out[row] = array.item()
        return out

    def place(self, theta: FloatArray) -> str:
        """Return parameters as text for messages, such as ``level = 0.2, slope = 0.1``."""
        pairs = zip(self._names, theta.tolist(), strict=True)
        return ", ".join(f"{name} = {number:.6g}" for name, number in pairs)


def _same(found: FloatArray, expected: FloatArray) -> bool:
    return bool(np.allclose(found, expected, rtol=1e-12, atol=0.0, equal_nan=True))
