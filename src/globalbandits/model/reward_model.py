"""The reward model: arms whose mean rewards are known functions of one unknown parameter.

`RewardModel` checks and analyses the functions once, when it is built. Policies then look up
decisions in its tables.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits import pages
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require, show
from globalbandits.errors import ModelError
from globalbandits.model.analysed_model import (
    AnalysedModel,
    can_be_pickled,
    digest,
    same_samples,
)
from globalbandits.model.analysis.checks import Recorder, unit_means
from globalbandits.model.analysis.curves import Evaluate, evaluate_many
from globalbandits.model.analysis.envelope import envelope_table, suboptimal_sides
from globalbandits.model.analysis.functions import (
    MAX_KNOTS,
    ArmFunctions,
    PerArm,
    TableCurves,
    as_function,
    as_functions,
    as_table,
    as_value,
    as_worth,
    verify_inverse,
)
from globalbandits.model.analysis.holder import Holder, estimate_holder, verify_holder
from globalbandits.model.analysis.model_analysis import analyse
from globalbandits.model.analysis.turning_points import turning_points
from globalbandits.model.analysis.values import Worth, largest_slope, unit_value
from globalbandits.model.context_model import ContextModel, build_context_model, build_context_table
from globalbandits.model.description import (
    VERSION,
    ModelBuilder,
    check_arms,
    describe_mean,
    describe_value,
)
from globalbandits.model.formulas import Expression
from globalbandits.model.inputs import as_arms, as_numbers, as_span, as_thetas
from globalbandits.model.objectives import Benefit, Profit
from globalbandits.model.tables import Curves, Tables
from globalbandits.plots.labels import counted, drawn_label, printed_label
from globalbandits.plots.model_curves import Band, Mark, model_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Points of each curve in `RewardModel.observed_samples`.
_N_SAMPLES = 33

# Where in the domain the model checks that its functions have not changed.
_PROBE_FRACTIONS = (0.2360679774997897, 0.8541019662496847)

# A parameter this close to an edge of a region, as a share of the domain, lies on the edge.
_EDGE_TOLERANCE = 1e-12

# Largest bend of a value that counts as a straight line, relative to the size of the value.
_MAX_RELATIVE_BEND = 1e-12

# Arms and regions that a notebook shows.
_MAX_HTML_ROWS = 20

_N_PLOT_POINTS = 601

END_OF_DOMAIN = 0.01  # share of the domain next to its ends
_ONLY_MONOTONE = "not be given for means that cannot be inverted"

Span = tuple[float, float]


class Region(NamedTuple):
    """An interval of the parameter on which the same arms are best.

    ``arm`` is the first of ``arms``. There are several only where arms coincide.
    """

    arm: int
    low: float
    high: float
    arms: tuple[int, ...]


class RewardModel(AnalysedModel):
    """Arms whose mean rewards are known functions of one unknown parameter, theta.

    Args:
        mean: ``mean(theta, arm)``: the mean reward of an arm value at theta, strictly monotone
            in theta. A function that takes arrays is fastest; one that takes single numbers works
            too. A string is a formula of ``theta`` and ``arm``, such as
            ``"arm * exp(-arm*theta)"``.
        arms: User-facing values of the arms: prices, doses, labels.
        domain: The interval of theta.
        reward_range: The interval of rewards.
        value: ``value(mean, arm)``: the worth of a decision for the arm if its mean reward is
            ``mean``, such as the profit of a sale or the distance from a target. A continuous
            function, or a formula of ``mean`` and ``arm``. By default the worth is the mean
            reward. Policies observe rewards in either case.
        inverse: ``inverse(value, arm)``, if a closed form is known. It is checked against
            ``mean``.
        holder: Constants of Assumption 1, if they are known. They are checked. By default they
            are estimated.
        monotone: False for means that are flat somewhere or change direction. Such means cannot
            be inverted. Comparisons of arms still work, and so do policies that do not invert.
        contexts: Names of known contexts, such as ``["weekday", "weekend"]``, or a dict from names
            to the values that functions get. Then ``mean(theta, arm, context)`` and ``value(mean,
            arm, context)`` also take the context, and the result is a `ContextModel`.

    The functions are analysed once and must not change afterwards. A closure over a variable can
    change: `means`, `worth`, `gaps`, `holder` and `observed_samples` evaluate the functions at two
    points and raise a `ModelError` if they differ from before. Decisions use the tables that were
    computed when the model was built.

    Examples:
        >>> import globalbandits as gb
        >>> model = gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2,
        ...                        arms=[0.4, 0.6, 0.8])
        >>> model.best_arms(0.5)
        (1,)
        >>> [(model.arms[r.arm], round(r.low, 4), round(r.high, 4)) for r in model.regions]
        [(0.8, 0.0, 0.4778), (0.6, 0.4778, 0.6712), (0.4, 0.6712, 1.0)]

        A shop observes sales and earns the price less a cost of 0.3 for each of them:

        >>> shop = gb.RewardModel(lambda theta, price: (1 - price * theta) ** 2,
        ...                       arms=[0.4, 0.6, 0.8],
        ...                       value=lambda sold, price: (price - 0.3) * sold)
        >>> shop.means(0.5).round(3), shop.worth(0.5).round(3)
        (array([0.64, 0.49, 0.36]), array([0.064, 0.147, 0.18 ]))

        The same model as formulas, which can be saved to a file:

        >>> shop = gb.RewardModel("(1 - arm*theta)**2", [0.4, 0.6, 0.8], value="(arm - 0.3) * mean")
        >>> shop.worth(0.5).round(3)
        array([0.064, 0.147, 0.18 ])
    """

    _tables: Tables

    def __new__(cls, *given: Any, contexts: Any = None, **options: Any) -> Any:
        """Return a `ContextModel` if there are contexts."""
        if contexts is None:
            return super().__new__(cls)
        return _in_contexts(cls, *given, contexts=contexts, **options)

    def __init__(
        self,
        mean: Callable[..., Any] | str,
        arms: Sequence[Any],
        domain: tuple[float, float] = (0.0, 1.0),
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[..., Any] | str | None = None,
        inverse: Callable[[Any, Any], Any] | None = None,
        holder: Holder | None = None,
        monotone: bool = True,
        contexts: None = None,
    ) -> None:
        _refuse_names(domain)
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
        """Build a model from one function of theta per arm.

        Args:
            functions: Functions, or formulas, of ``theta``.
            arms: User-facing values of the arms; 0, 1, 2, ... by default.
            domain: The interval of theta.
            reward_range: The interval of rewards.
            value: As in `RewardModel`.
            values: One function, or formula, of ``mean`` per arm, instead of ``value``.
            inverses: One inverse per arm, if closed forms are known. They are checked.
            holder: As in `RewardModel`.
            monotone: As in `RewardModel`.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel.from_functions(
            ...     [lambda t: 1 - t**0.5, lambda t: 0.8 * t, "theta**2"])
            >>> [region.arm for region in model.regions]
            [0, 1, 2]
        """
        _refuse_names(domain)
        means = PerArm(functions=as_functions("functions", functions, "theta"))
        n_arms = len(means.functions)
        named = as_arms(range(n_arms) if arms is None else arms)
        rule = f"have {n_arms} values, one per function"
        require(len(named) == n_arms, "arms", rule, len(named), ModelError)
        model: RewardModel = cls.__new__(cls)
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

    @classmethod
    def from_table(
        cls,
        theta: ArrayLike,
        means: ArrayLike,
        arms: Sequence[Any] | None = None,
        domain: tuple[float, float] | None = None,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[..., Any] | str | None = None,
        values: Sequence[Callable[..., Any] | str] | None = None,
        monotone: bool = True,
        contexts: Any = None,
    ) -> "RewardModel":
        """Build a model from means at given parameters, with smooth curves through them.

        The curves are PCHIP interpolants: they rise where the means rise and fall where the means
        fall, so they are also monotone between the parameters.

        Args:
            theta: Parameters in increasing order, shape (n_knots,).
            means: Mean rewards, shape (n_knots, n_arms). Each column must increase or decrease
                throughout, unless ``monotone`` is False.
            arms: As in `from_functions`.
            domain: The interval of theta, within the table; the whole table by default.
            reward_range: The interval of rewards.
            value: As in `RewardModel`.
            values: As in `from_functions`, instead of ``value``.
            monotone: As in `RewardModel`.
            contexts: As in `RewardModel`. The means then have the shape (n_knots, n_contexts,
                n_arms), or (n_knots, n_contexts * n_arms), and ``arms`` must be given.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel.from_table(
            ...     [0.0, 0.5, 1.0], [[0.9, 0.7], [0.6, 0.5], [0.1, 0.4]], arms=["high", "low"])
            >>> model.means(0.5).tolist(), model.resolution
            ([0.6, 0.5], 0.0)
        """
        _refuse_names(domain)
        if contexts is not None:
            rule = "be None with contexts"
            require(values is None, "values", rule, values, ModelError)
            options = {"reward_range": reward_range, "value": value, "monotone": monotone}
            built: Any = build_context_table(cls, theta, means, arms, contexts, domain, options)
            return built  # type: ignore[no-any-return]
        named = None if arms is None else as_arms(arms)
        knots, table = as_table(theta, means, None if named is None else len(named), monotone)
        curves, n_arms = TableCurves(knots, table), table.shape[1]
        span = float(knots[0]), float(knots[-1])
        chosen = span if domain is None else as_span("domain", domain)
        rule = f"lie within the table's parameters, [{span[0]:g}, {span[1]:g}]"
        require(span[0] <= chosen[0] and chosen[1] <= span[1], "domain", rule, domain, ModelError)
        model: RewardModel = cls.__new__(cls)
        model._build(
            as_arms(range(n_arms)) if named is None else named,
            chosen,
            reward_range,
            PerArm(tuple(partial(curves.of_arm, arm) for arm in range(n_arms)), table=curves),
            as_worth(value, values, n_arms),
            None,
            None,
            monotone,
        )
        return model

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "RewardModel":
        """Build a model from a description: the result of `to_dict` or the content of a file.

        A description has one of the keys ``family`` (a name from the catalogues), ``mean`` (a
        formula), ``means`` (a formula per arm) and ``table``. The other keys are in
        docs/howto/formulas-and-files.md. No code is executed, and sizes are limited.

        Examples:
            >>> import globalbandits as gb
            >>> gb.RewardModel.from_dict({"family": "demand.linear", "arms": [0.4, 0.6]}).arms
            (0.4, 0.6)
        """
        model: Any = ModelBuilder.build(description)
        # With contexts the description gives a `ContextModel`, as the constructor does.
        if not isinstance(getattr(model, "cells", model), RewardModel):
            raise ModelError(
                f"domain must be a pair (low, high), got {', '.join(model.parameters)}: "
                "VectorModel.from_dict reads several named parameters"
            )
        found: RewardModel = model
        return found

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
        # Inverses come from the observed means; regions, gaps and regret come from the worth.
        self._value = None if value is None else value.bind(arms, "value", *self._reward_range)
        self._worth = Worth(self._observed, self._value, self._reward_range)
        unseen = mean.unseen_width(arms, self._domain) if monotone else np.inf
        # The analysis reports values that are not finite; numpy's warnings would repeat them.
        with np.errstate(all="ignore"):
            found = analyse(
                self._observed,
                self._value,
                arms,
                self._domain,
                self._reward_range,
                monotone,
                None if mean.table is None else mean.table.knots,
                unseen == 0.0,
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
        self._set_remarks(value)
        self._remarks += self._envelope_remarks()
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
        """Return the smallest and the largest mean of each arm, in the user's units."""
        low, high = self._reward_range
        inverse = self._tables.inverse
        return low + (high - low) * inverse.low, low + (high - low) * inverse.high

    def _remember(self) -> None:
        """Store the functions' values at two points, for `_check_unchanged`."""
        low, high = self._domain
        self._probes = low + np.array(_PROBE_FRACTIONS) * (high - low)
        every = np.arange(len(self._arms)), self._probes[:, np.newaxis]
        self._seen = {"mean": self._observed(*every)}
        if self._value is not None:
            self._seen["value"] = self._worth(*every)

    def _check_unchanged(self) -> None:
        """Raise an error if the functions have changed since the model was built."""
        arms = np.arange(len(self._arms))
        for what, was in self._seen.items():
            source: Evaluate = self._observed if what == "mean" else self._worth
            now = source(arms, self._probes[:, np.newaxis])
            changed = ~(np.abs(now - was) <= 1e-9 * np.maximum(np.abs(was), 1.0))
            if changed.any():
                row, arm = np.argwhere(changed)[0]
                raise ModelError(
                    f"{what} of arm {self._arms[arm]!r} must not change after the model was "
                    f"built, got {now[row, arm]:.6g}, was {was[row, arm]:.6g} "
                    f"at theta = {self._probes[row]:.6g}"
                )

    # Description: arms, ranges, identity.

    def __repr__(self) -> str:
        """Arms, domain and number of regions."""
        low, high = self._domain
        shown = ", ".join(repr(arm) for arm in self._arms[:4])
        more = ", ..." if self.n_arms > 4 else ""
        return (
            f"RewardModel({counted(self.n_arms, 'arm')}: {shown}{more}; theta in "
            f"[{low:g}, {high:g}]; {counted(len(self._best), 'region')})"
        )

    @property
    def domain(self) -> tuple[float, float]:
        """The interval of theta."""
        return self._domain

    @property
    def monotone(self) -> bool:
        """Whether every mean is strictly monotone in theta, so that it can be inverted."""
        return self._tables.invertible

    def end_of_domain(self, theta: float | None) -> str:
        """Return "lower" or "upper" if theta lies within 1 % of that end of the domain, else "".

        An estimate there may mean that the true parameter lies beyond it.
        """
        if theta is None:
            return ""
        low, high = self._domain
        margin = END_OF_DOMAIN * (high - low)
        return "lower" if theta <= low + margin else "upper" if theta >= high - margin else ""

    def _envelope_remarks(self) -> tuple[str, ...]:
        """Return a warning if one arm is best at every theta."""
        best = {arm for region in self.regions for arm in region.arms}
        if len(self._arms) < 2 or len(best) > 1:
            return ()
        (arm,) = best
        low, high = self._domain
        return (
            f"arm {self._arms[arm]!r} is best for every theta in [{low:g}, {high:g}]: rewards "
            "cannot change the decision; offer other arms, or widen the domain",
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes, such as a constant value."""
        return self._remarks

    @property
    def resolution(self) -> float:
        """The width below which the analysis may miss a feature of a curve, in units of theta.

        A Python function is known only at the points where it was evaluated: the analysis cannot
        exclude a dip, a flat stretch or a pair of crossings narrower than this. The resolution is
        0 for curves that are proved monotone: those of the catalogues, of tables, and of formulas
        whose slope provably has one sign.
        """
        return self._resolution

    @property
    def tables(self) -> Tables:
        """Flat arrays for compiled loops, on the unit scales of reward and worth."""
        return self._tables

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of arms, domain, reward range and means, for display and logs.

        Models that differ in the last bit of a mean may have different fingerprints. Use
        `same_observed` to decide whether two models agree.
        """
        return digest(self._arms, self._domain, self._reward_range, self._sampled_curves())

    def observed_samples(self) -> dict[str, Any]:
        """Sample the observed means, as plain data for a saved state.

        The data hold the domain, the reward range and 33 samples of each arm's mean on the unit
        scale. They do not hold the arms' names or the worth of decisions.
        """
        return {
            "domain": list(self._domain),
            "reward_range": list(self._reward_range),
            "means": np.round(self._sampled_curves(), 12).tolist(),
        }

    def same_observed(self, samples: object, rows: Sequence[int | None] | None = None) -> bool:
        """Whether the `observed_samples` of another model show the same curves, to 1e-7.

        Args:
            samples: The result of `observed_samples`, possibly read from a file.
            rows: For each arm of this model, the index of the other model's arm to compare it
                with, or None if the other model does not have the arm. By default both models
                have the same arms in the same order.

        >>> import globalbandits as gb
        >>> one = gb.RewardModel(lambda t, q: q * (1 - q * t), [0.4, 0.6])
        >>> other = gb.RewardModel(lambda t, q: q - q * q * t, [0.4, 0.6])
        >>> one.same_observed(other.observed_samples())
        True
        """
        return same_samples(self.observed_samples(), samples, lambda domain: [domain], rows)

    def _sampled_curves(self) -> FloatArray:
        self._check_unchanged()
        grid = np.linspace(*self._domain, _N_SAMPLES)
        unit_mean = unit_means(self._observed, self._reward_range)
        return unit_mean(np.arange(len(self._arms))[:, None], np.tile(grid, (len(self._arms), 1)))

    def add_remarks(self, remarks: tuple[str, ...]) -> None:
        """Store more remarks, after the others."""
        self._remarks += remarks

    # Questions about theta.

    def means(self, theta: ArrayLike) -> FloatArray:
        """Return the mean reward of every arm at theta, shape (..., n_arms)."""
        self._check_unchanged()
        thetas = as_thetas(theta, self._domain)
        return self._observed(np.arange(len(self._arms)), thetas[..., np.newaxis])

    def worth(self, theta: ArrayLike) -> FloatArray:
        """Return the worth of a decision for every arm at theta, shape (..., n_arms)."""
        self._check_unchanged()
        thetas = as_thetas(theta, self._domain)
        return self._worth(np.arange(self.n_arms), thetas[..., np.newaxis])

    def invert(self, arm: int, value: ArrayLike) -> Any:
        """Return the theta at which the mean of an arm (an index) is nearest to ``value``.

        A value outside the range of the arm's means gives the nearer end of the domain.
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
    def regions(self) -> tuple[Region, ...]:
        """The intervals of theta with their best arms, in order; they cover the domain."""
        edges = self._breakpoints.tolist()
        return tuple(
            Region(arms[0], low, high, arms)
            for arms, low, high in zip(self._best, edges[:-1], edges[1:], strict=True)
        )

    @cached_property
    def dominated(self) -> tuple[int, ...]:
        """Indices of the arms that are not best at any theta."""
        somewhere = {arm for arms in self._best for arm in arms}
        return tuple(arm for arm in range(self.n_arms) if arm not in somewhere)

    def best_arms(self, theta: float) -> tuple[int, ...]:
        """Return the indices of the arms that are best at theta, including ties."""
        theta = self._as_theta(theta)
        first, last = self._intervals_at(theta)
        arms = {arm for index in range(first, last + 1) for arm in self._best[index]}
        worth, rounding = self._worth.with_rounding(np.arange(self.n_arms), np.array(theta))
        close = worth >= worth.max() - rounding[worth.argmax()]
        return tuple(sorted(arms | set(np.flatnonzero(close).tolist())))

    def suboptimality_gap(self, theta: float) -> float:
        """Return delta_min, the smallest gap of an arm that is not best; infinite if all are."""
        gaps = self.gaps(self._as_theta(theta))
        others = np.delete(gaps, self.best_arms(theta))
        return float(others.min()) if others.size else float("inf")

    def suboptimality_distance(self, theta: float) -> float:
        """Return Delta_min of Definition 3.

        This is the distance from theta to the nearest parameter at which none of the arms that
        are best at theta is best, or the length of the domain if there is no such parameter.
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

    def nearest_edge(self, theta: float) -> float | None:
        """Return the parameter at `suboptimality_distance` from theta, or None."""
        distance = self.suboptimality_distance(theta)
        best = set(self.best_arms(theta))
        low, high = self._domain
        nudge = 1e-9 * (high - low)
        for edge in (theta - distance, theta + distance):
            sides = [side for side in (edge - nudge, edge + nudge) if low <= side <= high]
            if any(not set(self.best_arms(side)) & best for side in sides):
                return edge
        return None

    @cached_property
    def turning_points(self) -> FloatArray:
        """The parameters inside the domain at which some mean changes direction, in order.

        Between two of them every mean rises, falls or is flat. Monotone means have none.

        >>> import numpy as np
        >>> RewardModel(lambda t, x: x * np.sin(6 * t) ** 2, [1.0], monotone=False).turning_points
        array([0.26179939, 0.52359878, 0.78539816])
        """
        if self.monotone:
            return np.empty(0)
        low, high = self._reward_range
        size = max(abs(low), abs(high)) / (high - low)
        return turning_points(self._tables.mean, 4.0 * float(np.finfo(float).eps) * size)

    def _intervals_at(self, theta: float) -> tuple[int, int]:
        """Return the first and last interval that contain theta; they differ on an edge."""
        slack = _EDGE_TOLERANCE * (self._domain[1] - self._domain[0])
        inner = self._breakpoints[1:-1]
        first = int(np.searchsorted(inner, theta - slack, side="left"))
        last = int(np.searchsorted(inner, theta + slack, side="right"))
        return first, last

    def _as_theta(self, theta: object) -> float:
        number = as_float("theta", theta, ModelError)
        low, high = self._domain
        require(low <= number <= high, "theta", f"lie in [{low:g}, {high:g}]", theta, ModelError)
        return number

    def _require_monotone(self, what: str) -> None:
        rule = f"be monotone to be {what}: a mean that is flat or turns does not tell theta"
        require(self.monotone, "model", rule, "monotone=False", ModelError)

    # Constants of the paper's bounds.

    @cached_property
    def holder(self) -> Holder:
        """The constants and exponents of Assumption 1, per arm, in the user's units."""
        self._require_monotone("given constants of Assumption 1")
        self._check_unchanged()
        names = [f"mean of arm {arm!r}" for arm in self._arms]
        proved = self._resolution == 0.0
        seen = Recorder(self._observed, self._reward_range, names, monotone=not proved)
        # The check of a few arms at a time takes half as long as one of all arms.
        return estimate_holder(seen, self.n_arms, self._domain, seen.check_monotone)

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
    def worth_lipschitz(self) -> float:
        """The Lipschitz constant of worth as a function of the mean reward; 1 if they are equal.

        It is infinite where there is none, as for the square root of a mean at 0.
        """
        if self._value is None:
            return 1.0
        slope = float(np.abs(self._values.slope).max())
        if not self._values.affine.all():
            unit = unit_value(self._value, self._reward_range, self.worth_range)
            slope = largest_slope(unit, self._values.curves)
        length, worth = np.diff(self._reward_range).item(), np.diff(self.worth_range).item()
        return slope * float(worth / length)

    # Pictures.

    def plot(
        self, theta: float | None = None, *, title: str = "", ax: "Axes | None" = None
    ) -> "Figure":
        """Draw the curves and the regions of the best arms; at theta also gap and distance.

        If the model has a value, a second panel shows the worth. If you pass axes, only the worth
        is drawn.

        Args:
            theta: A parameter to mark.
            title: A line above the figure.
            ax: Axes to draw into; by default a new figure.
        """
        edges = [region.low for region in self.regions[:_N_PLOT_POINTS]]
        # The grid includes the edges, so that the corners of the envelope are sharp.
        thetas = np.union1d(np.linspace(*self._domain, _N_PLOT_POINTS), edges)
        return model_figure(
            thetas,
            self.means(thetas),
            [Band(region.low, region.high, region.arms) for region in self.regions],
            [drawn_label(arm) for arm in self._arms],
            worth=self.worth(thetas) if self.valued else None,
            mark=None if theta is None else self._mark(self._as_theta(theta)),
            title=drawn_label(title),
            ax=ax,
        )

    def _mark(self, theta: float) -> Mark:
        gap = self.suboptimality_gap(theta)
        edge = self.nearest_edge(theta)
        return Mark(
            theta=theta,
            best=float(self.worth(theta).max()),
            gap=gap if math.isfinite(gap) else math.nan,
            edge=math.nan if edge is None else edge,
        )

    def _repr_html_(self) -> str:
        """A picture of worth over theta and a table of the best arms."""
        thetas = np.linspace(*self._domain, 121)
        edges = [region.low for region in self.regions[1:]]
        rows = [
            [
                " = ".join(printed_label(self._arms[arm]) for arm in region.arms),
                f"{region.low:.6g}",
                f"{region.high:.6g}",
            ]
            for region in self.regions[:_MAX_HTML_ROWS]
        ]
        more = len(self.regions) - len(rows)
        picture = pages.curves(
            thetas,
            self.worth(thetas).T[:_MAX_HTML_ROWS],
            edges[:_MAX_HTML_ROWS],
            f"{self!r}: worth over theta",
        )
        return "".join(
            [
                pages.paragraph(repr(self), strong=True),
                picture,
                pages.table(["best arm", "from theta", "to theta"], rows),
                *([pages.paragraph(f"({more} more regions)")] if more else []),
            ]
        )

    # Files.

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON; `from_dict` rebuilds the model.

        Models from the catalogues, formulas and tables have a description. A model of a Python
        function has none: describe its `to_table`.

        Examples:
            >>> import globalbandits as gb
            >>> gb.RewardModel("arm * theta", [0.5, 1.0]).to_dict()
            {'version': 1, 'mean': 'arm * theta', 'arms': [0.5, 1.0], 'domain': [0.0, 1.0],
             'reward_range': [0.0, 1.0]}
        """
        check_arms(self._arms)
        mean, value, inverse, holder = self._sources
        if self._family is not None:
            return {"version": VERSION} | self._family
        if inverse is not None:
            raise ModelError(
                "inverse must be left out of a model that is described: it is a Python function"
            )
        described: dict[str, Any] = {
            "version": VERSION,
            **describe_mean(mean),
            "arms": list(self._arms),
            "domain": list(self.domain),
            "reward_range": list(self.reward_range),
            **describe_value(value),
        }
        if not self.monotone:
            described["monotone"] = False
        if holder is not None:
            described["holder"] = {key: array.tolist() for key, array in vars(holder).items()}
        return described

    def to_table(self, knots: int | ArrayLike = 201) -> "RewardModel":
        """Return a model with tabulated means, which can be saved.

        Between the knots the curves only approximate this model's; compare them with `means`. A
        value that is a formula or comes from a catalogue is kept. A value that is a Python
        function must be a straight line in the mean and becomes a formula.

        Args:
            knots: The number of parameters, spread evenly over the domain, or the parameters.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel(lambda t, price: price * (1 - price * t) ** 2, [0.4, 0.8])
            >>> table = model.to_table()
            >>> bool(abs(table.means(0.333) - model.means(0.333)).max() < 1e-6)
            True
        """
        if np.ndim(knots) == 0:
            number = as_integer("knots", knots, 2, ModelError, maximum=MAX_KNOTS)
            places: FloatArray = np.linspace(*self._domain, number)
        else:
            places = as_numbers("knots", knots)
        return type(self).from_table(
            places,
            self.means(places),
            self._arms,
            reward_range=self._reward_range,
            monotone=self.monotone,
            **self._value_as_data(),
        )

    def _value_as_data(self) -> dict[str, Any]:
        """Return the argument ``value`` or ``values`` of this model in a form that can be saved."""
        value = self._sources[1]
        if value is None:
            return {}
        if value.joint is not None and isinstance(value.joint, (Expression, Profit, Benefit)):
            return {"value": value.joint}
        if value.joint is None and all(isinstance(each, Expression) for each in value.functions):
            return {"values": value.functions}
        return {"values": [self._value_as_line(arm) for arm in range(self.n_arms)]}

    def _value_as_line(self, arm: int) -> str:
        """Return the formula of an arm's value, which must be a straight line in the mean."""
        low, high = self.reward_range
        means = np.linspace(low, high, 33)
        worth = np.asarray(self.worth_of(arm, means))
        slope = float((worth[-1] - worth[0]) / (high - low))
        offset = float(worth[0] - slope * low)
        bend = float(np.abs(slope * means + offset - worth).max())
        straight = bend <= _MAX_RELATIVE_BEND * max(
            float(np.abs(worth).max()), abs(slope) * max(abs(low), abs(high))
        )
        if not straight:
            raise ModelError(
                f"value of arm {self._arms[arm]!r} must be a formula or a straight line in the "
                f"mean to be described, bends by {bend:.3g}: write it as a text"
            )
        return f"{slope!r} * mean + {offset!r}" if offset else f"{slope!r} * mean"

    def __getstate__(self) -> dict[str, Any]:
        return _picklable_state(self.__dict__.copy(), self.worth_range)


def _in_contexts(
    kind: Any,
    mean: Any,
    arms: Any,
    domain: Any = (0.0, 1.0),
    *,
    contexts: Any,
    **options: Any,
) -> ContextModel:
    """Return the model of contexts; the arguments are those of `RewardModel`."""
    return build_context_model(kind, mean, arms, contexts, domain, options)


def _refuse_names(domain: object) -> None:
    """Raise an error for a domain of several named parameters, before anything else is checked."""
    if isinstance(domain, Mapping):
        raise ModelError(
            f"domain must be a pair (low, high), got {show(domain)}: "
            "VectorModel takes several named parameters"
        )


# Pickling: a function that cannot be pickled is replaced by its tabulated curve.
#
# A function that another process can import by name is pickled as it is. A lambda, a nested
# function, or a function typed at a prompt or in a notebook cannot be imported. Its curve was
# tabulated when the model was built and agrees with the function to about 1e-10. Decisions use
# the same tables, so they are identical to the last bit.


def _picklable_state(state: dict[str, Any], worth_range: Span) -> dict[str, Any]:
    """Return a model's attributes, with tables for functions that cannot be pickled."""
    if can_be_pickled([state[key] for key in ("_sources", "_observed", "_value", "_inverse")]):
        return state
    tables: Tables = state["_tables"]
    rewards: Span = state["_reward_range"]
    observed = Tabulated(tables.mean, None, rewards)
    value = Tabulated(tables.value, rewards, worth_range) if tables.valued else None
    worth = Worth(observed, value, rewards)
    every = np.arange(tables.n_arms), state["_probes"][:, np.newaxis]
    seen = {"mean": observed(*every)} | ({} if value is None else {"value": worth(*every)})
    of_value = None if value is None else value.sources(tables.n_arms)
    return state | {
        "_sources": (observed.sources(tables.n_arms), of_value, None, state["_sources"][3]),
        "_observed": observed,
        "_value": value,
        "_worth": worth,
        "_inverse": None,
        "_seen": seen,
    }


class Tabulated:
    """Tabulated unit-scale curves as functions in the user's units, evaluated elementwise.

    Args:
        curves: One curve per arm.
        arguments: The interval of the arguments, mapped to [0, 1]; None for no mapping.
        values: The interval to which the values in [0, 1] are mapped.
    """

    def __init__(self, curves: Curves, arguments: Span | None, values: Span) -> None:
        self._curves = curves
        self._arguments = arguments
        self._values = values

    def __call__(self, arms: IntArray, arguments: FloatArray) -> FloatArray:
        """Return the values of the arms at the arguments, broadcast together."""
        shape = np.broadcast(arms, arguments).shape
        flat_arms = np.broadcast_to(arms, shape).ravel()
        flat = np.broadcast_to(np.asarray(arguments, dtype=np.float64), shape).ravel()
        out = np.empty(flat.size)
        for arm in np.unique(flat_arms).tolist():
            places = flat_arms == arm
            out[places] = self.of_arm(arm, flat[places])
        return out.reshape(shape)

    def of_arm(self, arm: int, arguments: Any) -> FloatArray:
        """Return the values of one arm."""
        x = np.asarray(arguments, dtype=np.float64)
        if self._arguments is not None:
            low, high = self._arguments
            x = (x - low) / (high - low)
        low, high = self._values
        return np.asarray(low + (high - low) * evaluate_many(self._curves, arm, x))

    def sources(self, n_arms: int) -> PerArm:
        """Return the curves as one function per arm."""
        return PerArm(functions=tuple(partial(self.of_arm, arm) for arm in range(n_arms)))
