"""`Environment`: a model at its true parameter, with noise, drift, bias, delay or another truth."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.environments.bias import Bias
from globalbandits.environments.delay import Delay
from globalbandits.environments.drift import Drift
from globalbandits.environments.noises.noise import BernoulliNoise, BetaNoise, Noise
from globalbandits.environments.noises.sale import SaleNoise
from globalbandits.environments.offers import OfferLaw, as_offer_law, describe_offers
from globalbandits.environments.population import Population
from globalbandits.environments.truth import Truth, as_vector, check_function, describe, fixed_means
from globalbandits.errors import ScenarioError
from globalbandits.model import ContextModel, RegionalModel, RewardModel, VectorModel

_BETA, _BERNOULLI = BetaNoise(), BernoulliNoise()
_DEFAULT_NOISE = BetaNoise()  # an instance of its own, replaced by the noise that fits the model


@dataclasses.dataclass(frozen=True)
class Environment:
    """A model with its true parameter, and the noise, drift and bias of its rewards.

    Args:
        model: the curves that the policies know.
        theta: the true parameter; with a drift, the one at time 1. A `Population` if every run
            has its own parameter. A dict by name for a `VectorModel`, one parameter per group for
            a `RegionalModel`; these are constant. With a truth it is optional and only used for
            the nominal regret.
        noise: the distribution of rewards around their means. By default `BernoulliNoise` for
            demand models that observe sales (``cost=``), else `BetaNoise`.
        drift: the path of theta over time; None if it is constant.
        bias: shifts of the true means away from those of the model or the truth; None for none.
        truth: the source of rewards, if it is not the model at theta: a `RewardModel` of the same
            arms, an array with a mean per arm, or a function of (time, arm) that returns a mean.
            Times count from 1. Regret is computed from these means.
        truth_theta: the parameter of a truth that is a model; a dict for a `VectorModel`.
        contexts: for a model with contexts, the share of each context by name, such as
            ``{"weekday": 5/7, "weekend": 2/7}``, or names in turn, which repeat. By default all
            come equally often.
        available: the arms that can be played. A number is every arm's chance to be available in
            a round; one number per arm, or per context and arm, is each one's chance. Rows of
            True and False per arm are taken in turn and repeat. A function of the time, counted
            from 1, returns one such row, or indices of arms. Some arm is always left. Regret is
            against the best arm that can be played.
        delay: how many rounds after its decision a reward becomes known, such as
            ``GeometricDelay(200)``; None if every reward is known before the next decision.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> Environment(model, theta=0.4).noise
    BetaNoise()
    >>> Environment(gb.demand.linear([0.4, 0.6], cost=0.2), theta=0.4).noise
    BernoulliNoise()

    Policies that know this model, while rewards come from another family:

    >>> other = gb.demand.logit([0.4, 0.6, 0.8])
    >>> env = Environment(model, theta=0.4, truth=other, truth_theta=2.0)
    >>> bool((env.true_means() == other.means(2.0)).all())
    True
    """

    model: Any  # a RewardModel, a VectorModel or a RegionalModel
    # Several numbers are stored as a tuple, in the order of the model's parameters.
    theta: float | Mapping[str, float] | tuple[float, ...] | Population | None = None
    noise: Noise = _DEFAULT_NOISE
    drift: Drift | None = None
    bias: Bias | None = None
    truth: Truth | None = None
    truth_theta: float | Mapping[str, float] | tuple[float, ...] | None = None
    contexts: Mapping[str, float] | Sequence[str] | None = None
    available: Any = None
    delay: Delay | None = None

    def __post_init__(self) -> None:
        """Check every part against the model."""
        law = as_offer_law(
            self.contexts, self.available, self.context_names, getattr(self.model, "n_arms", 1)
        )
        object.__setattr__(self, "_offers", law)
        if isinstance(self.model, ContextModel):
            self._check_cells(self.model)
            return
        if self.noise is _DEFAULT_NOISE:
            one_or_several = isinstance(self.model, RewardModel | VectorModel)
            sales = one_or_several and self.model.observes_sales
            object.__setattr__(self, "noise", _BERNOULLI if sales else _BETA)
        if isinstance(self.model, RegionalModel):
            self._check_groups(self.model)
        elif isinstance(self.model, VectorModel):
            self._check_numbers(self.model)
        else:
            _check_part("model", self.model, RewardModel)
            self._check_theta()
        _check_part("noise", self.noise, Noise)
        self.noise.parameters(self.model)
        if self.drift is not None:
            _check_part("drift", self.drift, Drift)
            rule = "be one number with a drift"
            require(isinstance(self.theta, float), "theta", rule, self.theta, ScenarioError)
            self.drift.track(self.model.domain, self.start)
        if self.bias is not None:
            _check_part("bias", self.bias, Bias)
            self.bias.shifts(self.model.n_arms, np.random.default_rng(0))
            both = isinstance(self.theta, Population) and self.theta.shifts is not None
            rule = "be None with a population that has shifts"
            require(not both, "bias", rule, self.bias, ScenarioError)
        if self.delay is not None:
            _check_part("delay", self.delay, Delay)
            self.delay.parameters(self.model.n_arms)
        if self.truth is None:
            none = self.truth_theta is None
            require(none, "truth_theta", "come with a truth", self.truth_theta, ScenarioError)
        else:
            self._check_truth()

    def _check_cells(self, model: ContextModel) -> None:
        """Check the parts against the model of the cells."""
        truth: Any = self.truth
        rule = "be an array of shape (contexts, arms), or a model with the same contexts"
        if isinstance(truth, ContextModel):
            same = truth.contexts == model.contexts and truth.arms == model.arms
            require(same, "truth", rule, truth, ScenarioError)
            truth = truth.cells
        elif truth is not None:
            shape = np.shape(truth) if not callable(truth) else None
            fits = shape == (model.n_contexts, model.n_arms)
            require(fits, "truth", rule, self.truth, ScenarioError)
            truth = np.asarray(truth, dtype=float).ravel()
        cells = dataclasses.replace(
            self, model=model.cells, truth=truth, contexts=None, available=None
        )
        object.__setattr__(self, "_of_cells", cells)
        object.__setattr__(self, "theta", cells.theta)
        object.__setattr__(self, "noise", cells.noise)

    @property
    def of_cells(self) -> "Environment":
        """The environment whose arms are the cells of all contexts; itself without contexts."""
        found: Environment = getattr(self, "_of_cells", self)
        return found

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of the model's contexts; empty if it has none."""
        return self.model.contexts if isinstance(self.model, ContextModel) else ()

    @property
    def offers(self) -> OfferLaw | None:
        """What can be played when; None if everything always can."""
        found: OfferLaw | None = getattr(self, "_offers", None)
        return found

    def _check_groups(self, model: RegionalModel) -> None:
        rule = "have no amounts for arms in groups"
        plain = not isinstance(self.noise, SaleNoise)
        require(plain, "noise", rule, self.noise, ScenarioError)
        rule = "be None for arms in groups, whose parameters stay"
        require(self.drift is None, "drift", rule, self.drift, ScenarioError)
        rule = "be None for arms in groups"
        require(self.truth is None, "truth", rule, self.truth, ScenarioError)
        object.__setattr__(self, "theta", _as_parameters(model, self.theta))

    def _check_numbers(self, model: VectorModel) -> None:
        if self.theta is None:
            self._check_theta()
            return
        rule = f"be a dict of {', '.join(model.parameters)}"
        known = not isinstance(self.theta, Population)
        require(known, "theta", rule, self.theta, ScenarioError)
        theta = as_vector("theta", model, self.theta)
        object.__setattr__(self, "theta", theta)

    def _check_theta(self) -> None:
        if self.theta is None:
            rule = "be given where there is no truth"
            require(self.truth is not None, "theta", rule, None, ScenarioError)
        elif isinstance(self.theta, Population):
            self.theta.check(self.model.domain, self.model.n_arms)
        else:
            theta = as_float("theta", self.theta, ScenarioError)
            low, high = self.model.domain
            rule = f"lie in the domain [{low:g}, {high:g}]"
            require(low <= theta <= high, "theta", rule, self.theta, ScenarioError)
            object.__setattr__(self, "theta", theta)

    def _check_truth(self) -> None:
        rule = "be None with a truth; a truth that moves is a function of (time, arm)"
        require(self.drift is None, "drift", rule, self.drift, ScenarioError)
        rule = "be one number, or None, with a truth"
        one = not isinstance(self.theta, Population)
        require(one, "theta", rule, self.theta, ScenarioError)
        if isinstance(self.truth, VectorModel):
            given = self.truth_theta is not None
            rule = "be given with a truth that is a model"
            require(given, "truth_theta", rule, None, ScenarioError)
            vector = as_vector("truth_theta", self.truth, self.truth_theta)
            object.__setattr__(self, "truth_theta", vector)
        elif not isinstance(self.truth, RewardModel):
            rule = "be None with a truth that is not a model"
            none = self.truth_theta is None
            require(none, "truth_theta", rule, self.truth_theta, ScenarioError)
        if self.moving_truth is None:
            fixed_means(self.model, self.truth, self.truth_theta)
        else:
            rule = "be None with a truth that is a function of (time, arm)"
            require(self.bias is None, "bias", rule, self.bias, ScenarioError)
            check_function(self.model, self.moving_truth)

    @property
    def start(self) -> float:
        """The parameter at time 1; nan if it is not a single number."""
        return self.theta if isinstance(self.theta, float) else math.nan

    @property
    def population(self) -> Population | None:
        """The population of the parameter; None if there is none."""
        return self.theta if isinstance(self.theta, Population) else None

    @property
    def moving_truth(self) -> Callable[[Any, Any], Any] | None:
        """The truth if it is a function of (time, arm), else None."""
        return self.truth if callable(self.truth) else None

    @property
    def varies(self) -> bool:
        """Whether true means differ between runs or times."""
        shifted = self.drift is not None or self.bias is not None
        return shifted or self.population is not None or self.moving_truth is not None

    @property
    def scale(self) -> float:
        """Length of the reward range."""
        low, high = self.model.reward_range
        return float(high - low)

    def shifts(self, rng: np.random.Generator) -> FloatArray | None:
        """Return the bias of one run, per arm, in the units of the rewards; None without bias."""
        return None if self.bias is None else self.bias.shifts(self.model.n_arms, rng)

    def true_means(self, shifts: FloatArray | None = None) -> FloatArray:
        """Return the means of model or truth, shifted and clipped to the reward range.

        With contexts the shape is (n_contexts, n_arms).
        """
        if isinstance(self.model, ContextModel):
            cells = self.of_cells.true_means(shifts)
            return cells.reshape(self.model.n_contexts, self.model.n_arms)
        if self.truth is None:
            rule = "be one number for these means"
            known = isinstance(self.theta, float | tuple)
            require(known, "theta", rule, self.theta, ScenarioError)
            means: FloatArray = self.model.means(self.theta)
        else:
            rule = "not be a function of time for these means"
            require(self.moving_truth is None, "truth", rule, self.truth, ScenarioError)
            means = fixed_means(self.model, self.truth, self.truth_theta)
        if shifts is None:
            return means
        return np.asarray(np.clip(means + shifts, *self.model.reward_range))

    def to_dict(self) -> dict[str, Any]:
        """Return a description as plain values, which differs between environments."""
        if isinstance(self.model, ContextModel):
            whole = self.of_cells.to_dict()
            assert self.offers is not None
            whole["best_arms"] = [] if self.varies else self._best_cells()
            return whole | describe_offers(self.offers, self.context_names)
        parts = {"noise": self.noise, "drift": self.drift, "bias": self.bias}
        theta: Any = self.theta.to_dict() if isinstance(self.theta, Population) else self.theta
        if isinstance(self.model, VectorModel) and theta is not None:
            theta = self.model.named(theta)
        theta = list(theta) if isinstance(theta, tuple) else theta
        whole = {
            "model": {
                "arms": [
                    arm if isinstance(arm, (int, float)) else str(arm) for arm in self.model.arms
                ],
                "domain": _domain(self.model),
                "reward_range": list(self.model.reward_range),
                "fingerprint": self.model.fingerprint,
            },
            "theta": theta,
            "best_arms": [] if self.varies else self._best_arms(),
        } | {name: None if part is None else part.to_dict() for name, part in parts.items()}
        if self.truth is not None:
            whole["truth"] = describe(self.model, self.truth, self.truth_theta)
        if self.offers is not None:
            whole |= describe_offers(self.offers, ())
        if self.delay is not None:
            whole["delay"] = self.delay.to_dict()
        return whole

    def _best_cells(self) -> list[int]:
        """Return the cells that are worth most in their context. They must be constant."""
        cells = self.of_cells
        worth = worth_of_means(cells.model, cells.true_means())
        rows = worth.reshape(self.model.n_contexts, self.model.n_arms)
        low, high = self.model.worth_range
        best = rows >= rows.max(axis=1, keepdims=True) - 1e-12 * (high - low)
        return np.flatnonzero(best.ravel()).tolist()

    def _best_arms(self) -> list[int]:
        """Return the arms that are worth most. They must be constant."""
        if self.truth is None:
            return list(self.model.best_arms(self.theta))
        worth = worth_of_means(self.model, self.true_means())
        low, high = self.model.worth_range
        return np.flatnonzero(worth >= worth.max() - 1e-12 * (high - low)).tolist()


