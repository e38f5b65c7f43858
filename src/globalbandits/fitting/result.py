"""The result of a fit: model, policy, verdict, and what they rest on."""

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.bootstrap import Errors
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.given import tabulate_given
from globalbandits.fitting.groups import arm_means, find_misfits, posterior_weights
from globalbandits.fitting.homogeneity import Homogeneity
from globalbandits.fitting.knowing import ArmFacts, Knowing
from globalbandits.fitting.modelling import build_model, error_scale
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.posterior import LEVEL, GroupPosterior, group_panel, read_posterior
from globalbandits.fitting.scoring import Difference, Scores, difference
from globalbandits.fitting.theta import CurveTable, ThetaScale, tabulate
from globalbandits.fitting.verdict import Verdict
from globalbandits.fitting.words import describe
from globalbandits.fitting.worth import Worth

if TYPE_CHECKING:
    import pandas as pd

    from globalbandits.model import RewardModel
    from globalbandits.policies import Policy


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """What history says; `print` it for the verdict in words.

    Attributes:
        panel: Counts, sums and squares per group and offered arm.
        fitted: The population: curves, weights, noise and bias of the offered arms.
        chosen: "shared", or "given" where the user's own curves were kept.
        share: How much of the difference between groups one number explains; nan if groups do
            not differ.
        homogeneity: Whether groups differ at all.
        held_out: Scores of groups that a fit had not seen.
        later: Scores of the last third of the time, or None.
        knowing: Worth of knowing the group, per round.
        facts: Information per reward and probability of being best, per arm.
        errors: Standard errors over groups, or None where they were not asked for.
        verdict: What to deploy.
        notes: What else a user should know.
        seconds: How long it took.
    """

    panel: Panel
    fitted: Fitted
    chosen: str
    worth: Worth
    theta_scale: ThetaScale
    share: float
    homogeneity: Homogeneity
    held_out: Scores
    later: Scores | None
    knowing: Knowing
    facts: ArmFacts
    errors: Errors | None
    verdict: Verdict
    notes: tuple[str, ...]
    seconds: float
    columns: tuple[str, str | None]  # names of the columns of arms and rewards
    given_model: "RewardModel | None" = None

    @property
    def offered(self) -> tuple[Any, ...]:
        """The model's arms."""
        return self.panel.arms

    @property
    def bias_scale(self) -> float:
        """Rms size of the groups' own errors around the curves, as a share of the range."""
        return self.fitted.bias_scale

    @property
    def bias(self) -> FloatArray:
        """Size of the groups' own errors around each arm's curve, in the rewards' units."""
        return np.asarray(self._width * self.fitted.bias)

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of one reward per arm, in the rewards' units."""
        return np.asarray(self._width * self.fitted.noise)

    @property
    def _width(self) -> float:
        low, high = self.panel.reward_range
        return high - low

    @cached_property
    def curves(self) -> CurveTable:
        """The curves at knots of theta, on the unit scale."""
        if self.given_model is not None:
            return tabulate_given(self.given_model, self.panel)
        return tabulate(self.fitted)

    @cached_property
    def model(self) -> "RewardModel":
        """The model for a new group; theta in [0, 1] is the share of groups below it."""
        if self.given_model is not None:
            return self.given_model
        return build_model(self.curves, self.offered, self.worth)

    @cached_property
    def policy(self) -> "Policy":
        """What to deploy."""
        from globalbandits.fitting.prior import error_prior
        from globalbandits.policies import Elastic, IndependentGittins

        if self.verdict.action == "independent":
            return IndependentGittins()
        size = error_scale(self.fitted)
        return Elastic(prior=error_prior(size))

    @cached_property
    def _posteriors(self) -> FloatArray:
        return posterior_weights(self.panel, self.fitted)

    @cached_property
    def groups(self) -> "pd.DataFrame":
        """One row per group: theta with its interval, the best arm, and how well it fits.

        ``misfit_p`` is small where a group does not lie on the curves; ``misfit`` says whether
        that is beyond chance given the number of groups; ``arms_off`` counts its single arms.
        """
        import pandas as pd

        levels = np.array([0.5 - LEVEL / 2, 0.5, 0.5 + LEVEL / 2])
        low, middle, high = self.theta_scale.quantiles(self._posteriors, levels).T
        misfit = find_misfits(self.panel, self.fitted, self._posteriors)
        expected = arm_means(self.panel, self.fitted, self._posteriors)
        best = self.worth(expected).argmax(axis=1)
        return pd.DataFrame(
            {
                "rewards": self.panel.counts.sum(axis=1).astype(np.int64),
                "arms": self.panel.tried.sum(axis=1),
                "theta": middle,
                "low": low,
                "high": high,
                "best": [self.offered[arm] for arm in best],
                "misfit_p": misfit.p_values,
                "arms_off": misfit.arms_off,
                "misfit": misfit.groups,
            },
            index=pd.Index(self.panel.groups, name="group", tupleize_cols=False),
        )

    @cached_property
    def arms(self) -> "pd.DataFrame":
        """One row per arm: rewards, mean, information, probability of being best, bias, noise."""
        import pandas as pd

        low, _ = self.panel.reward_range
        return pd.DataFrame(
            {
                "rewards": self.panel.counts.sum(axis=0).astype(np.int64),
                "groups": self.panel.tried.sum(axis=0),
                "mean": low + self._width * self.fitted.means,
                "informativeness": self.facts.information,
                "best": self.facts.best,
                "bias": self.bias,
                "noise": self.noise,
                "uninformative": self.curves.flat,
                "stalls": self.facts.stalls,
            },
            index=pd.Index(self.offered, name="arm", tupleize_cols=False),
        )

    @cached_property
    def scores(self) -> "pd.DataFrame":
        """Comparisons on data that the fits had not seen: mean per group, and standard error."""
        import pandas as pd

        rows: dict[tuple[str, str], Difference] = {}
        for label, found in (("held-out groups", self.held_out), ("last third", self.later)):
            if found is None:
                continue
            for name in found.log_scores:
                if name != "independent":
                    rows[label, f"{name} - independent"] = found.over_independent(name)
        values = self.held_out.values
        for name in ("shared", "raw", "pooled"):
            rows["value in the other half", f"{name} - independent"] = difference(
                values[name], values["independent"]
            )
        return pd.DataFrame(
            [tuple(row) for row in rows.values()],
            index=pd.MultiIndex.from_tuples(rows, names=["score", "comparison"]),
            columns=["difference", "se", "groups"],
        )

    def posterior(self, rows: Any) -> GroupPosterior:
        """What is known about a group with these rewards.

        Args:
            rows: Rows of one group, with the columns of arms and rewards that the history had,
                or a table of it with the columns n, mean and variance.
        """
        panel = group_panel(rows, self.panel, *self.columns)
        return read_posterior(panel, self.fitted, self.theta_scale, self.worth)

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        return (
            f"Fit({self.panel.n_groups} groups, {self.panel.n_arms} arms, share {self.share:.2f}, "
            f"bias {self.bias_scale:.3f}, {self.verdict.action!r})"
        )
