"""`Fit`: what `fit` returns. It has the model, the policy, the verdict and their reasons."""

import dataclasses
import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.assessment.endogeneity import Endogeneity
from globalbandits.fitting.assessment.forecast import (
    CURVE_TRUSTING,
    ELASTIC_HISTORY,
    INDEPENDENT,
    Forecast,
    ForecastSettings,
    Prospects,
    error_sizes,
    history_policy,
    replay_groups,
)
from globalbandits.fitting.assessment.held_out_scores import Difference, Scores, difference
from globalbandits.fitting.assessment.homogeneity import Homogeneity
from globalbandits.fitting.assessment.standard_errors import StandardErrors, expected_bias_scale
from globalbandits.fitting.assessment.strata import Strata
from globalbandits.fitting.assessment.time_change import TimeChange
from globalbandits.fitting.assessment.value_of_information import ArmFacts, ValueOfInformation
from globalbandits.fitting.assessment.verdict import Verdict
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.curve_model import (
    CurveTable,
    ThetaScale,
    build_model,
    quantile_scale,
    revalue_given,
    save_model,
    tabulate,
    tabulate_given,
)
from globalbandits.fitting.estimation.factor_model import fit_given, fit_shared, read_curves
from globalbandits.fitting.estimation.fitted_population import FittedPopulation, weighted_quantiles
from globalbandits.fitting.estimation.group_posterior import (
    INTERVAL_LEVELS,
    GroupPosterior,
    arm_means,
    find_misfits,
    group_panel,
    group_posterior,
    posterior_weights,
)
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.rows import HistoryColumns
from globalbandits.fitting.report import Report, check_page_path
from globalbandits.model import RewardModel
from globalbandits.plots import (
    Cells,
    Line,
    WorthCells,
    group_curves_figure,
    group_intervals_figure,
    group_regret_figure,
    group_worth_figure,
)
from globalbandits.plots.labels import short_label
from globalbandits.plots.style import new_row, styled
from globalbandits.policies import WAGP, IndependentGittins, Policy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PRINT_WIDTH = 110  # characters
MAX_POLICY_LABEL = 32  # characters in a figure


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """What the history says; `print` it for the verdict in words.

    Attributes:
        panel: Counts, sums and squares per group and offered arm.
        fitted: The population: curves, weights, noise and bias of the offered arms.
        chosen: "shared", or "given" if the user's own curves were kept.
        share: Share of the difference between groups that one number explains; nan if groups
            do not differ.
        homogeneity: The test whether groups differ at all.
        held_out: Scores of groups that a fit had not seen.
        later: Scores of the last third of the time, or None.
        value_of_information: Worth per round of knowing the group, beyond the best fixed arm.
        facts: Information per reward and probability of being best, per arm.
        errors: Standard errors over groups, or None with ``verdict=False``.
        verdict: What to deploy.
        notes: Further facts, one line each.
        seconds: Duration of the fit.
        endogeneity: Slopes inside groups and between groups, and the test whether arms were chosen
            by what was expected of them.
        change: The change of rewards over time, or None.
        strata: The best arm in each stratum, or None without ``by``.
        prospects: What policies lose in new groups, or None with ``verdict=False``.
    """

    panel: Panel
    fitted: FittedPopulation
    chosen: str
    worth: Worth
    theta_scale: ThetaScale
    share: float
    homogeneity: Homogeneity
    held_out: Scores
    later: Scores | None
    value_of_information: ValueOfInformation
    facts: ArmFacts
    errors: StandardErrors | None
    verdict: Verdict
    notes: tuple[str, ...]
    seconds: float
    endogeneity: Endogeneity
    change: TimeChange | None
    columns: HistoryColumns  # names of the columns of the history
    given_model: RewardModel | None = None
    ordered: bool = True  # whether the arms are numbers with an order
    own_value: bool = False  # whether worth is that of the given model
    ready_model: RewardModel | None = None
    prospects: Prospects | None = None
    strata: Strata | None = None
    horizon: int | None = None  # rounds of a new group, if a horizon was given

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
    def _numbers(self) -> FloatArray:
        """Number of rewards, or of trials, per group and arm."""
        return np.rint(self.panel.counts * self.panel.dispersion)

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
    def model(self) -> RewardModel:
        """The model for a new group; theta in [0, 1] is the share of groups below it."""
        if self.ready_model is not None:
            return self.ready_model
        if self.given_model is not None:
            return revalue_given(self.given_model, self.offered, self.worth, self.own_value)
        return build_model(self.curves, self.offered, self.worth)

    @cached_property
    def policy(self) -> Policy:
        """The policy that the verdict recommends; it always learns."""
        if self.verdict.action == "independent":
            return IndependentGittins()
        if self.verdict.action == "wagp":
            return WAGP()
        scale = expected_bias_scale(self.fitted, self.errors)
        sizes = error_sizes(self.fitted, scale, self.offered, self.model)
        return history_policy(sizes, self.horizon)

    @cached_property
    def regret(self) -> "pd.DataFrame":
        """What policies lose in a new group: one row per policy and number of rounds.

        It is simulated in groups drawn from the fitted population, with errors of their own. The
        policy that loses least comes first. Columns are the mean regret and its standard error.
        """
        return self.forecast.frame

    @property
    def forecast(self) -> Forecast:
        """The simulation behind `regret`, with its runs and break-even horizons."""
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

        ``misfit_p`` is small if a group does not lie on the curves; ``misfit`` says whether that
        is significant given the number of groups; ``arms_off`` counts its single arms.
        """
        import pandas as pd

        low, middle, high = self.theta_scale.quantiles(self.posteriors, INTERVAL_LEVELS).T
        misfit = find_misfits(self.panel, self.fitted, self.posteriors)
        best = self.worth(self._group_means).argmax(axis=1)
        return pd.DataFrame(
            {
                "rewards": self._numbers.sum(axis=1).astype(np.int64),
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
    def _group_means(self) -> FloatArray:
        """Expected mean of every arm in every group, on the unit scale."""
        return arm_means(self.panel, self.fitted, self.posteriors)

    @cached_property
    def arms(self) -> "pd.DataFrame":
        """One row per arm: rewards, mean, information, probability of being best, bias, noise."""
        import pandas as pd

        low, _ = self.panel.reward_range
        return pd.DataFrame(
            {
                "rewards": self._numbers.sum(axis=0).astype(np.int64),
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
        """Return what is known about a group with these rewards.

        Args:
            rows: Rows of one group, with the history's columns of arms and rewards, or a table
                with the columns n, mean and variance.
        """
        panel = group_panel(rows, self.panel, self.columns)
        return group_posterior(panel, self.fitted, self.theta_scale, self.worth)

    def replay(
        self,
        horizon: int | None = None,
        *,
        runs: int = 200,
        seed: int = 0,
        progress: bool = False,
    ) -> "pd.DataFrame":
        """Return what policies would have lost in the history's own groups, as in `regret`.

        The groups are split into random halves. Policies play the groups of each half with curves
        and bias from the other half. The true means of a group are drawn from their posterior,
        given its rewards.

        Args:
            horizon: Length of a run in rows of the history; by default as in `fit`.
            runs: Number of runs, half of them in either half.
            seed: The seed of split, draws and runs.
            progress: Whether to show a bar.
        """
        settings = ForecastSettings.checked(horizon, runs, seed, progress).in_rounds(self.panel)
        return self.replay_forecast(settings._replace(known_horizon=self.horizon)).frame

    def replay_forecast(self, settings: ForecastSettings) -> Forecast:
        """Return the simulation behind `replay`, with its runs."""
        return replay_groups(self.panel, self.fitted, self.worth, self._learn_from, settings)

    def _learn_from(self, panel: Panel) -> tuple[FittedPopulation, RewardModel, ThetaScale]:
        """Learn population, model and theta from a part of the groups."""
        scale = arm_scale(panel.arms, labels=not self.ordered)
        if self.given_model is not None:
            given = read_curves(self.given_model, self.panel)
            return fit_given(panel, scale, given), self.model, self.theta_scale
        learned = fit_shared(panel, scale, within=self.endogeneity.found)
        model = build_model(tabulate(learned), self.offered, self.worth)
        return learned, model, quantile_scale(learned)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a file for `globalbandits.load_model` and the command line.

        The file holds data and no code: a value that is a Python function must be linear in the
        mean. Write any other value as a formula.
        """
        save_model(self.model, self.curves.theta, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings and the policy's specification as plain data.

        The model is not included; `save` writes it.
        """
        found, errors = self.homogeneity, self.errors
        whole: dict[str, Any] = {
            "n_groups": self.panel.n_groups,
            "n_rewards": self.panel.n_rewards,
            "binary": self.panel.binary,
            "reward_range": list(self.panel.reward_range),
            "verdict": {
                "action": self.verdict.action,
                "policy": self.verdict.policy,
                "runner_up": self.verdict.runner_up,
                "sentences": list(self.verdict.sentences),
            },
            "policy": self.policy.to_dict(),
            "curves": self.chosen,
            "homogeneity": {
                "statistic": found.statistic,
                "freedom": found.freedom,
                "p_value": found.p_value,
            },
            "endogeneity": {
                "found": self.endogeneity.found,
                "p_value": self.endogeneity.p_value,
                "slope_inside_groups": self.endogeneity.within.value,
                "slope_of_choice": self.endogeneity.choice.value,
            },
            "share": self.share,
            "bias_scale": self.bias_scale,
            "held_out": _score_dict(self.held_out.over_independent(self.chosen)),
            "worth_of_knowing": {
                "fixed_arm": self.offered[self.value_of_information.fixed],
                "total": self.value_of_information.total,
                "through_one_number": self.value_of_information.through,
            },
            "arms": _row_dicts(self.arms, "arm"),
            "groups": _row_dicts(self.groups, "group"),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }
        if self.later is not None:
            assert self.change is not None
            whole["change_over_time"] = self.change._asdict()
            whole["last_third"] = _score_dict(self.later.over_independent(self.chosen))
        if errors is not None:
            whole["standard_errors"] = errors._asdict()
        if self.prospects is not None:
            forecast = self.forecast
            whole["new_group"] = {
                "rounds": forecast.times.tolist(),
                "runs": forecast.n_runs,
                "regret": {
                    name: {
                        "mean": means.tolist(),
                        "se": forecast.errors[name].tolist(),
                        "break_even": forecast.break_even(name),
                    }
                    for name, means in forecast.means.items()
                },
            }
        return whole

    def plot_curves(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the curves with bands of the bias, and the groups as dots.

        The groups' means are shrunk to the curves where rewards are few.
        """
        low, _ = self.panel.reward_range
        cells = Cells(
            self.groups["theta"].to_numpy(),
            low + self._width * self._group_means,
            self.panel.counts,
        )
        return group_curves_figure(
            self.curves.theta,
            low + self._width * self.curves.means,
            self.bias,
            cells,
            [short_label(arm) for arm in self.offered],
            xlabel=self._theta_label,
            ylabel="mean reward",
            limits=self.panel.reward_range,
            axes=ax,
        )

    def plot_worth(self, ax: "Axes | None" = None, *, currency: str = "") -> "Figure":
        """Draw what each arm is worth: the average group, most groups, and every group.

        Args:
            ax: Axes to draw into; a new figure by default.
            currency: The unit of worth, such as "€".
        """
        cells = self.worth(self.fitted.curves)
        average = self.fitted.weights @ cells
        names = [short_label(arm) for arm in self.offered]
        numbers = [float(arm) for arm in self.offered] if self.ordered else None
        worth = self._worth_name
        unit = f", {currency}" if currency else ""
        priced = unit if worth.startswith("profit") else ""
        cost = self.worth.cost
        costs = (
            "" if cost is None else f"; a unit costs {cost:g}{f' {currency}' if currency else ''}"
        )
        best = int(average.argmax())
        shown = f"{average[best]:.4g}{f' {currency}' if currency else ''}"
        return group_worth_figure(
            None if numbers is None else np.array(numbers),
            names,
            average,
            weighted_quantiles(cells, self.fitted.weights, (0.1, 0.9)).T,
            WorthCells(
                np.where(self.panel.tried, self.worth(self.panel.means), np.nan),
                self.worth(self._group_means),
                self._numbers,
            ),
            xlabel=f"{self.panel.arm_name}{priced}{costs}",
            ylabel=f"{worth}{unit}",
            title=f"best on average: {names[best]}, {worth} {shown}",
            axes=ax,
        )

    @property
    def _worth_name(self) -> str:
        """What a row, a trial or a decision is worth, in words."""
        per = "trial" if self.panel.with_trials else "row" if self.panel.unbounded else "decision"
        return f"{'worth' if self.worth.cost is None else 'profit'} per {per}"

    def plot_groups(self, ax: "Axes | None" = None) -> "Figure":
        """Draw theta of the groups with 90 % intervals, coloured by the best arm."""
        rows = self.groups
        return group_intervals_figure(
            [short_label(name) for name in rows.index],
            rows["low"],
            rows["theta"],
            rows["high"],
            np.array([self.offered.index(arm) for arm in rows["best"]]),
            [short_label(arm) for arm in self.offered],
            xlabel=self._theta_label,
            axes=ax,
        )

    def plot_regret(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the regret of policies in a new group with 95 % bands and break-even marks."""
        forecast = self.forecast
        lines = []
        for name, means in forecast.means.items():
            half = 1.96 * forecast.errors[name]
            lines.append(
                Line(
                    short_label(name, MAX_POLICY_LABEL),
                    forecast.times,
                    means,
                    means - half,
                    means + half,
                    reference=name in (INDEPENDENT, forecast.fixed),
                )
            )
        using_curves = (ELASTIC_HISTORY, *CURVE_TRUSTING, forecast.fixed)
        marks = {}
        for name in using_curves:
            rounds = forecast.break_even(name) if name in forecast.means else None
            if rounds is not None:
                marks[short_label(name, MAX_POLICY_LABEL)] = float(rounds)
        return group_regret_figure(lines, marks, axes=ax)

    def plot(self) -> "Figure":
        """Draw curves, groups and, if it was simulated, regret in one figure."""
        draws = [self.plot_curves, self.plot_groups]
        if self.prospects is not None:
            draws.append(self.plot_regret)
        with styled():
            figure, panels = new_row(5.4 * len(draws), 4.2, len(draws))
            for draw, axes in zip(draws, panels, strict=True):
                draw(axes)
        return figure

    @property
    def _theta_label(self) -> str:
        return "θ: share of groups below" if self.given_model is None else "parameter θ"

    def report(self, path: str | os.PathLike[str], *, currency: str = "") -> Path:
        """Write one HTML page, the verdict in words first; return the path.

        Args:
            path: The file, .html.
            currency: The unit of worth, such as "€".
        """
        # A wrong path is refused before the figures are drawn.
        target = check_page_path(path)
        figures = {"worth": self.plot_worth(currency=currency)}
        figures |= {"curves": self.plot_curves(), "groups": self.plot_groups()}
        if self.prospects is not None:
            figures["regret"] = self.plot_regret()
        return self._report.write_page(target, figures, currency)

    def describe(self, width: int = PRINT_WIDTH) -> str:
        """Return the printout with lines of at most this width."""
        return self._report.text(width)

    @property
    def _report(self) -> Report:
        return Report(
            panel=self.panel,
            homogeneity=self.homogeneity,
            share=self.share,
            bias_scale=self.bias_scale,
            errors=self.errors,
            held_out=self.held_out.over_independent(self.chosen),
            later=None if self.later is None else self.later.over_independent(self.chosen),
            information=self.value_of_information,
            arms=self.arms,
            groups=self.groups,
            forecast=None if self.prospects is None else self.prospects.forecast,
            notes=self.notes,
            verdict=self.verdict,
            seconds=self.seconds,
            given=self.given_model is not None,
        )

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        """Show the printout in a notebook."""
        return f"<pre>{escape(self.describe())}</pre>"

    def __repr__(self) -> str:
        return (
            f"Fit({self.panel.n_groups} groups, {self.panel.n_arms} arms, share {self.share:.2f}, "
            f"bias {self.bias_scale:.3f}, {self.verdict.action!r})"
        )


def _score_dict(found: Difference) -> dict[str, Any]:
    return {"log_score": found.mean, "se": found.se, "groups": found.n_groups}


def _row_dicts(frame: "pd.DataFrame", label: str) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain data, with the index under a label."""
    columns = {name: frame[name].tolist() for name in frame.columns}
    return [
        {label: index} | {name: column[place] for name, column in columns.items()}
        for place, index in enumerate(frame.index.tolist())
    ]
