"""The reward model: mean functions of one unknown number, checked and analysed once."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import ModelError
from globalbandits.model.analysis import analyse
from globalbandits.model.arms import as_arms
from globalbandits.model.curves import evaluate_many
from globalbandits.model.describing import Descriptions
from globalbandits.model.envelope import envelope_table
from globalbandits.model.expressions import Expression
from globalbandits.model.functions import (
    ArmFunctions,
    PerArm,
    as_function,
    as_functions,
    as_value,
    as_worth,
)
from globalbandits.model.holder import Holder, estimate_holder, verify_holder
from globalbandits.model.intervals import as_numbers, as_span
from globalbandits.model.inverses import verify_inverse
from globalbandits.model.lipschitz import largest_slope
from globalbandits.model.observations import Observations
from globalbandits.model.recorder import Recorder
from globalbandits.model.showing import Showing
from globalbandits.model.tables import Tables
from globalbandits.model.travelling import portable
from globalbandits.model.turning_points import turning_points
from globalbandits.model.values import unit_value
from globalbandits.model.worth import Worth
from globalbandits.plots.labels import counted

_ONLY_MONOTONE = "not be given for means that cannot be inverted"


class RewardModel(Observations, Showing, Descriptions):
    """Arms whose mean rewards are known functions of one unknown number.

    Args:
        mean: ``mean(theta, arm)``: mean reward of an arm value at theta, strictly monotone in
            theta. Best written so that it takes arrays; functions of single numbers work too.
            Or a text with a formula of ``theta`` and ``arm``, such as ``"arm * exp(-arm*theta)"``.
        arms: User-facing values of the arms: prices, doses, labels.
        domain: The interval theta lies in.
        reward_range: The interval rewards lie in.
        value: ``value(mean, arm)``: what a decision for the arm is worth if its mean reward is
            ``mean``, where that is not the mean itself: the profit of a sale, the distance from
            a target. Rewards are still what is observed. Any continuous function, or a text with
            a formula of ``mean`` and ``arm``.
        inverse: ``inverse(value, arm)``, if a closed form is known; it is checked against ``mean``.
        holder: Constants of Assumption 1, if they are known; they are checked. Estimated else.
        monotone: False for means that are flat somewhere, or turn. They cannot be inverted; all
            that compares arms works, and so do policies that do not invert.

    Functions are analysed once and must not change afterwards, as a closure over a variable
    can: `means`, `worth`, `gaps`, `holder` and `observed_samples` refuse when two probes show a
    change. Decisions are looked up in the tables made when the model was built.

    Examples:
        >>> import globalbandits as gb
        >>> model = gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2,
        ...                        arms=[0.4, 0.6, 0.8])
        >>> model.best_arms(0.5)
        (1,)
        >>> [(model.arms[r.arm], round(r.low, 4), round(r.high, 4)) for r in model.regions]
        [(0.8, 0.0, 0.4778), (0.6, 0.4778, 0.6712), (0.4, 0.6712, 1.0)]

        A shop sees whether it sold, and earns the price less a cost of 0.3:

        >>> shop = gb.RewardModel(lambda theta, price: (1 - price * theta) ** 2,
        ...                       arms=[0.4, 0.6, 0.8],
        ...                       value=lambda sold, price: (price - 0.3) * sold)
        >>> shop.means(0.5).round(3), shop.worth(0.5).round(3)
        (array([0.64, 0.49, 0.36]), array([0.064, 0.147, 0.18 ]))

        The same without code, which a file can hold:

        >>> shop = gb.RewardModel("(1 - arm*theta)**2", [0.4, 0.6, 0.8], value="(arm - 0.3) * mean")
        >>> shop.worth(0.5).round(3)
        array([0.064, 0.147, 0.18 ])
    """

    def __init__(
        self,
        mean: Callable[[Any, Any], Any] | str,
        arms: Sequence[Any],
        domain: tuple[float, float] = (0.0, 1.0),
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[[Any, Any], Any] | str | None = None,
        inverse: Callable[[Any, Any], Any] | None = None,
        holder: Holder | None = None,
        monotone: bool = True,
    ) -> None:
        self._build(
            as_arms(arms),
            domain,
            reward_range,
            PerArm(joint=as_function("mean", mean, ("theta", "arm"))),
            as_value(value),
            None if inverse is None else PerArm(joint=inverse),
            holder,
            monotone,
        )

    @classmethod
    def from_functions(
        cls,
        functions: Sequence[Callable[[Any], Any] | str],
        arms: Sequence[Any] | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[[Any, Any], Any] | str | None = None,
        values: Sequence[Callable[[Any], Any] | str] | None = None,
        inverses: Sequence[Callable[[Any], Any]] | None = None,
        holder: Holder | None = None,
        monotone: bool = True,
    ) -> "RewardModel":
        """A model from one function of theta per arm; arms are 0, 1, 2, ... unless named.

        ``values`` are functions of the arm's mean reward, one per arm, instead of one ``value`` of
        mean and arm: see `RewardModel`. Texts are formulas, of ``theta`` in ``functions`` and of
        ``mean`` in ``values``.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel.from_functions(
            ...     [lambda t: 1 - t**0.5, lambda t: 0.8 * t, "theta**2"])
            >>> [region.arm for region in model.regions]
            [0, 1, 2]
        """
        means = PerArm(functions=as_functions("functions", functions, "theta"))
        n_arms = len(means.functions)
        named = as_arms(range(n_arms) if arms is None else arms)
        rule = f"have {n_arms} values, one per function"
        require(len(named) == n_arms, "arms", rule, len(named), ModelError)
        model = cls.__new__(cls)
        model._build(
            named,
            domain,
            reward_range,
            means,
            as_worth(value, values, n_arms),
            None
            if inverses is None
            else PerArm(as_functions("inverses", inverses, "mean", n_arms)),
            holder,
            monotone,
        )
        return model

    def _build(
        self,
        arms: tuple[Any, ...],
        domain: tuple[float, float],
        reward_range: tuple[float, float],
        mean: PerArm,
        value: PerArm | None,
        inverse: PerArm | None,
        holder: Holder | None,
        monotone: bool,
    ) -> None:
        self._arms = arms
        self._domain = as_span("domain", domain)
        self._reward_range = as_span("reward_range", reward_range)
        require(isinstance(monotone, bool), "monotone", "be True or False", monotone, ModelError)
        for source in (mean.joint, None if value is None else value.joint):
            if isinstance(source, Expression):
                source.check_arms(arms)
        self._sources = mean, value, inverse, holder
        self._observed = mean.bind(arms, "mean", *self._domain)
        # What is observed and what a decision is worth: inverses come from the first, regions,
        # gaps and regret from the second.
        self._value = None if value is None else value.bind(arms, "value", *self._reward_range)
        self._worth = Worth(self._observed, self._value, self._reward_range)
        unseen = mean.unseen_width(arms, self._domain) if monotone else np.inf
        with np.errstate(all="ignore"):  # what cannot be computed is found and named
            found = analyse(
                self._observed,
                self._value,
                arms,
                self._domain,
                self._reward_range,
                monotone,
                None if mean.table is None else mean.table.knots,
            )
        self._values = found.values
        self._breakpoints, self._best = found.breakpoints, found.best
        self._resolution = min(unseen, found.resolution)
        self._remember()
        at_ends = self.best_arms(self._domain[0]), self.best_arms(self._domain[1])
        self._tables = Tables(
            n_arms=len(arms),
            low=self._domain[0],
            high=self._domain[1],
            mean=found.mean,
            inverse=found.inverse,
            worth=found.worth,
            envelope=envelope_table(self._breakpoints, self._best, at_ends),
            invertible=monotone,
            valued=value is not None,
            value=self._values.curves,
            peaks=self._values.peaks,
            value_slope=self._values.slope,
            value_offset=self._values.offset,
            affine_increasing=self._values.affine_increasing,
        )
        remarks = getattr(value.joint, "remarks", None) if value is not None else None
        self._remarks = (remarks(arms) if remarks else ()) + self._values.remarks
        self._inverse: ArmFunctions | None = None
        if inverse is not None:
            require(monotone, "inverse", _ONLY_MONOTONE, "monotone=False", ModelError)
            self._inverse = inverse.bind(arms, "inverse", *self._mean_ends())
            verify_inverse(self._inverse, self._observed, arms, self._domain, self._reward_range)
        if holder is not None:
            require(monotone, "holder", _ONLY_MONOTONE, "monotone=False", ModelError)
            verify_holder(holder, self._observed, len(arms), self._domain)
            self.__dict__["holder"] = holder

    def _mean_ends(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest mean of each arm, in the user's units."""
        low, high = self._reward_range
        inverse = self._tables.inverse
        return low + (high - low) * inverse.low, low + (high - low) * inverse.high

    @property
    def reward_range(self) -> tuple[float, float]:
        """The interval rewards lie in."""
        return self._reward_range

    @property
    def monotone(self) -> bool:
        """Whether every mean is strictly monotone, so that rewards tell the parameter."""
        return self._tables.invertible

    @cached_property
    def turning_points(self) -> FloatArray:
        """The parameters inside the domain at which some arm's mean turns, in rising order.

        Between two of them every mean rises, falls or is flat. None for monotone means.

        >>> import numpy as np
        >>> RewardModel(lambda t, x: x * np.sin(6 * t) ** 2, [1.0], monotone=False).turning_points
        array([0.26179939, 0.52359878, 0.78539816])
        """
        if self.monotone:
            return np.empty(0)
        low, high = self._reward_range
        size = max(abs(low), abs(high)) / (high - low)
        return turning_points(self._tables.mean, 4.0 * float(np.finfo(float).eps) * size)

    @property
    def valued(self) -> bool:
        """Whether a decision is worth something else than its mean reward."""
        return self._value is not None

    @property
    def worth_range(self) -> tuple[float, float]:
        """Smallest and largest worth of any arm at any mean in the reward range."""
        return self._values.range

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is allowed in this model but may not be meant: a value that never changes, ..."""
        return self._remarks

    @property
    def resolution(self) -> float:
        """How narrow a feature of the curves may be and stay unseen, in units of theta.

        A Python function is known only where it was evaluated: a dip, a flat stretch or two
        crossings narrower than this cannot be excluded. 0 for curves that are proved monotone:
        those of the catalogues, of tables, and of formulas whose slope provably has one sign.
        """
        return self._resolution

    @property
    def tables(self) -> Tables:
        """Flat arrays for loops, on the unit scales of rewards and of worth."""
        return self._tables

    def worth_of(self, arm: int, mean: ArrayLike) -> Any:
        """What a decision for this arm (an index) is worth if its mean reward is ``mean``.

        >>> import globalbandits as gb
        >>> gb.dose.emax([1.0, 2.0], target=0.25).worth_of(0, [0.15, 0.25]).round(2).tolist()
        [-0.1, 0.0]
        """
        arm = self._as_arm(arm)
        means = as_numbers("mean", mean)
        low, high = self._reward_range
        slack = 1e-9 * (high - low)
        inside = bool(((means >= low - slack) & (means <= high + slack)).all())
        require(inside, "mean", f"lie in the reward range [{low:g}, {high:g}]", mean, ModelError)
        self._watch()
        means = np.clip(means, low, high)
        worth = means if self._value is None else self._value(np.array(arm), means)
        return float(worth) if means.ndim == 0 else worth

    @cached_property
    def worth_lipschitz(self) -> float:
        """How much worth can change per unit of the mean reward: 1 if they are the same.

        Infinite where no such number exists, as for the square root of a mean at 0.
        """
        if self._value is None:
            return 1.0
        slope = float(np.abs(self._values.slope).max())
        if not self._values.affine.all():
            unit = unit_value(self._value, self._reward_range, self.worth_range)
            slope = largest_slope(unit, self._values.curves)
        length, worth = np.diff(self._reward_range).item(), np.diff(self.worth_range).item()
        return slope * float(worth / length)

    def invert(self, arm: int, value: ArrayLike) -> Any:
        """The theta whose mean for this arm (an index) is nearest to ``value``.

        Values beyond the arm's range give the nearer end of the domain.
        """
        self._require_monotone("inverted")
        arm = self._as_arm(arm)
        values = as_numbers("value", value)
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
    def holder(self) -> Holder:
        """Constants and exponents of Assumption 1, per arm, in the user's units."""
        self._require_monotone("given constants of Assumption 1")
        self._watch()
        names = [f"mean of arm {arm!r}" for arm in self._arms]
        seen = Recorder(self._observed, self._reward_range, names)
        found = estimate_holder(seen, self.n_arms, self._domain)
        seen.check_monotone()
        return found

    @property
    def unit_holder(self) -> Holder:
        """`holder` for means on the unit reward scale."""
        low, high = self._reward_range
        return self.holder.scaled(1.0 / (high - low))

    @property
    def informativeness(self) -> float:
        """The gamma of Definition 2: min_k(1 / g1_k) * min_k(g2_k)."""
        return self.holder.informativeness

    def _require_monotone(self, what: str) -> None:
        rule = f"be monotone to be {what}: a mean that is flat or turns does not tell theta"
        require(self.monotone, "model", rule, "monotone=False", ModelError)

    def _as_arm(self, arm: object) -> int:
        index = as_integer("arm", arm, 0, ModelError)
        require(index < self.n_arms, "arm", f"be below {self.n_arms}", arm, ModelError)
        return index

    def __copy__(self) -> "RewardModel":
        return self  # nothing of a model changes

    def __deepcopy__(self, memo: dict[int, Any]) -> "RewardModel":
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The content of a pickle, with tables for functions that cannot be pickled."""
        return portable(self.__dict__.copy(), self.worth_range)

    def __repr__(self) -> str:
        """The arms, the domain, and how many regions."""
        low, high = self._domain
        shown = ", ".join(repr(arm) for arm in self._arms[:4])
        more = ", ..." if self.n_arms > 4 else ""
        return (
            f"RewardModel({counted(self.n_arms, 'arm')}: {shown}{more}; theta in "
            f"[{low:g}, {high:g}]; {counted(len(self._best), 'region')})"
        )
