"""Elastic: the model's curves are believed as far as the rewards agree with them."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts import moving
from globalbandits.policies.parts.curve_grid import (
    MOST_PARTS,
    N_SCALES,
    as_numbers,
    as_weights,
    build_prior,
    usual_weights,
)
from globalbandits.policies.parts.elasticity import (
    Posterior,
    Setup,
    estimate,
    init,
    rebuild,
    resume,
    select,
    update,
)
from globalbandits.policies.parts.learned_noise import APART
from globalbandits.policies.parts.valuing import unit_scale
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

# How likely a curve is badly wrong, as far as anybody says; in games of at least so many rounds.
_USUAL, _LONG = 0.12, 1e4
_LEAST_EAGER = 0.5  # share of the index's bonus in the shortest games

_STILL = Rules(init, select, update, estimate, rebuild, ("fitted", "renewed"), resume)
_MOVING = Rules(moving.init, moving.select, moving.update, moving.estimate, resume=moving.resume)


@register("elastic")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Elastic(Policy):
    """Believe the curves as far as the rewards agree with them, and explore for what is left.

    The mean of arm k is ``mu_k(theta) + b_k`` with errors ``b_k`` of an unknown common size;
    at most one arm is an exception, whose curve is badly wrong or says nothing at all. The
    posterior of parameter and size gives every arm a mean m and a variance c, and the largest
    Gittins index ``m + sqrt(c) * psi(h * c / v)`` is played, h being the number of rounds so
    far. Beside it every arm has the index it would deserve as an exception; the larger of the
    two counts. Last, an arm's own rewards set a floor and a ceiling to its index. No arm needs a
    first pull. See docs/elastic.md for what was measured.

    Value: exact for rising lines. For any other one an approximation: the index is the most that
    a mean no farther from the posterior's than the bonus can be worth. On six problems with a
    target, regret was that of policies on a grid of the parameter (docs/policies.md).

    Args:
        horizon: the number of rounds there will be, if that is known. Exploring then ends in
            time, and there is less of it in games below 10**4 rounds: the shortest have half
            the bonus, and hardly test single arms. None for an open end.
        exception: the prior probability that some arm's curve is badly wrong, in [0, 1),
            shared by all arms; 0 for never. None for .12, and less where a horizon below 10**4
            leaves little time to gain from it: .12 * horizon / 10**4.
        caution: how much is paid so that a good arm is not given up, at least 0: the chance,
            shared by all arms, that a curve is a little off, which sets the floor. Larger
            values mean fewer runs that stay with the wrong arm. That has a price which no
            policy can avoid: where the curves are right, a factor e more costs about 9
            rewards (12 prices, 10**4 rounds). 0 for users who trust their curves. None for
            three times the default of `exception`.
        prior: nine weights of the errors' sizes 0, .0025, .005, .01, ..., .32 (standard
            deviations on the unit reward scale), such as history suggests; None puts four
            fifths of the weight on 0, and in short games little on large ones.
        theta_prior: weights of up to 20 equal parts of the parameter's domain, from left to
            right, such as the number of earlier cases in each; straight lines lead from
            one part's middle to the next. None for equal ones.
        arm_errors: how large each arm's error is expected to be beside the others', at least
            0; an error's standard deviation is that many times the common size. None for 1.
        proved: from round 10**4 on, add a floor and a ceiling that hold for any rewards in
            [0, 1], from an arm's own rewards alone, and play every arm once. Then regret is
            sub-linear whatever the means are; docs/elastic.md has the proof and what it costs.
        drift: the parameter may move. Two more posteriors forget, after about 1,000 and 200
            rounds, and whichever of the three has lately predicted rewards best decides. Costs
            next to nothing where nothing moves, but a decision takes several times as long.

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

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """With a drift the order of rewards matters: there is no forgetting and no merging."""
        return _MOVING if self.drift else _STILL

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
            checked["theta_prior"] = as_weights("theta_prior", self.theta_prior, 1, MOST_PARTS)
        if self.arm_errors is not None:
            errors = as_numbers("arm_errors", self.arm_errors, "one number per arm")
            right = min(errors, default=0.0) >= 0.0
            require(right, "arm_errors", "be at least 0", self.arm_errors, PolicyError)
            checked["arm_errors"] = errors
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def setup(self, model: "RewardModel") -> Setup:
        """The model on a grid, and the constants."""
        right = self.arm_errors is None or len(self.arm_errors) == model.n_arms
        rule = f"have one entry for each of the {model.n_arms} arms"
        require(right, "arm_errors", rule, self.arm_errors, PolicyError)
        share = min(1.0, (self.horizon or _LONG) / _LONG)  # of a long game
        weights = self.prior or usual_weights(share)
        prior = build_prior(model, weights, self.theta_prior or (1.0,), self.arm_errors)
        exception = _USUAL * share if self.exception is None else self.exception
        caution = 3.0 * _USUAL * share if self.caution is None else self.caution
        return Setup(
            tables=model.tables,
            prior=prior,
            pooling=APART,
            exception=exception / model.n_arms,
            caution=caution / model.n_arms,
            horizon=float(self.horizon or 0),
            eagerness=_LEAST_EAGER + (1.0 - _LEAST_EAGER) * share,
            proved=self.proved,
        )

    def reason(self, setup: Setup, stats: Statistics, state: Any) -> str:
        """The index and how far the curves are believed."""
        shown = self._deciding(state)
        scale = float(shown.fit.scale_weights @ setup.prior.scales)
        return (
            f"largest index: {float(np.max(shown.indices)):.6g} on {unit_scale(setup.tables)}, "
            f"the curves being off by {scale:.2g} (posterior mean of the standard deviation)"
        )

    def details(self, setup: Setup, stats: Statistics, state: Any) -> dict[str, Any]:
        """Posterior weights of the errors' sizes, and every arm's posterior mean and index."""
        shown = self._deciding(state)
        window = {"window": moving.WINDOWS[int(state.deciding[0])]} if self.drift else {}
        return window | {
            "scale_weights": dict(
                zip(setup.prior.scales.tolist(), shown.fit.scale_weights.tolist(), strict=True)
            ),
            "means": shown.means.tolist(),
            "indices": [x if math.isfinite(x) else None for x in shown.indices.tolist()],
        }

    def _deciding(self, state: Any) -> Posterior:
        """The posterior that decides: of three where the parameter may move."""
        return moving.deciding(state) if self.drift else state
