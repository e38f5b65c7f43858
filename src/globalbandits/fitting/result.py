"""The result of a fit: model, policy, verdict, and what they rest on."""

import dataclasses
import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.bootstrap import Errors, error_size
from globalbandits.fitting.candidates import history_policy
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.forecast import Forecast, as_playing
from globalbandits.fitting.given import tabulate_given
from globalbandits.fitting.groups import posterior_weights
from globalbandits.fitting.homogeneity import Homogeneity
from globalbandits.fitting.knowing import ArmFacts, Knowing
from globalbandits.fitting.modelling import build_model, save_model, value_given
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.posterior import GroupPosterior, group_panel, read_posterior
from globalbandits.fitting.prospects import Prospects
from globalbandits.fitting.scoring import Scores
from globalbandits.fitting.summary import summarize
from globalbandits.fitting.tables import arms_table, groups_table, scores_table
from globalbandits.fitting.theta import CurveTable, ThetaScale, tabulate
from globalbandits.fitting.verdict import Verdict
from globalbandits.fitting.words import describe
from globalbandits.fitting.worth import Worth

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        prospects: What policies lose in new groups, or None where it was not asked for.
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
    ordered: bool = True  # whether the arms' numbers mean something
    own_value: bool = False  # whether worth is that of the given model
    ready_model: "RewardModel | None" = None
    prospects: Prospects | None = None

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
        if self.ready_model is not None:
            return self.ready_model
        if self.given_model is not None:
            return value_given(self.given_model, self.offered, self.worth, self.own_value)
        return build_model(self.curves, self.offered, self.worth)

    @cached_property
    def policy(self) -> "Policy":
        """What to deploy."""
        from globalbandits.policies import WAGP, FixedArm, IndependentGittins

        if self.verdict.action == "independent":
            return IndependentGittins()
        if self.verdict.action == "wagp":
            return WAGP()
        if self.verdict.action == "fixed":
            return FixedArm(self.model.arms.index(self.offered[self.knowing.fixed]))
        return history_policy(error_size(self.fitted, self.errors))

    @cached_property
    def regret(self) -> "pd.DataFrame":
        """What policies lose in a new group: one row per policy and number of rounds.

        Simulated in groups drawn from the fitted population, their own errors included; the
        policy that loses least comes first. Columns are the mean regret and its standard error.
        """
        return self.forecast.frame

    @property
    def forecast(self) -> Forecast:
        """What `regret` is made of: runs, break-even horizons."""
        if self.prospects is None:
            raise FitError("regret must be simulated first: fit with verdict=True")
        return self.prospects.forecast

    @cached_property
    def posteriors(self) -> FloatArray:
        """Posterior of every group over the population's points."""
        return posterior_weights(self.panel, self.fitted)

    @cached_property
    def groups(self) -> "pd.DataFrame":
        """One row per group: theta with its interval, the best arm, and how well it fits.

        ``misfit_p`` is small where a group does not lie on the curves; ``misfit`` says whether
        that is beyond chance given the number of groups; ``arms_off`` counts its single arms.
        """
        return groups_table(self)

    @cached_property
    def arms(self) -> "pd.DataFrame":
        """One row per arm: rewards, mean, information, probability of being best, bias, noise."""
        return arms_table(self)

    @cached_property
    def scores(self) -> "pd.DataFrame":
        """Comparisons on data that the fits had not seen: mean per group, and standard error."""
        return scores_table(self)

    def posterior(self, rows: Any) -> GroupPosterior:
        """What is known about a group with these rewards.

        Args:
            rows: Rows of one group, with the columns of arms and rewards that the history had,
                or a table of it with the columns n, mean and variance.
        """
        panel = group_panel(rows, self.panel, *self.columns)
        return read_posterior(panel, self.fitted, self.theta_scale, self.worth)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a file that `globalbandits.load_model` and the command line read.

        A value that is a Python function must be a straight line in the mean: the file holds
        data, no code. Anything else can be a formula, a text.
        """
        save_model(self.model, self.curves.theta, path)

    def to_dict(self) -> dict[str, Any]:
        """What was found as plain data, the policy's spec included; the model is for `save`."""
        return summarize(self)

    def replay(
        self, horizon: int = 1_000, *, runs: int = 200, seed: int = 0, progress: bool = False
    ) -> "pd.DataFrame":
        """What policies would have lost in the history's own groups: a frame like `regret`.

        The groups are split into halves at random. Policies play the groups of one half with
        curves and bias from the other half, and the other way round. What a group's arms really
        earn is drawn from what its rewards leave open.

        Args:
            horizon: Rounds of a run.
            runs: How many runs, half of them in either half.
            seed: Of split, draws and runs.
            progress: Whether to show a bar.
        """
        from globalbandits.fitting.replay import replay

        return replay(self, as_playing(horizon, runs, seed, progress)).frame

    def plot_curves(self, ax: "Axes | None" = None) -> "Figure":
        """Curves with bands of the bias, and the groups as dots."""
        from globalbandits.fitting.pictures import draw_curves

        return draw_curves(self, ax)

    def plot_groups(self, ax: "Axes | None" = None) -> "Figure":
        """Theta of the groups with 90 % intervals, coloured by the best arm."""
        from globalbandits.fitting.pictures import draw_groups

        return draw_groups(self, ax)

    def plot_regret(self, ax: "Axes | None" = None) -> "Figure":
        """Regret of policies in a new group over rounds, with break-even marks."""
        from globalbandits.fitting.pictures import draw_regret

        return draw_regret(self, ax)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write all of it as one HTML page, the verdict in words first; returns the path."""
        from globalbandits.fitting.page import write_page

        return write_page(self, path)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """In a notebook the printout, as it is."""
        return f"<pre>{escape(describe(self))}</pre>"

    def __repr__(self) -> str:
        return (
            f"Fit({self.panel.n_groups} groups, {self.panel.n_arms} arms, share {self.share:.2f}, "
            f"bias {self.bias_scale:.3f}, {self.verdict.action!r})"
        )