def worth_of_means(model: RewardModel | VectorModel, means: FloatArray) -> FloatArray:
    """Return what arms with these means are worth: shape (..., n_arms)."""
    # Without a value, worth does not depend on the arm.
    if not model.valued:
        return np.asarray(model.worth_of(0, means), np.float64)
    columns = [model.worth_of(arm, means[..., arm]) for arm in range(model.n_arms)]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=-1)


def _as_parameters(model: RegionalModel, theta: Any) -> tuple[float, ...]:
    """Check one parameter per group, each inside its own domain."""
    rule = f"be {model.n_groups} parameters, one per group"
    several = isinstance(theta, Sequence | np.ndarray) and len(theta) == model.n_groups
    require(several and not isinstance(theta, str), "theta", rule, theta, ScenarioError)
    found = []
    for number, (value, group) in enumerate(zip(theta, model.groups, strict=True)):
        name = f"theta of group {number}"
        low, high = group.domain
        inside = low <= as_float(name, value, ScenarioError) <= high
        require(inside, name, f"lie in the domain [{low:g}, {high:g}]", value, ScenarioError)
        found.append(float(value))
    return tuple(found)


def _domain(model: RewardModel | VectorModel | RegionalModel) -> Any:
    """Return the domain, or the domains of groups or numbers, as plain lists."""
    if isinstance(model, VectorModel):
        return {name: list(span) for name, span in model.domain.items()}
    if isinstance(model, RegionalModel):
        return [list(group.domain) for group in model.groups]
    return list(model.domain)


def _check_part(name: str, value: object, kind: type) -> None:
    require(isinstance(value, kind), name, f"be a {kind.__name__}", value, ScenarioError)
