"""The vector model: arms whose mean rewards are known functions of one to three unknown numbers."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from globalbandits import pages
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require, require_known, show
from globalbandits.errors import ModelError
from globalbandits.model.analysed_model import (
    AnalysedModel,
    can_be_pickled,
    digest,
    same_samples,
)
from globalbandits.model.analysis.functions import PerArm, as_function, as_value
from globalbandits.model.analysis.values import analyse_values, plain_values
from globalbandits.model.context_model import ContextModel, build_context_model
from globalbandits.model.description import (
    VERSION,
    ModelBuilder,
    check_arms,
    describe_value,
)
from globalbandits.model.formulas import Expression
from globalbandits.model.formulas.evaluation import FUNCTIONS
from globalbandits.model.inputs import as_arms, as_numbers, as_span
from globalbandits.model.reward_model import RewardModel, Tabulated
from globalbandits.model.vector.graves_lai import LowerBound, lower_bound
from globalbandits.model.vector.identification import Identification, identify
from globalbandits.model.vector.prior import NormalPrior
from globalbandits.model.vector.tabulation import (
    UnitModel,
    grid_points,
    spread_points,
    tabulate,
    unit_means,
)
from globalbandits.model.vector.traps import SMALL_LOSS, Traps, find_traps
from globalbandits.model.vector.unit_mean import BoxMeans
from globalbandits.model.vector_tables import VectorTables, means_at_many
from globalbandits.plots.arm_map import arm_map_figure
from globalbandits.plots.labels import counted, drawn_label, printed_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PARAMETERS = 3

# Names that formulas use for something else.
_RESERVED_NAMES = ("arm", "mean", "context", *FUNCTIONS)

# Points of the box in `VectorModel.observed_samples`.
_N_SAMPLES = 64

# Arms tie if their worths differ by at most this share of the largest size of worth.
_TIE_TOLERANCE = 1e-12

# A parameter that needs more plays of every arm gets a remark.
_HARDLY_LEARNED = 100_000

# Cells along each parameter in `VectorModel.regions`: by default, by the number of parameters, and
# at most.
_DEFAULT_REGION_CELLS = {1: 1024, 2: 128, 3: 32}
_MAX_REGION_CELLS = 1_024

# Arms that a notebook shows.
_MAX_HTML_ROWS = 20

Theta = Mapping[str, Any] | ArrayLike
Box = dict[str, tuple[float, float]]


class BestArms(NamedTuple):
    """The best arms on a grid of equal cells of the box."""

    labels: IntArray  # (cells,) * n_parameters: the best arm in the middle of each cell
    shares: FloatArray  # (n_arms,) the share of the cells in which each arm is best
    dominated: tuple[int, ...]  # arms that are not best in any cell


class VectorModel(AnalysedModel):
    """Arms whose mean rewards are known functions of one to three unknown, named numbers.

    Args:
        mean: ``mean(level, slope, arm)``: the mean reward of an arm value; the numbers come in
            the order of ``domain``. A function that takes arrays is fastest; one that takes
            single numbers works too. A string is a formula of these names and ``arm``, such as
            ``"level * exp(-slope*arm)"``.
        arms: User-facing values of the arms: prices, doses, labels.
        domain: The interval of every unknown number by its name, one to three of them.
        reward_range: The interval of rewards.
        value: As in `RewardModel`: ``value(mean, arm)``, a function or a formula.
        prior: The prior of the numbers that policies use; uniform on the domain by default. See
            `with_prior` for models of the catalogues.
        contexts: As in `RewardModel`. Functions then also take the context, after the arm.

    The means are tabulated once, on a grid of the box, and must not change afterwards. A
    parameter vector is given as a dict by name, or as an array in the order of `parameters`.

    Examples:
        >>> import globalbandits as gb
        >>> shop = gb.VectorModel("level * exp(-slope*arm)", [2.0, 4.0, 6.0],
        ...                       domain={"level": (0.02, 0.2), "slope": (0.02, 0.6)},
        ...                       value="(arm - 1.5) * mean")
        >>> shop.parameters
        ('level', 'slope')
        >>> shop.means({"level": 0.1, "slope": 0.2}).round(4)
        array([0.067 , 0.0449, 0.0301])
        >>> shop.best_arms({"level": 0.1, "slope": 0.2})
        (2,)
    """

    _tables: VectorTables

    def __new__(cls, *given: Any, contexts: Any = None, **options: Any) -> Any:
        """Return a `ContextModel` if there are contexts."""
        if contexts is None:
            return super().__new__(cls)
        return _in_contexts(cls, *given, contexts=contexts, **options)

    def __init__(
        self,
        mean: Callable[..., Any] | str,
        arms: Sequence[Any],
        domain: Mapping[str, tuple[float, float]],
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[..., Any] | str | None = None,
        prior: NormalPrior | None = None,
        contexts: None = None,
    ) -> None:
        self._arms = as_arms(arms)
        self._domain = as_box(domain)
        self._prior = self._as_prior(prior)
        self._names = tuple(self._domain)
        self._reward_range = as_span("reward_range", reward_range)
        function = as_function("mean", mean, (*self._names, "arm"))
        self._sources = function, as_value(value)
        for source in (function, None if self._sources[1] is None else self._sources[1].joint):
            if isinstance(source, Expression):
                source.check_arms(self._arms)
        if isinstance(function, Expression):
            self._check_formula(function)
        low, high = np.array(list(self._domain.values())).T
        self._observed = BoxMeans(function, self._arms, self._names, low, high)
        found = tabulate(self._observed, self._arms, self._names, self._reward_range)
        self._resolution = found.resolution * (self._reward_range[1] - self._reward_range[0])
        per_arm = self._sources[1]
        self._value = None
        values = plain_values(self.n_arms, self._reward_range)
        if per_arm is not None:
            self._value = per_arm.bind(self._arms, "value", *self._reward_range)
            names = [f"value of arm {arm!r}" for arm in self._arms]
            with np.errstate(all="ignore"):
                values = analyse_values(self._value, self.n_arms, self._reward_range, names)
        self._values = values
        self._set_remarks(per_arm)
        self._tables = VectorTables(
            n_arms=self.n_arms,
            n_parameters=self.n_parameters,
            low=low,
            high=high,
            n_nodes=found.n_nodes,
            nodes=found.nodes,
            direction=found.direction,
            monotone=bool((found.direction != 0.0).all()),
            invertible=False,
            valued=per_arm is not None,
            value=values.curves,
            peaks=values.peaks,
            value_slope=values.slope,
            value_offset=values.offset,
            affine_increasing=values.affine_increasing,
        )
        self._probes = spread_points(self.n_parameters, 2)
        self._seen = self._probe()

    def _check_formula(self, formula: Expression) -> None:
        for name in self._names:
            if not formula.uses(name):
                rule = f"use every parameter of the domain, {', '.join(self._names)}"
                raise ModelError(f"mean must {rule}, got {formula.text!r}, which ignores {name!r}")

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "VectorModel":
        """Build a model from a description: the result of `to_dict` or the content of a file.

        A description has ``family`` (a name from the catalogues) or ``mean`` (a formula). Its
        ``domain`` holds an interval for every parameter. ``parameters`` is their order, by
        default that of ``domain``. No code is executed, and sizes are limited.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.VectorModel.from_dict({
            ...     "mean": "expit(level - slope*arm)", "arms": [1.0, 2.0],
            ...     "domain": {"level": [-1, 4], "slope": [0.25, 3]}})
            >>> model.domain
            {'level': (-1.0, 4.0), 'slope': (0.25, 3.0)}
        """
        model: VectorModel = ModelBuilder.build(description)
        rule = "have a domain of named parameters; RewardModel.from_dict reads one parameter"
        several = isinstance(getattr(model, "cells", model), cls)
        require(several, "model", rule, model, ModelError)
        return model

    def _probe(self) -> dict[str, FloatArray]:
        """Return the functions' values at two points, for `_check_unchanged`."""
        means = self._observed(self._probes)
        return {"mean": means} | ({} if self._value is None else {"value": self.worth_at(means)})

    def _check_unchanged(self) -> None:
        """Raise an error if the functions have changed since the model was built."""
        for what, now in self._probe().items():
            was = self._seen[what]
            changed = ~(np.abs(now - was) <= 1e-9 * np.maximum(np.abs(was), 1.0))
            if changed.any():
                row, arm = np.argwhere(changed)[0]
                place = self._observed.place(self._observed.thetas(self._probes[row]))
                raise ModelError(
                    f"{what} of arm {self._arms[arm]!r} must not change after the model was "
                    f"built, got {now[row, arm]:.6g}, was {was[row, arm]:.6g} at {place}"
                )

    # Description: arms, ranges, identity.

    def __repr__(self) -> str:
        """Arms and box."""
        shown = ", ".join(repr(arm) for arm in self._arms[:4])
        more = ", ..." if self.n_arms > 4 else ""
        box = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, (a, b) in self._domain.items())
        return f"VectorModel({counted(self.n_arms, 'arm')}: {shown}{more}; {box})"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the unknown numbers, in the order of the domain."""
        return self._names

    @property
    def n_parameters(self) -> int:
        """Number of unknown numbers."""
        return len(self._names)

    @property
    def domain(self) -> Box:
        """The interval of every parameter by its name."""
        return dict(self._domain)

    @property
    def prior(self) -> NormalPrior | None:
        """The prior of the parameters; None if all points of the domain are equally likely."""
        return self._prior

    def with_prior(self, prior: NormalPrior | None) -> "VectorModel":
        """Return the same model with another prior, which policies use unless they have their own.

        Evidence holds for every parameter and does not use the prior. `fixed` and `along` drop it.

        Examples:
            >>> import globalbandits as gb
            >>> shop = gb.demand.exponential([2.0, 4.0], cost=1.5, level=(0.02, 0.2))
            >>> known = gb.NormalPrior(mean={"level": 0.1, "slope": 0.3},
            ...                        sd={"level": 0.02, "slope": 0.1})
            >>> shop.with_prior(known).prior.mean
            {'level': 0.1, 'slope': 0.3}
        """
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found._prior = self._as_prior(prior)
        return found

    def _as_prior(self, prior: object) -> NormalPrior | None:
        if prior is None:
            return None
        rule = "be a NormalPrior, or None for a uniform one"
        require(isinstance(prior, NormalPrior), "prior", rule, prior, ModelError)
        assert isinstance(prior, NormalPrior)
        prior.check_domain(self._domain)
        return prior

    @property
    def monotone(self) -> bool:
        """Whether every mean only rises, or only falls, in every parameter."""
        return self._tables.monotone

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes, such as a constant value.

        They name an arm that is best everywhere, and parameters that can hardly be learned. A
        model of three parameters says which policies with curves take it.
        """
        found = list(self._remarks)
        shares = self.regions().shares
        if self.n_arms > 1 and shares.max() == 1.0:
            best = printed_label(self._arms[int(shares.argmax())])
            found.append(f"arm {best} is best everywhere in the box: there is nothing to learn")
        if self.n_parameters == MAX_PARAMETERS:
            found.append(
                "three numbers of one curve are hardly ever learned: fix one with "
                "model.fixed(...), then take Elastic or IDS; of policies with curves only IDS, "
                "GridThompson and GridGreedy take all three"
            )
        plays = self.identification().by_parameter
        for name, number in zip(self._names, plays.tolist(), strict=True):
            if number > _HARDLY_LEARNED:
                often = f"about {number:,.0f} times" if np.isfinite(number) else "without end"
                found.append(
                    f"{name} can hardly be learned: every arm must be played {often} until its "
                    "standard error is a tenth of its range"
                )
        return tuple(found)

    @property
    def resolution(self) -> float:
        """The largest error of the tabulated means at 1,000 test points, in units of the mean.

        The analysis sees the means only at the points where they were evaluated.
        """
        return self._resolution

    @property
    def tables(self) -> VectorTables:
        """Flat arrays for compiled loops, on the unit scales of reward and worth."""
        return self._tables

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of arms, domain, reward range and means, for display and logs."""
        box = list(self._domain.items())
        return digest(self._arms, box, self._reward_range, self._sampled_means())

    def observed_samples(self) -> dict[str, Any]:
        """Sample the observed means, as plain data for a saved state."""
        return {
            "domain": [[name, *ends] for name, ends in self._domain.items()],
            "reward_range": list(self._reward_range),
            "means": np.round(self._sampled_means(), 12).tolist(),
        }

    def same_observed(self, samples: object, rows: Sequence[int | None] | None = None) -> bool:
        """Whether the `observed_samples` of another model show the same means, to 1e-7.

        Args:
            samples: The result of `observed_samples`, possibly read from a file.
            rows: As in `RewardModel.same_observed`.
        """

        def intervals(domain: Any) -> list[Any]:
            if [row[0] for row in domain] != list(self._names):
                raise ValueError("other parameters")
            return [row[1:] for row in domain]

        return same_samples(self.observed_samples(), samples, intervals, rows)

    def _sampled_means(self) -> FloatArray:
        """Return unit means at spread points, a row per arm."""
        self._check_unchanged()
        points = spread_points(self.n_parameters, _N_SAMPLES)
        return unit_means(self._observed, points, self._arms, self._reward_range).T

    # Questions about a parameter vector.

    def means(self, theta: Theta) -> FloatArray:
        """Return the mean reward of every arm, shape (..., n_arms).

        Args:
            theta: A dict with a number, or an array, for every parameter; or an array of shape
                (..., n_parameters).
        """
        self._check_unchanged()
        thetas = self.as_thetas(theta)
        flat = self._observed.at(thetas.reshape(-1, self.n_parameters))
        return flat.reshape(*thetas.shape[:-1], self.n_arms)

    def worth(self, theta: Theta) -> FloatArray:
        """Return the worth of a decision for every arm, shape (..., n_arms)."""
        return self.worth_at(self.means(theta))

    def worth_at(self, means: FloatArray) -> FloatArray:
        """Return the worth of all arms at their means, shape (..., n_arms)."""
        if self._value is None:
            return means
        return self._value(np.arange(self.n_arms), np.clip(means, *self._reward_range))

    def best_arms(self, theta: Theta) -> tuple[int, ...]:
        """Return the indices of the arms that are best at one parameter vector, with ties."""
        worth = self.worth(self.as_theta(theta))
        slack = _TIE_TOLERANCE * np.abs(worth).max()
        return tuple(np.flatnonzero(worth >= worth.max() - slack).tolist())

    def suboptimality_gap(self, theta: Theta) -> float:
        """Return the smallest gap of an arm that is not best; infinite if all are."""
        others = np.delete(self.gaps(self.as_theta(theta)), self.best_arms(theta))
        return float(others.min()) if others.size else float("inf")

    def as_thetas(self, theta: Theta) -> FloatArray:
        """Return parameter vectors inside the box as an array of shape (..., n_parameters)."""
        if isinstance(theta, Mapping):
            for name in theta:
                require_known("a name of theta", name, self._names, ModelError)
            missing = [name for name in self._names if name not in theta]
            rule = f"have a number for each of {', '.join(self._names)}"
            require(not missing, "theta", rule, dict(theta), ModelError)
            parts = [as_numbers(f"theta[{name!r}]", theta[name]) for name in self._names]
            try:
                thetas = np.stack(np.broadcast_arrays(*parts), axis=-1)
            except ValueError:
                shapes = [part.shape for part in parts]
                raise ModelError(
                    f"theta must have arrays that broadcast together, got shapes {shapes}"
                ) from None
        else:
            thetas = as_numbers("theta", theta)
            rule = f"have {self.n_parameters} numbers, {', '.join(self._names)}"
            fits = thetas.ndim >= 1 and thetas.shape[-1] == self.n_parameters
            require(fits, "theta", rule, theta, ModelError)
        inside = (thetas >= self._tables.low) & (thetas <= self._tables.high)
        if not inside.all():
            axis = int(np.argwhere(~inside)[0][-1])
            name = self._names[axis]
            low, high = self._domain[name]
            wrong = float(thetas[..., axis][~inside[..., axis]].flat[0])
            raise ModelError(f"theta[{name!r}] must lie in [{low:g}, {high:g}], got {wrong!r}")
        return thetas

    def as_theta(self, theta: Theta) -> FloatArray:
        """Return one parameter vector as an array of shape (n_parameters,)."""
        found = self.as_thetas(theta)
        rule = f"be one vector of {', '.join(self._names)}"
        require(found.ndim == 1, "theta", rule, f"shape {found.shape}", ModelError)
        return found

    def named(self, theta: ArrayLike) -> dict[str, float]:
        """Return one parameter vector as a dict of numbers by name."""
        return dict(zip(self._names, self.as_theta(theta).tolist(), strict=True))

    def to_unit(self, theta: Theta) -> FloatArray:
        """Return parameter vectors in unit coordinates, shape (..., n_parameters)."""
        low, high = self._tables.low, self._tables.high
        return np.asarray((self.as_thetas(theta) - low) / (high - low))

    def from_unit(self, points: ArrayLike) -> FloatArray:
        """Return points of the unit box in the user's units, shape (..., n_parameters)."""
        return self._observed.thetas(as_numbers("points", points))

    # The analysis before playing.

    @property
    def _unit_model(self) -> UnitModel:
        low, high = self._reward_range
        return UnitModel(
            n_arms=self.n_arms,
            n_parameters=self.n_parameters,
            means=lambda points: unit_means(self._observed, points, self._arms, (low, high)),
            worth=lambda unit: self.worth_at(low + (high - low) * unit),
            thetas=self._observed.thetas,
        )

    def regions(self, cells: int | None = None) -> BestArms:
        """Return the best arm on a grid of the box, and the share of the box of every arm.

        Args:
            cells: Cells along each parameter; by default 128 for two parameters.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.VectorModel("level - slope*arm", [1.0, 2.0],
            ...                        {"level": (0.4, 0.9), "slope": (0.0, 0.2)})
            >>> model.regions().shares
            array([1., 0.])
        """
        self._check_unchanged()
        if cells is None:
            cells = _DEFAULT_REGION_CELLS[self.n_parameters]
        else:
            cells = as_integer("cells", cells, 2, ModelError, maximum=_MAX_REGION_CELLS)
        points = grid_points(self.n_parameters, cells, middles=True)
        best = self._unit_model.worth(self._unit_model.means(points)).argmax(axis=1)
        shares = np.bincount(best, minlength=self.n_arms) / len(points)
        labels = best.reshape((cells,) * self.n_parameters)
        return BestArms(labels, shares, tuple(np.flatnonzero(shares == 0.0).tolist()))

    def identification(self) -> Identification:
        """Return which sets of arms identify the parameters, and the plays that they need.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.VectorModel("level * exp(-slope*arm)", [2.0, 4.0, 6.0],
            ...                        {"level": (0.2, 1.0), "slope": (0.02, 0.6)})
            >>> model.identification().sets[0]
            (0, 2)
        """
        self._check_unchanged()
        return identify(self._unit_model, self._names)

    def traps(self) -> Traps:
        """Return where a greedy policy can stay with a wrong arm, as a share of the box."""
        self._check_unchanged()
        return find_traps(self._unit_model, self._names, self._arms, self._reward_range)

    def lower_bound(self, theta: Theta) -> LowerBound:
        """Return the constant c such that regret grows at least as c log T at ``theta``.

        This is the bound of Graves and Lai (1997) for Bernoulli rewards, in units of worth. It is
        0 where bounded regret is possible.
        """
        self._check_unchanged()
        return lower_bound(self._unit_model, self.to_unit(self.as_theta(theta)))

    # Models with fewer unknown numbers.

    def fixed(self, **known: float) -> "RewardModel | VectorModel":
        """Return the model in which some parameters are known.

        With one parameter left this is a `RewardModel` of theta, also if there was only one. Its
        ``monotone`` is False where some mean is flat or turns.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.VectorModel("level * exp(-slope*arm)", [2.0, 4.0],
            ...                        {"level": (0.02, 0.2), "slope": (0.02, 0.6)})
            >>> model.fixed(level=0.1)
            RewardModel(2 arms: 2.0, 4.0; theta in [0.02, 0.6]; 1 region)
        """
        some = bool(known) or self.n_parameters == 1
        require(some, "known", f"name one of {', '.join(self._names)}", known, ModelError)
        values: dict[str, float] = {}
        for name, number in known.items():
            require_known("a name of known", name, self._names, ModelError)
            low, high = self._domain[name]
            values[name] = as_float(name, number, ModelError)
            rule = f"lie in [{low:g}, {high:g}]"
            require(low <= values[name] <= high, name, rule, number, ModelError)
        left = {name: ends for name, ends in self._domain.items() if name not in values}
        require(bool(left), "known", "leave at least one parameter unknown", known, ModelError)
        mean = self._mean_of(values)
        if len(left) > 1:
            return VectorModel(
                mean, self._arms, left, reward_range=self._reward_range, value=self._value_source
            )
        return self._one_number(mean, next(iter(left.values())))

    def _mean_of(self, known: dict[str, float]) -> Any:
        """Return the mean as a function of the other parameters; a single one is called theta."""
        source = self._sources[0]
        if not isinstance(source, Expression):
            return _Fixed(source, self._names, known)
        left = [name for name in self._names if name not in known]
        texts = {name: f"({number!r})" for name, number in known.items()}
        return _substituted(source, texts | ({left[0]: "theta"} if len(left) == 1 else {}))

    def along(self, center: Theta, direction: Theta) -> RewardModel:
        """Return the model on a line of the box: ``center + theta * direction``.

        The domain of theta is the whole part of the line inside the box.

        Args:
            center: A point of the box, at theta = 0.
            direction: A step in each parameter, as a dict by name or an array. Parameters that a
                dict leaves out do not change.
        """
        start = self.as_theta(center)
        if isinstance(direction, Mapping):
            for name in direction:
                require_known("a name of direction", name, self._names, ModelError)
            step = np.array(
                [
                    as_float(f"direction[{n!r}]", direction.get(n, 0.0), ModelError)
                    for n in self._names
                ]
            )
        else:
            step = as_numbers("direction", direction)
        good = step.shape == start.shape and bool(np.isfinite(step).all()) and bool(step.any())
        rule = f"have {self.n_parameters} finite numbers, not all of them 0"
        require(good, "direction", rule, direction, ModelError)
        moving = step != 0.0
        ends = np.stack([self._tables.low - start, self._tables.high - start])[:, moving]
        ratios = np.sort(ends / step[moving], axis=0)
        domain = float(ratios[0].max()), float(ratios[1].min())
        mean: Any = _Line(self._sources[0], start, step, self._tables.low, self._tables.high)
        if isinstance(self._sources[0], Expression):
            mean = _substituted(
                self._sources[0],
                {
                    name: f"({a!r} + theta*({b!r}))" if b else f"({a!r})"
                    for name, a, b in zip(self._names, start.tolist(), step.tolist(), strict=True)
                },
            )
        return self._one_number(mean, domain)

    @property
    def _value_source(self) -> Any:
        value = self._sources[1]
        return None if value is None else value.joint

    def _one_number(self, mean: Any, domain: tuple[float, float]) -> RewardModel:
        """Return the model of one parameter, which need not be monotone in it."""
        options: dict[str, Any] = {"reward_range": self._reward_range, "value": self._value_source}
        try:
            return RewardModel(mean, self._arms, domain, **options)
        except ModelError:
            return RewardModel(mean, self._arms, domain, **options, monotone=False)

    # What needs one number.

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise ModelError(
            f"model must have one unknown number for {what}, got {self.n_parameters} "
            f"({', '.join(self._names)}): {instead}, or fix all but one with model.fixed"
        )

    def invert(self, arm: int, value: ArrayLike) -> NoReturn:
        """An error: one mean does not determine several numbers."""
        self._refuse("an inverse", "use identification() to see which arms determine the numbers")

    @property
    def holder(self) -> NoReturn:
        """An error: Assumption 1 is about one number."""
        self._refuse("Hölder constants", "use identification() and lower_bound(theta)")

    @property
    def informativeness(self) -> NoReturn:
        """An error: Definition 2 is about one number."""
        self._refuse("the informativeness", "use identification()")

    def suboptimality_distance(self, theta: Theta) -> NoReturn:
        """An error: Definition 3 is about one number."""
        self._refuse(
            "the distance to the next region", "use regions() and suboptimality_gap(theta)"
        )

    # Pictures.

    def plot(
        self, theta: Theta | None = None, *, title: str = "", ax: "Axes | None" = None
    ) -> "Figure":
        """Draw a map of the best arm over the first two parameters.

        Where greedy play can stay with a wrong arm, the map is hatched. A third parameter is that
        of ``theta``, or the middle of its interval. One parameter is drawn as in `RewardModel`.

        Args:
            theta: A parameter vector to mark.
            title: A line above the map.
            ax: Axes to draw into; by default a new figure.
        """
        chosen = None if theta is None else self.as_theta(theta)
        if self.n_parameters == 1:
            curve = self.fixed()
            assert isinstance(curve, RewardModel)
            return curve.plot(None if chosen is None else chosen.item(), title=title, ax=ax)
        model: VectorModel = self
        if self.n_parameters == 3:
            last = self._names[2]
            number = float(np.mean(self._domain[last]) if chosen is None else chosen[2])
            model = self.fixed(**{last: number})  # type: ignore[assignment]
            title = f"{title} ({last} = {number:.4g})".strip()
        first, second = self._names[:2]
        return arm_map_figure(
            model.regions().labels,
            self._domain[first],
            self._domain[second],
            [drawn_label(arm) for arm in self._arms],
            trapped=model.traps().losses > SMALL_LOSS,
            mark=None if chosen is None else (float(chosen[0]), float(chosen[1])),
            xlabel=first,
            ylabel=second,
            title=drawn_label(title),
            ax=ax,
        )

    def _repr_html_(self) -> str:
        """The model in one line and a table of the arms' shares of the box."""
        shares = self.regions().shares
        rows = [
            [printed_label(arm), f"{share:.1%}"]
            for arm, share in zip(self._arms, shares.tolist(), strict=True)
        ]
        more = len(rows) - _MAX_HTML_ROWS
        return "".join(
            [
                pages.paragraph(repr(self), strong=True),
                pages.table(["arm", "best on this share of the box"], rows[:_MAX_HTML_ROWS]),
                *([pages.paragraph(f"({more} more arms)")] if more > 0 else []),
            ]
        )

    # Files.

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON; `from_dict` rebuilds the model.

        Models from the catalogues and of formulas have a description.

        Examples:
            >>> import globalbandits as gb
            >>> gb.VectorModel("a + b*arm", [0.5, 1.0], {"a": (0, 0.1), "b": (0.2, 0.8)}).to_dict()
            {'version': 1, 'mean': 'a + b*arm', 'arms': [0.5, 1.0], 'parameters': ['a', 'b'],
             'domain': {'a': [0.0, 0.1], 'b': [0.2, 0.8]}, 'reward_range': [0.0, 1.0]}
        """
        check_arms(self._arms)
        mean, value = self._sources
        prior = {} if self.prior is None else {"prior": self.prior.to_dict()}
        if self._family is not None:
            return {"version": VERSION} | self._family | prior
        if not isinstance(mean, Expression):
            raise ModelError(
                "mean must be a formula or of a catalogue to be described, got a Python function: "
                "write it as a text"
            )
        return {
            "version": VERSION,
            "mean": mean.text,
            "arms": list(self._arms),
            # Programs that write JSON may sort the keys of the domain.
            "parameters": list(self.parameters),
            "domain": {name: list(ends) for name, ends in self.domain.items()},
            "reward_range": list(self.reward_range),
            **describe_value(value),
            **prior,
        }

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if can_be_pickled([state[key] for key in ("_sources", "_observed", "_value")]):
            return state
        # A function that another process cannot import is replaced by its table.
        tables, rewards = self._tables, self._reward_range
        mean = _TabulatedMean(tables, rewards, self._arms)
        observed = BoxMeans(mean, self._arms, self._names, tables.low, tables.high)
        value = None
        if tables.valued:
            curves = Tabulated(tables.value, rewards, self.worth_range)
            value = PerArm(joint=_TabulatedValue(curves, self._arms))
        bound = None if value is None else value.bind(self._arms, "value", *rewards)
        state |= {"_sources": (mean, value), "_observed": observed, "_value": bound}
        means = observed(self._probes)
        seen = {"mean": means}
        if bound is not None:
            seen["value"] = bound(np.arange(self.n_arms), np.clip(means, *rewards))
        return state | {"_seen": seen}


AnyModel = RewardModel | VectorModel


def as_box(domain: object) -> Box:
    """Return the domain as a dict of intervals; an error names the parameter.

    >>> as_box({"level": (0, 1)})
    {'level': (0.0, 1.0)}
    """
    rule = 'be a dict of named intervals, such as {"level": (0.02, 0.2), "slope": (0.02, 0.6)}'
    require(isinstance(domain, Mapping), "domain", rule, domain, ModelError)
    given = dict(domain)  # type: ignore[call-overload]
    rule = f"have one to {MAX_PARAMETERS} parameters"
    require(1 <= len(given) <= MAX_PARAMETERS, "domain", rule, list(given), ModelError)
    box: Box = {}
    for name, ends in given.items():
        good = isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name)
        rule = "be a name of letters, digits and underscores"
        require(bool(good), "a parameter of the domain", rule, name, ModelError)
        rule = f"not be one of {', '.join(_RESERVED_NAMES)}"
        require(name not in _RESERVED_NAMES, "a parameter of the domain", rule, name, ModelError)
        try:
            single = len(ends) == 2 and bool(ends[0] == ends[1])
        except (TypeError, ValueError, KeyError, IndexError):
            single = False
        if single:
            raise ModelError(
                f"domain[{name!r}] must have low < high, got {show(ends)}: "
                "write a known number into the mean"
            )
        box[name] = as_span(f"domain[{name!r}]", ends)
    return box


class _Fixed:
    """A mean with some of its parameters bound to numbers."""

    def __init__(
        self, mean: Callable[..., Any], names: tuple[str, ...], known: dict[str, float]
    ) -> None:
        self._mean, self._names, self._known = mean, names, known

    def __call__(self, *given: Any) -> Any:
        *free, arm = given
        rest = iter(free)
        numbers = [self._known[n] if n in self._known else next(rest) for n in self._names]
        return self._mean(*numbers, arm)


class _Line:
    """A mean on a line of the box."""

    def __init__(
        self,
        mean: Callable[..., Any],
        start: FloatArray,
        step: FloatArray,
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        self._mean, self._start, self._step = mean, start, step
        self._low, self._high = low, high

    def __call__(self, theta: Any, arm: Any) -> Any:
        ends = zip(self._start, self._step, self._low, self._high, strict=True)
        # Rounding at an end of the line must not leave the box.
        return self._mean(*(np.clip(a + theta * b, low, high) for a, b, low, high in ends), arm)


class _TabulatedMean:
    """Tabulated means as a function of the parameters and the arm."""

    def __init__(
        self, tables: VectorTables, reward_range: tuple[float, float], arms: tuple[Any, ...]
    ) -> None:
        self._tables, self._range = tables, reward_range
        self._index = {arm: index for index, arm in enumerate(arms)}

    def __call__(self, *given: Any) -> FloatArray:
        *numbers, arm = np.broadcast_arrays(*given)
        low, high = self._tables.low, self._tables.high
        points = (np.stack(numbers, axis=-1) - low) / (high - low)
        flat = points.reshape(-1, self._tables.n_parameters)
        every = means_at_many(self._tables.nodes, self._tables.n_nodes, flat)
        columns = [self._index[each] for each in arm.ravel().tolist()]
        unit = every[np.arange(len(flat)), columns].reshape(arm.shape)
        least, most = self._range
        return np.asarray(least + (most - least) * np.clip(unit, 0.0, 1.0))


class _TabulatedValue:
    """Tabulated values as a function of the mean and the arm."""

    def __init__(self, curves: Tabulated, arms: tuple[Any, ...]) -> None:
        self._curves = curves
        self._index = {arm: index for index, arm in enumerate(arms)}

    def __call__(self, mean: Any, arm: Any) -> FloatArray:
        means, arms = np.broadcast_arrays(mean, arm)
        columns = np.array([self._index[each] for each in arms.ravel().tolist()], dtype=np.int64)
        return self._curves(columns.reshape(arms.shape), means)


def _substituted(formula: Expression, texts: Mapping[str, str]) -> Any:
    """Return the formula's text with names replaced by texts, and its constants by numbers."""
    replaced = {name: f"({number!r})" for name, number in formula.constants.items()} | dict(texts)
    return re.sub(
        r"(?<![\w.])[A-Za-z_]\w*", lambda match: replaced.get(match[0], match[0]), formula.text
    )


def _in_contexts(
    kind: Any, mean: Any, arms: Any, domain: Any, *, contexts: Any, **options: Any
) -> ContextModel:
    """Return the model of contexts; the arguments are those of `VectorModel`."""
    return build_context_model(kind, mean, arms, contexts, as_box(domain), options)
