"""The reward model: mean functions of one unknown number, checked and analysed once."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, as_interval, require
from globalbandits.errors import ModelError
from globalbandits.model.checks import check_means
from globalbandits.model.curves import build_curves, evaluate_many
from globalbandits.model.envelope import envelope_table, suboptimal_sides, upper_envelope
from globalbandits.model.functions import ArmFunctions, probe_points
from globalbandits.model.holder import Holder, estimate_holder, verify_holder
from globalbandits.model.tables import Tables

_EDGE = 1e-12  # of the domain's length: closer to an edge than this is on it
_EPS = float(np.finfo(float).eps)


class Region(NamedTuple):
    """An interval of the parameter on which the same arms are best.

    ``arm`` is the first of ``arms``; there are several only where arms coincide.
    """

    arm: int
    low: float
    high: float
    arms: tuple[int, ...]


class RewardModel:
    """Arms whose mean rewards are known functions of one unknown number.

    Args:
        mean: ``mean(theta, arm)``: mean reward of an arm value at theta, strictly monotone in
            theta. Best written so that it takes arrays; functions of single numbers work too.
        arms: User-facing values of the arms: prices, doses, labels.
        domain: The interval theta lies in.
        reward_range: The interval rewards lie in.
        inverse: ``inverse(value, arm)``, if a closed form is known; it is checked against ``mean``.
        holder: Constants of Assumption 1, if they are known; they are checked. Estimated else.

    Examples:
        >>> import globalbandits as gb
        >>> model = gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2,
        ...                        arms=[0.4, 0.6, 0.8])
        >>> model.best_arms(0.5)
        (1,)
        >>> [(model.arms[r.arm], round(r.low, 4), round(r.high, 4)) for r in model.regions]
        [(0.8, 0.0, 0.4778), (0.6, 0.4778, 0.6712), (0.4, 0.6712, 1.0)]
    """

    def __init__(
        self,
        mean: Callable[..., Any],
        arms: Sequence[Any],
        domain: tuple[float, float] = (0.0, 1.0),
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        inverse: Callable[..., Any] | None = None,
        holder: Holder | None = None,
    ) -> None:
        require(callable(mean), "mean", "be a function of (theta, arm)", mean, ModelError)
        values = _as_arms(arms)
        functions = [partial(_swap, mean, value) for value in values]
        inverses = None
        if inverse is not None:
            inverses = [partial(_swap, inverse, value) for value in values]
        self._build(functions, values, mean, domain, reward_range, inverses, inverse, holder)

    @classmethod
    def from_functions(
        cls,
        functions: Sequence[Callable[..., Any]],
        arms: Sequence[Any] | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        inverses: Sequence[Callable[..., Any]] | None = None,
        holder: Holder | None = None,
    ) -> "RewardModel":
        """A model from one function of theta per arm; arms are 0, 1, 2, ... unless named.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel.from_functions(
            ...     [lambda t: 1 - t**0.5, lambda t: 0.8 * t, lambda t: t**2])
            >>> [region.arm for region in model.regions]
            [0, 1, 2]
        """
        functions = list(functions)
        for position, function in enumerate(functions):
            require(
                callable(function), f"functions[{position}]", "be callable", function, ModelError
            )
        values = _as_arms(range(len(functions)) if arms is None else arms)
        require(
            len(values) == len(functions),
            "arms",
            f"have {len(functions)} values, one per function",
            len(values),
            ModelError,
        )
        if inverses is not None:
            inverses = list(inverses)
            require(
                len(inverses) == len(functions),
                "inverses",
                f"have {len(functions)} functions",
                len(inverses),
                ModelError,
            )
        model = cls.__new__(cls)
        model._build(functions, values, None, domain, reward_range, inverses, None, holder)
        return model

    def _build(
        self,
        functions: Sequence[Callable[..., Any]],
        arms: tuple[Any, ...],
        joint: Callable[..., Any] | None,
        domain: tuple[float, float],
        reward_range: tuple[float, float],
        inverses: Sequence[Callable[..., Any]] | None,
        joint_inverse: Callable[..., Any] | None,
        holder: Holder | None,
    ) -> None:
        self._arms = arms
        self._domain = as_interval("domain", domain, ModelError)
        self._reward_range = as_interval("reward_range", reward_range, ModelError)
        n_arms = len(arms)
        names = [f"mean of arm {value!r}" for value in arms]
        ends = np.full(n_arms, self._domain[0]), np.full(n_arms, self._domain[1])
        # What is observed and what a decision is worth are one thing in the paper and two in
        # the tables: inverses come from the first, regions, gaps and regret from the second.
        self._observed = ArmFunctions(functions, probe_points(*ends), arms, joint)
        self._worth = self._observed
        check_means(self._observed, n_arms, self._domain, self._reward_range, names)
        mean_curves, inverse_curves = build_curves(self._unit_mean, n_arms, self._domain, names)
        breakpoints, best = upper_envelope(self._worth, n_arms, self._domain)
        self._best = best
        self._breakpoints = breakpoints
        at_ends = self.best_arms(self._domain[0]), self.best_arms(self._domain[1])
        self._tables = Tables(
            n_arms=n_arms,
            low=self._domain[0],
            high=self._domain[1],
            mean=mean_curves,
            inverse=inverse_curves,
            worth=mean_curves,
            envelope=envelope_table(breakpoints, best, at_ends),
        )
        self._inverse: ArmFunctions | None = None
        if inverses is not None:
            low, high = self._mean_ends()
            self._inverse = ArmFunctions(
                inverses, probe_points(low, high), arms, joint_inverse, "inverse"
            )
            self._verify_inverse()
        if holder is not None:
            verify_holder(holder, self._observed, n_arms, self._domain)
            self.__dict__["holder"] = holder

    def _unit_mean(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        low, high = self._reward_range
        return np.clip((self._observed(arms, thetas) - low) / (high - low), 0.0, 1.0)

    def _mean_ends(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest mean of each arm, in the user's units."""
        low, high = self._reward_range
        inverse = self._tables.inverse
        return low + (high - low) * inverse.low, low + (high - low) * inverse.high

    def _verify_inverse(self) -> None:
        """The supplied inverse must undo the mean, as far as the mean's digits allow."""
        assert self._inverse is not None
        low, high = self._domain
        thetas = np.broadcast_to(np.linspace(low, high, 65), (self.n_arms, 65))
        arms = np.arange(self.n_arms)[:, None]
        means = self._observed(arms, thetas)
        found = self._inverse(arms, means)
        back = self._observed(arms, np.clip(found, low, high))
        scale = self._reward_range[1] - self._reward_range[0]
        wrong = ~(np.abs(found - thetas) <= 1e-9 * (high - low))
        wrong &= ~((np.abs(back - means) <= 1e-14 * scale) & (found >= low) & (found <= high))
        if wrong.any():
            arm, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            raise ModelError(
                f"inverse of arm {self._arms[arm]!r} must undo its mean, "
                f"got {found[arm, column]:.6g} for the mean {means[arm, column]:.6g} "
                f"at theta = {thetas[arm, column]:.6g}"
            )

    @property
    def arms(self) -> tuple[Any, ...]:
        """The arms' user-facing values."""
        return self._arms

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self._arms)

    @property
    def domain(self) -> tuple[float, float]:
        """The interval theta lies in."""
        return self._domain

    @property
    def reward_range(self) -> tuple[float, float]:
        """The interval rewards lie in."""
        return self._reward_range

    @property
    def tables(self) -> Tables:
        """Flat arrays for loops, on the unit reward scale."""
        return self._tables

    def means(self, theta: ArrayLike) -> FloatArray:
        """Mean reward of every arm at theta: shape (..., n_arms)."""
        thetas = self._as_thetas(theta)
        return self._observed(np.arange(self.n_arms), thetas[..., np.newaxis])

    def invert(self, arm: int, value: ArrayLike) -> Any:
        """The theta whose mean for this arm (an index) is nearest to ``value``.

        Values beyond the arm's range give the nearer end of the domain.
        """
        arm = self._as_arm(arm)
        values = np.asarray(value, dtype=float)
        require(bool(np.isfinite(values).all()), "value", "be finite", value, ModelError)
        low, high = self._reward_range
        unit = (values - low) / (high - low)
        found = evaluate_many(self._tables.inverse, arm, np.atleast_1d(unit))
        if self._inverse is not None:
            inner = (unit > self._tables.inverse.low[arm]) & (unit < self._tables.inverse.high[arm])
            inner = np.atleast_1d(inner)
            found[inner] = self._inverse(np.array(arm), np.atleast_1d(values)[inner])
        found = np.clip(found, *self._domain).reshape(values.shape)
        return float(found) if values.ndim == 0 else found

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Where which arms are best, left to right, covering the domain."""
        edges = self._breakpoints.tolist()
        return tuple(
            Region(arms[0], low, high, arms)
            for arms, low, high in zip(self._best, edges[:-1], edges[1:], strict=True)
        )

    @cached_property
    def dominated(self) -> tuple[int, ...]:
        """Indices of arms that are best nowhere."""
        somewhere = {arm for arms in self._best for arm in arms}
        return tuple(arm for arm in range(self.n_arms) if arm not in somewhere)

    def best_arms(self, theta: float) -> tuple[int, ...]:
        """Indices of the arms that are best at theta, ties included."""
        theta = self._as_theta(theta)
        first, last = self._intervals_at(theta)
        arms = {arm for index in range(first, last + 1) for arm in self._best[index]}
        worth = self._worth(np.arange(self.n_arms), np.array(theta))
        top = worth.max()
        return tuple(
            sorted(arms | set(np.flatnonzero(worth >= top - 4 * _EPS * abs(top)).tolist()))
        )

    def gaps(self, theta: ArrayLike) -> FloatArray:
        """How much each arm's mean falls short of the best one: shape (..., n_arms)."""
        thetas = self._as_thetas(theta)
        worth = self._worth(np.arange(self.n_arms), thetas[..., np.newaxis])
        return np.asarray(worth.max(axis=-1, keepdims=True) - worth)

    def suboptimality_gap(self, theta: float) -> float:
        """delta_min: the smallest gap of an arm that is not best; infinite if all are best."""
        gaps = self.gaps(self._as_theta(theta))
        others = np.delete(gaps, self.best_arms(theta))
        return float(others.min()) if others.size else float("inf")

    def suboptimality_distance(self, theta: float) -> float:
        """Delta_min of Definition 3: how far theta is from where its best arms stop being best.

        The domain's length if some arm that is best at theta is best everywhere.
        """
        theta = self._as_theta(theta)
        first, last = self._intervals_at(theta)
        low, high = suboptimal_sides(
            self._breakpoints, self._best, self.best_arms(theta), first, last
        )
        distance = min(theta - low, high - theta)
        if np.isinf(distance):
            return self._domain[1] - self._domain[0]
        return max(distance, 0.0)

    @cached_property
    def holder(self) -> Holder:
        """Constants and exponents of Assumption 1, per arm, in the user's units."""
        return estimate_holder(self._observed, self.n_arms, self._domain)

    @property
    def unit_holder(self) -> Holder:
        """`holder` for means on the unit reward scale."""
        low, high = self._reward_range
        return self.holder.scaled(1.0 / (high - low))

    @property
    def informativeness(self) -> float:
        """The gamma of Definition 2: min_k(1 / g1_k) * min_k(g2_k)."""
        return self.holder.informativeness

    @cached_property
    def fingerprint(self) -> str:
        """A short text that tells this model from others: arms, domain, range and curves."""
        grid = np.linspace(*self._domain, 33)
        curves = self._unit_mean(np.arange(self.n_arms)[:, None], np.tile(grid, (self.n_arms, 1)))
        digest = hashlib.sha256()
        header = [[repr(arm) for arm in self._arms], self._domain, self._reward_range]
        digest.update(json.dumps(header).encode())
        # Nine digits: the last ones may differ between machines.
        digest.update(np.rint(curves * 1e9).astype("<i8").tobytes())
        return digest.hexdigest()[:32]

    def _intervals_at(self, theta: float) -> tuple[int, int]:
        """First and last interval of the envelope that theta belongs to: two on an edge."""
        slack = _EDGE * (self._domain[1] - self._domain[0])
        inner = self._breakpoints[1:-1]
        first = int(np.searchsorted(inner, theta - slack, side="left"))
        last = int(np.searchsorted(inner, theta + slack, side="right"))
        return first, last

    def _as_theta(self, theta: object) -> float:
        number = as_float("theta", theta, ModelError)
        low, high = self._domain
        require(low <= number <= high, "theta", f"lie in [{low:g}, {high:g}]", theta, ModelError)
        return number

    def _as_thetas(self, theta: ArrayLike) -> FloatArray:
        thetas = np.asarray(theta, dtype=float)
        low, high = self._domain
        inside = (thetas >= low) & (thetas <= high)
        if not inside.all():
            wrong = float(thetas[~inside].flat[0]) if thetas.ndim else float(thetas)
            raise ModelError(f"theta must lie in [{low:g}, {high:g}], got {wrong!r}")
        return thetas

    def _as_arm(self, arm: object) -> int:
        index = as_integer("arm", arm, 0, ModelError)
        require(index < self.n_arms, "arm", f"be below {self.n_arms}", arm, ModelError)
        return index

    def __repr__(self) -> str:
        """The arms, the domain, and how many regions."""
        low, high = self._domain
        shown = ", ".join(repr(arm) for arm in self._arms[:4])
        more = ", ..." if self.n_arms > 4 else ""
        return (
            f"RewardModel({self.n_arms} arms: {shown}{more}; theta in [{low:g}, {high:g}]; "
            f"{len(self._best)} regions)"
        )


def _swap(function: Callable[..., Any], arm: Any, argument: Any) -> Any:
    """``function(argument, arm)`` with the arm given first, so that `partial` can fix it."""
    return function(argument, arm)


def _as_arms(arms: Sequence[Any]) -> tuple[Any, ...]:
    """Arm values as a tuple of plain Python values, at least one, none repeated."""
    try:
        values = tuple(arms)
    except TypeError:
        raise ModelError(f"arms must be a sequence of values, got {arms!r}") from None
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    require(len(values) >= 1, "arms", "have at least one value", values, ModelError)
    seen: set[Any] = set()
    for value in values:
        try:
            repeated = value in seen
            seen.add(value)
        except TypeError:
            raise ModelError(f"arms must be hashable values, got {value!r}") from None
        require(not repeated, "arms", "be distinct", value, ModelError)
    return values
