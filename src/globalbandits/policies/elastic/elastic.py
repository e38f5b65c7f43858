"""`Elastic`: a policy that trusts the model's curves to the extent that rewards confirm them."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.elastic import drift_rules, several_rules
from globalbandits.policies.elastic.curve_posterior import (
    MAX_PRIOR_PARTS,
    N_SCALES,
    as_numbers,
    as_weights,
    build_prior,
    default_weights,
)
from globalbandits.policies.elastic.several_posterior import build_several_prior
from globalbandits.policies.elastic.stationary_rules import (
    Posterior,
    Setup,
    estimate,
    init,
    rebuild,
    resume,
    update,
)
from globalbandits.policies.shared.index import select_largest, select_largest_among
from globalbandits.policies.shared.noise_variance import DIFFERENT_ARMS
from globalbandits.policies.shared.open_outcomes import no_open_outcomes, pend_open_outcomes
from globalbandits.policies.shared.ridge_posterior import require_few_numbers
from globalbandits.policies.shared.worth import unit_scale
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import AnyModel


# Default prior probabilities that one curve is badly and slightly wrong, and the horizon in rounds
# from which they apply in full.
DEFAULT_EXCEPTION_PROBABILITY = 0.12
DEFAULT_CAUTION = 0.36
LONG_HORIZON = 1e4

# Factor of the index's bonus in the shortest games; it rises to 1 at the long horizon.
SHORTEST_GAME_BONUS = 0.5

# Share of the caution that is for errors of one size for all means, with several unknown numbers.
FLAT_SHARE_OF_SEVERAL = 0.25

_STATIONARY_RULES = Rules(
    init,
    select_largest,
    update,
    estimate,
    rebuild,
    ("fitted", "renewed"),
    resume,
    select_among=select_largest_among,
    pend=pend_open_outcomes,
)
_DRIFTING_RULES = Rules(
    drift_rules.init,
    drift_rules.select,
    drift_rules.update,
    drift_rules.estimate,
    resume=drift_rules.resume,
    select_among=drift_rules.select_among,
)


@register("elastic")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Elastic(Policy):
    """Trust the curves to the extent that rewards confirm them, and explore otherwise.

    The mean of arm k is ``mu_k(theta) + b_k``. The errors ``b_k`` have an unknown common size on
    the log-odds scale, so that a curve of 3 % has smaller errors than one of 50 %. At most one arm
    is an exception, whose curve is badly wrong or carries no information. The
    posterior of parameter and size gives every arm a mean m and a variance c. The arm with the
    largest Gittins index ``m + sqrt(c) * psi(h * c / v)`` is played, where h is the number of
    rounds so far and v the variance of a reward. Each arm also has the index of a sequential test
    for the case that it is the exception, and the larger one is used. Finally an arm's own rewards
    set a floor and a ceiling for its index. Arms need no initial play. The parameter may lie
    outside of the domain: there curves continue on straight lines in log-odds. See
    docs/elastic.md for measurements.

    Value: exact for values that rise linearly with the mean. For others it is an approximation:
    the index is the largest worth of a mean within bounds on both sides of the posterior mean, or
    that of a test for errors in both directions. On six
    problems with a target, regret was below that of policies on a grid of the parameter
    (docs/measured/policies-compared.md).

    Args:
        horizon: the number of rounds, if it is known. Exploration then ends in time. Games
            below 10**4 rounds explore less: the shortest use half the bonus and hardly test
            single arms. None if the end is open.
        exception: the prior probability, in [0, 1), that some arm's curve is badly wrong, shared
            by all arms. None for .12, or .12 * horizon / 10**4 for a horizon below 10**4, which
            leaves less time to gain from finding the exception.
        caution: the prior probability, shared by all arms and at least 0, that a curve is slightly
            wrong. It sets the floor. With several unknown numbers a second floor has a quarter of
            it, for errors of one size for all means. With larger values fewer runs stay with a
            wrong arm. If the curves are right, a factor e more costs about 9 rewards (12 prices,
            10**4 rounds); no policy can avoid this cost. Use 0 if you trust your curves. None for
            .36, or .36 * horizon / 10**4 for a horizon below 10**4.
        prior: nine weights of the errors' sizes 0, .0025, .005, .01, ..., .32, for example from
            history. A size is the standard deviation on the unit reward scale of an arm with mean
            1/2; four times as much in log-odds; ``4 m (1 - m)`` times as much for an arm whose
            curve has the mean m. None puts four fifths of the weight on 0, and in short games
            little on large sizes.
        theta_prior: weights of up to 20 equal parts of the parameter's domain, from left to
            right, such as the number of earlier cases in each. The prior is linear between the
            middles of the parts. None for equal weights.
        arm_errors: the expected size of each arm's error in log-odds relative to the common size,
            at least 0. Do not include ``m (1 - m)``: the policy multiplies by it. None for 1.
        proved: from round 10**4 on, add a floor and a ceiling that are valid for any rewards in
            [0, 1], from an arm's own rewards alone, and play every arm once. Regret is then
            sub-linear for all means; docs/elastic.md has the proof and the cost.
        drift: whether the parameter may move. Two more posteriors forget, after about 1,000 and
            200 rounds. The one of the three that predicted recent rewards best decides. This costs
            almost no regret for a constant parameter, but a decision takes several times as long.

    >>> Elastic().label, Elastic(horizon=1000).label
    ('Elastic', 'Elastic(horizon=1000)')
    """

    horizon: int | None = None
    exception: float | None = None
    caution: float | None = None
    prior: tuple[float, ...] | None = None
    theta_prior: tuple[float, ...] | None = None
    arm_errors: tuple[float, ...] | None = None
    proved: bool = False
    drift: bool = False

    curve_errors = 0.05

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules. With a drift the order of rewards matters, so a learner cannot forget."""
        return _DRIFTING_RULES if self.drift else _STATIONARY_RULES

    def __post_init__(self) -> None:
        """Check every parameter."""
        checked: dict[str, Any] = {}
        if self.exception is not None:
            exception = as_float("exception", self.exception, PolicyError)
            rule = "lie in [0, 1)"
            require(0.0 <= exception < 1.0, "exception", rule, self.exception, PolicyError)
            checked["exception"] = exception
        if self.caution is not None:
            caution = as_float("caution", self.caution, PolicyError)
            require(caution >= 0.0, "caution", "be at least 0", self.caution, PolicyError)
            checked["caution"] = caution
        for name in ("proved", "drift"):
            flag = getattr(self, name)
            require(isinstance(flag, bool), name, "be True or False", flag, PolicyError)
        rule = "be False with a drift, for which nothing is proved"
        require(not (self.proved and self.drift), "proved", rule, self.proved, PolicyError)
        if self.horizon is not None:
            checked["horizon"] = as_integer("horizon", self.horizon, 1, PolicyError)
        if self.prior is not None:
            checked["prior"] = as_weights("prior", self.prior, N_SCALES, N_SCALES)
        if self.theta_prior is not None:
            checked["theta_prior"] = as_weights("theta_prior", self.theta_prior, 1, MAX_PRIOR_PARTS)
        if self.arm_errors is not None:
            errors = as_numbers("arm_errors", self.arm_errors, "one number per arm")
            valid = min(errors, default=0.0) >= 0.0
            require(valid, "arm_errors", "be at least 0", self.arm_errors, PolicyError)
            checked["arm_errors"] = errors
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def rules_of(self, setup: Any) -> Rules:
        """The rules for one unknown number, or for several."""
        several = isinstance(setup, several_rules.Setup)
        return several_rules.RULES if several else self.rules

    def setup(self, model: "AnyModel") -> Any:
        """Return the model on a grid, and the constants."""
        valid = self.arm_errors is None or len(self.arm_errors) == model.n_arms
        rule = f"have one entry for each of the {model.n_arms} arms"
        require(valid, "arm_errors", rule, self.arm_errors, PolicyError)
        share = min(1.0, (self.horizon or LONG_HORIZON) / LONG_HORIZON)
        weights = self.prior or default_weights(share)
        prior: Any
        if isinstance(model, VectorModel):
            require_few_numbers(model, "Elastic")
            rule = "be False for a model with several unknown numbers"
            require(not self.drift, "drift", rule, self.drift, PolicyError)
            rule = "be None for a model with several unknown numbers"
            none = self.theta_prior is None
            require(none, "theta_prior", rule, self.theta_prior, PolicyError)
            prior = build_several_prior(model, weights, self.arm_errors)
        else:
            prior = build_prior(model, weights, self.theta_prior or (1.0,), self.arm_errors)
        exception = (
            DEFAULT_EXCEPTION_PROBABILITY * share if self.exception is None else self.exception
        )
        caution = DEFAULT_CAUTION * share if self.caution is None else self.caution
        several = isinstance(model, VectorModel)
        kind: Any = several_rules.Setup if several else Setup
        return kind(
            tables=model.tables,
            prior=prior,
            pooling=DIFFERENT_ARMS,
            exception=exception / model.n_arms,
            caution=caution / model.n_arms,
            flat_share=FLAT_SHARE_OF_SEVERAL if several else 0.0,
            horizon=float(self.horizon or 0),
            eagerness=SHORTEST_GAME_BONUS + (1.0 - SHORTEST_GAME_BONUS) * share,
            proved=self.proved,
            open=no_open_outcomes(model.n_arms),
        )

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the index and the expected size of the curves' errors."""
        shown = self._deciding(state)
        # A size is the standard deviation at mean 1/2, where one unit is four units of log-odds.
        scale = 4.0 * float(shown.fit.scale_weights @ setup.prior.scales)
        return (
            f"largest index: {float(np.max(shown.indices)):.6g} on {unit_scale(setup.tables)}, "
            f"the curves being off by {scale:.2g} in log-odds (posterior mean of the size)"
        )

    def details(self, setup: Any, stats: Statistics, state: Any) -> dict[str, Any]:
        """Return posterior weights of the errors' sizes, and every arm's mean and index."""
        shown = self._deciding(state)
        window = {"window": drift_rules.WINDOW_ROUNDS[int(state.deciding[0])]} if self.drift else {}
        return window | {
            "scale_weights": dict(
                zip(setup.prior.scales.tolist(), shown.fit.scale_weights.tolist(), strict=True)
            ),
            "means": shown.means.tolist(),
            "indices": [x if math.isfinite(x) else None for x in shown.indices.tolist()],
        }

    def _deciding(self, state: Any) -> Posterior:
        """Return the posterior that decides: one of three if the parameter may move."""
        return drift_rules.deciding(state) if self.drift else state
