"""`VectorFit`: how two unknown numbers differ between groups, and whether one is enough."""

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits.errors import FitError
from globalbandits.fitting.assessment.forecast import error_sizes, history_policy
from globalbandits.fitting.assessment.held_out_scores import (
    Difference,
    Scores,
    difference,
    random_folds,
)
from globalbandits.fitting.assessment.verdict import Verdict
from globalbandits.fitting.estimation.factor_model import (
    MAX_GROUPS_IN_FULL,
    fit_independent,
    sample_groups,
)
from globalbandits.fitting.estimation.group_posterior import log_scores, posterior_weights
from globalbandits.fitting.estimation.normal_population import (
    Line,
    NormalPopulation,
    fit_box,
    fit_line,
    main_axis,
    without_excess,
)
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel
from globalbandits.model import AnyModel, NormalPrior, VectorModel
from globalbandits.policies import IndependentGittins, Policy

if TYPE_CHECKING:
    import pandas as pd


# Horizon in rounds below which one number is enough unless two are clearly better: docs/several.md.
SHORT_HORIZON = 1_000
# Parts of the line for which Elastic gets a prior weight.
N_PRIOR_PARTS = 20
MAX_CORRELATION = 0.99


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class VectorFit:
    """What the history says about two unknown numbers; `print` it for the verdict in words.

    Attributes:
        panel: Counts, sums and squares per group and arm.
        curves: The given model.
        box: The normal population of both numbers.
        axis: The line of the box along which groups differ most.
        along: The normal population of one number on this line.
        held_out: Log scores of groups that a fit had not seen, of "two" numbers, "one" number and
            "independent" arms.
        numbers: How many numbers to deploy: 1 or 2, or 0 if the curves do not fit.
        verdict: What to deploy, and why.
        horizon: Rounds of a new group, if a horizon was given.
    """

    panel: Panel
    curves: VectorModel
    box: NormalPopulation
    axis: Line
    along: NormalPopulation
    held_out: Scores
    numbers: int
    verdict: Verdict
    horizon: int | None = None

    @cached_property
    def prior(self) -> NormalPrior:
        """The prior of both numbers in a new group, in the model's units."""
        names = self.curves.parameters
        ends = np.array([self.curves.domain[name] for name in names])
        length = ends[:, 1] - ends[:, 0]
        sd = np.sqrt(np.diag(self.box.covariance))
        correlation = float(self.box.covariance[0, 1] / (sd[0] * sd[1]))
        return NormalPrior(
            mean=dict(zip(names, (ends[:, 0] + length * self.box.mean).tolist(), strict=True)),
            sd=dict(zip(names, (length * sd).tolist(), strict=True)),
            correlation=min(max(correlation, -MAX_CORRELATION), MAX_CORRELATION),
        )

    @cached_property
    def model(self) -> AnyModel:
        """The model for a new group: of two numbers with the prior, or of one on the main axis."""
        if self.numbers != 1:
            return self.curves.with_prior(self.prior)
        center = self.curves.from_unit(self.axis.center)
        length = self.curves.tables.high - self.curves.tables.low
        return self.curves.along(center, length * self.axis.direction)

    @cached_property
    def policy(self) -> Policy:
        """The policy that the verdict recommends."""
        if self.numbers == 0:
            return IndependentGittins()
        fitted = (self.box if self.numbers == 2 else self.along).fitted
        sizes = error_sizes(fitted, fitted.bias_scale, self.panel.arms, self.model)
        policy = history_policy(sizes, self.horizon)
        if self.numbers == 2:
            return policy
        return dataclasses.replace(policy, theta_prior=self._line_weights())

    def _line_weights(self) -> tuple[float, ...]:
        """Return the prior weights of equal parts of the line."""
        edges = np.linspace(self.axis.low, self.axis.high, N_PRIOR_PARTS + 1)
        found, _ = np.histogram(self.along.points[:, 0], edges, weights=self.along.fitted.weights)
        return tuple((found + 1e-4).round(6).tolist())

    @cached_property
    def groups(self) -> "pd.DataFrame":
        """One row per group: posterior mean and standard deviation of each number."""
        import pandas as pd

        panel = without_excess(self.panel, self.box.fitted.curves)
        weights = posterior_weights(panel, self.box.fitted)
        mean = weights @ self.box.points
        sd = np.sqrt(np.maximum(weights @ self.box.points**2 - mean**2, 0.0))
        columns: dict[str, Any] = {"rewards": self.panel.counts.sum(axis=1).round().astype(int)}
        for axis, name in enumerate(self.curves.parameters):
            low, high = self.curves.domain[name]
            columns[name] = low + (high - low) * mean[:, axis]
            columns[f"{name}_sd"] = (high - low) * sd[:, axis]
        return pd.DataFrame(
            columns, index=pd.Index(self.panel.groups, name="group", tupleize_cols=False)
        )

    @cached_property
    def scores(self) -> "pd.DataFrame":
        """Differences of log scores on groups that the fits had not seen, per group."""
        import pandas as pd

        logs = self.held_out.log_scores
        pairs = [("two", "one"), ("two", "independent"), ("one", "independent")]
        rows = [tuple(difference(logs[first], logs[second])) for first, second in pairs]
        index = pd.Index([f"{first} - {second}" for first, second in pairs], name="comparison")
        return pd.DataFrame(rows, index=index, columns=["difference", "se", "groups"])

    def __str__(self) -> str:
        prior = self.prior
        lines = [*self.verdict.sentences, ""]
        for name in self.curves.parameters:
            lines.append(
                f"{name}: mean {prior.mean[name]:.4g}, standard deviation {prior.sd[name]:.4g} "
                "between groups"
            )
        lines.append(f"correlation: {prior.correlation:.2f}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"VectorFit({self.panel.n_groups} groups, {self.numbers} numbers)"


def fit_vector(
    panel: Panel, scale: ArmScale, curves: VectorModel, horizon: int | None, seed: int
) -> VectorFit:
    """Fit the numbers of groups, and find out on held-out groups how many are needed."""
    if curves.n_parameters != 2:
        raise FitError(
            f"curves must have two unknown numbers, got {curves.n_parameters} "
            f"({', '.join(curves.parameters)}): fix the others with model.fixed(...)"
        )
    held_out = _score_groups(panel, scale, curves, seed)
    box = fit_box(panel, curves)
    axis = main_axis(box)
    numbers, verdict = _decide(held_out, horizon)
    return VectorFit(
        panel=panel,
        curves=curves,
        box=box,
        axis=axis,
        along=fit_line(panel, curves, axis),
        held_out=held_out,
        numbers=numbers,
        verdict=verdict,
        horizon=horizon,
    )


def _score_groups(panel: Panel, scale: ArmScale, curves: VectorModel, seed: int) -> Scores:
    """Cross-validate two numbers, one on the main axis, and independent arms over groups."""
    if panel.n_groups > MAX_GROUPS_IN_FULL:
        panel = sample_groups(panel, seed)
    logs = {name: np.empty(panel.n_groups) for name in ("two", "one", "independent")}
    every = np.arange(panel.n_groups)
    for fold in random_folds(panel.n_groups, np.random.default_rng(seed)):
        seen, unseen = panel.take(np.setdiff1d(every, fold)), panel.take(fold)
        box = fit_box(seen, curves)
        line = fit_line(seen, curves, main_axis(box))
        # Scores compare fits of the same cells.
        unseen = without_excess(unseen, box.fitted.curves)
        for name, fitted in (
            ("two", box.fitted),
            ("one", line.fitted),
            ("independent", fit_independent(seen, scale)),
        ):
            logs[name][fold] = log_scores(unseen, fitted)
    return Scores(logs, {})


def _decide(held_out: Scores, horizon: int | None) -> tuple[int, Verdict]:
    """Return the number of numbers to deploy, and the verdict."""
    logs = held_out.log_scores
    second = difference(logs["two"], logs["one"])
    short = horizon is not None and horizon < SHORT_HORIZON
    enough = second.mean < -second.se or (short and not second.clear)
    name = "one" if enough else "two"
    fits = difference(logs["independent"], logs[name])
    gain = f"{_signed(second)} in held-out log score per group"
    if fits.clear:
        return 0, Verdict(
            "independent",
            "IndependentGittins",
            "",
            (
                "Your curves do not fit groups that the fit has not seen: deploy "
                "IndependentGittins, which learns every arm for itself.",
                f"Independent arms are better by {_signed(fits)} in held-out log score per group.",
            ),
        )
    if second.clear:
        reason = f"The second number is needed: {gain}."
    elif second.mean < -second.se:
        reason = f"The second number only adds noise: {gain}."
    else:
        reason = f"History does not say whether the second number is needed: {gain}."
        if short:
            reason += f" Below {SHORT_HORIZON:,} rounds one number is enough."
        else:
            reason += f" From {SHORT_HORIZON:,} rounds on the second number costs little."
    first = (
        "Deploy Elastic with both numbers and the prior that groups show."
        if name == "two"
        else "Deploy Elastic with one number, along the main axis of the groups."
    )
    return (1 if enough else 2), Verdict("elastic", "Elastic", "", (first, reason))


def _signed(found: Difference) -> str:
    return f"{found.mean:+.2f} ± {found.se:.2f}"
